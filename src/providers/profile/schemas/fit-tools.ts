/**
 * JSON Schemas of functions as servers take them that know a part of it: Google's, and Moonshot's, which each refuse a
 * whole request for a keyword, a reference, a tuple, or a `type` beside `anyOf`.
 *
 * References stand as what they refer to, `oneOf` as `anyOf`, a constant as a list of one, several types as
 * alternatives. A keyword that none of these servers knows goes into the description, and is named. That a value may be null,
 * however it was said, is told by `nullable`, which Google knows; Moonshot refuses it, and all that says so.
 */
import { isDeepStrictEqual } from "node:util";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type CooperativeTask, itemsPerSlice } from "../../../runtime/cooperative.ts";
import { isObject, listOrEmpty, mappedByTasks } from "../../../wire/json.ts";
import type { Capabilities } from "../profile.ts";
import { decodedStep, described, isHuge, propertiesOf } from "./root-schema.ts";
import { rootedTools } from "./rooted-tools.ts";
import { mostRepeated, roomAfter } from "./size.ts";

export interface FittedTools {
  readonly tools: JsonValue[];
  readonly dropped: readonly string[];
}

/** fitTools returns the tools and the paths of what was left out; undefined where they can stay as they are. */
export function* fitTools(
  tools: JsonValue | undefined,
  { schemas }: Capabilities,
): CooperativeTask<FittedTools | undefined> {
  if (schemas === undefined || schemas === "whole" || !Array.isArray(tools)) return undefined;
  const dropped: string[] = [];
  if (schemas === "rooted") {
    const rooted = yield* rootedTools(tools, "tools", dropped);
    return rooted === tools ? undefined : { tools: rooted, dropped };
  }
  const knowsNullable = schemas === "nullable";
  const fitted = yield* mappedByTasks(tools, (tool, i) =>
    fitTool(tool, `tools[${i}].function.parameters`, dropped, knowsNullable),
  );
  return fitted === tools ? undefined : { tools: fitted, dropped };
}

function* fitTool(
  tool: JsonValue,
  path: string,
  dropped: string[],
  knowsNullable: boolean,
): CooperativeTask<JsonValue> {
  const called = isObject(tool) ? tool.function : undefined;
  if (!isObject(tool) || !isObject(called) || !isObject(called.parameters) || isHuge(called.parameters)) return tool;
  const schema = called.parameters;
  const walk: Walk = { root: schema, dropped, knowsNullable, left: mostSchemas, room: mostRepeated };
  yield;
  const plain = plainRoot(yield* plainSchema(schema, path, walk, []));
  if (isDeepStrictEqual(plain, schema)) return tool;
  return { ...tool, function: { ...called, parameters: plain } };
}

/** The most schemas of a function: nested references may stand for very many. */
const mostSchemas = 2000;

interface Walk {
  readonly root: JsonObject;
  readonly dropped: string[];
  readonly knowsNullable: boolean;
  left: number;
  /** room is how much more may be repeated. Below 0 nothing is: references stand for any object. */
  room: number;
}

/** mayRepeat reports whether a value may be repeated, and takes it from the room. */
function mayRepeat(value: JsonValue, walk: Walk): boolean {
  if (walk.room >= 0) walk.room = roomAfter(value, walk.room);
  return walk.room >= 0;
}

/** The arguments are an object, whatever their schema allows. */
function plainRoot(schema: JsonObject): JsonObject {
  const { anyOf, nullable: _, ...own } = schema;
  if (!Array.isArray(anyOf)) return { ...own, type: "object", properties: own.properties ?? {} };
  const parts = anyOf.filter(isObject);
  const properties = Object.assign({}, ...parts.map(propertiesOf), propertiesOf(own)) as JsonObject;
  const [first = [], ...others] = parts.map(({ required }) => listOrEmpty(required));
  const required = first.filter((name) => others.every((names) => names.includes(name)));
  return { ...own, type: "object", properties, ...(required.length > 0 ? { required } : {}) };
}

const combinations = ["anyOf", "oneOf", "allOf"] as const;

/** `within` has the references around this schema: one inside itself stands for any object. */
function* plainSchema(
  schema: JsonObject,
  path: string,
  walk: Walk,
  within: readonly string[],
): CooperativeTask<JsonObject> {
  if (walk.left % itemsPerSlice === 0) yield;
  if (walk.left-- <= 0) return { type: "object" };
  const { $ref: reference } = schema;
  if (typeof reference === "string") {
    const { $ref: _, ...own } = schema;
    const referred = within.includes(reference) ? undefined : schemaAt(reference, walk);
    const merged = { ...(referred ?? { type: "object" }), ...own };
    return yield* plainSchema(merged, path, walk, [...within, reference]);
  }
  const { allOf } = schema;
  if (Array.isArray(allOf) && !mayRepeat(Object.keys(propertiesOf(schema)), walk)) return { type: "object" };
  if (Array.isArray(allOf)) return yield* plainSchema(allTogether(schema, allOf, walk), path, walk, within);
  const { rest, key } = withoutNull(schema);
  const plain = yield* ofTypes(rest, path, walk, within);
  return key === undefined ? plain : orNull(plain, `${path}.${key}`, walk);
}

