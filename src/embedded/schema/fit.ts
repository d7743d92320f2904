/**
 * Tells whether a value fits a schema: 1 for yes, 0 for no, 0.5 for unknown.
 *
 * Patterns and formats are unknown: a stranger's regular expression is never run, since backtracking could block
 * every other caller. The values combine as logic: "and" is the minimum, "or" the maximum, "not" is 1 minus the
 * value.
 */
import { type JsonObject, type JsonValue, listOrEmpty } from "../../wire/json.ts";
import { canonical } from "../chat/canonical.ts";
import {
  asNumber,
  asObject,
  asTexts,
  costOf,
  maxNesting,
  resolve,
  type Schema,
  type Search,
  step,
  type TypeName,
  typesOf,
} from "./schema.ts";

const unknown = 0.5;

/** fitOfAll returns how well a value fits all schemas together; 0 once the search has used up its steps. */
export function fitOfAll(schemas: readonly Schema[], value: JsonValue, search: Search): number {
  const least = all(schemas.map((schema) => fitOf(schema, value, search)));
  return search.steps < 0 ? 0 : least;
}

function fitOf(schema: Schema, value: JsonValue, search: Search, nesting = 0): number {
  if (schema === false || nesting > maxNesting || !step(search)) return 0;
  const rules = asObject(schema);
  if (!rules) return 1;
  return Math.min(
    fitsType(rules, value),
    fitsValues(rules, value, search),
    fitsNumber(rules, value),
    fitsText(rules, value, search),
    fitsArray(rules, value, search, nesting + 1),
    fitsObject(rules, value, search, nesting + 1),
    fitsLogic(rules, value, search, nesting + 1),
  );
}

function fitsType(rules: JsonObject, value: JsonValue): number {
  const types = typesOf(rules);
  return truth(!types?.length || types.some((type) => isOfType(value, type)));
}

function isOfType(value: JsonValue, type: TypeName): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return asObject(value) !== undefined;
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

function fitsValues(rules: JsonObject, value: JsonValue, search: Search): number {
  if (rules.const === undefined && !Array.isArray(rules.enum)) return 1;
  const text = canonical(value);
  const is = (allowed: JsonValue) => {
    const other = canonical(allowed);
    return step(search, costOf(other)) && other === text;
  };
  return truth((rules.const === undefined || is(rules.const)) && (!Array.isArray(rules.enum) || rules.enum.some(is)));
}

function fitsNumber(rules: JsonObject, value: JsonValue): number {
  if (typeof value !== "number") return 1;
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = rules;
  const low = asNumber(minimum) ?? -Infinity;
  const high = asNumber(maximum) ?? Infinity;
  const multiple = asNumber(rules.multipleOf);
  return truth(
    value >= low &&
      value <= high &&
      value > (exclusiveMinimum === true ? low : (asNumber(exclusiveMinimum) ?? -Infinity)) &&
      value < (exclusiveMaximum === true ? high : (asNumber(exclusiveMaximum) ?? Infinity)) &&
      (multiple === undefined || Number.isInteger(value / multiple)),
  );
}

function fitsText(rules: JsonObject, value: JsonValue, search: Search): number {
  if (typeof value !== "string") return 1;
  if (!step(search, costOf(value))) return 0;
  const length = Array.from(value).length;
  if (length < (asNumber(rules.minLength) ?? 0) || length > (asNumber(rules.maxLength) ?? Infinity)) return 0;
  return rules.pattern === undefined && rules.format === undefined ? 1 : unknown;
}

function fitsArray(rules: JsonObject, value: JsonValue, search: Search, nesting: number): number {
  if (!Array.isArray(value)) return 1;
  if (value.length < (asNumber(rules.minItems) ?? 0) || value.length > (asNumber(rules.maxItems) ?? Infinity)) return 0;
  if (rules.uniqueItems === true && new Set(value.map(canonical)).size < value.length) return 0;
  const { prefix, rest } = itemSchemas(rules);
  const items = all(value.map((item, i) => fitOf(prefix[i] ?? rest, item, search, nesting)));
  if (rules.contains === undefined) return items;
  const found = value.map((item) => fitOf(rules.contains as Schema, item, search, nesting)).sort((a, b) => b - a);
  const least = asNumber(rules.minContains) ?? 1;
  const most = asNumber(rules.maxContains) ?? Infinity;
  return Math.min(items, least < 1 ? 1 : (found[least - 1] ?? 0), 1 - (found[most] ?? 0));
}

/** itemSchemas returns the schemas of the first items, and of the rest, in the keywords of any draft. */
export function itemSchemas(rules: JsonObject): { prefix: Schema[]; rest: Schema } {
  if (Array.isArray(rules.items)) return { prefix: rules.items, rest: rules.additionalItems ?? true };
  return { prefix: listOrEmpty(rules.prefixItems), rest: rules.items ?? true };
}

function fitsObject(rules: JsonObject, value: JsonValue, search: Search, nesting: number): number {
  const object = asObject(value);
  if (!object) return 1;
  const keys = Object.keys(object);
  if (keys.length < (asNumber(rules.minProperties) ?? 0) || keys.length > (asNumber(rules.maxProperties) ?? Infinity))
    return 0;
  if (!asTexts(rules.required).every((key) => Object.hasOwn(object, key))) return 0;
  const dependents = asObject(rules.dependentRequired) ?? {};
  if (!keys.every((key) => asTexts(own(dependents, key)).every((other) => Object.hasOwn(object, other)))) return 0;
  return all(
    keys.map((key) =>
      Math.min(
        fitsProperty(rules, key, object[key] as JsonValue, search, nesting),
        rules.propertyNames === undefined ? 1 : fitOf(rules.propertyNames, key, search, nesting),
      ),
    ),
  );
}

function fitsProperty(rules: JsonObject, key: string, value: JsonValue, search: Search, nesting: number): number {
  const named = own(asObject(rules.properties) ?? {}, key);
  if (named !== undefined) return fitOf(named, value, search, nesting);
  // Whether the key matches a pattern is unknown.
  if (asObject(rules.patternProperties)) return unknown;
  return fitOf(rules.additionalProperties ?? true, value, search, nesting);
}

function fitsLogic(rules: JsonObject, value: JsonValue, search: Search, nesting: number): number {
  const of = (schema: Schema) => fitOf(schema, value, search, nesting);
  const target = typeof rules.$ref === "string" ? resolve(search.root, rules.$ref) : undefined;
  const parts = [target === undefined ? 1 : of(target), ...listOrEmpty(rules.allOf).map(of)];
  if (Array.isArray(rules.anyOf)) parts.push(Math.max(0, ...rules.anyOf.map(of)));
  if (Array.isArray(rules.oneOf)) {
    const [best = 0, second = 0] = rules.oneOf.map(of).sort((a, b) => b - a);
    parts.push(Math.min(best, 1 - second));
  }
  if (rules.not !== undefined) parts.push(1 - of(rules.not));
  if (rules.if !== undefined) {
    const when = of(rules.if);
    parts.push(Math.max(1 - when, of(rules.then ?? true)), Math.max(when, of(rules.else ?? true)));
  }
  return all(parts);
}

export function own(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function all(truths: readonly number[]): number {
  return truths.reduce((least, one) => Math.min(least, one), 1);
}

function truth(holds: boolean): number {
  return holds ? 1 : 0;
}
