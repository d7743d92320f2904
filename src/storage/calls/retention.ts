/**
 * Forgets calls and audit events that are older than they are kept, some at a time. Ids sort by time, so that the oldest are
 * found without reading the others.
 *
 * The ledger and the sums of usage stay. What a call was charged is in its row while that is kept; then it is added to one ledger
 * entry of its key and month, which stands at the month's beginning, in the transaction that deletes the row. So a forgotten call
 * takes no room, and every balance still follows from the ledger. Older versions wrote an entry for each forgotten call: those are
 * folded alike.
 *
 * Sums of forgotten calls cannot be proved by their calls any more; so `kept_from` records up to where calls were forgotten, and the proof
 * begins there. A charge that comes later than that is not taken for new (`money/ledger.ts`): its call may have been forgotten.
 */
import { sql } from "kysely";
import { idOf } from "../../runtime/ids.ts";
import { hourMs } from "../../runtime/time/durations.ts";
import { changed, type Database, type Scope } from "../engines/scope.ts";
import { maxSum } from "../money/bounds.ts";
import { charge } from "../money/entries.ts";
import { foldRefused, forgetRefused } from "./refused.ts";

export interface RetentionStore {
  /** Forgets some calls that came before this hour and have ids before this one. Returns how many. */
  forgetRequests(hour: number, beforeId: string): Promise<number>;
  /** Folds some entries that charge a single forgotten call. Returns how many. */
  foldCharges(): Promise<number>;
  /** Makes hours of some minutes of refused calls. Returns how many rows it has done away with. */
  foldRefused(now: number): Promise<number>;
  /** Deletes some refused calls, and their counts, from before a moment. Returns how many rows. */
  forgetRefused(before: number, beforeId: string): Promise<number>;
  /** Deletes some sums of what accounts and keys with budgets spent before a moment, which no window reaches. Returns how many. */
  forgetSpending(before: number): Promise<number>;
  /** Deletes some audit events whose ids are before this one. Returns how many. */
  forgetAuditEvents(beforeId: string): Promise<number>;
}

/** batch is how many rows a transaction deletes: writers wait for it. */
const batch = 500;

export function retentionStore({ db, transact }: Scope): RetentionStore {
  return {
    forgetRequests: (hour, beforeId) => transact(({ db }) => forgetRequests(db, hour, beforeId)),
    foldCharges: () => transact(({ db }) => foldCharges(db)),
    foldRefused: (now) => transact(({ db }) => foldRefused(db, now)),
    forgetRefused: (before, beforeId) => transact(({ db }) => forgetRefused(db, before, beforeId)),
    async forgetSpending(before) {
      const rows = await db
        .selectFrom("spent_by_quarter")
        .select(["subject", "quarter_start"])
        .where("quarter_start", "<", before)
        .orderBy("quarter_start")
        .limit(batch)
        .execute();
      const last = rows.at(-1);
      if (!last) return 0;
      // Whole quarters: what came before the last one goes, and at the end that one, too.
      const end = rows.length < batch ? before : Math.max(last.quarter_start, (rows[0]?.quarter_start ?? 0) + 1);
      return changed(db, db.deleteFrom("spent_by_quarter").where("quarter_start", "<", end));
    },
    forgetAuditEvents: (beforeId) =>
      changed(
        db,
        db
          .deleteFrom("acts")
          .where("id", "in", (acts) =>
            acts.selectFrom("acts").select("id").where("id", "<", beforeId).orderBy("id").limit(batch),
          ),
      ),
  };
}

async function forgetRequests(db: Database, hour: number, beforeId: string): Promise<number> {
  const forgotten = await db
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
    .returning(["id", "account_id", "key_id", "created_at", "cost"])
    .execute();
  if (forgotten.length === 0) return 0;
  await fold(db, forgotten);
  await reopenHours(db, forgotten);
  await keepBehind(db, forgotten);
  return forgotten.length;
}

