/**
 * Calls that are over, newest first, and the sums of what they used.
 *
 * Every listing goes along an index, page by page: none reads more for there being more. Ids sort by the time at which
 * calls came, so that a span of time is a span of ids.
 */
import { type Selectable, sql } from "kysely";
import type { Database, Engine } from "./database.ts";
import type { RequestTable, UsageHourTable } from "./schema.ts";

export type Request = Selectable<RequestTable>;

export interface RequestFilter {
  readonly accountId: string;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  /** Numbers of the proto's Outcome; empty or unset for all. */
  readonly outcomes?: readonly number[];
  readonly from?: Moment | undefined;
  readonly to?: Moment | undefined;
}

/** What calls of all accounts are chosen by. */
export type AllFilter = Pick<RequestFilter, "outcomes" | "from" | "to">;

/** A moment, in milliseconds since 1970, and an id that no call has which came after it, or before it. */
export interface Moment {
  readonly at: number;
  readonly id: string;
}

export interface UsageFilter {
  readonly accountId: string;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  /** Hours that begin at or after `from` and before `to`. */
  readonly from: number;
  readonly to: number;
  /** How long a sum covers, in milliseconds: whole hours, counted from 1970. */
  readonly bucketMs: number;
  readonly byKey: boolean;
  readonly byModel: boolean;
  readonly limit: number;
}

export type UsageSum = Omit<Selectable<UsageHourTable>, "account_id" | "hour" | "key_id" | "model"> & {
  readonly begins_at: number;
  readonly key_id: string | null;
  readonly model: string | null;
};

export interface RequestStore {
  find(accountId: string, id: string): Request | undefined;
  /** Finds a call of whichever account. */
  findAny(id: string): Request | undefined;
  /** Lists some calls, newest first: those before the one with this id. */
  page(filter: RequestFilter, before: string | undefined, limit: number): Request[];
  /** Lists some calls of all accounts, newest first: those before the one with this id. */
  pageOfAll(filter: AllFilter, before: string | undefined, limit: number): Request[];
  /** Hands over all calls of an account, newest first, some at a time; what is not asked for is not read. */
  pages(filter: RequestFilter): Iterable<readonly Request[]>;
  /** Sums what was used, oldest first. */
  sums(filter: UsageFilter): UsageSum[];
}

/** How many rows `pages` reads at a time. */
const pageSize = 500;

/** What all ids are before. */
const last = "~";

/** A number of the proto's Outcome: that of nearly all calls. */
const answered = 1;

export function requestStore(db: Database, engine: Engine): RequestStore {
  const find = engine.prepare<[id: string, accountId: string], Request>(
    "SELECT * FROM requests WHERE id = ? AND account_id = ?",
  );
  const findAny = engine.prepare<[id: string], Request>("SELECT * FROM requests WHERE id = ?");
  const page: RequestStore["page"] = (filter, before, limit) => engine.all(pageQuery(db, filter, before, limit));
  return {
    find: (accountId, id) => find.get(id, accountId),
    findAny: (id) => findAny.get(id),
    page,
    pageOfAll: (filter, before, limit) => engine.all(allQuery(db, filter, before, limit)),
    *pages(filter) {
      let before: string | undefined;
      for (;;) {
        const rows = page(filter, before, pageSize);
        if (rows.length > 0) yield rows;
        if (rows.length < pageSize) return;
        before = rows.at(-1)?.id;
      }
    },
    sums: (filter) => engine.all(sumsQuery(db, filter)),
  };
}

