/**
 * Runs what is done under an idempotency key once: a repetition within a day gets the first result.
 *
 * The work and the record of it are one transaction. Older records are deleted whenever one is added, some at a time: no timer
 * runs.
 */
import { dayMs } from "../../runtime/time/durations.ts";
import { changed, type Database, type Scope } from "../engines/scope.ts";

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
   * Within the transaction of the work: runs `make`, which returns the id of what it made, or returns what it made before. What it
   * throws is thrown. `now` is in milliseconds since 1970.
   */
  once(occasion: Occasion, now: number, make: () => Promise<string>): Promise<Outcome>;
}

const keptMs = dayMs;

/** batch is how many records are deleted when one is added, at most. */
const batch = 100;

export function idempotencyStore({ db }: Scope): IdempotencyStore {
  return {
    async once(occasion, now, make) {
      const before = await claim(db, occasion, now);
      if (before && before.fingerprint !== occasion.fingerprint) return { kind: "conflict" };
      if (before) return { kind: "replayed", resultId: before.result_id };
      const resultId = await make();
      await own(db, occasion).set({ result_id: resultId }).execute();
      await forget(db, now - keptMs);
      return { kind: "done", resultId };
    },
  };
}

interface Before {
  readonly fingerprint: string;
  readonly result_id: string;
}

/**
 * claim adds the record before anything is made, with no result: of several at once, the others wait until this transaction ends. Returns
 * the record that is there; nobody else sees one without a result.
 */
async function claim(db: Database, occasion: Occasion, now: number): Promise<Before | undefined> {
  const { scope, key, fingerprint } = occasion;
  const values = { fingerprint, result_id: "", created_at: now };
  const isMine = await changed(
    db,
    db
      .insertInto("idempotency_keys")
      .values({ scope, key, ...values })
      // An expired record of the same key may still be there.
      .onConflict((conflict) =>
        conflict
          .columns(["scope", "key"])
          .doUpdateSet(values)
          .where("idempotency_keys.created_at", "<=", now - keptMs),
      ),
  );
  if (isMine === 1) return undefined;
  return db
    .selectFrom("idempotency_keys")
    .select(["fingerprint", "result_id"])
    .where("scope", "=", scope)
    .where("key", "=", key)
    .executeTakeFirst();
}

function own(db: Database, { scope, key }: Occasion) {
  return db.updateTable("idempotency_keys").where("scope", "=", scope).where("key", "=", key);
}

/**
 * forget deletes some records that were made before a moment. The deletion asks for their age itself, too: one that waited on Postgres for
 * a transaction which renewed a record looks at its own conditions anew, and not at those of the query within.
 */
async function forget(db: Database, before: number): Promise<void> {
  const expired = db
    .selectFrom("idempotency_keys")
    .select(["scope", "key"])
    .where("created_at", "<=", before)
    .orderBy("created_at")
    .limit(batch);
  await db
    .deleteFrom("idempotency_keys")
    .where((of) => of(of.refTuple("scope", "key"), "in", expired.$asTuple("scope", "key")))
    .where("created_at", "<=", before)
    .execute();
}
