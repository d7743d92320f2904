/**
 * The schema of a tool's arguments → one whose root Anthropic and OpenAI take: an object without combinations of
 * schemas.
 *
 * The schemas of `allOf` are merged. A reference at the root is replaced by its schema. Alternatives (`anyOf`,
 * `oneOf`) become one object with all their properties: it requires what every alternative requires, and its
 * description lists them. Arguments that fit one alternative fit the caller's schema. Schemas below the root stay as
 * they came.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isFilledText, isObject } from "../../../wire/json.ts";
import { mostRepeated, ofParts, roomAfter } from "./size.ts";

/** mapKeywords are the keywords whose value maps names to schemas. */
export const mapKeywords: ReadonlySet<string> = new Set([
  ...["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"],
]);

/** valueKeywords are the keywords whose value is no schema. */
export const valueKeywords: ReadonlySet<string> = new Set(["enum", "const", "default", "examples", "required"]);

/**
 * mostParts is how many values a schema may have that is changed: four milliseconds of work. No vendor is known to take one of so many
 * (OpenAI: 5,000 properties), so a longer one goes to its server as it came.
 */
const mostParts = 10_000;

/** isHuge reports whether a schema is too long to be changed. */
export function isHuge(schema: JsonValue): boolean {
  return roomAfter(schema, mostParts, ofParts) < 0;
}

/** decodedStep returns the key that a step of a reference stands for. A step that is no URI's is taken as it is written. */
export function decodedStep(step: string): string {
  return unescaped(step).replaceAll("~1", "/").replaceAll("~0", "~");
}

