/**
 * Collects what a request says and its translation cannot: by public path, each once, in the order of the request.
 *
 * What says nothing is not named: a null, an empty text, list or object.
 */

import { type CooperativeTask, itemsPerSlice } from "../../../runtime/cooperative.ts";
import type { JsonObject, JsonValue } from "../../../wire/json.ts";
import type { Wire } from "../../../wire/wire.ts";

export class Dropped {
  readonly #paths = new Set<string>();

  add(path: string): void {
    this.#paths.add(path);
  }

  /** Names every key that says something, but those that are dealt with elsewhere. */
  addExtra(extra: JsonObject | undefined, under: string, known: readonly string[] = []): void {
    for (const [key, value] of Object.entries(extra ?? {})) {
      if (!known.includes(key) && saysSomething(value)) this.add(under === "" ? key : `${under}.${key}`);
    }
  }

  /** Returns the paths in the order of the request's members; within one, in the order in which they were found. */
  *inOrderOf(request: Wire): CooperativeTask<string[]> {
    if (this.#paths.size < 2) return [...this.#paths];
    // Of what is no member of the request, all stands first.
    const byMember = new Map<string | undefined, string[]>([[undefined, []]]);
    for (const key of Object.keys(request.json())) byMember.set(key, []);
    let count = 0;
    for (const path of this.#paths) {
      const member = path.replace(/[.[].*/s, "");
      byMember.get(byMember.has(member) ? member : undefined)?.push(path);
      if (++count % itemsPerSlice === 0) yield;
    }
    return [...byMember.values()].flat();
  }
}

function saysSomething(value: JsonValue): boolean {
  if (value === null || value === "") return false;
  return typeof value !== "object" || Object.keys(value).length > 0;
}
