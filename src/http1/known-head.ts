/**
 * The head that came last on a connection. It may come again, but for the length of the body and, where many send by one
 * connection, for a credential of the same length: that is seen by its bytes, and it need not be read again.
 */
import { isFieldValue } from "./fields.ts";

/** What a head says that came again. */
export interface Repetition {
  /** As it is written, and in bytes. */
  readonly lengthText: string;
  readonly length: number;
  /** Where the body begins. */
  readonly from: number;
  /** The credential, where it is another one. */
  readonly credential: string | undefined;
}

/** A value in a head, and where the colon before it stands. */
export interface PlacedValue {
  readonly colon: number;
  readonly value: string;
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
  /** Where the credential begins and ends: both 0 where there is none. */
  #credentialFrom = 0;
  #credentialTo = 0;

  /**
   * Remembers a head that was read: where it ends, with its empty line, where the colon of its length stands, and its
   * credential. Returns false where it is too long, and then knows none.
   */
  remember(bytes: Buffer, to: number, lengthColon: number, credential?: PlacedValue): boolean {
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
    this.#credentialFrom = credential ? bytes.indexOf(credential.value, credential.colon + 1, "latin1") : 0;
    this.#credentialTo = this.#credentialFrom + (credential?.value.length ?? 0);
    return true;
  }

  /**
   * Returns undefined where these bytes do not begin with that head, its length and its credential aside. Another credential
   * is remembered in the place of the one before.
   */
  repetitionIn(bytes: Buffer): Repetition | undefined {
    const isSameBefore = this.#isSame(0, this.#digitsFrom, bytes, 0);
    if (!isSameBefore && !this.#isSameAround(0, this.#digitsFrom, bytes, 0)) return undefined;
    let at = this.#digitsFrom;
    let length = 0;
    for (let digit = digitAt(bytes, at); digit !== undefined; digit = digitAt(bytes, ++at))
      length = length * 10 + digit;
    const digits = at - this.#digitsFrom;
    if (digits === 0 || digits > mostDigits) return undefined;
    const isSameAfter = this.#isSame(this.#digitsTo, this.#to, bytes, at);
    if (!isSameAfter && !this.#isSameAround(this.#digitsTo, this.#to, bytes, at)) return undefined;
    const shift = at - this.#digitsTo;
    const isAnother = !isSameBefore || !isSameAfter;
    // Behind the length it stands as much further on as that is longer.
    const credential = isAnother ? this.#anotherIn(bytes, isSameBefore ? shift : 0) : undefined;
    if (isAnother && credential === undefined) return undefined;
    const text = String(length);
    // Zeros may come before it.
    const lengthText = text.length === digits ? text : bytes.toString("latin1", this.#digitsFrom, at);
    return { lengthText, length, from: this.#to + shift, credential };
  }

  /** Whether a part of the head stands there. */
  #isSame(from: number, to: number, bytes: Buffer, at: number): boolean {
    const end = at + to - from;
    return this.#bytes !== undefined && end <= bytes.length && bytes.compare(this.#bytes, from, to, at, end) === 0;
  }

  /** The same, whatever stands in the place of the credential, which is to be in that part. */
  #isSameAround(from: number, to: number, bytes: Buffer, at: number): boolean {
    const [first, last] = [this.#credentialFrom, this.#credentialTo];
    if (first === last || first < from || last > to) return false;
    return this.#isSame(from, first, bytes, at) && this.#isSame(last, to, bytes, at + last - from);
  }

  /** Returns what stands in the place of the credential, and remembers it; undefined where it is none. */
  #anotherIn(bytes: Buffer, shift: number): string | undefined {
    const [from, to] = [this.#credentialFrom + shift, this.#credentialTo + shift];
    const text = bytes.toString("latin1", from, to);
    if (!isFieldValue(text)) return undefined;
    bytes.copy(this.#bytes as Buffer, this.#credentialFrom, from, to);
    return text;
  }
}

function digitAt(bytes: Buffer, at: number): number | undefined {
  const digit = (bytes[at] ?? 0) - zero;
  return digit >= 0 && digit <= 9 ? digit : undefined;
}
