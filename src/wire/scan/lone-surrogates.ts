/**
 * Replaces halves of surrogate pairs in JSON text, which no UTF-8 has and which many servers refuse with the whole body. A client that cuts
 * a text by its length in UTF-16 cuts through emoji, and writes the half as an escape.
 */
import type { CooperativeTask } from "../../runtime/cooperative.ts";

const replacement = Buffer.from("\\ufffd");
const [backslash, u] = [0x5c, 0x75];
/** The lengths of an escape of a code unit, and of all others, in bytes. */
const [unitLength, otherLength] = [6, 2];
/** So many escapes are looked at before others have their turn: less than a millisecond of work. */
const escapesPerStep = 1_024;

/** withWholeCharacters returns the text with U+FFFD for each lone surrogate, in a buffer of its own; undefined where there is none. */
export function* withWholeCharacters(text: Buffer): CooperativeTask<Buffer | undefined> {
  let whole: Buffer | undefined;
  const replace = (at: number) => {
    whole ??= Buffer.from(text);
    replacement.copy(whole, at);
  };
  /** first is where the first half of a pair stands whose other half has to follow; -1 where there is none. */
  let first = -1;
  let escapes = 0;
  for (let at = text.indexOf(backslash), length = 0; at !== -1; at = text.indexOf(backslash, at + length)) {
    if (++escapes % escapesPerStep === 0) yield;
    const unit = unitAt(text, at);
    length = unit === undefined ? otherLength : unitLength;
    const isSecond = isBetween(unit, 0xdc00, 0xdfff);
    const isPair = isSecond && first !== -1 && at === first + unitLength;
    if (first !== -1 && !isPair) replace(first);
    if (isSecond && !isPair) replace(at);
    first = isBetween(unit, 0xd800, 0xdbff) ? at : -1;
  }
  if (first !== -1) replace(first);
  return whole;
}

/** unitAt returns the code unit of an escape; undefined where it is of something else. */
function unitAt(text: Buffer, at: number): number | undefined {
  if (text[at + 1] !== u) return undefined;
  const hex = text.toString("latin1", at + otherLength, at + unitLength);
  return /^[0-9a-f]{4}$/i.test(hex) ? Number.parseInt(hex, 16) : undefined;
}

function isBetween(unit: number | undefined, from: number, to: number): boolean {
  return unit !== undefined && unit >= from && unit <= to;
}
