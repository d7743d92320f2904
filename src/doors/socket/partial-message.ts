/**
 * Counts the bytes of a WebSocket message that has not arrived completely: in the room for bodies, before they are held, and with a
 * deadline. Bytes that follow a message in the same chunk are counted with the next chunk.
 */
import type { BodyBudget, BodyShare } from "../body/body-budget.ts";

/** The bytes around the payload of a client's control frame. */
const controlHeadBytes = 6;

export class PartialMessage {
  readonly #room: BodyBudget;
  readonly #accountId: string;
  readonly #timeoutMs: number;
  #share: BodyShare | undefined;
  /** until is when it has to be complete, by `performance.now()`. */
  until = Number.POSITIVE_INFINITY;

  constructor(room: BodyBudget, accountId: string, timeoutMs: number) {
    this.#room = room;
    this.#accountId = accountId;
    this.#timeoutMs = timeoutMs;
  }

  get isArriving(): boolean {
    return this.#share !== undefined;
  }

  /** bytes is how many have arrived of it. */
  get bytes(): number {
    return this.#share?.bytes ?? 0;
  }

  /** Counts bytes that have arrived. Throws a Refusal where there is no room for them. */
  add(bytes: number): void {
    if (!this.#share) {
      this.#share = this.#room.open(this.#accountId);
      this.until = performance.now() + this.#timeoutMs;
    }
    this.#share.add(bytes);
  }

  /** Gives back the bytes of a control frame, which has been read. `payload`: its length. */
  control(payload: number): void {
    this.#share?.remove(payload + controlHeadBytes);
    if (this.#share?.bytes === 0) this.complete();
  }

  /** Gives back the bytes of a complete message. Its exchange counts them again. */
  complete(): void {
    this.#share?.release();
    this.#share = undefined;
    this.until = Number.POSITIVE_INFINITY;
  }
}
