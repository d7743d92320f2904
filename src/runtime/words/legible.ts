/**
 * Writes what others have named, or said, so that a terminal shows it in its place: no control character reaches it, and no mark turns the
 * rest of a line around.
 */

/** Control characters, the ends of lines and paragraphs, and all marks of the bidirectional algorithm (UAX #9, section 2). */
const unseen = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** legible writes each such character by its number, as `\u{202e}`. */
export function legible(text: string): string {
  return text.replace(unseen, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}
