/** Reader steps through the characters of a regular expression. */
export interface Reader {
  readonly source: readonly string[];
  at: number;
}

/** Unreadable means a broken or unsupported expression. */
export class Unreadable extends Error {}

export function peek(reader: Reader): string | undefined {
  return reader.source[reader.at];
}

/** take skips a character if it comes next, and reports whether it did. */
export function take(reader: Reader, sign: string): boolean {
  if (peek(reader) !== sign) return false;
  reader.at += 1;
  return true;
}

/** advance returns the next character. Throws Unreadable at the end. */
export function advance(reader: Reader): string {
  const sign = peek(reader);
  if (sign === undefined) throw new Unreadable();
  reader.at += 1;
  return sign;
}

export function readUntil(reader: Reader, end: string): string {
  let text = "";
  for (let next = advance(reader); next !== end; next = advance(reader)) text += next;
  return text;
}
