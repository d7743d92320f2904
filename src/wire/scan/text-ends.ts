/** Finds where texts of JSON end: their quotes that are escaped may be many, and plain text between them long. */
import { backslash, quote } from "./signs.ts";

/** A Buffer's are many times faster than those of other lists of bytes. */
const { indexOf, latin1Slice } = Buffer.prototype;
/** How far an end is looked for byte by byte before it is searched for: a search costs as much at once. */
const nearBytes = 12;
/**
 * So much of the bytes is made a string at a time: in a string a search begins much sooner. The first time it is little, for a
 * text may be all that is asked for, and then twice as much each time.
 */
const [firstWindow, largestWindow] = [512, 65_536];
/** How many bytes a search passes in the time of a step. */
const searchedPerStep = 16;

export class TextEnds {
  #bytes: Uint8Array = new Uint8Array();
  /** A part of the bytes as a string, a character each, and where it begins. */
  #window = "";
  #windowFrom = 0;
  #windowBytes = firstWindow;
  /** How many bytes were looked at, searched or made a string, since it was made. */
  steps = 0;
  /** How many bytes were searched and not looked at, as steps: to be taken from the distance. */
  spared = 0;

  begin(bytes: Uint8Array): void {
    this.#bytes = bytes;
    this.#window = "";
    this.#windowBytes = firstWindow;
    this.spared = 0;
  }

  /**
   * Returns the index behind the quote that closes the text around `from`; where there is none before `until`, the negative of
   * where to go on, which is within no escape. That is the end of the bytes where no text ends any more.
   */
  find(from: number, until: number): number {
    const bytes = this.#bytes;
    let at = from;
    while (at < bytes.length && at < until + this.spared) {
      const looked = at;
      const near = Math.min(at + nearBytes, bytes.length);
      for (; at < near; at++) {
        const byte = bytes[at];
        if (byte === quote) {
          this.steps += at - looked + 1;
          return at + 1;
        }
        if (byte === backslash) at++;
      }
      this.steps += at - looked;
      if (at >= bytes.length) break;
      const found = this.#findQuote(at);
      const next = found === -1 ? bytes.length : found;
      const slashes = slashesBefore(bytes, next, at);
      this.steps += next - at + 1 + slashes;
      this.spared += next - at - 1 - Math.ceil((next - at) / searchedPerStep) - slashes;
      if (found === -1) break;
      if (slashes % 2 === 0) return next + 1;
      at = next + 1;
    }
    return at < bytes.length ? -at : -bytes.length;
  }

  /** Returns where the next quote is from here on, or -1. */
  #findQuote(from: number): number {
    const bytes = this.#bytes;
    if (from < this.#windowFrom || from >= this.#windowFrom + this.#window.length) {
      this.#windowFrom = from;
      this.#window = latin1Slice.call(bytes, from, Math.min(bytes.length, from + this.#windowBytes));
      this.steps += this.#window.length;
      this.#windowBytes = Math.min(2 * this.#windowBytes, largestWindow);
    }
    const found = this.#window.indexOf('"', from - this.#windowFrom);
    if (found !== -1) return found + this.#windowFrom;
    const to = this.#windowFrom + this.#window.length;
    return to < bytes.length ? indexOf.call(bytes, quote, to) : -1;
  }
}

const ends = new TextEnds();

/**
 * Returns the index after the closing quote of the text that opens at `from`; where it never closes, one beyond the bytes.
 * Who asks for many texts of the same bytes has ends of its own for them.
 */
export function endOfText(bytes: Uint8Array, from: number, own = ends): number {
  if (own === ends) ends.begin(bytes);
  const end = own.find(from + 1, Number.POSITIVE_INFINITY);
  own.spared = 0;
  return end > 0 ? end : bytes.length + 1;
}

/** Counts the backslashes before a quote: what stands before these is either plain, or escaped by what stands there too. */
function slashesBefore(bytes: Uint8Array, quoteAt: number, from: number): number {
  let slashes = 0;
  while (quoteAt - slashes > from && bytes[quoteAt - slashes - 1] === backslash) slashes++;
  return slashes;
}
