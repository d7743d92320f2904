/**
 * A long body, which comes piece by piece: it is held only once somebody wants it, who has looked at the credential first.
 * Until then its connection is not read on.
 */
import type { Socket } from "node:net";

export class ComingBody {
  readonly #socket: Socket;
  readonly #length: number;
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** Whether nobody is told of it any more. */
  #isOver = false;
  #tell: ((body: Buffer | undefined) => void) | undefined;
  /** Until when what is thrown away may still come, by `performance.now()`. */
  until: number | undefined;

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
    return !this.isWhole && !this.#isOver && !this.#tell;
  }

  /** Takes what has come of it. Returns how many bytes that were. */
  add(bytes: Buffer): number {
    const taken = Math.min(bytes.length, this.#length - this.#bytes);
    this.#bytes += taken;
    if (!this.#isOver) this.#pieces.push(taken < bytes.length ? bytes.subarray(0, taken) : bytes);
    if (this.isWhole) this.#end();
    return taken;
  }

  /** Calls back once: with all of it, or with undefined where the client has left before its end. */
  take(tell: (body: Buffer | undefined) => void): void {
    if (this.#isOver) return void tell(undefined);
    this.#tell = tell;
    if (this.isWhole) this.#end();
    else this.#readOn();
  }

  /** Throws away what is there and what comes within this time; nobody is called back any more. */
  drop(withinMs: number): void {
    this.until = performance.now() + withinMs;
    this.#letGo();
    if (!this.isWhole) this.#readOn();
  }

  /** The client has left. */
  leave(): void {
    this.#tell?.(undefined);
    this.#letGo();
  }

  #letGo(): void {
    this.#isOver = true;
    this.#pieces = [];
    this.#tell = undefined;
  }

  /** Its pieces are let go: whoever asked remembers the request for as long as it is answered. */
  #end(): void {
    const tell = this.#tell;
    if (!tell) return;
    const body = Buffer.concat(this.#pieces);
    this.#letGo();
    tell(body);
  }

  #readOn(): void {
    if (this.#socket.isPaused()) this.#socket.resume();
  }
}
