/**
 * A long body, which comes piece by piece: it is held only once somebody wants it, who has looked at the credential first.
 * Until then its connection is not read on. From then on a piece is copied to its place as soon as it has come.
 */
import type { Socket } from "node:net";
import { readInTurns } from "../../runtime/read-turns.ts";

/** In bytes. A longer one is put together once half of it has come: it may be told of and never come. */
const longestAtOnce = 1_048_576;

export class IncomingBody {
  readonly #socket: Socket;
  readonly #length: number;
  /** What came before somebody wanted it; all of one that is not put together at once. */
  #pieces: Buffer[] = [];
  /** How many of the pieces stand in their places, and how many bytes they have. */
  #placed = 0;
  #placedBytes = 0;
  /** Where it is put together, as far as it has come. */
  #whole: Buffer | undefined;
  #bytes = 0;
  /** Whether nobody is told of it any more. */
  #isOver = false;
  #tell: ((body: Buffer | undefined) => void) | undefined;
  #count: ((bytes: number) => void) | undefined;
  /** Until when what is thrown away may still come, by `performance.now()`. */
  until: number | undefined;

  /** `length`: in bytes. */
  constructor(length: number, socket: Socket) {
    this.#length = length;
    this.#socket = socket;
  }

  /** Whether it keeps nothing of the memory that the next piece stands in. */
  get isCopying(): boolean {
    return this.#whole !== undefined || this.#isOver;
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
    this.#count?.(taken);
    if (!this.#isOver) this.#hold(taken < bytes.length ? bytes.subarray(0, taken) : bytes);
    this.#bytes += taken;
    if (this.isWhole) this.#end();
    else if (this.#tell) readInTurns(this.#socket, taken, () => this.#goOn());
    return taken;
  }

  /**
   * Calls `tell` once: with all of it, or with undefined where the client has left before its end. Calls `count` with the bytes
   * that have come, as they come; it may drop the body.
   */
  take(tell: (body: Buffer | undefined) => void, count: (bytes: number) => void): void {
    if (this.#isOver) return void tell(undefined);
    this.#tell = tell;
    this.#count = count;
    count(this.#bytes);
    if (this.#isOver) return;
    if (this.#length <= longestAtOnce) this.#putTogether();
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

  #hold(piece: Buffer): void {
    if (this.#whole) {
      this.#whole.set(piece, this.#bytes);
      this.#place(this.#whole, 2 * piece.length);
      return;
    }
    this.#pieces.push(piece);
    // To copy all of it at its end would hold others up: what is there goes to its place along with what comes.
    const isHalf = 2 * (this.#bytes + piece.length) >= this.#length;
    if (this.#tell && isHalf) this.#whole = Buffer.allocUnsafeSlow(this.#length);
  }

  /** Not by `Buffer.concat`, which would fill with zeros what has not come. */
  #putTogether(): Buffer {
    this.#whole ??= Buffer.allocUnsafeSlow(this.#length);
    this.#place(this.#whole, Number.POSITIVE_INFINITY);
    return this.#whole;
  }

  /** Puts pieces into their places, of about so many bytes. */
  #place(whole: Buffer, bytes: number): void {
    const until = this.#placedBytes + bytes;
    for (; this.#placed < this.#pieces.length && this.#placedBytes < until; this.#placed++) {
      const piece = this.#pieces[this.#placed] as Buffer;
      whole.set(piece, this.#placedBytes);
      this.#placedBytes += piece.length;
    }
    if (this.#placed < this.#pieces.length) return;
    this.#pieces = [];
    this.#placed = 0;
  }

  #letGo(): void {
    this.#isOver = true;
    this.#pieces = [];
    this.#whole = undefined;
    this.#tell = undefined;
    this.#count = undefined;
  }

  /** It is let go: whoever asked remembers the request for as long as it is answered. */
  #end(): void {
    const tell = this.#tell;
    if (!tell) return;
    const body = this.#putTogether();
    this.#letGo();
    tell(body);
  }

  /** Where a turn has taken enough, the next goes on: unless the body is over meanwhile. */
  #goOn(): void {
    if (this.#tell && !this.isWhole) this.#readOn();
  }

  #readOn(): void {
    if (this.#socket.isPaused()) this.#socket.resume();
  }
}