/** withoutNull returns a schema without what lets its value be null, and the keyword that did; the same schema where it may not be null. */
function withoutNull(schema: JsonObject): { readonly rest: JsonObject; readonly key?: string } {
  const { type, enum: words, nullable } = schema;
  const types = Array.isArray(type) ? type : [type];
  if (types.includes("null")) {
    const { type: _, nullable: __, ...own } = schema;
    const others = types.filter((one) => one !== undefined && one !== "null") as JsonValue[];
    // A value that is null and nothing else needs some type.
    return { rest: { ...own, type: others.length > 1 ? others : (others[0] ?? "string") }, key: "type" };
  }
  const key = alternativesIn(schema);
  const list = key === undefined ? [] : (schema[key] as JsonValue[]);
  if (key !== undefined && list.some(isNull)) {
    const { [key]: _, nullable: __, ...own } = schema;
    const others = list.filter((one) => !isNull(one));
    return { rest: others.length === 0 ? own : { ...own, [key]: others }, key };
  }
  if (Array.isArray(words) && words.includes(null)) return { rest: schema, key: "enum" };
  return nullable === true ? { rest: schema, key: "nullable" } : { rest: schema };
}

/** alternativesIn returns the keyword of a schema that has a list of alternatives; undefined where there is none. */
function alternativesIn(schema: JsonObject): string | undefined {
  return combinations.find((name) => name !== "allOf" && Array.isArray(schema[name]));
}

/** isNull reports whether an alternative is null and nothing else. */
function isNull(schema: JsonValue): boolean {
  return isObject(schema) && (schema.type === "null" || schema.const === null);
}

/** orNull says that a value may be null, as the server takes it. Google takes nothing beside `anyOf` that says so. */
function orNull(plain: JsonObject, place: string, walk: Walk): JsonObject {
  const { anyOf } = plain;
  if (walk.knowsNullable && Array.isArray(anyOf))
    return { ...plain, anyOf: anyOf.map((one) => (isObject(one) ? { ...one, nullable: true } : one)) };
  if (walk.knowsNullable) return { ...plain, nullable: true };
  walk.dropped.push(place);
  return described(plain, { nullable: true });
}

function* ofTypes(
  schema: JsonObject,
  path: string,
  walk: Walk,
  within: readonly string[],
): CooperativeTask<JsonObject> {
  const { type } = schema;
  const types = listOrEmpty(type);
  if (types.length > 1) {
    const { type: _, description, ...own } = schema;
    const different = types.filter((_, i) => i === 0 || mayRepeat(own, walk));
    const alternatives: JsonObject[] = [];
    for (const one of different) alternatives.push(yield* plainSchema({ ...own, type: one }, path, walk, within));
    return { ...(description === undefined ? {} : { description }), anyOf: alternatives };
  }
  const plain = yield* membersOf(
    { ...schema, ...(types[0] === undefined ? {} : { type: types[0] }) },
    path,
    walk,
    within,
  );
  return yield* withAlternatives(plain, schema, path, walk, within);
}

/** schemaAt returns the schema that a reference stands for; undefined where there is none, or no room for it. */
function schemaAt(reference: string, walk: Walk): JsonObject | undefined {
  if (!reference.startsWith("#/")) return undefined;
  let at: JsonValue | undefined = walk.root;
  for (const step of reference.slice(2).split("/")) {
    const key = decodedStep(step);
    at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }
  return isObject(at) && mayRepeat(at, walk) ? at : undefined;
}

/** allTogether returns one schema of those that all hold. */
function allTogether({ allOf: _, ...own }: JsonObject, parts: readonly JsonValue[], walk: Walk): JsonObject {
  const whole = [...parts.filter(isObject).map((part) => resolved(part, walk)), own];
  const properties = Object.assign({}, ...whole.map(propertiesOf)) as JsonObject;
  const required = [...new Set(whole.flatMap((part) => listOrEmpty(part.required)))];
  return {
    ...(Object.assign({}, ...whole) as JsonObject),
    ...(Object.keys(properties).length > 0 ? { properties } : {}),
    ...(required.length > 0 ? { required } : {}),
  };
}

function resolved(part: JsonObject, walk: Walk): JsonObject {
  return typeof part.$ref === "string" ? (schemaAt(part.$ref, walk) ?? {}) : part;
}

/** Keywords that constrain nothing, or whose loss only lets more pass. */
const silent = new Set([
  ...["$schema", "$id", "$comment", "$anchor", "$defs", "definitions", "examples", "example", "deprecated"],
  ...["readOnly", "writeOnly", "nullable", "additionalProperties", "unevaluatedProperties", ...combinations],
]);
const kept = new Set([
  ...["type", "title", "description", "default", "minItems", "maxItems", "minimum", "maximum"],
  ...["minLength", "maxLength", "pattern"],
]);
const formats: readonly (JsonValue | undefined)[] = ["date-time", "int32", "int64", "float", "double"];

