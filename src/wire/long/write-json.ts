/** Writes JSON in turns, as `JSON.stringify` writes it: nobody waits for what is long. */
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { join } from "./join.ts";

/** In characters: so much is put together before it is handed on. A long text is written in parts of this. */
const partLength = 65_536;

/** Takes text in the order in which it stands. */
export type TakeText = (text: string) => void;

/** A text that grows up to a part, and is handed on then. */
interface Growing {
  text: string;
  readonly take: TakeText;
}

/** Writes the value. With `isSorted`, members stand by the order of their names. */
export function* writeJson(value: JsonValue, take: TakeText, isSorted = false): CooperativeTask<void> {
  const growing: Growing = { text: "", take };
  yield* write(value, growing, isSorted);
  if (growing.text !== "") take(growing.text);
}

/** Returns the value in bytes. `count` is told how many they are, as they come to be. */
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

function* write(value: JsonValue, growing: Growing, isSorted: boolean): CooperativeTask<void> {
  if (typeof value === "string" && value.length > partLength) yield* writeText(value, growing);
  else if (typeof value !== "object" || value === null) add(growing, JSON.stringify(value));
  else if (Array.isArray(value)) yield* writeList(value, growing, isSorted);
  else yield* writeObject(value, growing, isSorted);
  if (growing.text.length >= partLength) {
    handOn(growing);
    yield;
  }
}

function add(growing: Growing, text: string): void {
  growing.text += text;
}

function handOn(growing: Growing): void {
  growing.take(growing.text);
  growing.text = "";
}

function* writeList(list: readonly JsonValue[], growing: Growing, isSorted: boolean): CooperativeTask<void> {
  add(growing, "[");
  let isFirst = true;
  for (const item of list) {
    if (!isFirst) add(growing, ",");
    isFirst = false;
    // What is undefined has no place in an object, and stands as null in a list.
    yield* write(item ?? null, growing, isSorted);
  }
  add(growing, "]");
}

function* writeObject(object: JsonObject, growing: Growing, isSorted: boolean): CooperativeTask<void> {
  const keys = isSorted ? sortedKeys(object) : Object.keys(object);
  add(growing, "{");
  let isFirst = true;
  for (const key of keys) {
    const value = object[key];
    if (value === undefined) continue;
    add(growing, `${isFirst ? "" : ","}${JSON.stringify(key)}:`);
    isFirst = false;
    yield* write(value, growing, isSorted);
  }
  add(growing, "}");
}

/** Returns the names as they stand in an object into which they are put in their order: what are numbers come first. */
export function sortedKeys(object: JsonObject): string[] {
  const names = Object.keys(object).sort();
  return Object.keys(Object.fromEntries(names.map((key) => [key, null])));
}

function* writeText(text: string, growing: Growing): CooperativeTask<void> {
  add(growing, '"');
  for (let at = 0; at < text.length; ) {
    let end = Math.min(text.length, at + partLength);
    // Half of a character would be written as an escape.
    if (end < text.length && isHigh(text.charCodeAt(end - 1))) end--;
    add(growing, JSON.stringify(text.slice(at, end)).slice(1, -1));
    at = end;
    handOn(growing);
    yield;
  }
  add(growing, '"');
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
