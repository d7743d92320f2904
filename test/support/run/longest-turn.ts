/** Counts what cooperative work does in one turn, for tests that it yields: counts are the same on every machine. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { CooperativeTask } from "../../../src/runtime/cooperative.ts";

/** Does the work. Returns the highest count between two interruptions, and the whole count. */
export function longestTurn(
  work: CooperativeTask<unknown>,
  counted: () => number,
): { readonly most: number; readonly all: number } {
  let most = 0;
  for (let before = counted(); ; before = counted()) {
    const { done } = work.next();
    most = Math.max(most, counted() - before);
    if (done) return { most, all: counted() };
  }
}

/** Returns a function that makes parts whose types are watched, and one that returns how often any of these has been read. */
export function watchTypes(): { readonly watched: (part: JsonObject) => JsonObject; readonly reads: () => number } {
  let count = 0;
  return {
    reads: () => count,
    watched({ type, ...part }) {
      const get = () => {
        count += 1;
        return type;
      };
      return Object.defineProperty(part, "type", { enumerable: true, get });
    },
  };
}
