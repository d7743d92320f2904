/**
 * Scans JSON text once, before anything is built from it.
 *
 * It refuses duplicate members, the name `__proto__`, too many parts or items, and a broken structure. Names are
 * compared after their escapes are read, so `"mod\u0065l"` equals `"model"`. The content of strings, numbers and
 * words is left to `JSON.parse`.
 *
 * A scan can be interrupted: `advance` does about the given number of steps. A step is one byte looked at.
 */
import { maxDepth, maxScanDepth, maxWordBytes, PartCounter } from "../bounds.ts";
import { WireFault } from "../fault.ts";
import { MemberNames } from "./member-names.ts";
import type { Pieces } from "./pieces.ts";
import { closeBrace, closeBracket, colon, comma, openBrace, openBracket, quote } from "./punctuation.ts";
import { notJson } from "./strings.ts";
import { endOfText, TextEnds } from "./text-ends.ts";

/** aValue and those below are what may come next. */
const aValue = 0;
const aValueOrEnd = 1;
const aName = 2;
const aNameOrEnd = 3;
const aCommaOrEnd = 4;
const theRestOfAText = 5;
const aColon = 6;

const nothing = new Uint8Array();

export class Scan {
  #bytes: Uint8Array = nothing;
  #at = 0;
  #expects = aValue;
  #depth = 0;
  #steps = 0;
  /** Steps since `advance` began that were not forward over the bytes. */
  #more = 0;
  #until = 0;
  /** Start of the string whose end has not been reached. */
  #textFrom = 0;
  /** By depth: whether the container is an object, and the index of the current list item. */
  readonly #isObject = new Uint8Array(maxScanDepth + 1);
  readonly #index = new Int32Array(maxScanDepth + 1);
  readonly #names = new MemberNames(maxScanDepth);
  readonly #counts: PartCounter;
  readonly #ends = new TextEnds();
  /** Receives the pieces of a long text. */
  readonly #pieces: Pieces | undefined;
  /**
   * lenient is whether the text is an upstream's: duplicate members and any name are accepted, and parts and items are not
   * counted.
   */
  readonly #lenient: boolean;

  constructor(pieces?: Pieces, lenient = false) {
    this.#pieces = pieces;
    this.#lenient = lenient;
    this.#counts = lenient ? new PartCounter(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY) : new PartCounter();
  }

  /** Number of steps done. */
  get steps(): number {
    return this.#steps;
  }

  /** Bytes that were searched besides, not looked at one by one. */
  get searched(): number {
    return this.#ends.steps + this.#names.searched;
  }

  /** Starts over with another text. */
  begin(bytes: Uint8Array): this {
    this.#bytes = bytes;
    this.#ends.begin(bytes);
    this.#at = this.#depth = this.#steps = this.#more = 0;
    this.#names.clear();
    this.#counts.clear();
    this.#expects = aValue;
    return this;
  }

  /** Does about this many steps. Returns true at the end of the text. Throws a WireFault. */
  advance(steps: number): boolean {
    const bytes = this.#bytes;
    const { length } = bytes;
    // Bytes are steps, so no counter is needed: extra or saved work moves the limit.
    this.#until = this.#at + steps;
    let at = this.#at;
    while (at < this.#until) {
      const byte = bytes[at];
      if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) {
        at++;
        continue;
      }
      const expects = this.#expects;
      if (at >= length || this.#depth === 0) {
        if (at >= length && this.#depth === 0 && expects === aCommaOrEnd) return this.#end(at);
        if (at >= length || expects === aCommaOrEnd) throw notJson();
      }
      if (expects === aCommaOrEnd) at = byte === comma ? this.#next(at) : this.#close(byte, at);
      else if (expects === theRestOfAText) at = this.#text(at);
      else if (expects === aColon) at = this.#colon(byte, at);
      else if (expects >= aName)
        at = byte === closeBrace && expects === aNameOrEnd ? this.#close(byte, at) : this.#name(at);
      else if (byte === closeBracket && expects === aValueOrEnd) at = this.#close(byte, at);
      else {
        // The first item of a list has no comma to count it.
        if (expects === aValueOrEnd) this.#counts.item();
        if (byte === quote) {
          this.#textFrom = at;
          at = this.#text(at + 1);
        } else at = byte === openBrace || byte === openBracket ? this.#open(byte === openBrace, at) : this.#word(at);
      }
    }
    this.#leave(at);
    return false;
  }