/** Exported for the test that shows which index it goes along. */
export function pageQuery(db: Database, filter: RequestFilter, before: string | undefined, limit: number) {
  const { accountId, keyId, model, outcomes = [], from, to } = filter;
  const rare = outcomes.length > 0 && !outcomes.includes(answered);
  // A key is one account's, so the condition on the key says the account too, and its index is the one to go along.
  const ownKey = db.selectFrom("api_keys").select("id").where("account_id", "=", accountId);
  const least = from?.id ?? "";
  const below = [before, to?.id].filter((id) => id !== undefined).sort()[0] ?? last;
  const byModel = model !== undefined && keyId === undefined;
  return (
    db
      .selectFrom("requests")
      .selectAll()
      .$if(keyId === undefined, (query) => query.where("account_id", "=", accountId))
      .$if(keyId !== undefined, (query) => query.where("key_id", "=", ownKey.where("id", "=", keyId as string)))
      .$if(keyId !== undefined && model !== undefined, (query) => query.where("model", "=", model as string))
      // One range over both, which no other index has: SQLite would guess that the account's own serves as well.
      .$if(byModel, (query) => query.where(sql<boolean>`(model, id) >= (${model}, ${least})`))
      .$if(byModel, (query) => query.where(sql<boolean>`(model, id) < (${model}, ${below})`).orderBy("model", "desc"))
      .$if(!byModel, (query) => query.where("id", ">=", least).where("id", "<", below))
      .$if(outcomes.length > 0, (query) => query.where("outcome", "in", outcomes))
      // Said as the index says it, which leaves the answered calls out.
      .$if(rare, (query) => query.where((where) => where("outcome", "!=", where.lit(answered))))
      .$if(from !== undefined, (query) => query.where("created_at", ">=", (from as Moment).at))
      .$if(to !== undefined, (query) => query.where("created_at", "<", (to as Moment).at))
      .orderBy("id", "desc")
      .limit(limit)
  );
}

/** Exported for the test that shows which index it goes along. */
export function allQuery(db: Database, filter: AllFilter, before: string | undefined, limit: number) {
  const { outcomes = [], from, to } = filter;
  const rare = outcomes.length > 0 && !outcomes.includes(answered);
  const below = [before, to?.id].filter((id) => id !== undefined).sort()[0] ?? last;
  return (
    db
      .selectFrom("requests")
      .selectAll()
      .where("id", ">=", from?.id ?? "")
      .where("id", "<", below)
      .$if(outcomes.length > 0, (query) => query.where("outcome", "in", outcomes))
      // Said as the index says it, which leaves the answered calls out.
      .$if(rare, (query) => query.where((where) => where("outcome", "!=", where.lit(answered))))
      .$if(from !== undefined, (query) => query.where("created_at", ">=", (from as Moment).at))
      .$if(to !== undefined, (query) => query.where("created_at", "<", (to as Moment).at))
      .orderBy("id", "desc")
      .limit(limit)
  );
}

function sumsQuery(db: Database, filter: UsageFilter) {
  const { accountId, keyId, model, from, to, bucketMs, byKey, byModel, limit } = filter;
  const begins = sql<number>`hour - hour % ${sql.lit(bucketMs)}`;
  const key = byKey ? sql<string | null>`key_id` : sql<string | null>`NULL`;
  const modelId = byModel ? sql<string | null>`model` : sql<string | null>`NULL`;
  return db
    .selectFrom("usage_hours")
    .select((all) => [
      begins.as("begins_at"),
      key.as("key_id"),
      modelId.as("model"),
      all.fn.sum<number>("requests").as("requests"),
      all.fn.sum<number>("input").as("input"),
      all.fn.sum<number>("cache_read").as("cache_read"),
      all.fn.sum<number>("cache_write").as("cache_write"),
      all.fn.sum<number>("output").as("output"),
      all.fn.sum<number>("reasoning").as("reasoning"),
      all.fn.sum<number>("characters").as("characters"),
      all.fn.sum<number>("cost").as("cost"),
    ])
    .where("account_id", "=", accountId)
    .where("hour", ">=", from)
    .where("hour", "<", to)
    .$if(keyId !== undefined, (query) => query.where("key_id", "=", keyId as string))
    .$if(model !== undefined, (query) => query.where("model", "=", model as string))
    .groupBy(
      byKey && byModel
        ? [begins, "key_id", "model"]
        : byKey
          ? [begins, "key_id"]
          : byModel
            ? [begins, "model"]
            : [begins],
    )
    .orderBy(begins)
    .$if(byKey, (query) => query.orderBy("key_id"))
    .$if(byModel, (query) => query.orderBy("model"))
    .limit(limit);
}
