/**
 * Constraints is a schema with its references and `allOf` folded into one set, from which an instance can be made.
 *
 * Alternatives (`anyOf`, `oneOf`, `if`) are listed, not folded; the search takes one branch of each.
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
  type Search,
  step,
  type TypeName,
  typesOf,
} from "./schema.ts";

export interface Constraints {
  /** Every schema folded in. A candidate must fit them all. */
  sources: Schema[];
  choices: Schema[][];
  types: TypeName[] | undefined;
  /** The only values allowed, by `enum` and `const`. */
  values: JsonValue[] | undefined;
  /** The author's suggestions: `default` and `examples`. */
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

/** unconstrained returns the constraints of the schema `true`. */
export function unconstrained(): Constraints {
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

/** copyOf returns a copy that can be folded into without changing the original. */
export function copyOf(constraints: Constraints): Constraints {
  return {
    ...constraints,
    sources: [...constraints.sources],
    choices: [...constraints.choices],
    offered: [...constraints.offered],
    prefix: [...constraints.prefix],
    properties: new Map(constraints.properties),
    required: new Set(constraints.required),
    dependents: new Map(constraints.dependents),
  };
}

/** Folds a schema in. Returns false where no value can fit any more. */
export function fold(constraints: Constraints, schema: Schema, search: Search, nesting = 0): boolean {
  if (schema === false || nesting > maxNesting || !step(search)) return false;
  const rules = asObject(schema);
  if (!rules) return true;
  // Parts that are folded by themselves are not checked twice.
  const { allOf, $ref, ...own } = rules;
  constraints.sources.push(own);
  const target = typeof $ref === "string" ? resolve(search.root, $ref) : undefined;
  if (target !== undefined && !fold(constraints, target, search, nesting + 1)) return false;
  if (Array.isArray(allOf) && !allOf.every((part) => fold(constraints, part, search, nesting + 1))) return false;
  foldValues(constraints, rules, search);
  foldText(constraints, rules);
  foldArray(constraints, rules);
  foldObject(constraints, rules);
  constraints.number = addNumber(constraints.number, rules);
  foldChoices(constraints, rules);
  return constraints.types?.length !== 0 && constraints.values?.length !== 0;
}

function foldChoices(constraints: Constraints, rules: JsonObject): void {
  if (Array.isArray(rules.anyOf)) constraints.choices.push(rules.anyOf);
  if (Array.isArray(rules.oneOf)) constraints.choices.push(rules.oneOf);
  if (rules.if !== undefined) constraints.choices.push([both(rules.if, rules.then ?? true), rules.else ?? true]);
}

function foldValues(constraints: Constraints, rules: JsonObject, search: Search): void {
  const types = typesOf(rules);
  if (types) constraints.types = constraints.types ? commonTypes(constraints.types, types) : types;
  for (const values of [rules.enum, rules.const === undefined ? undefined : [rules.const]]) {
    if (!Array.isArray(values)) continue;
    const allowed = new Set(values.map(canonical));
    for (const text of allowed) step(search, costOf(text));
    constraints.values = constraints.values
      ? constraints.values.filter((value) => allowed.has(canonical(value)))
      : values;
  }
  if (rules.default !== undefined && rules.default !== null) constraints.offered.push(rules.default);
  if (Array.isArray(rules.examples)) constraints.offered.push(...rules.examples);
}

function commonTypes(a: readonly TypeName[], b: readonly TypeName[]): TypeName[] {
  const allows = (types: readonly TypeName[], type: TypeName) =>
    types.includes(type) || (type === "integer" && types.includes("number"));
  return [...new Set([...a, ...b])].filter((type) => allows(a, type) && allows(b, type));
}

function foldText(constraints: Constraints, rules: JsonObject): void {
  constraints.minLength = Math.max(constraints.minLength, asNumber(rules.minLength) ?? 0);
  constraints.maxLength = Math.min(constraints.maxLength, asNumber(rules.maxLength) ?? Infinity);
  constraints.pattern ??= asText(rules.pattern);
  constraints.format ??= asText(rules.format);
}

function foldArray(constraints: Constraints, rules: JsonObject): void {
  const { prefix, rest } = itemSchemas(rules);
  const length = Math.max(prefix.length, constraints.prefix.length);
  const at = (i: number) => both(constraints.prefix[i] ?? constraints.items, prefix[i] ?? rest);
  constraints.prefix = Array.from({ length }, (_, i) => at(i));
  constraints.items = both(constraints.items, rest);
  if (rules.contains !== undefined) {
    constraints.contains = both(constraints.contains ?? true, rules.contains);
    constraints.minContains = asNumber(rules.minContains) ?? 1;
  }
  constraints.minItems = Math.max(constraints.minItems, asNumber(rules.minItems) ?? 0);
  constraints.maxItems = Math.min(constraints.maxItems, asNumber(rules.maxItems) ?? Infinity);
  constraints.unique ||= rules.uniqueItems === true;
}

function foldObject(constraints: Constraints, rules: JsonObject): void {
  const properties = asObject(rules.properties) ?? {};
  // The keys that a pattern matches are unknown, so any other key is taken to match the first pattern.
  const patterned = Object.values(asObject(rules.patternProperties) ?? {})[0];
  const rest = patterned ?? rules.additionalProperties ?? true;
  for (const key of new Set([...constraints.properties.keys(), ...Object.keys(properties)])) {
    constraints.properties.set(key, both(propertyOf(constraints, key), own(properties, key) ?? rest));
  }
  constraints.additional = both(constraints.additional, rest);
  constraints.propertyNames = both(constraints.propertyNames, rules.propertyNames ?? true);
  for (const key of asTexts(rules.required)) constraints.required.add(key);
  for (const [key, others] of Object.entries(asObject(rules.dependentRequired) ?? {})) {
    constraints.dependents.set(key, [...(constraints.dependents.get(key) ?? []), ...asTexts(others)]);
  }
  constraints.minProperties = Math.max(constraints.minProperties, asNumber(rules.minProperties) ?? 0);
  constraints.maxProperties = Math.min(constraints.maxProperties, asNumber(rules.maxProperties) ?? Infinity);
}

/** propertyOf returns the schema of a key's value. */
export function propertyOf(constraints: Constraints, key: string): Schema {
  return constraints.properties.get(key) ?? constraints.additional;
}
