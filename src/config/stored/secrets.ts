/**
 * Secrets are the texts that the schema marks as such (`writeOnly`): credentials of upstreams, values of headers and queries. They are
 * found by the schema, so a key that is added to it is sealed and masked without being named here.
 */
import { z } from "zod";
import { fileSchema } from "../schema.ts";
import { entryPlace, isJson, type Json, type JsonValue } from "./documents.ts";

/** MapSecret returns what takes the place of a secret. `path` is its place in words, as `upstreams[openai].api_key`. */
export type MapSecret = (secret: string, path: string) => string;

/** mapSecrets returns a document with other texts in the places of its secrets; of what has none the same object. */
export function mapSecrets(document: Json, map: MapSecret): Json {
  return mapped(fileSchema, document, "", map) as Json;
}

/** secretsOf returns the secrets of a document by their places. */
export function secretsOf(document: Json): ReadonlyMap<string, string> {
  const secrets = new Map<string, string>();
  mapSecrets(document, (secret, path) => {
    secrets.set(path, secret);
    return secret;
  });
  return secrets;
}

type Schema = z.core.$ZodType;
type Def = z.core.$ZodTypes["_zod"]["def"];

function mapped(schema: Schema, value: JsonValue, path: string, map: MapSecret): JsonValue {
  const def = (schema as z.core.$ZodTypes)._zod.def as Def;
  switch (def.type) {
    case "string":
      return typeof value === "string" && isSecret(schema) ? map(value, path) : value;
    case "optional":
    case "default":
    case "nullable":
      return mapped(def.innerType, value, path, map);
    case "pipe":
      return mapped(def.in, value, path, map);
    case "object":
      return isJson(value) ? mappedObject(def.shape, value, path, map) : value;
    case "record":
      return isJson(value)
        ? mappedMembers(value, (key, one) => mapped(def.valueType, one, `${path}.${key}`, map))
        : value;
    case "array":
      return Array.isArray(value) ? mappedList(def.element, value as JsonValue[], path, map) : value;
    case "union":
      // A text or an object: what fits none of them is left as it is, and refused by the schema.
      return def.options.reduce((one: JsonValue, option) => mapped(option, one, path, map), value);
  }
  return value;
}

function mappedObject(shape: Readonly<Record<string, Schema>>, value: Json, path: string, map: MapSecret): JsonValue {
  return mappedMembers(value, (key, one) => {
    const schema = Object.hasOwn(shape, key) ? shape[key] : undefined;
    return schema ? mapped(schema, one, path === "" ? key : `${path}.${key}`, map) : one;
  });
}

function mappedMembers(value: Json, map: (key: string, value: JsonValue) => JsonValue): Json {
  const entries = Object.entries(value).map(([key, one]) => [key, map(key, one)] as const);
  return entries.every(([key, one]) => one === value[key]) ? value : Object.fromEntries(entries);
}

function mappedList(element: Schema, list: readonly JsonValue[], path: string, map: MapSecret): JsonValue {
  const items = list.map((one, i) =>
    mapped(element, one, path.includes(".") ? `${path}[${i}]` : entryPlace(path, one, i), map),
  );
  return items.every((one, i) => one === list[i]) ? list : items;
}

function isSecret(schema: Schema): boolean {
  return z.globalRegistry.get(schema)?.writeOnly === true;
}
