/**
 * Documents are parts of the configuration as plain JSON, in the shape of gateway.yaml: what is stored, what the file has, and both
 * together. A place in one is named by words, in which upstreams and models go by their names and not by their numbers:
 * `upstreams[openai].base_url`.
 */
import { pathText } from "../document.ts";
import { operationalKeys } from "../shape.ts";

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | Json;
/** Json is a JSON object. */
export interface Json {
  readonly [key: string]: JsonValue;
}

/** StoredDocument is what is stored, opened: its secrets are as they were given. */
export interface StoredDocument {
  /** version is what it is called where it has a fault. */
  readonly version: number;
  readonly document: Json;
}

/** nameMembers are the members that name the entries of a list, by its key. Other lists have entries without names. */
const nameMembers = { upstreams: "name", models: "id", catalogue: "id" } as const;

/** ListKey is the key of a list whose entries have names. */
export type ListKey = keyof typeof nameMembers;
export const listKeys = Object.keys(nameMembers) as readonly ListKey[];

/** isListKey reports whether entries of a list have names. */
export function isListKey(key: string): key is ListKey {
  return Object.hasOwn(nameMembers, key);
}

const operational: ReadonlySet<string> = new Set(Object.values(operationalKeys));

/** isOperational reports whether a key may be stored. */
export function isOperational(key: string): boolean {
  return operational.has(key);
}

export function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** plainJson returns a value as JSON: YAML's dates become texts, and members without a value are left out. */
export function plainJson(value: object): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}

/** memberOf returns a member of an object that is its own; undefined for anything else. */
export function memberOf(value: JsonValue | undefined, key: string): JsonValue | undefined {
  return isJson(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** listAt returns a list of a document, empty where there is none. */
export function listAt(document: JsonValue | undefined, key: string): readonly JsonValue[] {
  const list = memberOf(document, key);
  return Array.isArray(list) ? (list as readonly JsonValue[]) : [];
}

/** entryName returns the name of an entry of a list at the top of a document; undefined where its entries have none. */
export function entryName(listKey: string, entry: JsonValue | undefined): string | undefined {
  const name = isListKey(listKey) ? memberOf(entry, nameMembers[listKey]) : undefined;
  return typeof name === "string" ? name : undefined;
}

/** entryPlace returns the place of an entry of a list in words, as `upstreams[openai]`; by its number where it has no name. */
export function entryPlace(listKey: string, entry: JsonValue | undefined, index: number): string {
  return `${listKey}[${entryName(listKey, entry) ?? index}]`;
}

/** withoutEmpty returns a document without those lists of named entries that are empty. */
export function withoutEmpty(document: Json): Json {
  const isEmpty = (key: string, value: JsonValue) => isListKey(key) && Array.isArray(value) && value.length === 0;
  return Object.fromEntries(Object.entries(document).filter(([key, value]) => !isEmpty(key, value)));
}

/** placeOf returns a path into a document in words. */
export function placeOf(document: JsonValue | undefined, path: readonly PropertyKey[]): string {
  const [top, index, ...rest] = path;
  if (top === undefined) return "";
  if (typeof index !== "number") return pathText(path);
  const entry = entryPlace(String(top), listAt(document, String(top))[index], index);
  return typeof rest[0] === "number" || rest.length === 0 ? `${entry}${pathText(rest)}` : `${entry}.${pathText(rest)}`;
}

/** pathAt returns the path of a place in words, as far as the document has it: the reverse of placeOf. */
export function pathAt(document: JsonValue, place: string): readonly PropertyKey[] {
  const [, top = "", name] = /^(\w+)(?:\[([^\]]*)\])?/.exec(place) ?? [];
  const list = listAt(document, top);
  const index = name === undefined ? -1 : list.findIndex((entry, i) => (entryName(top, entry) ?? String(i)) === name);
  const before = name === undefined ? top : `${top}[${name}]`;
  const steps = [...place.slice(before.length).matchAll(/\[(\d+)\]|\.([^.[]+)/g)].map(([, number, key]) =>
    number === undefined ? (key as string) : Number(number),
  );
  return index < 0 ? [top, ...(name === undefined ? steps : [])] : [top, index, ...steps];
}
