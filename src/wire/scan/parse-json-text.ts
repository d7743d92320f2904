/**
 * Parses JSON as its letter says, also where an engine does not: V8 14.6, in Node 26.10 (26.12.1 is right), takes a key with escapes for
 * another one that it has seen in the same place, where both begin with the same characters, backslash included. After `{"a":1,"mod\\u":1}`
 * the key of `{"a":1,"mod\u0065l":1}` reads as `mod\u`. A caller could so hide members from the gateway which its upstream reads.
 *
 * Only keys with escapes are misread, and only as keys with backslashes. So such a text is parsed with other keys in their places. Remove this
 * file's detour once no engine that the gateway runs on needs it: `misreads` tells.
 */
import { randomBytes } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { putMember } from "../put-member.ts";
import { backslash, quote } from "./punctuation.ts";

/** Reviver returns what stands in place of a value. Its context has the text that a number was written with. */
type Reviver = (key: string, value: JsonValue, context: { readonly source?: string }) => JsonValue;

/** parseJsonText returns the value of a text. Throws a SyntaxError, whose message may quote the text. */
export function parseJsonText(text: string, reviver?: Reviver): JsonValue {
  return misreads && hasEscapedKey(text) ? parseEscapedKeys(text, reviver) : parsed(text, reviver);
}

/** parsed parses without the detour. TypeScript does not know a reviver's third argument yet. */
function parsed(text: string, reviver?: Reviver): JsonValue {
  return reviver ? JSON.parse(text, reviver as Parameters<typeof JSON.parse>[1]) : JSON.parse(text);
}

/** misreads is whether this engine has the fault. */
const misreads = (() => {
  JSON.parse(String.raw`{"":1,"\\":1}`);
  return Object.keys(JSON.parse(String.raw`{"":1,"\n":1}`))[1] !== "\n";
})();

/** hasEscapedKey reports whether a key of the text has an escape. Of a text that is not JSON it may say anything. It takes linear time. */
export function hasEscapedKey(text: string): boolean {
  for (let at = text.indexOf("\\"); at !== -1; ) {
    const end = endOfString(text, at);
    if (end === -1) return false;
    if (isKey(text, end)) return true;
    at = text.indexOf("\\", end);
  }
  return false;
}

/** mark begins the keys that stand in place of others. It is a secret of this process, so that no text has it. */
const mark = `${randomBytes(16).toString("hex")}-`;

/** parseEscapedKeys parses a text with other keys in place of those that have escapes, and puts the right ones in their places. */
export function parseEscapedKeys(text: string, reviver?: Reviver): JsonValue {
  const parts: string[] = [];
  const others = new Map<string, string>();
  let copied = 0;
  for (let at = text.indexOf('"'); at !== -1; ) {
    const end = endOfString(text, at + 1);
    if (end === -1) break;
    if (isKey(text, end) && text.slice(at, end).includes("\\")) {
      parts.push(text.slice(copied, at), plainKey(text.slice(at, end), others));
      copied = end;
    }
    at = text.indexOf('"', end);
  }
  const value = parsed(parts.join("") + text.slice(copied), reviver);
  if (others.size === 0) return value;
  return renamed(value, new Map(Array.from(others, ([name, other]) => [other, name])));
}

/** plainKey writes a key without escapes. One that needs an escape gets another name, which goes into `others`. */
function plainKey(key: string, others: Map<string, string>): string {
  const name = JSON.parse(key) as string;
  const written = JSON.stringify(name);
  if (!written.includes("\\")) return written;
  const other = others.get(name) ?? `${mark}${others.size}`;
  others.set(name, other);
  return `"${other}"`;
}

/** renamed returns a value whose members with these keys have their own names, in their places. It goes as deep as the value does. */
function renamed(value: JsonValue, names: ReadonlyMap<string, string>): JsonValue {
  const root: JsonValue[] = [value];
  const left: Holder[] = [root];
  for (let holder = left.pop(); holder; holder = left.pop()) {
    for (const [key, inner] of Object.entries(holder)) {
      if (typeof inner !== "object" || inner === null) continue;
      const own = Array.isArray(inner) ? inner : withNames(inner, names);
      if (own !== inner) putMember(holder as Record<string, JsonValue>, key, own);
      left.push(own);
    }
  }
  return root[0] as JsonValue;
}

type Holder = JsonValue[] | JsonObject;

/** withNames returns an object whose own keys have their names; the same object where none is another's. */
function withNames(object: JsonObject, names: ReadonlyMap<string, string>): JsonObject {
  if (!Object.keys(object).some((key) => names.has(key))) return object;
  const named: JsonObject = {};
  for (const [key, value] of Object.entries(object)) putMember(named, names.get(key) ?? key, value);
  return named;
}

/** nearby is how many characters are looked at one by one before a search, which has a constant cost. */
const nearby = 32;

/** endOfString returns the index after the closing quote of the string that `from` is in, outside of an escape; -1 where it has none. */
function endOfString(text: string, from: number): number {
  for (let at = from; at < text.length; ) {
    for (const near = at + nearby; at < near; at++) {
      const code = text.charCodeAt(at);
      if (code === quote) return at + 1;
      if (code === backslash) at++;
    }
    const found = text.indexOf('"', at);
    if (found === -1) return -1;
    let slashes = 0;
    while (found - slashes > at && text.charCodeAt(found - slashes - 1) === backslash) slashes++;
    if (slashes % 2 === 0) return found + 1;
    at = found + 1;
  }
  return -1;
}

/** isKey reports whether a colon stands behind a string that ends here. */
function isKey(text: string, end: number): boolean {
  for (let at = end; ; at++) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code === 0x3a;
  }
}
