/**
 * Makes objects and lists. Their values are left to the search.
 *
 * With `full` optional parts are made, too. A value that the search does not find is left out where it may be; else
 * there is no object or list.
 */
import type { JsonObject, JsonValue } from "../../wire/json.ts";
import { canonical } from "../chat/canonical.ts";
import type { Fill, Spot } from "./fill.ts";
import { type Constraints, propertyOf } from "./flat.ts";
import { both } from "./schema.ts";

/** Values tried beyond one per position to find distinct items. */
const spareTries = 20;

export function objectFor(constraints: Constraints, spot: Spot, full: boolean, fill: Fill): JsonObject | undefined {
  const inside = { ...spot, depth: spot.depth + 1 };
  const required = new Set(constraints.required);
  // A Map, because a key may have a meaning on plain objects.
  const members = new Map<string, JsonValue>();
  const names = new Set([...constraints.properties.keys(), ...required]);
  // Additions during the loop are visited, too: a property may require others.
  for (const name of names) {
    if (!required.has(name) && (!full || members.size >= constraints.maxProperties - missing(required, members)))
      continue;
    const value = fill(propertyOf(constraints, name), inside);
    if (value === undefined && required.has(name)) return undefined;
    if (value === undefined) continue;
    members.set(name, value);
    for (const other of constraints.dependents.get(name) ?? []) {
      required.add(other);
      // Visits the name again in case it was skipped.
      if (!members.has(other) && names.delete(other)) names.add(other);
      else names.add(other);
    }
  }
  if (!addKeys(constraints, members, inside, fill)) return undefined;
  return Object.fromEntries(members);
}

function missing(required: ReadonlySet<string>, members: ReadonlyMap<string, JsonValue>): number {
  let count = 0;
  for (const name of required) if (!members.has(name)) count++;
  return count;
}

/** addKeys adds members up to the minimum number: optional ones first, then invented keys. */
function addKeys(constraints: Constraints, members: Map<string, JsonValue>, inside: Spot, fill: Fill): boolean {
  const optional = [...constraints.properties.keys()].filter((name) => !members.has(name));
  for (let place = 0; members.size < constraints.minProperties; place++) {
    if (place > constraints.minProperties + spareTries + optional.length) return false;
    const name = optional[place] ?? fill(both(constraints.propertyNames, { type: "string" }), { ...inside, place });
    if (typeof name !== "string") return false;
    if (members.has(name)) continue;
    const value = fill(propertyOf(constraints, name), inside);
    if (value !== undefined) members.set(name, value);
    else if (place >= optional.length) return false;
  }
  return true;
}

export function arrayFor(constraints: Constraints, spot: Spot, full: boolean, fill: Fill): JsonValue[] | undefined {
  const wanted = Math.max(constraints.minItems, constraints.contains === undefined ? 0 : constraints.minContains);
  const length = full
    ? Math.max(wanted, Math.min(constraints.maxItems, Math.max(1, constraints.prefix.length)))
    : wanted;
  const items: JsonValue[] = [];
  const seen = new Set<string>();
  let place = spot.place;
  while (items.length < length) {
    const schema = constraints.prefix[items.length] ?? constraints.items;
    const held =
      constraints.contains !== undefined && items.length < constraints.minContains
        ? both(schema, constraints.contains)
        : schema;
    const item = fill(held, { ...spot, depth: spot.depth + 1, place: constraints.unique ? place : spot.place });
    if (item === undefined) break;
    const text = constraints.unique ? canonical(item) : "";
    if (!constraints.unique || !seen.has(text)) items.push(item);
    else if (place > spot.place + length + spareTries) break;
    seen.add(text);
    place += 1;
  }
  return items.length < wanted ? undefined : items;
}