  #end(at: number): true {
    this.#leave(at);
    this.#bytes = nothing;
    this.#ends.begin(nothing);
    return true;
  }

  #leave(at: number): void {
    this.#steps += at - this.#at + this.#more;
    this.#more = 0;
    this.#at = at;
  }

  /** Accounts for work other than looking at each byte once. */
  #spend(steps: number): void {
    this.#more += steps;
    this.#until -= steps;
  }

  #open(isObject: boolean, at: number): number {
    this.#counts.part();
    const depth = ++this.#depth;
    if (depth > maxScanDepth) throw new WireFault("malformed", `it is nested deeper than ${maxDepth} levels`);
    this.#isObject[depth] = isObject ? 1 : 0;
    this.#index[depth] = 0;
    this.#names.open(depth);
    this.#expects = isObject ? aNameOrEnd : aValueOrEnd;
    this.#pieces?.open(depth, isObject, at);
    return at + 1;
  }

  #close(byte: number | undefined, at: number): number {
    const depth = this.#depth;
    const isObject = this.#isObject[depth] === 1;
    if (byte !== (isObject ? closeBrace : closeBracket)) throw notJson();
    this.#names.close(depth);
    this.#depth = depth - 1;
    this.#expects = aCommaOrEnd;
    this.#pieces?.close(depth, at);
    return at + 1;
  }

  /** Continues after a comma. */
  #next(at: number): number {
    const depth = this.#depth;
    this.#pieces?.next(depth, at);
    if (this.#isObject[depth] === 1) this.#expects = aName;
    else {
      this.#counts.item();
      (this.#index[depth] as number)++;
      this.#expects = aValue;
    }
    return at + 1;
  }

  /** Skips a number or a word: everything up to the next structural character. */
  #word(from: number): number {
    const bytes = this.#bytes;
    let at = from;
    for (; at < bytes.length; at++) {
      const byte = bytes[at] as number;
      if (byte === comma || byte === closeBracket || byte === closeBrace || byte <= 0x20) break;
      if (byte === quote || byte === openBracket || byte === openBrace || byte === colon) throw notJson();
      if (at - from > maxWordBytes) throw new WireFault("malformed", `a number has more than ${maxWordBytes} digits`);
    }
    if (at === from) throw notJson();
    this.#expects = aCommaOrEnd;
    return at;
  }

  /** Continues in a string, up to its end or the step limit. */
  #text(from: number): number {
    const ends = this.#ends;
    const end = ends.find(from, this.#until);
    if (ends.savedSteps !== 0) this.#spend(-ends.savedSteps);
    ends.savedSteps = 0;
    if (end > 0) {
      this.#expects = aCommaOrEnd;
      this.#pieces?.text(this.#depth, this.#textFrom, end);
      return end;
    }
    if (-end >= this.#bytes.length) throw notJson();
    this.#expects = theRestOfAText;
    return -end;
  }

  #name(from: number): number {
    const bytes = this.#bytes;
    if (bytes[from] !== quote) throw notJson();
    this.#counts.part();
    const end = this.#lenient ? this.#endOfAnyName(from) : this.#endOfName(from);
    this.#pieces?.name(this.#depth, from, end);
    const isThere = bytes[end] === colon;
    this.#expects = isThere ? aValue : aColon;
    return isThere ? end + 1 : end;
  }

  #colon(byte: number | undefined, at: number): number {
    if (byte !== colon) throw notJson();
    this.#expects = aValue;
    return at + 1;
  }

  #endOfAnyName(from: number): number {
    const end = endOfText(this.#bytes, from, this.#ends);
    if (end > this.#bytes.length) throw notJson();
    return end;
  }

  #endOfName(from: number): number {
    const names = this.#names;
    try {
      const end = names.take(this.#bytes, this.#depth, from);
      if (names.reread > 0) this.#spend(names.reread);
      return end;
    } catch (fault) {
      throw fault instanceof WireFault && fault.kind !== "malformed" ? this.#located(fault) : fault;
    }
  }

  /** Adds the current position to the fault: a key or an index for each open container. */
  #located(fault: WireFault): WireFault {
    let below: number | undefined;
    for (let depth = this.#depth; depth > 0; depth--) {
      fault.under(this.#isObject[depth] === 1 ? this.#names.last(this.#bytes, below) : (this.#index[depth] as number));
      below = depth;
    }
    return fault;
  }
}
