/**
 * Calls that were refused before a model was asked: how many there were, by minute, and the last of each account one by one.
 *
 * A process writes rows of its own, with the whole count of the minute so far: so a batch that is written twice counts once, and
 * no two processes wait for the same row. After two days the rows of an hour become one, whoever wrote them.
 */
import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import { hourMs } from "../../runtime/time/durations.ts";
import { changed, type Database, type Scope, stated } from "../engines/scope.ts";
import { spanOf } from "./requests-query.ts";
import { sumsByTime } from "./tallies.ts";

/** RefusedCount is how many calls a process has refused in a minute, by key, model and reason. */
export interface RefusedCount {
  readonly account_id: string;
  /** minute is when the minute began, in milliseconds since 1970. */
  readonly minute: number;
  readonly key_id: string;
  readonly model: string;
  readonly reason: number;
  readonly node: string;
  readonly requests: number;
}

export interface RefusedCall {
  readonly id: string;
  readonly account_id: string;
  readonly key_id: string;
  readonly operation: string;
  readonly model: string;
  readonly reason: number;
  readonly status: number;
  readonly detail: string;
  readonly created_at: number;
}

export interface RefusedBatch {
  readonly counts: readonly RefusedCount[];
  readonly calls: readonly RefusedCall[];
}

export interface RefusedFilter {
  readonly accountId?: string | undefined;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  /** Numbers of the proto's Reason. Empty or unset for all. */
  readonly reasons?: readonly number[];
  /** Selects calls that came at this moment or after it, and before `to`; in milliseconds since 1970. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

export interface RefusedSpan extends RefusedFilter {
  readonly from: number;
  readonly to: number;
  /** The time that a count covers, in milliseconds. */
  readonly bucketMs: number;
  /** Unset: all calls are one group, with an empty name. */
  readonly groupBy: RefusedColumn | undefined;
}

export type RefusedColumn = "reason" | "model" | "key_id" | "account_id";

export interface RefusedSums {
  readonly total: number;
  /** The greatest first. */
  readonly groups: readonly { readonly group: string; readonly requests: number }[];
  /** The sums of `groups`, oldest first. */
  readonly sums: readonly { readonly beginsAt: number; readonly group: string; readonly requests: number }[];
}

export interface RefusedStore {
  /** Writes counts in the place of those that they go on from, and adds calls. Some hundred of both at once. */
  write(batch: RefusedBatch): Promise<void>;
  find(id: string, accountId?: string): Promise<RefusedCall | undefined>;
  /** Lists up to `limit` calls before the id `before`, newest first. */
  page(filter: RefusedFilter, before: string | undefined, limit: number): Promise<RefusedCall[]>;
  /** Counts calls, in up to `mostGroups` groups. */
  sums(span: RefusedSpan, mostGroups: number): Promise<RefusedSums>;
}

/** keptOfAccount is how many calls of an account are kept one by one, at least. */
export const keptOfAccount = 1000;
/** pruneEvery is after how many new calls of an account its oldest are deleted. */
const pruneEvery = 100;
/** maxRemembered is how many accounts have their new calls counted, so that old ones are deleted. */
const maxRemembered = 10_000;
/** minutesMs is how long minutes are kept as such, in milliseconds. */
const minutesMs = 48 * hourMs;
/** sliceMs is how much time is summed in one query: the event loop goes on between two. */
const sliceMs = 6 * hourMs;
/** batch is how many rows a transaction deletes, about: writers wait for it. */
const batch = 500;

export function refusedStore({ db, transact }: Pick<Scope, "db" | "transact">): RefusedStore {
  /** added is how many calls of an account were added since its oldest were deleted. */
  const added = new Map<string, number>();
  const byId = (id: string) => db.selectFrom("refused_calls").selectAll().where("id", "=", id);
  return {
    async write({ counts, calls }) {
      await transact(async ({ db }) => {
        if (counts.length > 0) await writeCounts(db, counts);
        if (calls.length > 0) await insertCalls(db, calls);
      });
      for (const { account_id } of calls) added.set(account_id, (added.get(account_id) ?? 0) + 1);
      for (const [account, count] of added) {
        if (count < pruneEvery) continue;
        added.delete(account);
        await prune(db, account);
      }
      if (added.size > maxRemembered) added.clear();
    },
    find: (id, accountId) =>
      byId(id)
        .where((is) => is.and(stated({ account_id: accountId })))
        .executeTakeFirst(),
    page: (filter, before, limit) => pageQuery(db, filter, before, limit).execute(),
    sums: (span, mostGroups) => readSums(db, span, mostGroups),
  };
}

async function writeCounts(db: Database, counts: readonly RefusedCount[]): Promise<void> {
  await db
    .insertInto("refused_minutes")
    .values([...counts])
    .onConflict((conflict) =>
      conflict
        .columns(["account_id", "minute", "key_id", "model", "reason", "node"])
        .doUpdateSet((of) => ({ requests: of.ref("excluded.requests") })),
    )
    .execute();
}

async function insertCalls(db: Database, calls: readonly RefusedCall[]): Promise<void> {
  await db
    .insertInto("refused_calls")
    .values([...calls])
    .onConflict((conflict) => conflict.column("id").doNothing())
    .execute();
}

/** prune deletes the calls of an account that are older than those which are kept. */
async function prune(db: Database, accountId: string): Promise<void> {
  await db
    .deleteFrom("refused_calls")
    .where("account_id", "=", accountId)
    .where("id", "<=", (calls) =>
      calls
        .selectFrom("refused_calls")
        .select("id")
        .where("account_id", "=", accountId)
        .orderBy("id", "desc")
        .offset(keptOfAccount)
        .limit(1),
    )
    .execute();
}