function* membersOf(
  schema: JsonObject,
  path: string,
  walk: Walk,
  within: readonly string[],
): CooperativeTask<JsonObject> {
  const plain: JsonObject = {};
  const left: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    const member = kept.has(key) ? { [key]: value } : yield* plainMember(key, value, schema, path, walk, within);
    if (member) Object.assign(plain, member);
    else if (!silent.has(key) || isOfValues(key, value)) left[key] = value;
  }
  if (plain.type === "array" && plain.items === undefined) plain.items = { type: "string" };
  for (const key of Object.keys(left)) walk.dropped.push(`${path}.${key}`);
  return described(plain, left);
}

/** isOfValues reports whether a keyword says what the values of a map are: without it a model leaves maps empty. */
function isOfValues(key: string, value: JsonValue): boolean {
  return key === "additionalProperties" && isObject(value) && Object.keys(value).length > 0;
}

/** plainMember returns undefined for what no plain schema has. */
function* plainMember(
  key: string,
  value: JsonValue,
  schema: JsonObject,
  path: string,
  walk: Walk,
  within: readonly string[],
): CooperativeTask<JsonObject | undefined> {
  switch (key) {
    case "properties":
      return isObject(value) ? { properties: yield* eachOf(value, `${path}.properties`, walk, within) } : undefined;
    case "required": {
      const { properties } = schema;
      const isKnown = (name: JsonValue) =>
        typeof name === "string" && isObject(properties) && Object.hasOwn(properties, name);
      const known = listOrEmpty(value).filter(isKnown);
      return known.length > 0 ? { required: known } : {};
    }
    case "items":
    case "prefixItems":
      return yield* itemsOf(value, `${path}.${key}`, walk, within);
    case "const":
      return typeof value === "string" ? { type: "string", enum: [value] } : undefined;
    case "enum":
      return enumOf(value);
    case "format":
      return formats.includes(value) ? { format: value } : undefined;
    case "exclusiveMinimum":
      return schema.type === "integer" && Number.isInteger(value) ? { minimum: Number(value) + 1 } : undefined;
    case "exclusiveMaximum":
      return schema.type === "integer" && Number.isInteger(value) ? { maximum: Number(value) - 1 } : undefined;
  }
  return undefined;
}

/** Longer names are cut where a path is told, in characters. */
const mostOfName = 100;

function* eachOf(map: JsonObject, path: string, walk: Walk, within: readonly string[]): CooperativeTask<JsonObject> {
  const plain: [name: string, schema: JsonObject][] = [];
  for (const [name, schema] of Object.entries(map)) {
    const place = `${path}.${name.slice(0, mostOfName)}`;
    plain.push([name, isObject(schema) ? yield* plainSchema(schema, place, walk, within) : {}]);
  }
  return Object.fromEntries(plain);
}

/** The schemas of a tuple's places become alternatives for all of them. */
function* itemsOf(
  value: JsonValue,
  path: string,
  walk: Walk,
  within: readonly string[],
): CooperativeTask<JsonObject | undefined> {
  if (isObject(value)) return { items: yield* plainSchema(value, path, walk, within) };
  if (!Array.isArray(value)) return undefined;
  const places: JsonObject[] = [];
  for (const [i, place] of value.filter(isObject).entries())
    places.push(yield* plainSchema(place, `${path}[${i}]`, walk, within));
  const different = [...new Map(places.map((place) => [JSON.stringify(place), place])).values()];
  if (different.length === 0) return undefined;
  return { items: different.length === 1 ? (different[0] as JsonObject) : { anyOf: different } };
}

function enumOf(value: JsonValue): JsonObject | undefined {
  if (!Array.isArray(value)) return undefined;
  const words = value.filter((word) => word !== null);
  return words.length > 0 && words.every((word) => typeof word === "string") ? { enum: words } : undefined;
}

/** Alternatives beside properties only restrict them, which none of these servers knows. */
function* withAlternatives(
  plain: JsonObject,
  schema: JsonObject,
  path: string,
  walk: Walk,
  within: readonly string[],
): CooperativeTask<JsonObject> {
  const key = alternativesIn(schema);
  if (key === undefined) return plain;
  const list = (schema[key] as JsonValue[]).filter(isObject);
  if (isObject(schema.properties)) {
    walk.dropped.push(`${path}.${key}`);
    return described(plain, { [key]: schema[key] as JsonValue });
  }
  const { type, ...rest } = plain;
  const alternatives: JsonObject[] = [];
  for (const [i, one] of list.entries()) {
    const alternative = yield* plainSchema(one, `${path}.${key}[${i}]`, walk, within);
    const isTyped = alternative.type !== undefined || alternative.anyOf !== undefined || type === undefined;
    alternatives.push(isTyped ? alternative : { ...alternative, type });
  }
  const [only] = alternatives;
  return alternatives.length === 1 ? { ...only, ...rest } : { ...rest, anyOf: alternatives };
}
