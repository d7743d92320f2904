/**
 * Calls that have ended, newest first, and the sums of what they used.
 *
 * Every listing follows an index, page by page: its cost does not grow with the number of calls. Ids sort by the time at which
 * calls came, so that a span of time is a span of ids. The calls of a key or a model have no index, since every call would have
 * to be written to it: `search.ts` finds them.
 */
import { sql } from "kysely";
import { type CallRow, type SummedColumn, summedColumns } from "../columns.ts";
import { type Database, type Scope, stated } from "../engines/scope.ts";
import { type MeasureFilter, type MeasureLimits, type Measures, measureAttempts } from "./attempt-measures.ts";
import { type AllFilter, listed as idsListed, pageQuery, type RequestFilter, spanOf } from "./requests-query.ts";
import { type CallerSignal, createSearch, type Found, isSought, searchAll } from "./search.ts";
import { type Summary, type SummaryFilter, type SummaryLimits, summarize } from "./summary.ts";

export interface UsageFilter {
  readonly accountId: string;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  /** Selects hours that begin at or after `from` and before `to`. */
  readonly from: number;
  readonly to: number;
  /** The time that a sum covers, in milliseconds: whole hours, counted from 1970. */
  readonly bucketMs: number;
  readonly byKey: boolean;
  readonly byModel: boolean;
  readonly limit: number;
}

/**
 * UsageSum is what was used in one bucket of time. `key_id` and `model` are null where sums are not kept apart by them. What was waived is a
 * whole number as a text: no credit bounds it, so it may be more than a double counts exactly.
 */
export type UsageSum = {
  readonly begins_at: number;
  readonly key_id: string | null;
  readonly model: string | null;
  readonly requests: number;
  readonly waived: string;
} & { readonly [column in Exclude<SummedColumn, "waived">]: number };

/**
 * Losses is what calls cost that was not charged, and what was, in millionths of the unit. What all accounts come to may be more than a
 * double counts exactly.
 */
export interface Losses {
  readonly waived: bigint;
  readonly cost: bigint;
  /** The greatest loss first. */
  readonly accounts: readonly { readonly account_id: string; readonly name: string; readonly waived: bigint }[];
}

/** AccountUse is how many calls an account made in a span of time, and what they were charged, in millionths of the unit. */
export interface AccountUse {
  readonly requests: number;
  readonly cost: number;
}

export interface RequestStore {
  find(accountId: string, id: string): Promise<CallRow | undefined>;
  /** Finds a call of any account. */
  findAny(id: string): Promise<CallRow | undefined>;
  /** Lists up to `limit` calls before the id `before`, newest first. */
  page(filter: RequestFilter, before: string | undefined, limit: number, signal?: CallerSignal): Promise<CallRow[]>;
  /** Lists up to `limit` calls of all accounts before the id `before`, newest first. */
  pageOfAll(filter: AllFilter, before: string | undefined, limit: number, signal?: CallerSignal): Promise<Found>;
  /** Returns all calls of an account, newest first, page by page. A page that is not asked for is not read. */
  pages(filter: RequestFilter, signal?: CallerSignal): AsyncIterable<readonly CallRow[]>;
  /** Sums what was used, oldest first. */
  sums(filter: UsageFilter): Promise<UsageSum[]>;
  /** Sums what each of these accounts used in hours that begin at or after `from` and before `to`; nothing of those that called nothing. */
  useOf(
    accountIds: readonly string[],
    span: { readonly from: number; readonly to: number },
  ): Promise<ReadonlyMap<string, AccountUse>>;
  /** Sums calls that are kept, of an account or of all, by how they ended and how long they took. */
  summarize(filter: SummaryFilter, limits: SummaryLimits, signal?: CallerSignal): Promise<Summary>;
  /** Measures the attempts of calls that are kept, of all accounts. */
  measureAttempts(filter: MeasureFilter, limits: MeasureLimits, signal?: CallerSignal): Promise<Measures>;
  /** Sums the operator's loss in hours that begin at or after `from` and before `to`, with up to `limit` accounts that it is of. */
  losses(span: { readonly from: number; readonly to: number }, limit: number): Promise<Losses>;
}

/** pageSize is how many rows a page of `pages` has. */
const pageSize = 500;

