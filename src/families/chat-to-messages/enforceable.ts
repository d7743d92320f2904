/**
 * Tells which narrowed schemas (`request/output-schema.ts`) the Messages API enforces. It refuses a request whose schema refers to itself, as those
 * of trees do, to anything but a definition, or to one within an `allOf`: OpenAI takes all of these.
 */
import { isHuge } from "../../providers/profile/schemas/root-schema.ts";
import { isObject, type JsonObject, type JsonValue, listOrEmpty } from "../../wire/json.ts";

/** isEnforceable reports true for a huge schema, which nobody looks through. */
export function isEnforceable(schema: JsonObject): boolean {
  if (isHuge(schema)) return true;
  const { $defs: defined, ...rest } = schema;
  const definitions = new Map(Object.entries(isObject(defined) ? defined : {}));
  const uses = new Map([...definitions].map(([name, definition]) => [name, referencesIn(definition)]));
  const used = [...uses.values(), referencesIn(rest)].flat();
  return used.every((name) => name !== undefined && definitions.has(name)) && !isCircular(uses);
}

const prefix = "#/$defs/";

/** referencesIn returns the names of the definitions that a schema refers to; undefined for each reference that is to none. */
function referencesIn(schema: JsonValue): (string | undefined)[] {
  if (!isObject(schema)) return [];
  const { $ref: reference, properties, items, $defs: inner, allOf, anyOf } = schema;
  const own = typeof reference === "string" ? [nameIn(reference)] : [];
  const all = listOrEmpty(allOf);
  const refused = all.some((one) => isObject(one) && typeof one.$ref === "string") ? [undefined] : [];
  const below = [properties, inner].flatMap((map) => (isObject(map) ? Object.values(map) : []));
  const others = [...all, ...listOrEmpty(anyOf), ...(items === undefined ? [] : [items])];
  return [...own, ...refused, ...[...below, ...others].flatMap(referencesIn)];
}

function nameIn(reference: string): string | undefined {
  return reference.startsWith(prefix)
    ? reference.slice(prefix.length).replaceAll("~1", "/").replaceAll("~0", "~")
    : undefined;
}

/** isCircular reports whether some definition leads back to itself. What leads to none that is left to look at, is in no circle. */
function isCircular(definitions: ReadonlyMap<string, readonly (string | undefined)[]>): boolean {
  const left = new Map([...definitions].map(([name, used]) => [name, new Set(used)]));
  const uses = [...left].flatMap(([user, used]) => [...used].map((one) => ({ user, one })));
  const users = Map.groupBy(uses, ({ one }) => one);
  const ended = [...left].flatMap(([name, used]) => (used.size === 0 ? [name] : []));
  for (const name of ended) {
    left.delete(name);
    for (const { user } of users.get(name) ?? []) {
      const rest = left.get(user);
      rest?.delete(name);
      if (rest?.size === 0) ended.push(user);
    }
  }
  return left.size > 0;
}
