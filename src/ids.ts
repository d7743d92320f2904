/**
 * Identifiers: a prefix that says what it names, and 25 characters that sort by the time they were made. Those that one
 * process makes in one millisecond sort by their order.
 */
import { randomFillSync } from "node:crypto";

/** Crockford's base 32, in lower case: no letter is taken for a digit. */
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
const pool = Buffer.alloc(16 * 256);
let used = pool.length;

/** The last millisecond that an id can tell. */
const lastMs = 32 ** 9 - 1;

const digits = new Uint8Array(16);
/** The same as text, which is made of bytes at once: put together from sixteen strings it would be a tree of them. */
const random = Buffer.alloc(digits.length);
const codes = Buffer.from(alphabet);
let digitsAt = Number.NaN;

/** Makes an id: 9 characters of the time in milliseconds, and 16 (80 bits) that are random or, in the same one, count on. */
export function newId(prefix: string, now: number = Date.now()): string {
  if (now === digitsAt) countOn();
  else draw();
  digitsAt = now;
  for (let i = 0; i < digits.length; i++) random[i] = codes[digits[i] as number] as number;
  return firstIdAt(prefix, now) + random.toString("latin1");
}

/** Half of the first digits are left for counting: it never comes to an end. */
function draw(): void {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  for (let i = 0; i < digits.length; i++) digits[i] = (pool[used++] as number) & (i === 0 ? 15 : 31);
}

function countOn(): void {
  let at = digits.length - 1;
  while (digits[at] === 31) digits[at--] = 0;
  digits[at] = (digits[at] as number) + 1;
}

/** The moment that was written last: many ids are made in one. */
let timeMs = -1;
let timeText = "";

/** Returns what all ids from this moment on are after, and all from before it are before. */
export function firstIdAt(prefix: string, now: number): string {
  const ms = Math.min(Math.max(0, now), lastMs);
  if (ms !== timeMs) {
    timeText = "";
    for (let rest = ms, i = 0; i < 9; i++, rest = Math.floor(rest / 32)) timeText = alphabet[rest % 32] + timeText;
    timeMs = ms;
  }
  return `${prefix}_${timeText}`;
}
