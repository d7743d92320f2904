/**
 * The last head of a connection. The next one often repeats it, but for the length of the body and, where several callers share
 * the connection, for a credential of the same length. A repetition is recognised by its bytes and not parsed again.
 */
import { isFieldValue } from "./fields.ts";

/** Repetition is what differs in a head that repeats the known one. */
export interface Repetition {
  /** The length of the body, as it is written and in bytes. */
  readonly lengthText: string;
  readonly length: number;
  /** The position where the body begins. */
  readonly from: number;
  /** The credential, if it is another one. */
  readonly credential: string | undefined;
}

/** A value in a head, and the position of the colon before it. */
export interface PlacedValue {
  readonly colon: number;
  readonly value: string;
}

const zero = 0x30;
/** A number of more digits is not counted exactly. */
const maxDigits = 15;
/** Room for a head that is a little longer, which is then remembered in the same memory. In bytes. */
const spareBytes = 64;

/** A longer head is not remembered: clients without a key could fill memory over many connections. In bytes. */
const maxKnownBytes = 4_096;

/** KnownHead is the last head of one connection. */
export class KnownHead {
  /** A copy: a part of pooled memory would keep all of that alive for as long as the connection lasts. */
  #bytes: Buffer | undefined;
  /** The positions where the digits of the length begin and end, and where the head ends. */
  #digitsFrom = 0;
  #digitsTo = 0;
  #to = 0;
  /** The positions where the credential begins and ends; both 0 if there is none. */
  #credentialFrom = 0;
  #credentialTo = 0;

  /**
   * Remembers the head at the beginning of `bytes`. It ends before `to`, with its empty line. Returns false, and forgets the head
   * before, if it is too long.
   */
  remember(bytes: Buffer, to: number, lengthColon: number, credential?: PlacedValue): boolean {
    if (to > maxKnownBytes) {
      this.#bytes = undefined;
      return false;
    }
    if (!this.#bytes || this.#bytes.length < to) this.#bytes = Buffer.allocUnsafeSlow(to + spareBytes);
    bytes.copy(this.#bytes, 0, 0, to);
    // Spaces between the colon and the digits count as part of what precedes the digits.
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
   * Finds a repetition of the known head at the beginning of `bytes`. Returns undefined if there is none. A new credential replaces
   * the known one.
   */
  repetitionIn(bytes: Buffer): Repetition | undefined {
    const isSameBefore = this.#isSame(0, this.#digitsFrom, bytes, 0);
    if (!isSameBefore && !this.#isSameAround(0, this.#digitsFrom, bytes, 0)) return undefined;
    let at = this.#digitsFrom;
    let length = 0;
    for (let digit = digitAt(bytes, at); digit !== undefined; digit = digitAt(bytes, ++at))
      length = length * 10 + digit;
    const digits = at - this.#digitsFrom;
    if (digits === 0 || digits > maxDigits) return undefined;
    const isSameAfter = this.#isSame(this.#digitsTo, this.#to, bytes, at);
    if (!isSameAfter && !this.#isSameAround(this.#digitsTo, this.#to, bytes, at)) return undefined;
    const shift = at - this.#digitsTo;
    const isAnother = !isSameBefore || !isSameAfter;
    // A credential behind the length is shifted by as much as the length is longer.
    const credential = isAnother ? this.#anotherIn(bytes, isSameBefore ? shift : 0) : undefined;
    if (isAnother && credential === undefined) return undefined;
    const text = String(length);
    // It may have leading zeros.
    const lengthText = text.length === digits ? text : bytes.toString("latin1", this.#digitsFrom, at);
    return { lengthText, length, from: this.#to + shift, credential };
  }

  /** Reports that a part of the known head stands at position `at`. */
  #isSame(from: number, to: number, bytes: Buffer, at: number): boolean {
    const end = at + to - from;
    return this.#bytes !== undefined && end <= bytes.length && bytes.compare(this.#bytes, from, to, at, end) === 0;
  }

  /** Reports the same, with any bytes in the place of the credential, which must be within that part. */
  #isSameAround(from: number, to: number, bytes: Buffer, at: number): boolean {
    const [first, last] = [this.#credentialFrom, this.#credentialTo];
    if (first === last || first < from || last > to) return false;
    return this.#isSame(from, first, bytes, at) && this.#isSame(last, to, bytes, at + last - from);
  }

  /** Returns and remembers what stands in the place of the credential. Returns undefined if it is no field value. */
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
