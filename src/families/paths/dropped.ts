/**
 * Collects the parts of a request that its translation cannot express: public paths, each once, in the order of the
 * request.
 *
 * Values that say nothing are not named: null, and empty texts, lists and objects.
 */
import { callersName } from "../../call/request/servers-words.ts";
import { type CooperativeTask, endsSlice } from "../../runtime/cooperative.ts";
import { isFilled, type JsonObject } from "../../wire/json.ts";
import type { Wire } from "../../wire/wire.ts";

export class Dropped {
  readonly #paths: Set<string>;

  constructor(paths: readonly string[] = []) {
    this.#paths = new Set(paths);
  }

  add(path: string): void {
    this.#paths.add(path);
  }

  /** Adds every key that has a value, except the known ones. */
  addExtra(extra: JsonObject | undefined, under: string, known: readonly string[] = []): void {
    for (const [key, value] of Object.entries(extra ?? {})) {
      if (!known.includes(key) && value !== "" && isFilled(value)) this.add(under === "" ? key : `${under}.${key}`);
    }
  }

  /** named returns the same, by the keys that callers have in place of others. */
  named(names: ReadonlyMap<string, string>): Dropped {
    return names.size === 0 ? this : new Dropped([...this.#paths].map((path) => callersName(path, names)));
  }

  /** Returns the paths in the order of the request's members; within one member in the order of their addition. */
  *inOrderOf(request: Wire): CooperativeTask<string[]> {
    if (this.#paths.size < 2) return [...this.#paths];
    // Paths outside the request's members come first.
    const byMember = new Map<string | undefined, string[]>([[undefined, []]]);
    for (const key of Object.keys(request.json())) byMember.set(key, []);
    let count = 0;
    for (const path of this.#paths) {
      const member = path.replace(/[.[].*/s, "");
      byMember.get(byMember.has(member) ? member : undefined)?.push(path);
      if (endsSlice(count++)) yield;
    }
    return [...byMember.values()].flat();
  }
}
