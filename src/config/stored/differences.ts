/**
 * Finds in what two documents differ. Upstreams and models are compared by their names, wherever they stand in their list; their order
 * is compared by itself. Secrets are compared as they are, and shown as masks. Where only one document has a key, it differs from the
 * default, which is in force without it.
 */
import { fileSchema } from "../schema.ts";
import { defaultOf, itemSchema, memberSchema, type Schema } from "./defaults.ts";
import { entryName, isJson, isListKey, type Json, type JsonValue } from "./documents.ts";
import { masked } from "./masks.ts";

export interface Difference {
  /** path is the place in words, as `upstreams[openai].base_url`. */
  readonly path: string;
  readonly kind: "added" | "removed" | "changed";
  /** before and after are masked; undefined where there is no value. */
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
}

/** Side is a value of a document, as it is and as it is shown. */
interface Side {
  readonly value: JsonValue | undefined;
  readonly shown: JsonValue | undefined;
}

/** Beside is what is in force beside the documents. */
export interface Beside {
  /** file has the keys that are served as they are there, whatever the documents say. */
  readonly file: Json;
  /** defaults are those that follow from other keys, by the keys at the top. */
  readonly defaults: Json;
}

const nothing: Side = { value: undefined, shown: undefined };

const alone: Beside = { file: {}, defaults: {} };

/** differencesOf returns how the second document differs from the first. */
export function differencesOf(first: Json, second: Json, { file, defaults }: Beside = alone): readonly Difference[] {
  const before: Side = { value: first, shown: masked(first) };
  const after: Side = { value: second, shown: masked(second) };
  return keysOf(before, after).flatMap((key) => {
    const [one, other] = [at(before, key), at(after, key)];
    const schema = memberSchema(fileSchema, key);
    if (isNamedList(key, one, other)) return differInList(key, one, other, itemSchema(schema));
    if (Object.hasOwn(file, key)) return differ(key, one, other, schema);
    return differFromDefault(key, one, other, { schema, of: Object.hasOwn(defaults, key) ? defaults[key] : undefined });
  });
}

/** changedParts returns the entries and keys that differ, as `upstreams[openai]` or `tiers`: each once. */
export function changedParts(differences: readonly Difference[]): readonly string[] {
  return [...new Set(differences.map(({ path }) => /^\w+(?:\[[^\]]*\])?/.exec(path)?.[0] ?? path).map(partOf))];
}

/** Entries have names in some lists only; of others the list is the part. */
function partOf(path: string): string {
  const key = path.replace(/\[.*/, "");
  return isListKey(key) ? path : key;
}

function isNamedList(key: string, ...sides: readonly Side[]): boolean {
  if (!isListKey(key)) return false;
  const lists = sides.map(({ value = [] }) => value);
  return lists.every((list) => Array.isArray(list) && hasNames(key, list as readonly JsonValue[]));
}

function hasNames(key: string, list: readonly JsonValue[]): boolean {
  const names = list.map((entry) => entryName(key, entry));
  return !names.includes(undefined) && new Set(names).size === names.length;
}

function differInList(key: string, before: Side, after: Side, schema: Schema | undefined): Difference[] {
  const [ones, others] = [namedEntries(key, before), namedEntries(key, after)];
  const names = [...new Set([...ones.keys(), ...others.keys()])];
  const entries = names.flatMap((name) =>
    differ(`${key}[${name}]`, ones.get(name) ?? nothing, others.get(name) ?? nothing, schema),
  );
  const [was, is] = [[...ones.keys()], [...others.keys()]];
  // Without what was removed, what was added stands last: any other order is a difference of its own.
  const expected = [...was.filter((name) => others.has(name)), ...is.filter((name) => !ones.has(name))];
  const isOrdered = expected.every((name, i) => name === is[i]);
  return isOrdered ? entries : [...entries, { path: key, kind: "changed", before: expected, after: is }];
}

function namedEntries(key: string, { value, shown }: Side): ReadonlyMap<string, Side> {
  const list = (value ?? []) as readonly JsonValue[];
  const shownList = (shown ?? []) as readonly JsonValue[];
  return new Map(list.map((entry, i) => [entryName(key, entry) as string, { value: entry, shown: shownList[i] }]));
}

interface Default {
  readonly schema: Schema | undefined;
  /** of is the default itself, where the schema does not have it. */
  readonly of?: JsonValue | undefined;
}

/** differFromDefault compares two values, of which the one that there is not is the default. What is just the default is added, or removed. */
function differFromDefault(path: string, before: Side, after: Side, { schema, of }: Default): Difference[] {
  const value = before.value === undefined || after.value === undefined ? (of ?? defaultOf(schema)) : undefined;
  const side: Side = { value, shown: value };
  if (value === undefined || isAlike(value, before.value ?? after.value)) return differ(path, before, after, schema);
  const [one, other] = before.value === undefined ? [side, after] : [before, side];
  const found = differ(path, one, other, schema);
  // An object may have nothing but defaults.
  return found.length > 0 ? found : differ(path, before, after, schema);
}

function differ(path: string, before: Side, after: Side, schema: Schema | undefined): Difference[] {
  const [one, other] = [before.value, after.value];
  if (isAlike(one, other)) return [];
  if (isJson(one) && isJson(other))
    return keysOf(before, after).flatMap((key) =>
      differFromDefault(`${path}.${key}`, at(before, key), at(after, key), { schema: memberSchema(schema, key) }),
    );
  if (isListOfObjects(one) && isListOfObjects(other))
    return Array.from({ length: Math.max(one.length, other.length) }, (_, i) =>
      differ(`${path}[${i}]`, itemAt(before, i), itemAt(after, i), itemSchema(schema)),
    ).flat();
  const kind = one === undefined ? "added" : other === undefined ? "removed" : "changed";
  return [{ path, kind, before: before.shown, after: after.shown }];
}

/** Other lists, as aliases and keys, are compared as a whole. */
function isListOfObjects(value: JsonValue | undefined): value is readonly Json[] {
  return Array.isArray(value) && value.length > 0 && value.every(isJson);
}

function keysOf(...sides: readonly Side[]): string[] {
  return [...new Set(sides.flatMap(({ value }) => (isJson(value) ? Object.keys(value) : [])))];
}

function at({ value, shown }: Side, key: string): Side {
  const member = (one: JsonValue | undefined) => (isJson(one) && Object.hasOwn(one, key) ? one[key] : undefined);
  return { value: member(value), shown: member(shown) };
}

function itemAt({ value, shown }: Side, i: number): Side {
  return { value: (value as readonly JsonValue[])[i], shown: (shown as readonly JsonValue[])[i] };
}

/** isAlike compares two values; the order of the members of an object is no difference. */
export function isAlike(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item: JsonValue, i) => isAlike(item, other[i] as JsonValue));
  if (!isJson(one) || !isJson(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isAlike(one[key], other[key]))
  );
}
