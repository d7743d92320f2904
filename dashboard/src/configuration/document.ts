/**
 * Reads documents of the configuration: plain JSON in the shape of gateway.yaml. Entries of lists are found by their names, and what the
 * file has is the file's.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

export type { JsonObject, JsonValue };

/** nameKeys are the keys by which entries of lists are told apart. */
const nameKeys = { upstreams: "name", models: "id" } as const;

export type ListName = keyof typeof nameKeys;

/** Origin is where an entry or a setting is written; undefined: in neither. */
export type Origin = "file" | "stored" | undefined;

export interface Documents {
  readonly document?: JsonObject | undefined;
  readonly file?: JsonObject | undefined;
  readonly effective?: JsonObject | undefined;
}

/** entriesOf returns the entries of a list, in their order. */
export function entriesOf(document: JsonObject | undefined, list: ListName): readonly JsonObject[] {
  const entries = document?.[list];
  return Array.isArray(entries) ? entries.filter(isObject) : [];
}

export function entryOf(document: JsonObject | undefined, list: ListName, name: string): JsonObject | undefined {
  return entriesOf(document, list).find((entry) => entry[nameKeys[list]] === name);
}

/** originOf returns where an entry is written. One of both is the file's. */
export function originOf({ file, document }: Documents, list: ListName, name: string): Origin {
  if (entryOf(file, list, name)) return "file";
  return entryOf(document, list, name) ? "stored" : undefined;
}

/** writtenEntry returns the entry that counts. */
export function writtenEntry({ file, document }: Documents, list: ListName, name: string): JsonObject | undefined {
  return entryOf(file, list, name) ?? entryOf(document, list, name);
}

/** isObject reports whether a value is an object and not a list. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** objectAt returns the object at a key, or an empty one. */
export function objectAt(value: JsonObject | undefined, key: string): JsonObject {
  const found = value?.[key];
  return isObject(found) ? found : {};
}

/** textAt returns a text or a number as a text; empty where there is none. */
export function textAt(value: JsonObject | undefined, key: string): string {
  const found = value?.[key];
  return typeof found === "string" ? found : typeof found === "number" ? String(found) : "";
}

function listAt(value: JsonObject | undefined, key: string): readonly JsonValue[] {
  const found = value?.[key];
  return Array.isArray(found) ? found : [];
}

export function textsAt(value: JsonObject | undefined, key: string): readonly string[] {
  return listAt(value, key).filter((one) => typeof one === "string");
}

export function objectsAt(value: JsonObject | undefined, key: string): readonly JsonObject[] {
  return listAt(value, key).filter(isObject);
}

/** withValues returns the object with these members; those that are undefined are removed. */
export function withValues(object: JsonObject, values: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const all: Record<string, JsonValue | undefined> = { ...object, ...values };
  return Object.fromEntries(
    Object.entries(all).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined),
  );
}

/** numberOf reads a field's text; undefined for an empty one. What is no number stays a text, which the gateway refuses by its place. */
export function numberOf(text: string): number | string | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  const number = Number(trimmed);
  return Number.isFinite(number) ? number : trimmed;
}

/** wordsOf reads a field's text; undefined for an empty one. */
export function wordsOf(text: string): string | undefined {
  return text.trim() || undefined;
}

/** choiceOf writes a boolean as `yes` or `no`; empty for what is left to the default. */
export function choiceOf(value: JsonValue | undefined): string {
  return typeof value === "boolean" ? (value ? "yes" : "no") : "";
}

/** booleanOf reads what `choiceOf` writes; undefined for an empty text. */
export function booleanOf(choice: string): boolean | undefined {
  return choice === "" ? undefined : choice === "yes";
}

/** nonEmpty returns the object; undefined for one without members. */
export function nonEmpty(object: JsonObject): JsonObject | undefined {
  return Object.keys(object).length > 0 ? object : undefined;
}

/** isSame compares two values of documents, whatever the order of their members. */
export function isSame(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((value, i) => isSame(value, other[i]));
  }
  if (!isObject(one) || !isObject(other)) return false;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => isSame(one[key], other[key]));
}