/**
 * keepBehind says that calls are kept from the last forgotten one on, and no later: where the clock was set ahead, and is set back, those that
 * come then were not forgotten. It never goes back: forgotten calls do not return when more is configured to be kept.
 */
async function keepBehind(db: Database, calls: readonly { readonly id: string; readonly created_at: number }[]) {
  const last = calls.reduce((most, { id }) => (id > most ? id : most), "");
  const lastAt = calls.reduce((most, { created_at }) => Math.max(most, created_at), 0);
  // The id behind the last one, and the hour behind the latest.
  const [id, at] = [`${last}0`, lastAt - (lastAt % hourMs) + hourMs];
  // Each for itself: a call whose body came in the hour after its head has an id before those of calls that are forgotten already.
  await db
    .insertInto("kept_from")
    .values({ kind: "requests", at, id })
    .onConflict((conflict) =>
      conflict.column("kind").doUpdateSet(({ ref }) => ({
        id: sql<string>`CASE WHEN ${ref("kept_from.id")} < ${id} THEN ${id} ELSE ${ref("kept_from.id")} END`,
        at: sql<number>`CASE WHEN ${ref("kept_from.at")} < ${at} THEN ${at} ELSE ${ref("kept_from.at")} END`,
      })),
    )
    .execute();
}

/** A call that ran for longer than calls are kept changed an hour that was forgotten, which nobody can prove any more. */
async function reopenHours(db: Database, calls: readonly { readonly created_at: number }[]): Promise<void> {
  const hours = new Set(calls.map(({ created_at }) => created_at - (created_at % hourMs)));
  await db
    .deleteFrom("closed_periods")
    .where("hour", "in", [...hours])
    .where("hour", "<", (kept) => kept.selectFrom("kept_from").select("at").where("kind", "=", "requests"))
    .execute();
}

async function foldCharges(db: Database): Promise<number> {
  const folded = await db
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
    .returning(["account_id", "key_id", "created_at", sql<number>`-amount`.as("cost")])
    .execute();
  await fold(db, folded);
  return folded.length;
}

/** ForgottenCharge is what is left of a forgotten call. */
interface ForgottenCharge {
  readonly account_id: string;
  readonly key_id: string | null;
  readonly created_at: number;
  readonly cost: number;
}

/** fold adds charges to the entries of their keys and months. */
async function fold(db: Database, charges: readonly ForgottenCharge[]): Promise<void> {
  const charged = charges.filter(({ cost }) => cost !== 0);
  const ofMonths = Map.groupBy(charged, ({ account_id, key_id, created_at }) =>
    JSON.stringify([account_id, key_id, monthOf(created_at)]),
  );
  for (const [name, ofMonth] of ofMonths) {
    const [{ account_id, key_id, created_at }] = ofMonth as [ForgottenCharge];
    const month = monthOf(created_at);
    for (const part of exactSums(ofMonth)) {
      const entry = { account_id, kind: charge, key_id, created_at: month, ...part };
      for (let ordinal = 0; !(await added(db, { id: idOf("led", month, `${name} ${ordinal}`), ...entry })); ) ordinal++;
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

/** added adds to an entry, or makes it. Returns false where its amount would be more than can be counted exactly. */
async function added(db: Database, entry: FoldedCharge): Promise<boolean> {
  const insert = db.insertInto("ledger_entries").values(entry);
  const added = insert.onConflict((conflict) =>
    conflict
      .column("id")
      .doUpdateSet((of) => ({
        amount: of("ledger_entries.amount", "+", of.ref("excluded.amount")),
        calls: of("ledger_entries.calls", "+", of.ref("excluded.calls")),
      }))
      .where((of) => of(of("ledger_entries.amount", "+", of.ref("excluded.amount")), ">=", -maxSum)),
  );
  return (await changed(db, added)) === 1;
}

/** exactSums returns the sums of charges, several where one could not be counted exactly. */
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

/** monthOf returns when the month of a moment began, by UTC. */
function monthOf(ms: number): number {
  const date = new Date(ms);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
}
