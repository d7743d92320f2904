/**
 * Runs what is done under an idempotency key once: a repetition within a day gets the first result.
 *
 * The work and the record of it are one transaction. Older records are deleted whenever one is added, some at a time: no timer
 * runs.
 */
import type { Engine } from "../engines/engine.ts";

/** Occasion is an idempotency key, whose and for what it is, and the SHA-256 of its request, in hex. */
export interface Occasion {
  readonly scope: string;
  readonly key: string;
  readonly fingerprint: string;
}

export type Outcome =
  /** Done now; or replayed: then nothing was done. */
  | { readonly kind: "done" | "replayed"; readonly resultId: string }
  /** The key was used with another request. */
  | { readonly kind: "conflict" };

export interface IdempotencyStore {
  /**
   * Runs `make`, which returns the id of what it made, or returns what it made before. What it throws is thrown, and nothing is
   * recorded. `now` is in milliseconds since 1970.
   */
  once(occasion: Occasion, now: number, make: () => string): Outcome;
}

const keptMs = 24 * 3_600_000;

/** How many records are deleted when one is added, at most. */
const batch = 100;

export function idempotencyStore(engine: Engine): IdempotencyStore {
  const find = engine.prepare<[scope: string, key: string, after: number], { fingerprint: string; result_id: string }>(
    "SELECT fingerprint, result_id FROM idempotency_keys WHERE scope = ? AND key = ? AND created_at > ?",
  );
  // An expired record of the same key may still be there.
  const insert = engine.prepare<[string, string, string, resultId: string, now: number]>(
    "INSERT OR REPLACE INTO idempotency_keys (scope, key, fingerprint, result_id, created_at) VALUES (?, ?, ?, ?, ?)",
  );
  const forget = engine.prepare<[before: number]>(
    `DELETE FROM idempotency_keys WHERE rowid IN
       (SELECT rowid FROM idempotency_keys WHERE created_at <= ? ORDER BY created_at LIMIT ${batch})`,
  );
  return {
    once: ({ scope, key, fingerprint }, now, make) =>
      engine.transact(() => {
        const before = find.get(scope, key, now - keptMs);
        if (before && before.fingerprint !== fingerprint) return { kind: "conflict" };
        if (before) return { kind: "replayed", resultId: before.result_id };
        const resultId = make();
        insert.run(scope, key, fingerprint, resultId, now);
        forget.run(now - keptMs);
        return { kind: "done", resultId };
      }),
  };
}
