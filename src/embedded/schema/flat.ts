/**
 * A schema with its references and `allOf` folded into one set of constraints, which an instance can be made from.
 *
 * What offers a choice (`anyOf`, `oneOf`, `if`) is not folded but listed; the search takes one branch of each.
 */
import type { JsonObject, JsonValue } from "../../wire/json.ts";
import { canonical } from "../chat/canonical.ts";
import { itemSchemas, own } from "./fit.ts";
import { addNumber, anyNumber, type NumberRules } from "./number.ts";
import {
  asNumber,
  asObject,
  asText,
  asTexts,
  both,
  costOf,
  maxNesting,
  resolve,
  type Schema,
  step,
  type TypeName,
  typesOf,
  type Work,
} from "./schema.ts";

export interface Flat {
  /** Every schema folded in; a candidate has to fit them all. */
  sources: Schema[];
  choices: Schema[][];
  types: TypeName[] | undefined;
  /** The only values allowed, from `enum` and `const`. */
  values: JsonValue[] | undefined;
  /** What the schema's author offers: `default` and `examples`. */
  offered: JsonValue[];
  number: NumberRules;
  minLength: number;
  maxLength: number;
  pattern: string | undefined;
  format: string | undefined;
  prefix: Schema[];
  items: Schema;
  contains: Schema | undefined;
  minContains: number;
  minItems: number;
  maxItems: number;
  unique: boolean;
  properties: Map<string, Schema>;
  additional: Schema;
  propertyNames: Schema;
  required: Set<string>;
  dependents: Map<string, string[]>;
  minProperties: number;
  maxProperties: number;
}

/** Returns the constraints of `true`. */
export function unconstrained(): Flat {
  return {
    sources: [],
    choices: [],
    types: undefined,
    values: undefined,
    offered: [],
    number: anyNumber,
    minLength: 0,
    maxLength: Infinity,
    pattern: undefined,
    format: undefined,
    prefix: [],
    items: true,
    contains: undefined,
    minContains: 1,
    minItems: 0,
    maxItems: Infinity,
    unique: false,
    properties: new Map(),
    additional: true,
    propertyNames: true,
    required: new Set(),
    dependents: new Map(),
    minProperties: 0,
    maxProperties: Infinity,
  };
}

/** Returns a copy that can be folded into without changing the original. */
export function copyOf(flat: Flat): Flat {
  return {
    ...flat,
    sources: [...flat.sources],
    choices: [...flat.choices],
    offered: [...flat.offered],
    prefix: [...flat.prefix],
    properties: new Map(flat.properties),
    required: new Set(flat.required),
    dependents: new Map(flat.dependents),
  };
}

/** Folds a schema in. Returns false when nothing can fit any more. */
export function fold(flat: Flat, schema: Schema, work: Work, nesting = 0): boolean {
  if (schema === false || nesting > maxNesting || !step(work)) return false;
  const rules = asObject(schema);
  if (!rules) return true;
  // The parts that are folded on their own need not be looked at twice.
  const { allOf, $ref, ...own } = rules;
  flat.sources.push(own);
  const target = typeof $ref === "string" ? resolve(work.root, $ref) : undefined;
  if (target !== undefined && !fold(flat, target, work, nesting + 1)) return false;
  if (Array.isArray(allOf) && !allOf.every((part) => fold(flat, part, work, nesting + 1))) return false;
  foldValues(flat, rules, work);
  foldText(flat, rules);
  foldArray(flat, rules);
  foldObject(flat, rules);
  flat.number = addNumber(flat.number, rules);
  foldChoices(flat, rules);
  return flat.types?.length !== 0 && flat.values?.length !== 0;
}

function foldChoices(flat: Flat, rules: JsonObject): void {
  if (Array.isArray(rules.anyOf)) flat.choices.push(rules.anyOf);
  if (Array.isArray(rules.oneOf)) flat.choices.push(rules.oneOf);
  if (rules.if !== undefined) flat.choices.push([both(rules.if, rules.then ?? true), rules.else ?? true]);
}

function foldValues(flat: Flat, rules: JsonObject, work: Work): void {
  const types = typesOf(rules);
  if (types) flat.types = flat.types ? commonTypes(flat.types, types) : types;
  for (const values of [rules.enum, rules.const === undefined ? undefined : [rules.const]]) {
    if (!Array.isArray(values)) continue;
    const allowed = new Set(values.map(canonical));
    for (const text of allowed) step(work, costOf(text));
    flat.values = flat.values ? flat.values.filter((value) => allowed.has(canonical(value))) : values;
  }
  if (rules.default !== undefined && rules.default !== null) flat.offered.push(rules.default);
  if (Array.isArray(rules.examples)) flat.offered.push(...rules.examples);
}

function commonTypes(a: readonly TypeName[], b: readonly TypeName[]): TypeName[] {
  const allows = (types: readonly TypeName[], type: TypeName) =>
    types.includes(type) || (type === "integer" && types.includes("number"));
  return [...new Set([...a, ...b])].filter((type) => allows(a, type) && allows(b, type));
}

function foldText(flat: Flat, rules: JsonObject): void {
  flat.minLength = Math.max(flat.minLength, asNumber(rules.minLength) ?? 0);
  flat.maxLength = Math.min(flat.maxLength, asNumber(rules.maxLength) ?? Infinity);
  flat.pattern ??= asText(rules.pattern);
  flat.format ??= asText(rules.format);
}

function foldArray(flat: Flat, rules: JsonObject): void {
  const { prefix, rest } = itemSchemas(rules);
  const length = Math.max(prefix.length, flat.prefix.length);
  const at = (i: number) => both(flat.prefix[i] ?? flat.items, prefix[i] ?? rest);
  flat.prefix = Array.from({ length }, (_, i) => at(i));
  flat.items = both(flat.items, rest);
  if (rules.contains !== undefined) {
    flat.contains = both(flat.contains ?? true, rules.contains);
    flat.minContains = asNumber(rules.minContains) ?? 1;
  }
  flat.minItems = Math.max(flat.minItems, asNumber(rules.minItems) ?? 0);
  flat.maxItems = Math.min(flat.maxItems, asNumber(rules.maxItems) ?? Infinity);
  flat.unique ||= rules.uniqueItems === true;
}

function foldObject(flat: Flat, rules: JsonObject): void {
  const properties = asObject(rules.properties) ?? {};
  // Which keys a pattern names cannot be told without running it: any other key is taken to match the first.
  const patterned = Object.values(asObject(rules.patternProperties) ?? {})[0];
  const rest = patterned ?? rules.additionalProperties ?? true;
  for (const key of new Set([...flat.properties.keys(), ...Object.keys(properties)])) {
    flat.properties.set(key, both(propertyOf(flat, key), own(properties, key) ?? rest));
  }
  flat.additional = both(flat.additional, rest);
  flat.propertyNames = both(flat.propertyNames, rules.propertyNames ?? true);
  for (const key of asTexts(rules.required)) flat.required.add(key);
  for (const [key, others] of Object.entries(asObject(rules.dependentRequired) ?? {})) {
    flat.dependents.set(key, [...(flat.dependents.get(key) ?? []), ...asTexts(others)]);
  }
  flat.minProperties = Math.max(flat.minProperties, asNumber(rules.minProperties) ?? 0);
  flat.maxProperties = Math.min(flat.maxProperties, asNumber(rules.maxProperties) ?? Infinity);
}

/** Returns what holds for the value of a key. */
export function propertyOf(flat: Flat, key: string): Schema {
  return flat.properties.get(key) ?? flat.additional;
}
