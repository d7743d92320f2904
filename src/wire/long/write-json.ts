/** Writes JSON in time slices, with the result of `JSON.stringify`. */
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { isExactNumber } from "../scan/exact-number.ts";
import { join } from "./join.ts";

/** Characters collected before a part is handed over. Longer strings are written in parts of this length. */
const partLength = 65_536;

/** TakeText receives the parts of a text in order. */
export type TakeText = (text: string) => void;

/** TextBuffer collects text up to one part, then hands it over. */
interface TextBuffer {
  text: string;
  readonly take: TakeText;
}

/** writeJson writes the value. With `isSorted` the members are sorted by name. */
export function* writeJson(value: JsonValue, take: TakeText, isSorted = false): CooperativeTask<void> {
  const buffer: TextBuffer = { text: "", take };
  yield* write(value, buffer, isSorted);
  if (buffer.text !== "") take(buffer.text);
}

/** jsonText returns the value as a text. */
export function* jsonText(value: JsonValue): CooperativeTask<string> {
  const parts: string[] = [];
  yield* writeJson(value, (text) => parts.push(text));
  return parts.join("");
}

/** jsonBytes returns the value as bytes. `count` receives the number of bytes so far. */
export function* jsonBytes(value: JsonValue, count: (bytes: number) => void = () => {}): CooperativeTask<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  yield* writeJson(value, (text) => {
    const part = Buffer.from(text);
    length += part.length;
    count(length);
    parts.push(part);
  });
  return yield* join(parts);
}

function* write(value: JsonValue, buffer: TextBuffer, isSorted: boolean): CooperativeTask<void> {
  if (typeof value === "string" && value.length > partLength) yield* writeText(value, buffer);
  else if (typeof value !== "object" || value === null || isExactNumber(value)) add(buffer, JSON.stringify(value));
  else if (Array.isArray(value)) yield* writeList(value, buffer, isSorted);
  else yield* writeObject(value, buffer, isSorted);
  if (buffer.text.length >= partLength) {
    flush(buffer);
    yield;
  }
}

function add(buffer: TextBuffer, text: string): void {
  buffer.text += text;
}

function flush(buffer: TextBuffer): void {
  buffer.take(buffer.text);
  buffer.text = "";
}

function* writeList(list: readonly JsonValue[], buffer: TextBuffer, isSorted: boolean): CooperativeTask<void> {
  add(buffer, "[");
  let isFirst = true;
  for (const item of list) {
    if (!isFirst) add(buffer, ",");
    isFirst = false;
    // As `JSON.stringify` does: undefined is left out of an object, and written as null in a list.
    yield* write(item ?? null, buffer, isSorted);
  }
  add(buffer, "]");
}

function* writeObject(object: JsonObject, buffer: TextBuffer, isSorted: boolean): CooperativeTask<void> {
  const keys = isSorted ? sortedKeys(object) : Object.keys(object);
  add(buffer, "{");
  let isFirst = true;
  for (const key of keys) {
    const value = object[key];
    if (value === undefined) continue;
    add(buffer, `${isFirst ? "" : ","}${JSON.stringify(key)}:`);
    isFirst = false;
    yield* write(value, buffer, isSorted);
  }
  add(buffer, "}");
}

/** sortedKeys returns the names in the order in which an object lists them after sorting: integers first. */
function sortedKeys(object: JsonObject): string[] {
  const names = Object.keys(object).sort();
  return Object.keys(Object.fromEntries(names.map((key) => [key, null])));
}

function* writeText(text: string, buffer: TextBuffer): CooperativeTask<void> {
  add(buffer, '"');
  for (let at = 0; at < text.length; ) {
    let end = Math.min(text.length, at + partLength);
    // Half of a surrogate pair would be written as an escape.
    if (end < text.length && isHigh(text.charCodeAt(end - 1))) end--;
    add(buffer, JSON.stringify(text.slice(at, end)).slice(1, -1));
    at = end;
    flush(buffer);
    yield;
  }
  add(buffer, '"');
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