function unescaped(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

const combinations = ["allOf", "anyOf", "oneOf"];

/**
 * rootSchema returns the same schema where its root is such already, and where it is huge, or would be: then its server may judge it. `drop`
 * is told the keywords of merged alternatives.
 */
export function rootSchema(schema: JsonObject, drop: (keyword: string) => void): JsonObject {
  const isPlain = schema.$ref === undefined && combinations.every((key) => schema[key] === undefined);
  if (isPlain) {
    if (Object.keys(schema).length === 0) return { type: "object", properties: {} };
    return schema.type === "object" ? schema : { ...schema, type: "object" };
  }
  if (isHuge(schema)) return schema;
  const { definitions, $defs } = schema;
  const all = { ...(isObject(definitions) ? definitions : {}), ...(isObject($defs) ? $defs : {}) };
  const walk = { definitions: new Map(Object.entries(all)), left: mostSchemas, room: mostRepeated };
  const flat = flattened(schema, walk, new Set());
  if (walk.room < 0) return schema;
  for (const key of ["anyOf", "oneOf"]) if (alternativesIn(schema, key).length > 0) drop(key);
  return { ...flat, type: "object" };
}

/** described returns a schema whose description ends in the keywords that it has no more, as the SDKs of vendors write them. */
export function described(schema: JsonObject, left: JsonObject): JsonObject {
  const rest = Object.entries(left).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  if (rest.length === 0) return schema;
  const { description } = schema;
  const before = isFilledText(description) ? `${description}\n\n` : "";
  return { ...schema, description: `${before}{${rest.join(", ")}}` };
}

/** The most schemas merged: nested references may stand for very many. */
const mostSchemas = 200;

interface Walk {
  readonly definitions: ReadonlyMap<string, JsonValue>;
  /** left is how many more schemas may be merged. Further ones are taken as empty. */
  left: number;
  /** room is how much more may be repeated and merged. Below 0 all stays as it came. */
  room: number;
}

/** `within` has the names of the enclosing definitions: a definition inside itself adds nothing. */
function flattened(schema: JsonObject, walk: Walk, within: ReadonlySet<string>): JsonObject {
  if (walk.left-- <= 0 || walk.room < 0) return {};
  const { $ref: reference, allOf: _all, anyOf: _any, oneOf: _one, ...own } = schema;
  const parts: JsonObject[] = [own];
  const name = typeof reference === "string" ? /^#\/(?:\$defs|definitions)\/(.+)$/.exec(reference)?.[1] : undefined;
  const referred = name === undefined || within.has(name) ? undefined : walk.definitions.get(name);
  if (name !== undefined && isObject(referred)) {
    walk.room = roomAfter(referred, walk.room);
    parts.push(flattened(referred, walk, new Set([...within, name])));
  }
  for (const part of alternativesIn(schema, "allOf")) parts.push(flattened(part, walk, within));
  for (const key of ["anyOf", "oneOf"]) {
    const alternatives = alternativesIn(schema, key).map((part) => flattened(part, walk, within));
    if (alternatives.length > 0 && hasRoom(alternatives, walk)) parts.push(oneOfThese(alternatives, key));
  }
  return parts.length === 1 || !hasRoom(parts, walk) ? own : allTogether(parts);
}

/** mergedProperty is how much room a property takes that is merged: some thousand are merged in some milliseconds. */
const mergedProperty = 64;

/** hasRoom reports whether the properties of schemas may be merged, and takes them from the room. */
function hasRoom(schemas: readonly JsonObject[], walk: Walk): boolean {
  for (const schema of schemas) walk.room -= mergedProperty * Object.keys(propertiesOf(schema)).length;
  return walk.room >= 0;
}

/** alternativesIn returns the alternatives that allow an object, since arguments are one. */
function alternativesIn(schema: JsonObject, key: string): JsonObject[] {
  const list = schema[key];
  if (!Array.isArray(list)) return [];
  const mayBeObject = ({ type }: JsonObject) => type === undefined || [type].flat().includes("object");
  return list.filter(isObject).filter(mayBeObject);
}

/** allTogether returns the schema of values that fit all parts. */
function allTogether(parts: readonly JsonObject[]): JsonObject {
  const required = [...new Set(parts.flatMap(requiredIn))];
  const descriptions = parts.map(({ description }) => description).filter(isFilledText);
  const whole: JsonObject = Object.fromEntries(parts.toReversed().flatMap((part) => Object.entries(part)));
  // A closed part would reject the properties of the others.
  const isClosed = parts.every(({ properties, additionalProperties }) => !properties || additionalProperties === false);
  if (!isClosed && whole.additionalProperties === false) delete whole.additionalProperties;
  return {
    ...whole,
    properties: mergedProperties(parts.map(propertiesOf), "allOf"),
    ...(required.length > 0 ? { required } : {}),
    ...(descriptions.length > 0 ? { description: descriptions.join("\n\n") } : {}),
  };
}

/** oneOfThese returns the schema of values that fit one of several parts. */
function oneOfThese(parts: readonly JsonObject[], key: string): JsonObject {
  const properties = mergedProperties(parts.map(propertiesOf), "anyOf");
  const demands = parts.map((part) => new Set(requiredIn(part)));
  const required = requiredIn(parts[0] as JsonObject).filter((name) => demands.every((names) => names.has(name)));
  const isClosed = parts.every(({ additionalProperties }) => additionalProperties === false);
  const alternatives = parts.map((part, i) => `(${i + 1}) ${alternative(part)}`);
  const how = key === "oneOf" ? "exactly one" : "at least one";
  return {
    properties,
    ...(required.length > 0 ? { required } : {}),
    ...(isClosed ? { additionalProperties: false } : {}),
    description: `The arguments have to fit ${how} of these: ${alternatives.join("; ")}.`,
  };
}

/** alternative describes an alternative: its own description, what it requires, and what else it may have. */
function alternative(part: JsonObject): string {
  const demanded = [...new Set(requiredIn(part))];
  const optional = new Set(Object.keys(propertiesOf(part))).difference(new Set(demanded));
  const { title, description } = part;
  const constants = Object.entries(propertiesOf(part)).flatMap(([name, property]) =>
    isObject(property) && property.const !== undefined ? [`${name} = ${JSON.stringify(property.const)}`] : [],
  );
  const parts = [
    [title, description].filter((text) => typeof text === "string").join(": "),
    demanded.length > 0 ? `requires ${demanded.join(", ")}` : "",
    constants.length > 0 ? `with ${constants.join(", ")}` : "",
    optional.size > 0 ? `may have ${[...optional].join(", ")}` : "",
  ];
  return parts.filter(Boolean).join(", ") || "anything else";
}

/** mergedProperties merges properties. Different schemas of one property become a combination, which is allowed below the root. */
function mergedProperties(maps: readonly JsonObject[], key: "allOf" | "anyOf"): JsonObject {
  const found = new Map<string, JsonValue[]>();
  for (const [name, schema] of maps.flatMap((map) => Object.entries(map))) {
    const others = found.get(name);
    if (others) others.push(schema);
    else found.set(name, [schema]);
  }
  const merged = [...found].map(([name, schemas]): [string, JsonValue] => {
    if (schemas.length === 1) return [name, schemas[0] as JsonValue];
    const different = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
    return [name, different.length === 1 ? (different[0] as JsonValue) : { [key]: different }];
  });
  return Object.fromEntries(merged);
}

/** propertiesOf returns the properties of a schema; none where they are no map. */
export function propertiesOf({ properties }: JsonObject): JsonObject {
  return isObject(properties) ? properties : {};
}

function requiredIn({ required }: JsonObject): string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
}
