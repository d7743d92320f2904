/**
 * Builds a value from the pieces of a long JSON text, in time slices. The result equals that of `parseExactly` on the whole
 * text, but for names with escapes: their free objects are always found here.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { putMember } from "../put-member.ts";
import { isFreeName } from "./parse-exactly.ts";
import { type Container, type Name, nameIn, type Range, type Text } from "./pieces.ts";
import { backslash } from "./punctuation.ts";
import type { Steps } from "./steps.ts";
import { filler, isPlain, parseText } from "./strings.ts";

/** Bytes of a long string that are decoded at a time. */
const partBytes = 256 * 1024;

/**
 * OmittedText is a long plain string that was not read: its position in the text, and the member where a filler
 * stands.
 */
export interface OmittedText {
  readonly holder: JsonObject | JsonValue[];
  readonly key: string | number;
  readonly from: number;
  readonly to: number;
}

/** `omitted` collects long plain strings instead of reading them; without it all are read. */
export interface BuildOptions {
  readonly bytes: Buffer;
  readonly omitted: OmittedText[] | undefined;
  readonly steps?: Steps | undefined;
  /** isFree is whether numbers of the value keep their digits, which else those under free names do. */
  readonly isFree?: boolean | undefined;
}

/** build builds the value. Throws a WireFault. */
export function* build(piece: Container, options: BuildOptions): CooperativeTask<JsonObject | JsonValue[]> {
  const made: JsonObject | JsonValue[] = piece.isObject ? {} : [];
  for (const part of piece.pieces) {
    if (part.kind === "range") addRange(made, options, part);
    else {
      const key = Array.isArray(made) ? made.length : nameOf(part, options.bytes);
      const value =
        part.kind === "text"
          ? yield* textOf(part, key, made, options)
          : yield* build(part, isFreePart(part, key, options) ? { ...options, isFree: true } : options);
      putMember(made as Record<string | number, JsonValue>, key, value);
    }
    yield;
  }
  return made;
}

function isFreePart({ isObject }: Container, key: string | number, { isFree = false }: BuildOptions): boolean {
  return !isFree && isObject && typeof key === "string" && isFreeName(key);
}

function nameOf({ name }: Text | Container, bytes: Buffer): string {
  return nameIn(bytes, name as Name);
}

function addRange(made: JsonObject | JsonValue[], { bytes, steps, isFree }: BuildOptions, { from, to }: Range): void {
  if (steps) steps.count += to - from;
  const text = bytes.toString("utf8", from, to);
  if (Array.isArray(made)) {
    for (const item of parseText(`[${text}]`, isFree) as JsonValue[]) made.push(item);
    return;
  }
  const members = parseText(`{${text}}`, isFree) as JsonObject;
  for (const key of Object.keys(members)) putMember(made, key, members[key] as JsonValue);
}

function* textOf(
  { from, to }: Text,
  key: string | number,
  holder: JsonObject | JsonValue[],
  { bytes, omitted, steps = { count: 0 } }: BuildOptions,
): CooperativeTask<string> {
  const text = bytes.subarray(from + 1, to - 1);
  if (yield* isPlainText(text, steps)) {
    if (!omitted) return text.toString("latin1");
    omitted.push({ holder, key, from: from + 1, to: to - 1 });
    return filler(text.length);
  }
  let read = "";
  for (let at = 0; at < text.length; ) {
    const end = endOfPart(text, at, steps);
    steps.count += end - at;
    read += parseText(`"${text.toString("utf8", at, end)}"`) as string;
    at = end;
    yield;
  }
  return read;
}

function* isPlainText(text: Buffer, steps: Steps): CooperativeTask<boolean> {
  for (let at = 0; at < text.length; at += partBytes) {
    steps.count += Math.min(partBytes, text.length - at);
    if (!isPlain(text.subarray(at, at + partBytes))) return false;
    yield;
  }
  return true;
}

/** endOfPart returns the end of the part that begins at `from`, which splits no character and no escape. */
function endOfPart(text: Buffer, from: number, steps: Steps): number {
  let end = from + partBytes;
  if (end >= text.length) return text.length;
  while (((text[end] as number) & 0xc0) === 0x80) end--;
  return behindEscape(text, from, end, steps);
}

/** An escape has six bytes at most. */
function behindEscape(text: Buffer, from: number, end: number, steps: Steps): number {
  for (let at = Math.max(from, end - 6); at < end; at++) {
    if (text[at] !== backslash) continue;
    let slashes = 1;
    while (at - slashes >= from && text[at - slashes] === backslash) slashes++;
    steps.count += slashes;
    // An odd number of backslashes begins an escape.
    if (slashes % 2 === 0) continue;
    const length = text[at + 1] === 0x75 ? 6 : 2;
    if (at + length > end) return at > from ? at : Math.min(text.length, at + length);
  }
  return end;
}

/** restoreOmitted puts the omitted strings into their places. */
export function restoreOmitted(bytes: Buffer, leftOut: readonly OmittedText[]): void {
  for (const { holder, key, from, to } of leftOut) {
    (holder as Record<string | number, JsonValue>)[key] = bytes.toString("latin1", from, to);
  }
}
