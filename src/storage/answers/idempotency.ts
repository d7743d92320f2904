/**
 * What was done under an idempotency key is done once: who asks again within a day is told what it made.
 *
 * The work and the note of it are one transaction: either both are kept, or neither. Notes that are older are deleted in
 * passing, some at a time: no timer runs.
 */
import type { Engine } from "../engines/engine.ts";

/** Whose idempotency key it is and for what, the key itself, and what tells requests apart: a SHA-256, in hex. */
export interface Occasion {
  readonly scope: string;
  readonly key: string;
  readonly fingerprint: string;
}

export type Outcome =
  /** Now, or before: then nothing was done. */
  | { readonly kind: "done" | "replayed"; readonly resultId: string }
  /** The key was used with another request. */
  | { readonly kind: "conflict" };

export interface IdempotencyStore {
  /**
   * Does the work, which returns the id of what it made, or tells what it made before. What it throws is thrown, and then
   * nothing was done. `now` is in milliseconds since 1970.
   */
  once(occasion: Occasion, now: number, make: () => string): Outcome;
}

const keptMs = 24 * 3_600_000;

/** How many notes are deleted in passing, at most. */
const batch = 100;

export function idempotencyStore(engine: Engine): IdempotencyStore {
  const find = engine.prepare<[scope: string, key: string, after: number], { fingerprint: string; result_id: string }>(
    "SELECT fingerprint, result_id FROM idempotency_keys WHERE scope = ? AND key = ? AND created_at > ?",
  );
  // An old note may still stand in the place of the new one.
  const note = engine.prepare<[string, string, string, resultId: string, now: number]>(
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
        note.run(scope, key, fingerprint, resultId, now);
        forget.run(now - keptMs);
        return { kind: "done", resultId };
      }),
  };
}
