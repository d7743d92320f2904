/**
 * Documents are parts of the configuration as plain JSON, in the shape of gateway.yaml: what is stored, what the file has, and both
 * together. A place in one is named by words, in which upstreams and models go by their names and not by their numbers:
 * `upstreams[openai].base_url`.
 */
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

/** keyedLists are the lists whose entries have names: by the key, the member that is the name. */
const keyedLists: ReadonlyMap<string, string> = new Map([
  ["upstreams", "name"],
  ["models", "id"],
  ["catalogue", "id"],
]);

/** ListKey is the key of a list whose entries have names. */
export type ListKey = "upstreams" | "models" | "catalogue";
export const listKeys: readonly ListKey[] = ["upstreams", "models", "catalogue"];

const operational: ReadonlySet<string> = new Set(Object.values(operationalKeys));

/** isOperational reports whether a key may be stored. */
export function isOperational(key: string): boolean {
  return operational.has(key);
}

export function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
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
  const member = keyedLists.get(listKey);
  const name = member === undefined ? undefined : memberOf(entry, member);
  return typeof name === "string" ? name : undefined;
}

/** entryPlace returns the place of an entry of a list in words, as `upstreams[openai]`; by its number where it has no name. */
export function entryPlace(listKey: string, entry: JsonValue | undefined, index: number): string {
  return `${listKey}[${entryName(listKey, entry) ?? index}]`;
}

/** withoutEmpty returns a document without lists of upstreams and models that are empty. */
export function withoutEmpty(document: Json): Json {
  const isEmpty = (key: string, value: JsonValue) => keyedLists.has(key) && Array.isArray(value) && value.length === 0;
  return Object.fromEntries(Object.entries(document).filter(([key, value]) => !isEmpty(key, value)));
}

/** placeOf returns a path into a document in words. */
export function placeOf(document: JsonValue | undefined, path: readonly PropertyKey[]): string {
  const [top, index, ...rest] = path;
  if (top === undefined) return "";
  if (typeof index !== "number") return wordsOf(path);
  return `${entryPlace(String(top), listAt(document, String(top))[index], index)}${wordsOf(rest, ".")}`;
}

function wordsOf(path: readonly PropertyKey[], before = ""): string {
  const words = path.map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`)).join("");
  return before === "" ? words.replace(/^\./, "") : words;
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
