/**
 * A long body, which comes piece by piece: it is held only once somebody wants it, who has looked at the credential first.
 * Until then its connection is not read on.
 */
import type { Socket } from "node:net";

export class ComingBody {
  readonly #socket: Socket;
  readonly #length: number;
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  #isDropped = false;
  #tell: ((body: Buffer | undefined) => void) | undefined;

  /** `length`: in bytes. */
  constructor(length: number, socket: Socket) {
    this.#length = length;
    this.#socket = socket;
  }

  get isWhole(): boolean {
    return this.#bytes === this.#length;
  }

  /** Whether nobody has said yet what is to become of it. */
  get isUndecided(): boolean {
    return !this.isWhole && !this.#isDropped && !this.#tell;
  }

  /** Takes what has come of it. Returns how many bytes that were. */
  add(bytes: Buffer): number {
    const taken = Math.min(bytes.length, this.#length - this.#bytes);
    this.#bytes += taken;
    if (!this.#isDropped) this.#pieces.push(taken < bytes.length ? bytes.subarray(0, taken) : bytes);
    if (this.isWhole) this.#end();
    return taken;
  }

  /** Calls back once: with all of it, or with undefined when the client has left before its end. */
  take(tell: (body: Buffer | undefined) => void): void {
    this.#tell = tell;
    if (this.isWhole) this.#end();
    else this.#readOn();
  }

  /** Throws away what is there and what still comes; nobody is called back any more. */
  drop(): void {
    this.#isDropped = true;
    this.#pieces.length = 0;
    this.#tell = undefined;
    if (!this.isWhole) this.#readOn();
  }

  /** The client has left. */
  leave(): void {
    this.#tell?.(undefined);
    this.drop();
  }

  #end(): void {
    this.#tell?.(Buffer.concat(this.#pieces));
    this.#tell = undefined;
  }

  #readOn(): void {
    if (this.#socket.isPaused()) this.#socket.resume();
  }
}
