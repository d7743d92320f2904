/**
 * The head that came last on a connection. It may come again, but for the length of the body: that is seen by its bytes, and
 * it need not be read again.
 */

/** What a head says that came again. */
export interface Repetition {
  /** As it is written, and in bytes. */
  readonly lengthText: string;
  readonly length: number;
  /** Where the body begins. */
  readonly from: number;
}

const zero = 0x30;
/** More than these are not counted exactly. */
const mostDigits = 15;
/** Another head hardly differs by more than so many bytes: it is remembered in the place of the one before. */
const spare = 64;

/** Of a longer head nothing is kept: whoever has no key might have many connections hold it. In bytes. */
const longestKept = 4_096;

export class KnownHead {
  /** Memory of its own: of a piece of what many share it would keep all, for as long as the connection lasts. */
  #bytes: Buffer | undefined;
  /** Where the digits of the length begin and end, and where the head ends. */
  #digitsFrom = 0;
  #digitsTo = 0;
  #to = 0;

  /**
   * Remembers a head that was read: where it ends, with its empty line, and where the colon of its length stands. Returns
   * false where it is too long, and then knows none.
   */
  remember(bytes: Buffer, to: number, lengthColon: number): boolean {
    if (to > longestKept) {
      this.#bytes = undefined;
      return false;
    }
    if (!this.#bytes || this.#bytes.length < to) this.#bytes = Buffer.allocUnsafeSlow(to + spare);
    bytes.copy(this.#bytes, 0, 0, to);
    // What stands between the colon and the digits belongs to what comes before them.
    let at = lengthColon + 1;
    while (digitAt(bytes, at) === undefined) at++;
    this.#digitsFrom = at;
    while (digitAt(bytes, at) !== undefined) at++;
    this.#digitsTo = at;
    this.#to = to;
    return true;
  }

  /** Returns undefined where these bytes do not begin with that very head. */
  repetitionIn(bytes: Buffer): Repetition | undefined {
    if (!this.#bytes || !this.#standsAt(0, this.#digitsFrom, bytes, 0)) return undefined;
    let at = this.#digitsFrom;
    let length = 0;
    for (let digit = digitAt(bytes, at); digit !== undefined; digit = digitAt(bytes, ++at))
      length = length * 10 + digit;
    const digits = at - this.#digitsFrom;
    if (digits === 0 || digits > mostDigits || !this.#standsAt(this.#digitsTo, this.#to, bytes, at)) return undefined;
    const text = String(length);
    // Zeros may come before it.
    const lengthText = text.length === digits ? text : bytes.toString("latin1", this.#digitsFrom, at);
    return { lengthText, length, from: at + this.#to - this.#digitsTo };
  }

  /** Whether a part of the head stands there. */
  #standsAt(from: number, to: number, bytes: Buffer, at: number): boolean {
    const end = at + to - from;
    return end <= bytes.length && bytes.compare(this.#bytes as Buffer, from, to, at, end) === 0;
  }
}

function digitAt(bytes: Buffer, at: number): number | undefined {
  const digit = (bytes[at] ?? 0) - zero;
  return digit >= 0 && digit <= 9 ? digit : undefined;
}