export function requestStore({ db }: Pick<Scope, "db">): RequestStore {
  const byId = (id: string) => db.selectFrom("requests").selectAll().where("id", "=", id);
  const search = createSearch(db);
  const listed = (filter: Partial<RequestFilter>, before: string | undefined, limit: number) =>
    pageQuery(db, filter, spanOf(filter, before), limit).execute();
  const page: RequestStore["page"] = (filter, before, limit, signal) =>
    isSought(filter) ? search(filter, before, limit, signal) : listed(filter, before, limit);
  return {
    find: (accountId, id) => byId(id).where("account_id", "=", accountId).executeTakeFirst(),
    findAny: (id) => byId(id).executeTakeFirst(),
    page,
    pageOfAll: async (filter, before, limit, signal) =>
      isSought(filter)
        ? searchAll(db, { filter, before, limit }, signal)
        : { rows: await listed(filter, before, limit) },
    pages: pagesOf(page),
    sums: (filter) => sumsQuery(db, filter).execute(),
    useOf: (accountIds, span) => readUse(db, accountIds, span),
    summarize: (filter, limits, signal) => summarize(db, filter, limits, signal),
    measureAttempts: (filter, limits, signal) => measureAttempts(db, filter, limits, signal),
    losses: (span, limit) => readLosses(db, span, limit),
  };
}

/** pagesOf returns what reads all pages, one after another. */
export function pagesOf(page: RequestStore["page"]): RequestStore["pages"] {
  return async function* pages(filter, signal) {
    let before: string | undefined;
    for (;;) {
      const rows = await page(filter, before, pageSize, signal);
      if (rows.length > 0) yield rows;
      if (rows.length < pageSize) return;
      before = rows.at(-1)?.id;
    }
  };
}

async function readLosses(db: Database, span: { readonly from: number; readonly to: number }, limit: number) {
  const hours = db.selectFrom("usage_hours_now").where("hour", ">=", span.from).where("hour", "<", span.to);
  const sum = (column: "waived" | "cost") => sql<string>`CAST(coalesce(sum(${sql.ref(column)}), 0) AS text)`;
  const sums = await hours.select([sum("waived").as("waived"), sum("cost").as("cost")]).executeTakeFirstOrThrow();
  const accounts = await hours
    .innerJoin("accounts", "accounts.id", "usage_hours_now.account_id")
    .select(["account_id", "name", sum("waived").as("lost")])
    .groupBy(["account_id", "name"])
    .having((all) => all.fn.sum("waived"), ">", 0)
    .orderBy((all) => all.fn.sum("waived"), "desc")
    .orderBy("account_id")
    .limit(limit)
    .execute();
  return {
    waived: BigInt(sums.waived),
    cost: BigInt(sums.cost),
    accounts: accounts.map(({ account_id, name, lost }) => ({ account_id, name, waived: BigInt(lost) })),
  };
}

async function readUse(
  db: Database,
  accountIds: readonly string[],
  span: { readonly from: number; readonly to: number },
) {
  const sums = await db
    .selectFrom("usage_hours_now")
    .select((all) => [
      "account_id",
      all.fn.sum<number>("requests").as("requests"),
      all.fn.sum<number>("cost").as("cost"),
    ])
    .where("account_id", "in", idsListed(accountIds))
    .where("hour", ">=", span.from)
    .where("hour", "<", span.to)
    .groupBy("account_id")
    // A call that was lost has a row here, and used nothing.
    .having((all) => all.fn.sum("requests"), ">", 0)
    .execute();
  return new Map(sums.map(({ account_id, requests, cost }) => [account_id, { requests, cost }]));
}

const boundedColumns = summedColumns.filter((name) => name !== "waived");

function sumsQuery(db: Database, filter: UsageFilter) {
  const { accountId, keyId, model, from, to, bucketMs, byKey, byModel, limit } = filter;
  const begins = sql<number>`hour - hour % ${sql.lit(bucketMs)}`;
  const key = byKey ? sql<string | null>`key_id` : sql<string | null>`NULL`;
  const modelId = byModel ? sql<string | null>`model` : sql<string | null>`NULL`;
  return (
    db
      .selectFrom("usage_hours_now")
      .select((all) => [
        begins.as("begins_at"),
        key.as("key_id"),
        modelId.as("model"),
        ...(["requests", ...boundedColumns] as const).map((name) => all.fn.sum<number>(name).as(name)),
        sql<string>`CAST(sum(waived) AS text)`.as("waived"),
      ])
      .where("account_id", "=", accountId)
      .where("hour", ">=", from)
      .where("hour", "<", to)
      .where((is) => is.and(stated({ key_id: keyId, model })))
      .groupBy(
        byKey && byModel
          ? [begins, "key_id", "model"]
          : byKey
            ? [begins, "key_id"]
            : byModel
              ? [begins, "model"]
              : [begins],
      )
      // A call that was lost has a row here, by which it is found, and used nothing.
      .having((all) => all.fn.sum("requests"), ">", 0)
      .orderBy(begins)
      .$if(byKey, (query) => query.orderBy("key_id"))
      .$if(byModel, (query) => query.orderBy("model"))
      .limit(limit)
  );
}