function pageQuery(db: Database, filter: RefusedFilter, before: string | undefined, limit: number) {
  const { accountId, keyId, model, reasons = [], from, to } = filter;
  const { least, below } = spanOf(filter, before);
  return db
    .selectFrom("refused_calls")
    .selectAll()
    .where((is) => is.and(stated({ account_id: accountId, key_id: keyId, model })))
    .where("id", ">=", least)
    .where("id", "<", below)
    .$if(reasons.length > 0, (query) => query.where("reason", "in", reasons))
    .$if(from !== undefined, (query) => query.where("created_at", ">=", from as number))
    .$if(to !== undefined, (query) => query.where("created_at", "<", to as number))
    .orderBy("id", "desc")
    .limit(limit);
}

/** Counts slice by slice, so that a long time keeps nobody waiting. */
async function readSums(db: Database, span: RefusedSpan, mostGroups: number): Promise<RefusedSums> {
  const groups = new Map<string, number>();
  const buckets = new Map<number, Map<string, number>>();
  const step = Math.max(span.bucketMs, sliceMs);
  for (let from = span.from; from < span.to; from += step, await setImmediate()) {
    const slice = { ...span, from, to: Math.min(span.to, from + step) };
    for (const { begins_at, group, requests } of await sliceQuery(db, slice).execute()) {
      const name = String(group);
      groups.set(name, (groups.get(name) ?? 0) + requests);
      const bucket = buckets.get(begins_at) ?? new Map<string, number>();
      buckets.set(begins_at, bucket.set(name, (bucket.get(name) ?? 0) + requests));
    }
  }
  const ranked = [...groups].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1));
  const shown = ranked.slice(0, mostGroups);
  const names = shown.map(([group]) => group);
  return {
    total: ranked.reduce((sum, [, requests]) => sum + requests, 0),
    groups: shown.map(([group, requests]) => ({ group, requests })),
    sums: sumsByTime({ buckets }, names, (beginsAt, group, requests) => ({ beginsAt, group, requests })),
  };
}

function sliceQuery(db: Database, { accountId, keyId, model, reasons = [], from, to, bucketMs, groupBy }: RefusedSpan) {
  const begins = sql<number>`minute - minute % ${sql.lit(bucketMs)}`;
  const group = groupBy === undefined ? sql<string>`''` : sql<string | number>`${sql.ref(groupBy)}`;
  return db
    .selectFrom("refused_minutes")
    .select((all) => [begins.as("begins_at"), group.as("group"), all.fn.sum<number>("requests").as("requests")])
    .where((is) => is.and(stated({ account_id: accountId, key_id: keyId, model })))
    .where("minute", ">=", from)
    .where("minute", "<", to)
    .$if(reasons.length > 0, (query) => query.where("reason", "in", reasons))
    .groupBy(groupBy === undefined ? [begins] : [begins, groupBy]);
}

/** foldRefused makes hours of some minutes that are older than two days by `now`. Returns how many rows it has done away with. */
export async function foldRefused(db: Database, now: number): Promise<number> {
  const oldest = await db
    .selectFrom("refused_minutes")
    .select(["account_id", "minute"])
    .where(sql<boolean>`node <> ''`)
    .where("minute", "<", Math.floor((now - minutesMs) / hourMs) * hourMs)
    .orderBy("minute")
    .limit(1)
    .executeTakeFirst();
  if (!oldest) return 0;
  const hour = oldest.minute - (oldest.minute % hourMs);
  const minutes = await db
    .deleteFrom("refused_minutes")
    .where("account_id", "=", oldest.account_id)
    .where("minute", ">=", hour)
    .where("minute", "<", hour + hourMs)
    .where("node", "<>", "")
    .returningAll()
    .execute();
  const hours = new Map<string, RefusedCount>();
  for (const { account_id, key_id, model, reason, requests } of minutes) {
    const name = JSON.stringify([key_id, model, reason]);
    const sum = (hours.get(name)?.requests ?? 0) + requests;
    hours.set(name, { account_id, minute: hour, key_id, model, reason, node: "", requests: sum });
  }
  for (const row of hours.values()) await addToHour(db, row);
  return minutes.length;
}

async function addToHour(db: Database, row: RefusedCount): Promise<void> {
  await db
    .insertInto("refused_minutes")
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(["account_id", "minute", "key_id", "model", "reason", "node"])
        .doUpdateSet((of) => ({ requests: of("refused_minutes.requests", "+", of.ref("excluded.requests")) })),
    )
    .execute();
}

/** forgetRefused deletes some counts, and some calls, from before a moment, whose ids are before this one. Returns how many rows. */
export async function forgetRefused(db: Database, before: number, beforeId: string): Promise<number> {
  const some = db.selectFrom("refused_minutes").select("minute").where("minute", "<", before).orderBy("minute");
  const last =
    (
      await some
        .offset(batch - 1)
        .limit(1)
        .executeTakeFirst()
    )?.minute ?? before - 1;
  const counts = await changed(db, db.deleteFrom("refused_minutes").where("minute", "<=", last));
  const calls = db
    .deleteFrom("refused_calls")
    .where("id", "in", (old) =>
      old.selectFrom("refused_calls").select("id").where("id", "<", beforeId).orderBy("id").limit(batch),
    );
  return counts + (await changed(db, calls));
}
