/**
 * Makes objects and lists, leaving every value in them to the search.
 *
 * `full` writes what is optional too. A value that cannot be had is left out where it may be, else there is no
 * object or list.
 */
import type { JsonObject, JsonValue } from "../../wire/json.ts";
import { canonical } from "../chat/canonical.ts";
import type { Fill, Spot } from "./fill.ts";
import { type Flat, propertyOf } from "./flat.ts";
import { both } from "./schema.ts";

/** How many values are tried, beyond one a place, to find items that differ. */
const spareTries = 20;

export function objectFor(flat: Flat, spot: Spot, full: boolean, fill: Fill): JsonObject | undefined {
  const inside = { ...spot, depth: spot.depth + 1 };
  const required = new Set(flat.required);
  // A map, because a key may be one that plain objects treat as their own.
  const members = new Map<string, JsonValue>();
  const names = new Set([...flat.properties.keys(), ...required]);
  // A set that grows while it is walked is walked to its end: a property may demand others.
  for (const name of names) {
    if (!required.has(name) && (!full || members.size >= flat.maxProperties - missing(required, members))) continue;
    const value = fill(propertyOf(flat, name), inside);
    if (value === undefined && required.has(name)) return undefined;
    if (value === undefined) continue;
    members.set(name, value);
    for (const other of flat.dependents.get(name) ?? []) {
      required.add(other);
      // Walked again, should it have been passed over.
      if (!members.has(other) && names.delete(other)) names.add(other);
      else names.add(other);
    }
  }
  if (!addKeys(flat, members, inside, fill)) return undefined;
  return Object.fromEntries(members);
}

function missing(required: ReadonlySet<string>, members: ReadonlyMap<string, JsonValue>): number {
  let count = 0;
  for (const name of required) if (!members.has(name)) count++;
  return count;
}

/** Adds members until there are as many as asked for: the optional ones first, then made-up keys. */
function addKeys(flat: Flat, members: Map<string, JsonValue>, inside: Spot, fill: Fill): boolean {
  const optional = [...flat.properties.keys()].filter((name) => !members.has(name));
  for (let place = 0; members.size < flat.minProperties; place++) {
    if (place > flat.minProperties + spareTries + optional.length) return false;
    const name = optional[place] ?? fill(both(flat.propertyNames, { type: "string" }), { ...inside, place });
    if (typeof name !== "string") return false;
    if (members.has(name)) continue;
    const value = fill(propertyOf(flat, name), inside);
    if (value !== undefined) members.set(name, value);
    else if (place >= optional.length) return false;
  }
  return true;
}

export function arrayFor(flat: Flat, spot: Spot, full: boolean, fill: Fill): JsonValue[] | undefined {
  const wanted = Math.max(flat.minItems, flat.contains === undefined ? 0 : flat.minContains);
  const length = full ? Math.max(wanted, Math.min(flat.maxItems, Math.max(1, flat.prefix.length))) : wanted;
  const items: JsonValue[] = [];
  const seen = new Set<string>();
  let place = spot.place;
  while (items.length < length) {
    const schema = flat.prefix[items.length] ?? flat.items;
    const held = flat.contains !== undefined && items.length < flat.minContains ? both(schema, flat.contains) : schema;
    const item = fill(held, { ...spot, depth: spot.depth + 1, place: flat.unique ? place : spot.place });
    if (item === undefined) break;
    const text = flat.unique ? canonical(item) : "";
    if (!flat.unique || !seen.has(text)) items.push(item);
    else if (place > spot.place + length + spareTries) break;
    seen.add(text);
    place += 1;
  }
  return items.length < wanted ? undefined : items;
}
