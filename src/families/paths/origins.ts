/**
 * Origins: where in the caller's request the parts of its translation come from. What refuses or drops a part of a translated
 * request names it by its path there; callers are told of their own.
 */
import { isObject, type JsonObject, type JsonValue } from "../../wire/json.ts";

/**
 * origin is the key of a part's origin. It is neither copied nor written. A WeakMap would have the collector stop for a fifth of a second
 * where requests have many thousand parts.
 */
const origin = Symbol("origin");

/** madeFrom returns a part of a translated request, marked as made from what stands at `path` of the caller's request. */
export function madeFrom(path: string, part: JsonObject): JsonObject {
  return Object.defineProperty(part, origin, { value: path, configurable: true });
}

/** madeLike returns a part, marked with the origin of another that it was copied from or stands for. */
export function madeLike(other: JsonObject, part: JsonObject): JsonObject {
  const path = pathOf(other);
  return path === undefined ? part : madeFrom(path, part);
}

/** pathOf returns a part's origin; undefined where it is not marked. */
export function pathOf(part: JsonObject): string | undefined {
  return (part as { readonly [origin]?: string })[origin];
}

/** Renames are the members of translated parts that callers have under another name: the first pattern that matches counts. */
export type Renames = readonly (readonly [pattern: RegExp, name: string])[];

/**
 * originOf returns the caller's path of a path in a translated request: the origin of its innermost marked part, and what `renames` says of
 * the rest, of which nothing is told where no pattern matches. Undefined where no part on the way is marked.
 */
export function originOf(request: JsonObject, path: string, renames: Renames): string | undefined {
  let found: { readonly path: string; readonly end: number } | undefined;
  let part: JsonValue | undefined = request;
  for (const { 0: step, 1: name, 2: number, index } of path.matchAll(/\.?([^.[\]]+)|\[(\d+)\]/g)) {
    if (Array.isArray(part) && number !== undefined) part = part[Number(number)];
    else if (isObject(part) && name !== undefined && Object.hasOwn(part, name)) part = part[name];
    else break;
    const marked = isObject(part) ? pathOf(part) : undefined;
    if (marked !== undefined) found = { path: marked, end: index + step.length };
  }
  return found && found.path + renamed(path.slice(found.end), renames);
}

function renamed(rest: string, renames: Renames): string {
  const [pattern, name] = renames.find(([known]) => known.test(rest)) ?? [];
  return pattern && name !== undefined ? rest.replace(pattern, name) : "";
}
