/**
 * Replaces top-level members of a JSON object in its text, and leaves every other byte as it came: numbers of any
 * length, key order, white space and signatures over the text survive. And takes one out, as it came.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { closeBrace, closeBracket, comma, openBrace, openBracket, quote } from "./scan/signs.ts";
import type { Steps } from "./scan/steps.ts";
import { endOfText, TextEnds } from "./scan/text-ends.ts";

/** Values of members, by their names; undefined leaves one out. */
export type Changes = Readonly<Record<string, JsonValue | undefined>>;

/**
 * Returns the text with these members set; a member of value undefined is left out. The bytes must be a valid JSON
 * object. Returns undefined where a key is written twice or with escapes: the caller then rebuilds the text from
 * the parsed value, so that no reader downstream can see another member than we saw.
 */
export function spliceMembers(bytes: Buffer, changes: Changes, steps?: Steps): Buffer | undefined {
  const written = membersOf(bytes, steps);
  return written && Buffer.concat(splice(bytes, changes, written));
}

/** As `spliceMembers`, of a text whose members are known. Returns the text in pieces, which are parts of it or new. */
export function splice(bytes: Buffer, changes: Changes, written: Members): Buffer[] {
  const pieces: Buffer[] = [];
  /** From here on the bytes stay as they are, up to the `end` of the last member that was looked at. */
  let kept = 0;
  let end = bytes.indexOf(openBrace) + 1;
  let isFirst = true;
  for (const [key, { valueStart, valueEnd, end: to }] of written) {
    if (!Object.hasOwn(changes, key)) {
      isFirst = false;
    } else if (changes[key] !== undefined) {
      pieces.push(bytes.subarray(kept, valueStart), json(changes[key]));
      kept = valueEnd;
      isFirst = false;
    } else {
      if (kept < end) pieces.push(bytes.subarray(kept, end));
      // What follows brings its comma along, unless it becomes the first.
      kept = isFirst ? to + 1 : to;
    }
    end = to;
  }
  if (kept < end) pieces.push(bytes.subarray(kept, end));
  for (const key in changes) {
    const value = changes[key];
    if (value === undefined || written.has(key)) continue;
    pieces.push(Buffer.from(`${isFirst ? "" : ","}${JSON.stringify(key)}:${JSON.stringify(value)}`));
    isFirst = false;
  }
  pieces.push(bytes.subarray(end));
  return pieces;
}

/** Returns a copy of the parsed object with these members set; a member of value undefined is left out. */
export function withMembers(json: JsonObject, changes: Changes): JsonObject {
  const copy: JsonObject = { ...json };
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined) delete copy[key];
    else copy[key] = value;
  }
  return copy;
}

/**
 * Returns the text of one member's value as it came. The bytes must be a valid JSON object. Returns undefined where there is
 * no such member, or a key is written twice or with escapes.
 */
export function valueText(bytes: Buffer, wanted: string): Buffer | undefined {
  const found = membersOf(bytes)?.get(wanted);
  return found && bytes.subarray(found.valueStart, found.valueEnd);
}

/** The members of an object by their names, in the order in which they stand in its text. */
export type Members = ReadonlyMap<string, Member>;

/** A text of which it is known where its members stand, and what they are to be now. */
export interface SpliceSource {
  readonly bytes: Buffer;
  readonly members: Members;
  readonly changes: Changes;
}

/** Returns undefined where it is not known. */
export function spliceSourceOf(bytes: Buffer, members: Members | undefined): SpliceSource | undefined {
  return members && { bytes, members, changes: {} };
}

/** Where a member's value stands, and where the member ends: before the next comma, white space included. */
export interface Member {
  readonly valueStart: number;
  readonly valueEnd: number;
  readonly end: number;
}

/** Returns the members by their keys, in their order; undefined where a key is written twice or with escapes. */
function membersOf(bytes: Buffer, steps: Steps = { count: 0 }): Map<string, Member> | undefined {
  const members = new Map<string, Member>();
  const ends = new TextEnds();
  ends.begin(bytes);
  let from = bytes.indexOf(openBrace) + 1;
  for (let at = skipSpace(bytes, from); bytes[at] !== closeBrace; at = skipSpace(bytes, from)) {
    // What is no JSON object after all ends somewhere, too.
    if (at >= bytes.length) return undefined;
    const keyEnd = endOfText(bytes, at, ends);
    const key = bytes.toString("utf8", at + 1, keyEnd - 1);
    if (key.includes("\\") || members.has(key)) return undefined;
    const valueStart = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1);
    const valueEnd = endOfValue(bytes, valueStart, ends);
    const to = skipSpace(bytes, valueEnd);
    members.set(key, { valueStart, valueEnd, end: to });
    from = bytes[to] === comma ? to + 1 : to;
  }
  steps.count += from + ends.steps;
  return members;
}

function json(value: JsonValue): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/** Returns the index of the first byte from here on that is no white space. */
export function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++;
  return at;
}

function endOfValue(bytes: Buffer, from: number, ends: TextEnds): number {
  let depth = 0;
  for (let at = from; at < bytes.length; at++) {
    switch (bytes[at]) {
      case quote:
        at = endOfText(bytes, at, ends) - 1;
        if (depth === 0) return at + 1;
        break;
      case openBrace:
      case openBracket:
        depth++;
        break;
      case closeBrace:
      case closeBracket:
        if (depth === 0) return at; // The end of the object around a bare number or word.
        if (--depth === 0) return at + 1;
        break;
      case comma:
      case 0x20:
      case 0x0a:
      case 0x0d:
      case 0x09:
        if (depth === 0) return at;
        break;
    }
  }
  return bytes.length;
}
