/**
 * Identifiers: a prefix that says what it names, and 25 characters that sort by the time they were made. Those that one
 * process makes in one millisecond sort by their order.
 */
import { randomFillSync } from "node:crypto";

/** Crockford's base 32, in lower case: no letter is taken for a digit. */
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
/** Of a prefix, in characters, which are of ASCII. */
const longestPrefix = 7;
const underscore = 0x5f;
const pool = Buffer.alloc(16 * 256);
let used = pool.length;

/** How many characters tell the time. */
const timeDigits = 9;
/** The last millisecond that an id can tell. */
const lastMs = 32 ** timeDigits - 1;

const digits = new Uint8Array(16);
const codes = Buffer.from(alphabet);
let digitsAt = Number.NaN;

/** An id as bytes, its prefix at the end of what is kept for that: text is made of them at once, and is no tree of pieces. */
const written = Buffer.alloc(longestPrefix + 1 + timeDigits + 16);
const timeFrom = longestPrefix + 1;
const digitsFrom = timeFrom + timeDigits;

/** Makes an id: 9 characters of the time in milliseconds, and 16 (80 bits) that are random or, in the same one, count on. */
export function newId(prefix: string, now: number = Date.now()): string {
  if (now === digitsAt) countOn();
  else draw();
  digitsAt = now;
  return textUpTo(written.length, prefix, now);
}

/** Half of the first digits are left for counting: it never comes to an end. */
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

/** The moment that was written last: many ids are made in one. */
let timeMs = -1;

/** Returns what all ids from this moment on are after, and all from before it are before. */
export function firstIdAt(prefix: string, now: number): string {
  return textUpTo(digitsFrom, prefix, now);
}

/** Returns when an id was made, in milliseconds since 1970; undefined for what is none. */
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
