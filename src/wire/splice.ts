/**
 * Replaces, removes, renames or extracts top-level members in the text of a JSON object. All other bytes stay as they came, so
 * numbers of any length, key order, white space and signatures over the text survive.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { closeBrace, closeBracket, comma, openBrace, openBracket, quote } from "./scan/punctuation.ts";
import type { Steps } from "./scan/steps.ts";
import { endOfText, TextEnds } from "./scan/text-ends.ts";

/** Changes maps member names to their new values; undefined removes a member. */
export type Changes = Readonly<Record<string, JsonValue | undefined>>;

/**
 * spliceMembers returns the text with these members set; undefined removes a member. The bytes must be a valid JSON object. Returns
 * undefined where a key is duplicated or escaped: the caller then rebuilds the text from the parsed value, so that no reader downstream
 * sees another member than the gateway saw.
 */
export function spliceMembers(bytes: Buffer, changes: Changes, steps?: Steps): Buffer | undefined {
  const written = membersOf(bytes, steps);
  return written && Buffer.concat(splice(bytes, changes, written));
}

/**
 * Does the work of `spliceMembers` where the members are known. Returns the text in pieces, which are slices of it or
 * new.
 */
export function splice(bytes: Buffer, changes: Changes, written: Members): Buffer[] {
  const pieces: Buffer[] = [];
  /** Bytes from `kept` to `end`, the end of the last member seen, are still to be copied. */
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
      // The next member keeps its comma unless it becomes the first.
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

/** withMembers returns a copy of the object with these members set; undefined removes a member. */
export function withMembers(json: JsonObject, changes: Changes): JsonObject {
  const copy: JsonObject = { ...json };
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined) delete copy[key];
    else copy[key] = value;
  }
  return copy;
}

/**
 * valueText returns the text of one member's value as it came. The bytes must be a valid JSON object. Returns undefined where the member is
 * missing, or a key is duplicated or escaped.
 */
export function valueText(bytes: Buffer, name: string): Buffer | undefined {
  const found = membersOf(bytes)?.get(name);
  return found && bytes.subarray(found.valueStart, found.valueEnd);
}

/**
 * withRenamedMembers returns the text with other names for these members. The bytes must be a valid JSON object. Names may be escaped, and
 * the same one may come twice.
 */
export function withRenamedMembers(bytes: Buffer, names: ReadonlyMap<string, string>): Buffer {
  const pieces: Buffer[] = [];
  const ends = new TextEnds();
  ends.begin(bytes);
  let kept = 0;
  let from = bytes.indexOf(openBrace) + 1;
  for (let at = skipSpace(bytes, from); bytes[at] === quote; at = skipSpace(bytes, from)) {
    const keyEnd = endOfText(bytes, at, ends);
    const other = names.get(JSON.parse(bytes.toString("utf8", at, keyEnd)) as string);
    if (other !== undefined) {
      pieces.push(bytes.subarray(kept, at), json(other));
      kept = keyEnd;
    }
    const valueStart = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1);
    const to = skipSpace(bytes, endOfValue(bytes, valueStart, ends));
    from = bytes[to] === comma ? to + 1 : to;
  }
  return Buffer.concat([...pieces, bytes.subarray(kept)]);
}

/** Members maps names to positions, in the order of the text. */
export type Members = ReadonlyMap<string, Member>;

/** SpliceSource is a text, the positions of its members, and the changes to make. */
export interface SpliceSource {
  readonly bytes: Buffer;
  readonly members: Members;
  readonly changes: Changes;
}

/** spliceSourceOf returns undefined where the members are not known. */
export function spliceSourceOf(bytes: Buffer, members: Members | undefined): SpliceSource | undefined {
  return members && { bytes, members, changes: {} };
}

/**
 * Member is the position of a member's value, and of the member's end: before the next comma, white space included.
 */
export interface Member {
  readonly valueStart: number;
  readonly valueEnd: number;
  readonly end: number;
}

/** membersOf returns the members in their order; undefined where a key is duplicated or escaped. */
function membersOf(bytes: Buffer, steps: Steps = { count: 0 }): Map<string, Member> | undefined {
  const members = new Map<string, Member>();
  const ends = new TextEnds();
  ends.begin(bytes);
  let from = bytes.indexOf(openBrace) + 1;
  for (let at = skipSpace(bytes, from); bytes[at] !== closeBrace; at = skipSpace(bytes, from)) {
    // Invalid JSON must end the loop, too.
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

/** skipSpace returns the index of the next byte that is not white space. */
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
        if (depth === 0) return at; // The end of the object after a bare number or word.
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
