/**
 * Identifiers: a prefix that says what an id names, and 25 characters that sort by creation time. The ids that one process makes
 * within one millisecond sort in the order in which it made them.
 */
import { createHash, hash, randomFillSync } from "node:crypto";

/** Crockford's base 32, in lower case: it has no letters that look like digits. */
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
/** In ASCII characters. */
const longestPrefix = 7;
const underscore = 0x5f;
const pool = Buffer.alloc(16 * 256);
let used = pool.length;

/** timeDigits is how many characters hold the time. */
const timeDigits = 9;
/** The last millisecond that they can hold. */
const lastMs = 32 ** timeDigits - 1;

const digits = new Uint8Array(16);
const codes = Buffer.from(alphabet);
let digitsAt = Number.NaN;

/**
 * The bytes of the last id; its prefix is right-aligned in the room for prefixes. The text is made of all bytes at once:
 * concatenation would make it a tree of strings.
 */
const written = Buffer.alloc(longestPrefix + 1 + timeDigits + 16);
const timeFrom = longestPrefix + 1;
const digitsFrom = timeFrom + timeDigits;

/** newId makes an id: 9 characters of the time in milliseconds, and 16 (80 bits) that are random, or one more than the last id's. */
export function newId(prefix: string, now: number = Date.now()): string {
  if (now === digitsAt) countOn();
  else draw();
  digitsAt = now;
  return textUpTo(written.length, prefix, now);
}

/** idOf makes an id of a moment that is the same whenever it is made of the same text: its last 16 characters are a hash of it. */
export function idOf(prefix: string, now: number, text: string): string {
  const digest = createHash("sha256").update(text).digest();
  const hashed = Array.from(digits, (_, i) => alphabet[(digest[i] as number) & 31]);
  return firstIdAt(prefix, now) + hashed.join("");
}

/** draw draws random digits. The first is below 16, so that counting up from any of them does not overflow. */
function draw(): void {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  for (let i = 0; i < digits.length; i++) setDigit(i, (pool[used++] as number) & (i === 0 ? 15 : 31));
}

function countOn(): void {
  let at = digits.length - 1;
  while (digits[at] === 31) setDigit(at--, 0);
  setDigit(at, (digits[at] as number) + 1);
}

function setDigit(at: number, digit: number): void {
  digits[at] = digit;
  written[digitsFrom + at] = codes[digit] as number;
}

/** The time that `written` holds: many ids are made in one millisecond. */
let timeMs = -1;

/** firstIdAt returns a lower bound of the ids made from this moment on; earlier ids sort before it. */
export function firstIdAt(prefix: string, now: number): string {
  return textUpTo(digitsFrom, prefix, now);
}

/** timeOfId returns when an id was made, in milliseconds since 1970; undefined for a text that is no id. */
export function timeOfId(id: string): number | undefined {
  const from = id.indexOf("_") + 1;
  let ms = 0;
  for (let at = from; at < from + timeDigits; at++) {
    const digit = alphabet.indexOf(id.charAt(at) || "-");
    if (digit === -1) return undefined;
    ms = ms * 32 + digit;
  }
  return ms;
}

function textUpTo(to: number, prefix: string, now: number): string {
  const from = longestPrefix - prefix.length;
  if (from < 0) throw new RangeError(`the prefix ${prefix} is too long`);
  const ms = Math.min(Math.max(0, Math.floor(now)), lastMs);
  if (ms !== timeMs) {
    let rest = ms;
    for (let at = digitsFrom - 1; at >= timeFrom; at--) {
      written[at] = codes[rest % 32] as number;
      rest = Math.floor(rest / 32);
    }
    timeMs = ms;
  }
  for (let i = 0; i < prefix.length; i++) written[from + i] = prefix.charCodeAt(i);
  written[longestPrefix] = underscore;
  return written.toString("latin1", from, to);
}

/** shortHash returns 8 hexadecimal digits that follow from a text: enough to tell names apart, and no proof of anything. */
export function shortHash(text: string): string {
  return hash("sha256", text, "hex").slice(0, 8);
}
