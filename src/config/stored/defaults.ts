/**
 * The defaults of keys that a document leaves out, by the schema: what is in force there, and so what a change of them changes. A key whose
 * absence turns something off has none.
 */
import { z } from "zod";
import type { Json, JsonValue } from "./documents.ts";

export type Schema = z.core.$ZodType;

/** defaultOf returns what holds where there is no value of a schema; undefined for nothing. */
export function defaultOf(schema: Schema | undefined): JsonValue | undefined {
  if (!schema) return undefined;
  const described = z.globalRegistry.get(schema)?.default;
  if (described !== undefined) return described as JsonValue;
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === "default") return def.defaultValue as JsonValue;
  return mayBeLeftOut(schema) ? ({} satisfies Json) : undefined;
}

/** mayBeLeftOut reports whether an object is the same as none: all of its keys may be left out, and some has a default. */
function mayBeLeftOut(schema: Schema): boolean {
  const { def } = unwrapped(schema)._zod;
  if (def.type !== "object") return false;
  const members = Object.values(def.shape);
  const values = members.map(defaultOf);
  const isOptional = (member: Schema, i: number) => values[i] !== undefined || typeOf(member) === "optional";
  return members.every(isOptional) && values.some((value) => value !== undefined);
}

/** memberSchema returns the schema of an object's key; undefined where it has none of its own. */
export function memberSchema(schema: Schema | undefined, key: string): Schema | undefined {
  const def = schema && unwrapped(schema)._zod.def;
  return def?.type === "object" && Object.hasOwn(def.shape, key) ? def.shape[key] : undefined;
}

/** itemSchema returns the schema of a list's entries. */
export function itemSchema(schema: Schema | undefined): Schema | undefined {
  const def = schema && unwrapped(schema)._zod.def;
  return def?.type === "array" ? def.element : undefined;
}

function typeOf(schema: Schema): string {
  return (schema as z.core.$ZodTypes)._zod.def.type;
}

function unwrapped(schema: Schema): z.core.$ZodTypes {
  const one = schema as z.core.$ZodTypes;
  const { def } = one._zod;
  return def.type === "optional" || def.type === "default" || def.type === "nullable" ? unwrapped(def.innerType) : one;
}
