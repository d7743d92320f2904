/**
 * Names of a tool's arguments as the Messages API takes them: `^[a-zA-Z0-9_.-]{1,64}$`, at the root of the schema. It refuses a whole
 * request for one of another form, such as `filter[id]`, `$top`, or two words.
 *
 * Valid names stay. An invalid one is rewritten the same way in every call, and ends in a hash of the original. The arguments of the
 * model's calls get the caller's names back.
 */
import { createHash } from "node:crypto";
import { isObject, type JsonObject, type JsonValue } from "../../wire/json.ts";
import { withRenamedMembers } from "../../wire/splice.ts";

const fits = /^[a-zA-Z0-9_.-]{1,64}$/;
const keptLength = 55; // With "_" and the mark, 64.

/** ArgumentNames maps one name of an argument to another. */
export type ArgumentNames = ReadonlyMap<string, string>;

export interface FitSchema {
  readonly schema: JsonObject;
  /** names has the caller's names by the upstream's; undefined where all stay. */
  readonly names: ArgumentNames | undefined;
}

/** withFitNames returns the schema of a tool's arguments with names that the API takes. */
export function withFitNames(schema: JsonObject): FitSchema {
  const { properties, required } = schema;
  const unfit = isObject(properties) ? Object.keys(properties).filter((name) => !fits.test(name)) : [];
  if (!isObject(properties) || unfit.length === 0) return { schema, names: undefined };
  const upstream = new Map(unfit.map((name) => [name, upstreamName(name)]));
  const demanded = Array.isArray(required)
    ? { required: required.map((name) => upstream.get(`${name}`) ?? name) }
    : undefined;
  return {
    schema: { ...schema, properties: withNames(properties, upstream), ...demanded },
    names: new Map([...upstream].map(([own, other]) => [other, own])),
  };
}

/** withNames returns arguments with other names, where there are any. */
export function withNames(input: JsonObject, names: ArgumentNames): JsonObject {
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [names.get(name) ?? name, value]));
}

/** withNamesIn renames the arguments in JSON text. All else stays as it is, and so does text that is cut off. */
export function withNamesIn(json: string, names: ArgumentNames): string {
  try {
    const input = JSON.parse(json) as JsonValue;
    return isObject(input) ? withRenamedMembers(Buffer.from(json), names).toString() : json;
  } catch {
    return json;
  }
}

/** inverse returns the upstream's names by the caller's. */
export function inverse(names: ArgumentNames): ArgumentNames {
  return new Map([...names].map(([one, other]) => [other, one]));
}

function upstreamName(name: string): string {
  const mark = createHash("sha256").update(name).digest("hex").slice(0, 8);
  return `${name.replace(/[^a-zA-Z0-9_.-]/gu, "_").slice(0, keptLength)}_${mark}`;
}
