/**
 * A long body that comes piece by piece. It is read only when it is taken, which is after the credential was checked; until then
 * the connection is paused. From then on each piece is copied to its place in the body as soon as it comes.
 */
import type { Socket } from "node:net";
import { freeBytes } from "../../runtime/memory/free-bytes.ts";
import { readInTurns } from "../../runtime/read-turns.ts";

/** Memory for a longer body is allocated when half of it has come: a client may announce a body and never send it. In bytes. */
const maxAllocatedAtOnce = 1_048_576;

/** IncomingBody is a body that is either taken or dropped, once. */
export class IncomingBody {
  readonly #socket: Socket;
  readonly #length: number;
  /** pieces are what came before memory for the whole body was allocated. */
  #pieces: Buffer[] = [];
  /** placed is how many of the pieces have been copied to their places, and how many bytes they have. */
  #placed = 0;
  #placedBytes = 0;
  /** The body, as far as it has come. */
  #whole: Buffer | undefined;
  #bytes = 0;
  /** Reports that the body was delivered or dropped, or its client has gone: nothing is called any more. */
  #isOver = false;
  #deliver: ((body: Buffer | undefined) => void) | undefined;
  #count: ((bytes: number) => void) | undefined;
  /** Until when the rest of a dropped body may come, by `performance.now()`. */
  until: number | undefined;

  /** `length`: in bytes. */
  constructor(length: number, socket: Socket) {
    this.#length = length;
    this.#socket = socket;
  }

  /** Reports that the next piece is copied or dropped, so that the caller may reuse its memory. Otherwise it is the body's, which frees it. */
  get isCopying(): boolean {
    return this.#whole !== undefined || this.#isOver;
  }

  get isWhole(): boolean {
    return this.#bytes === this.#length;
  }

  /** Reports that the body was neither taken nor dropped yet. */
  get isUndecided(): boolean {
    return !this.isWhole && !this.#isOver && !this.#deliver;
  }

  /** Adds bytes to the body, which owns their memory unless it is copying. Returns how many belong to it. */
  add(bytes: Buffer): number {
    const taken = Math.min(bytes.length, this.#length - this.#bytes);
    this.#count?.(taken);
    if (!this.#isOver) this.#hold(taken < bytes.length ? bytes.subarray(0, taken) : bytes);
    this.#bytes += taken;
    if (this.isWhole) this.#end();
    else if (!this.isUndecided) readInTurns(this.#socket, taken, () => this.#goOn());
    return taken;
  }

  /**
   * Reads the body. Calls `deliver` once: with the whole body, or with undefined if the client goes before its end. Calls `count`
   * with the number of bytes each time some have come; it may drop the body.
   */
  take(deliver: (body: Buffer | undefined) => void, count: (bytes: number) => void): void {
    if (this.#isOver) return void deliver(undefined);
    this.#deliver = deliver;
    this.#count = count;
    count(this.#bytes);
    if (this.#isOver) return;
    if (this.#length <= maxAllocatedAtOnce) this.#assemble();
    if (this.isWhole) this.#end();
    else this.#readOn();
  }

  /** Discards the body, and what still comes of it within this time. Nothing is called any more. */
  drop(withinMs: number): void {
    this.until = performance.now() + withinMs;
    this.#discard();
    if (!this.isWhole) this.#readOn();
  }

  /** Ends the body: its client has gone. */
  leave(): void {
    this.#deliver?.(undefined);
    this.#discard();
  }

  #hold(piece: Buffer): void {
    if (this.#whole) {
      this.#whole.set(piece, this.#bytes);
      this.#place(this.#whole, 2 * piece.length);
      return;
    }
    this.#pieces.push(piece);
    // To copy all pieces at the end would block the event loop: they are copied along with those that come.
    const isHalf = 2 * (this.#bytes + piece.length) >= this.#length;
    if (this.#deliver && isHalf) this.#whole = Buffer.allocUnsafeSlow(this.#length);
  }

  /** Returns the memory of the whole body, with all pieces copied. `Buffer.concat` would write zeros to what has not come. */
  #assemble(): Buffer {
    this.#whole ??= Buffer.allocUnsafeSlow(this.#length);
    this.#place(this.#whole, Number.POSITIVE_INFINITY);
    return this.#whole;
  }

  /** Copies pieces of about so many bytes to their places. */
  #place(whole: Buffer, bytes: number): void {
    const until = this.#placedBytes + bytes;
    for (; this.#placed < this.#pieces.length && this.#placedBytes < until; this.#placed++) {
      const piece = this.#pieces[this.#placed] as Buffer;
      whole.set(piece, this.#placedBytes);
      this.#placedBytes += piece.length;
      freeBytes(piece);
    }
    if (this.#placed < this.#pieces.length) return;
    this.#pieces = [];
    this.#placed = 0;
  }

  /** Ends the body, and frees what has come of it, which nobody else has. */
  #discard(): void {
    for (let i = this.#placed; i < this.#pieces.length; i++) freeBytes(this.#pieces[i] as Buffer);
    if (this.#whole) freeBytes(this.#whole);
    this.#release();
  }

  #release(): void {
    this.#isOver = true;
    this.#pieces = [];
    this.#whole = undefined;
    this.#deliver = undefined;
    this.#count = undefined;
  }

  /** Delivers the body, and releases it: the request is kept for as long as its answer lasts. */
  #end(): void {
    const deliver = this.#deliver;
    if (!deliver) return;
    const body = this.#assemble();
    this.#release();
    deliver(body);
  }

  /** Reads on in the next turn (`readInTurns`), unless the body is over. */
  #goOn(): void {
    if (!this.isUndecided && !this.isWhole) this.#readOn();
  }

  #readOn(): void {
    if (this.#socket.isPaused()) this.#socket.resume();
  }
}
