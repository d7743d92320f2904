/**
 * The bytes of a WebSocket's message that has not come whole: counted in the room for bodies before anybody holds them, and in
 * time. What follows a message in the same piece of the connection's bytes is counted with the next piece.
 */
import type { BodyBudget, BodyShare } from "../body/body-budget.ts";

/** What is around the payload of a client's control frame. */
const controlHead = 6;

export class PartialMessage {
  readonly #room: BodyBudget;
  readonly #accountId: string;
  readonly #timeoutMs: number;
  #share: BodyShare | undefined;
  /** Until when it has to be whole, by `performance.now()`. */
  until = Number.POSITIVE_INFINITY;

  constructor(room: BodyBudget, accountId: string, timeoutMs: number) {
    this.#room = room;
    this.#accountId = accountId;
    this.#timeoutMs = timeoutMs;
  }

  get isArriving(): boolean {
    return this.#share !== undefined;
  }

  /** Counts bytes that come. Throws a Refusal where there is no room for them. */
  add(bytes: number): void {
    if (!this.#share) {
      this.#share = this.#room.open(this.#accountId);
      this.until = performance.now() + this.#timeoutMs;
    }
    this.#share.add(bytes);
  }

  /** Gives the bytes of a control frame back: what it says has been read. */
  control(payload: number): void {
    this.#share?.remove(payload + controlHead);
    if (this.#share?.bytes === 0) this.whole();
  }

  /** Gives the bytes of a message back: who takes it counts it. */
  whole(): void {
    this.#share?.release();
    this.#share = undefined;
    this.until = Number.POSITIVE_INFINITY;
  }
}
