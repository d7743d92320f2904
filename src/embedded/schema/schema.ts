/**
 * Reads a JSON Schema as untrusted input.
 *
 * A keyword of the wrong type counts as absent, and a broken reference as no constraint. Every visit costs a step, so
 * a schema made to explode costs a bounded time and then has no instance.
 */
import { type JsonObject, type JsonValue, listOrEmpty } from "../../wire/json.ts";

/** Schema is an object or a boolean; anything else reads as `true`. */
export type Schema = JsonValue;

/** Search is the state that one search for an instance shares. */
export interface Search {
  /** The schema that references start from. */
  readonly root: Schema;
  /** The word that free texts are made of. */
  readonly word: string;
  /** Number of visits left. */
  steps: number;
}

/** The longest chain of schemas that lead to one constraint, to bound the stack. */
export const maxNesting = 200;

/** Pays for visits. Returns false once the search has used up its steps. */
export function step(search: Search, count = 1): boolean {
  search.steps -= count;
  return search.steps >= 0;
}

/** costOf returns the number of visits that scanning a text costs. */
export function costOf(text: string): number {
  return Math.ceil(text.length / 32);
}

/** both returns a schema that holds where both hold. */
export function both(a: Schema, b: Schema): Schema {
  if (a === true || b === false) return b;
  if (b === true || a === false) return a;
  return { allOf: [a, b] };
}

/** resolve returns the schema that a reference points to; undefined where it points nowhere. */
export function resolve(root: Schema, reference: string): Schema | undefined {
  if (reference !== "#" && !reference.startsWith("#/")) return undefined;
  let at: Schema | undefined = root;
  for (const segment of reference.split("/").slice(1)) {
    const key = unescaped(segment);
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as JsonObject)[key];
  }
  return at;
}

function unescaped(segment: string): string {
  const pointer = segment.replaceAll("~1", "/").replaceAll("~0", "~");
  try {
    return decodeURIComponent(pointer);
  } catch {
    return pointer;
  }
}

export function asObject(value: JsonValue | undefined): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
}

export function asTexts(value: JsonValue | undefined): string[] {
  return listOrEmpty(value).filter((item) => typeof item === "string");
}

export function asNumber(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

export function asText(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export const typeNames = ["string", "integer", "number", "boolean", "object", "array", "null"] as const;
export type TypeName = (typeof typeNames)[number];

/** typesOf returns the types that a schema names; undefined where it allows all. */
export function typesOf(schema: JsonObject): TypeName[] | undefined {
  const named = typeof schema.type === "string" ? [schema.type] : asTexts(schema.type);
  const known = typeNames.filter((name) => named.includes(name));
  if (known.length === 0) return undefined;
  return schema.nullable === true && !known.includes("null") ? [...known, "null"] : known;
}
