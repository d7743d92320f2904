/**
 * Names of a tool's arguments as the Messages API takes them: `^[a-zA-Z0-9_.-]{1,64}$`, at the root of the schema. It refuses a whole
 * request for one of another form, such as `filter[id]`, `$top`, or two words.
 *
 * Valid names stay. Invalid ones are rewritten (`call/tools/fit-name.ts`). The arguments of the model's calls get the caller's names back.
 */
import { fitName } from "../../call/tools/fit-name.ts";
import { decodedStep, isHuge } from "../../providers/profile/schemas/root-schema.ts";
import { isObject, type JsonObject, type JsonValue, parsedJson } from "../../wire/json.ts";
import { withRenamedMembers } from "../../wire/splice.ts";

const rule = { fits: /^[a-zA-Z0-9_.-]{1,64}$/, refused: /[^a-zA-Z0-9_.-]/gu, kept: 55 };

/** ArgumentNames maps one name of an argument to another. */
export type ArgumentNames = ReadonlyMap<string, string>;

export interface FitSchema {
  readonly schema: JsonObject;
  /** names has the caller's names by the upstream's; undefined where all stay. */
  readonly names: ArgumentNames | undefined;
}

/**
 * withFitNames returns the schema of a tool's arguments with names that the API takes, and a huge one as it came. `drop` is told the keywords that a changed name
 * would not fit.
 */
export function withFitNames(schema: JsonObject, drop: (keyword: string) => void): FitSchema {
  const { properties } = schema;
  const unfit =
    isObject(properties) && !isHuge(schema) ? Object.keys(properties).filter((name) => !rule.fits.test(name)) : [];
  if (unfit.length === 0) return { schema, names: undefined };
  const upstream = new Map(unfit.map((name) => [name, fitName(name, rule)]));
  return {
    schema: withReferences(ofArguments(schema, upstream, "", drop), upstream) as JsonObject,
    names: inverse(upstream),
  };
}

/** Keywords whose members are arguments; what each has may be a schema of all arguments, or a list of names. */
const byArgument = ["dependentRequired", "dependentSchemas", "dependencies"];
/** Keywords whose schemas hold for all arguments. */
const conditions = ["if", "then", "else", "not", "allOf", "anyOf", "oneOf"];
/** Keywords whose values are arguments as a call has them. */
const calls = ["default", "const", "examples", "enum"];

/** ofArguments returns a schema that holds for all arguments, and lies at `place`, with other names. */
function ofArguments(
  schema: JsonObject,
  names: ArgumentNames,
  place: string,
  drop: (keyword: string) => void,
): JsonObject {
  const within = (value: JsonValue, path: string) =>
    isObject(value) ? ofArguments(value, names, `${path}.`, drop) : withNamesOf(value, names);
  const members = Object.entries(schema).flatMap(([key, value]): [string, JsonValue][] => {
    const path = `${place}${key}`;
    if (key === "propertyNames") {
      drop(path);
      return [];
    }
    if (key === "required") return [[key, withNamesOf(value, names)]];
    if (key === "properties" && isObject(value)) return [[key, withNames(value, names)]];
    if (byArgument.includes(key) && isObject(value)) {
      const each = Object.entries(value).map(([name, one]) => [name, within(one, `${path}.${name}`)] as const);
      return [[key, withNames(Object.fromEntries(each), names)]];
    }
    if (conditions.includes(key)) return [[key, mapped(value, (one) => within(one, path))]];
    if (calls.includes(key)) return [[key, mapped(value, (one) => (isObject(one) ? withNames(one, names) : one))]];
    return [[key, value]];
  });
  return Object.fromEntries(members);
}

/** mapped changes a value, or each one of a list. */
function mapped(value: JsonValue, change: (one: JsonValue) => JsonValue): JsonValue {
  return Array.isArray(value) ? value.map(change) : change(value);
}

/** withNamesOf returns a list of arguments with other names, and anything else as it is. */
function withNamesOf(list: JsonValue, names: ArgumentNames): JsonValue {
  const named = (name: JsonValue) => (typeof name === "string" ? names.get(name) : undefined) ?? name;
  return Array.isArray(list) ? list.map(named) : list;
}

/** withReferences returns a value whose references to schemas of arguments have other names. */
function withReferences(value: JsonValue, names: ArgumentNames): JsonValue {
  if (Array.isArray(value)) return value.map((one) => withReferences(one, names));
  if (!isObject(value)) return value;
  const members = Object.entries(value).map(([key, member]): [string, JsonValue] => [
    key,
    key === "$ref" && typeof member === "string" ? referenceTo(member, names) : withReferences(member, names),
  ]);
  return Object.fromEntries(members);
}

const ofArgument = /^#\/properties\/([^/]+)/;

function referenceTo(reference: string, names: ArgumentNames): string {
  return reference.replace(ofArgument, (whole, step: string) => {
    const other = names.get(decodedStep(step));
    return other === undefined ? whole : `#/properties/${other}`;
  });
}

/** withNames returns arguments with other names, where there are any. */
export function withNames(input: JsonObject, names: ArgumentNames): JsonObject {
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [names.get(name) ?? name, value]));
}

/** withNamesIn renames the arguments in JSON text. All else stays as it is, and so does text that is cut off. */
export function withNamesIn(json: string, names: ArgumentNames): string {
  return isObject(parsedJson(json)) ? withRenamedMembers(Buffer.from(json), names).toString() : json;
}

/** inverse returns the upstream's names by the caller's. */
export function inverse(names: ArgumentNames): ArgumentNames {
  return new Map([...names].map(([one, other]) => [other, one]));
}
