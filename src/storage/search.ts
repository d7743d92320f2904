/**
 * Finds those calls of an account that no index leads to, newest first: of a key, of a model, or that cost something.
 *
 * `usage_hours` tells in which hours there are any, once what is due is merged into it, and no other hours are read. In such
 * an hour the account's calls are looked through some thousand at a time, and between two such steps others have their turn:
 * so a rare key of an account with many calls takes longer, and keeps nobody waiting.
 */
import { setImmediate } from "node:timers/promises";
import { timeOfId } from "../ids.ts";
import type { Database, Engine } from "./database.ts";
import { dueSums, mergeAll } from "./due-sums.ts";
import { ledgerStatements } from "./ledger-statements.ts";
import type { Request } from "./requests.ts";
import {
  answered,
  type IdSpan,
  isRare,
  longestBodyMs,
  pageQuery,
  type RequestFilter,
  spanOf,
} from "./requests-query.ts";

const hourMs = 3_600_000;
/** How many calls are looked through at once. */
const stride = 2000;
/** How many hours are looked through at once for one in which something was charged. */
const hoursAtOnce = 50;
/** How far a clock is set back at most while a call comes: then it is taken up before its id was made. */
const clockStepMs = 600_000;

/** Finds less where whoever asks has left meanwhile. */
export type Search = (
  filter: RequestFilter,
  before: string | undefined,
  limit: number,
  asker?: Asker,
) => Promise<Request[]>;

/** Whoever asks, as an AbortSignal says. */
export interface Asker {
  readonly aborted: boolean;
}

/** Whether calls have to be searched for: by what no index has. */
export function isSought({ keyId, model, isCharged = false }: RequestFilter): boolean {
  return keyId !== undefined || model !== undefined || isCharged;
}

type Hours = "usage_hours" | "usage_hours_now";

export function createSearch(db: Database, engine: Engine): Search {
  const due = dueSums(engine.books, ledgerStatements(engine.books));
  /** Returns the newest of an account's ids in a span. */
  const newest = engine.prepare<[accountId: string, least: string, below: string], { id: string | null }>(
    "SELECT max(id) AS id FROM requests WHERE account_id = ? AND id >= ? AND id < ?",
  );

  /** Returns some hours before another in which such calls were made, the last one first, and what they cost at most. */
  function hoursBefore(table: Hours, { accountId, keyId, model, isCharged = false }: RequestFilter, before: number) {
    const query = db
      .selectFrom(table)
      .select((all) => ["hour", all.fn.max("cost").as("cost")])
      .where("account_id", "=", accountId)
      .$if(keyId !== undefined, (query) => query.where("key_id", "=", keyId as string))
      .$if(model !== undefined, (query) => query.where("model", "=", model as string))
      .where("hour", "<", before)
      .groupBy("hour")
      .orderBy("hour", "desc")
      .limit(isCharged ? hoursAtOnce : 1);
    return engine.all(query);
  }

  /** Returns where a step begins that ends before `below`: at the id of a call, or where the span does. */
  function stepFrom(filter: RequestFilter, { least, below }: IdSpan): string {
    const query = db
      .selectFrom("requests")
      .select("id")
      .where("account_id", "=", filter.accountId)
      .where("id", ">=", least)
      .where("id", "<", below)
      .$if(isRare(filter), (query) => query.where((where) => where("outcome", "!=", where.lit(answered))))
      .orderBy("id", "desc")
      .offset(stride - 1)
      .limit(1);
    return engine.all(query)[0]?.id ?? least;
  }

  return async (filter, before, limit, asker) => {
    const found: Request[] = [];
    // The latter has the same with more work.
    const table = (await mergeAll(engine, due)) ? "usage_hours" : "usage_hours_now";
    const { least, below: ends } = spanOf(filter, before);
    let below = ends;
    let hour = Number.POSITIVE_INFINITY;
    for (; ; await setImmediate()) {
      const { id } = newest.get(filter.accountId, least, below) ?? {};
      if (!id || asker?.aborted) return found;
      const hours = hoursBefore(table, filter, Math.min(hour, afterHourOf(id)));
      const last = hours.at(-1)?.hour;
      if (last === undefined) return found;
      const meant = filter.isCharged ? hours.find(({ cost }) => Number(cost) > 0)?.hour : last;
      hour = meant ?? last;
      if (meant === undefined) continue;
      const span = spanOf({ from: hour, to: hour + hourMs + clockStepMs }, below);
      const from = span.least > least ? span.least : least;
      for (below = span.below; below > from && !asker?.aborted; await setImmediate()) {
        const step = { least: stepFrom(filter, { least: from, below }), below };
        found.push(...engine.all(pageQuery(db, filter, step, limit - found.length)));
        if (found.length === limit) return found;
        below = step.least;
      }
    }
  };
}

/** Returns the beginning of the hour after all in which a call can have been taken up that came then, or before. */
function afterHourOf(id: string): number {
  const came = timeOfId(id);
  if (came === undefined) return Number.POSITIVE_INFINITY;
  return (Math.floor((came + longestBodyMs) / hourMs) + 1) * hourMs;
}
