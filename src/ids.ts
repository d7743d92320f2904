/**
 * Identifiers: a prefix that says what it names, and 25 characters that sort by the time they were made.
 */
import { randomFillSync } from "node:crypto";

/** Crockford's base 32, in lower case: no letter is taken for a digit. */
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
const pool = Buffer.alloc(16 * 256);
let used = pool.length;

/** The last millisecond that an id can tell. */
const lastMs = 32 ** 9 - 1;

/** Makes an id: 9 characters of the time in milliseconds and 16 random ones (80 bits). */
export function newId(prefix: string, now: number = Date.now()): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  let random = "";
  for (let i = 0; i < 16; i++) random += alphabet[(pool[used++] as number) & 31];
  return firstIdAt(prefix, now) + random;
}

/** Returns what all ids from this moment on are after, and all from before it are before. */
export function firstIdAt(prefix: string, now: number): string {
  let time = "";
  const ms = Math.min(Math.max(0, now), lastMs);
  for (let rest = ms, i = 0; i < 9; i++, rest = Math.floor(rest / 32)) time = alphabet[rest % 32] + time;
  return `${prefix}_${time}`;
}
