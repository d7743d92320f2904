/** Finds the ends of JSON strings in linear time, for strings with many escaped quotes and for long plain ones. */
import { backslash, quote } from "./punctuation.ts";

/** The methods of Buffer are many times faster than those of Uint8Array. */
const { indexOf, latin1Slice } = Buffer.prototype;
/** Bytes checked one by one before a search, which has a constant cost. */
const nearBytes = 12;
/**
 * Bytes are converted to a string window by window, because a search starts much faster in a string. The first window
 * is small, since often one string is all that is needed; each next one is twice as long.
 */
const [firstWindow, largestWindow] = [512, 65_536];
/** Bytes that a search covers in the time of one step. */
const searchedPerStep = 16;

export class TextEnds {
  #bytes: Uint8Array = new Uint8Array();
  /** A window of the bytes as a string, one character per byte, and its offset. */
  #window = "";
  #windowFrom = 0;
  #windowBytes = firstWindow;
  /** Bytes looked at, searched or converted since construction. */
  steps = 0;
  /** Bytes searched rather than looked at, as steps to be credited. */
  savedSteps = 0;

  begin(bytes: Uint8Array): void {
    this.#bytes = bytes;
    this.#window = "";
    this.#windowBytes = firstWindow;
    this.savedSteps = 0;
  }

  /**
   * Returns the index after the closing quote of the string around `from`. Where none comes before `until`, returns
   * the negated index at which to continue, which is inside no escape; at the end of the bytes, their negated length.
   */
  find(from: number, until: number): number {
    const bytes = this.#bytes;
    let at = from;
    while (at < bytes.length && at < until + this.savedSteps) {
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
      this.savedSteps += next - at - 1 - Math.ceil((next - at) / searchedPerStep) - slashes;
      if (found === -1) break;
      if (slashes % 2 === 0) return next + 1;
      at = next + 1;
    }
    return at < bytes.length ? -at : -bytes.length;
  }

  /** Returns the index of the next quote, or -1. */
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
 * endOfText returns the index after the closing quote of the string that opens at `from`; one beyond the bytes where it never closes. For
 * many strings of the same bytes pass a TextEnds of your own.
 */
export function endOfText(bytes: Uint8Array, from: number, own = ends): number {
  if (own === ends) ends.begin(bytes);
  const end = own.find(from + 1, Number.POSITIVE_INFINITY);
  own.savedSteps = 0;
  return end > 0 ? end : bytes.length + 1;
}

/** slashesBefore counts the backslashes before a quote. */
function slashesBefore(bytes: Uint8Array, quoteAt: number, from: number): number {
  let slashes = 0;
  while (quoteAt - slashes > from && bytes[quoteAt - slashes - 1] === backslash) slashes++;
  return slashes;
}
