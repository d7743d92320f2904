/**
 * Forgets calls and audit events that are older than they are kept, some at a time. Ids sort by time, so that the oldest are
 * found without reading the others.
 *
 * The ledger and the sums of usage stay. What a call was charged is in its row while that is kept; then it is added to one ledger
 * entry of its key and month, which stands at the month's beginning, in the transaction that deletes the row. So a forgotten call
 * takes no room, and every balance still follows from the ledger. Older versions wrote an entry for each forgotten call: those are
 * folded alike.
 *
 * Sums of forgotten calls cannot be proved by their calls any more; so `kept_from` records from when on calls are kept, and the proof
 * begins there. A charge that comes later than that is not taken for new (`money/ledger.ts`): its call may have been forgotten.
 */
import { sql } from "kysely";
import { idOf } from "../../runtime/ids.ts";
import type { Database, Engine } from "../engines/engine.ts";
import { charge, maxSum } from "../money/entries.ts";

export interface RetentionStore {
  /** Forgets some calls that came before this hour and have ids before this one. Returns how many. */
  forgetRequests(hour: number, beforeId: string): number;
  /** Folds some entries that charge a single forgotten call. Returns how many. */
  foldCharges(): number;
  /** Deletes some audit events whose ids are before this one. Returns how many. */
  forgetAuditEvents(beforeId: string): number;
}

/** How many rows a transaction deletes: writers wait for it. */
const batch = 500;
const hourMs = 3_600_000;

export function retentionStore(db: Database, engine: Engine): RetentionStore {
  return {
    forgetRequests: (hour, beforeId) => engine.transact(() => forgetRequests(db, engine, hour, beforeId)),
    foldCharges: () => engine.transact(() => foldCharges(db, engine)),
    forgetAuditEvents: (beforeId) =>
      engine.run(
        db
          .deleteFrom("acts")
          .where("id", "in", (acts) =>
            acts.selectFrom("acts").select("id").where("id", "<", beforeId).orderBy("id").limit(batch),
          ),
      ),
  };
}

function forgetRequests(db: Database, engine: Engine, hour: number, beforeId: string): number {
  const forgotten = engine.all(
    db
      .deleteFrom("requests")
      // A call's id has the time when its head came, and it is summed in the hour when its body had come: both must have passed.
      .where("id", "in", (calls) =>
        calls
          .selectFrom("requests")
          .select("id")
          .where("id", "<", beforeId)
          .where("created_at", "<", hour)
          .orderBy("id")
          .limit(batch),
      )
      .returning(["account_id", "key_id", "created_at", "cost"]),
  );
  if (forgotten.length === 0) return 0;
  fold(db, engine, forgotten);
  reopenHours(db, engine, forgotten);
  engine.run(
    db
      .insertInto("kept_from")
      .values({ kind: "requests", at: hour, id: beforeId })
      // It never goes back: forgotten calls do not return when more is configured to be kept.
      .onConflict((conflict) =>
        conflict.column("kind").doUpdateSet({ at: hour, id: beforeId }).where("kept_from.at", "<", hour),
      ),
  );
  return forgotten.length;
}

/** A call that ran for longer than calls are kept changed an hour that was forgotten, which nobody can prove any more. */
function reopenHours(db: Database, engine: Engine, calls: readonly { readonly created_at: number }[]): void {
  const hours = new Set(calls.map(({ created_at }) => created_at - (created_at % hourMs)));
  engine.run(
    db
      .deleteFrom("closed_periods")
      .where("hour", "in", [...hours])
      .where("hour", "<", (kept) => kept.selectFrom("kept_from").select("at").where("kind", "=", "requests")),
  );
}

function foldCharges(db: Database, engine: Engine): number {
  const folded = engine.all(
    db
      .deleteFrom("ledger_entries")
      .where("id", "in", (entries) =>
        entries
          .selectFrom("ledger_entries")
          .select("id")
          .where("kind", "=", charge)
          .where("request_id", "<", (kept) => kept.selectFrom("kept_from").select("id").where("kind", "=", "requests"))
          .orderBy("request_id")
          .limit(batch),
      )
      .returning(["account_id", "key_id", "created_at", sql<number>`-amount`.as("cost")]),
  );
  fold(db, engine, folded);
  return folded.length;
}

/** ForgottenCharge is what is left of a forgotten call. */
interface ForgottenCharge {
  readonly account_id: string;
  readonly key_id: string | null;
  readonly created_at: number;
  readonly cost: number;
}

/** Adds charges to the entries of their keys and months. */
function fold(db: Database, engine: Engine, charges: readonly ForgottenCharge[]): void {
  const charged = charges.filter(({ cost }) => cost !== 0);
  const ofMonths = Map.groupBy(charged, ({ account_id, key_id, created_at }) =>
    JSON.stringify([account_id, key_id, monthOf(created_at)]),
  );
  for (const [name, ofMonth] of ofMonths) {
    const [{ account_id, key_id, created_at }] = ofMonth as [ForgottenCharge];
    const month = monthOf(created_at);
    for (const part of exactSums(ofMonth)) {
      const entry = { account_id, kind: charge, key_id, created_at: month, ...part };
      for (let ordinal = 0; !added(db, engine, { id: idOf("led", month, `${name} ${ordinal}`), ...entry }); ) ordinal++;
    }
  }
}

interface FoldedCharge {
  readonly id: string;
  readonly account_id: string;
  readonly kind: number;
  readonly key_id: string | null;
  readonly created_at: number;
  readonly amount: number;
  readonly calls: number;
}

/** Adds to an entry, or makes it. Returns false where its amount would be more than can be counted exactly. */
function added(db: Database, engine: Engine, entry: FoldedCharge): boolean {
  const { amount, calls } = entry;
  const insert = db.insertInto("ledger_entries").values(entry);
  return (
    engine.run(
      insert.onConflict((conflict) =>
        conflict
          .column("id")
          .doUpdateSet({
            amount: sql<number>`ledger_entries.amount + ${amount}`,
            calls: sql<number>`ledger_entries.calls + ${calls}`,
          })
          .where(sql<boolean>`ledger_entries.amount + ${amount} >= ${-maxSum}`),
      ),
    ) === 1
  );
}

/** Returns the sums of charges, several where one could not be counted exactly. */
function exactSums(charges: readonly ForgottenCharge[]): { amount: number; calls: number }[] {
  const sums: { amount: number; calls: number }[] = [];
  for (const { cost } of charges) {
    const last = sums.at(-1);
    if (!last || last.amount - cost < -maxSum) sums.push({ amount: -cost, calls: 1 });
    else {
      last.amount -= cost;
      last.calls++;
    }
  }
  return sums;
}

/** Returns when the month of a moment began, by UTC. */
function monthOf(ms: number): number {
  const date = new Date(ms);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
}
