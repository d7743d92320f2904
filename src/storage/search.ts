/**
 * Finds those calls of an account that no index leads to, newest first: of a key, of a model, or that cost something.
 *
 * `usage_hours` tells in which hours there are any, and no other hours are read. In such an hour the account's calls are
 * looked through some thousand at a time, and between two such steps others have their turn: so a rare key of an account
 * with many calls takes longer, and keeps nobody waiting.
 */
import { setImmediate } from "node:timers/promises";
import { timeOfId } from "../ids.ts";
import type { Database, Engine } from "./database.ts";
import type { Request } from "./requests.ts";
import { type IdSpan, isRare, longestBodyMs, pageQuery, type RequestFilter, spanOf } from "./requests-query.ts";

const hourMs = 3_600_000;
/** How many calls are looked through at once. */
const stride = 2000;

export type Search = (filter: RequestFilter, before: string | undefined, limit: number) => Promise<Request[]>;

/** Whether calls have to be searched for: by what no index has. */
export function isSought({ keyId, model, isCharged = false }: RequestFilter): boolean {
  return keyId !== undefined || model !== undefined || isCharged;
}

export function createSearch(db: Database, engine: Engine): Search {
  /** Returns the newest of an account's ids in a span. */
  const newest = engine.prepare<[accountId: string, least: string, below: string], { id: string | null }>(
    "SELECT max(id) AS id FROM requests WHERE account_id = ? AND id >= ? AND id < ?",
  );

  /** Returns the last hour before another in which there are such calls. */
  function hourBefore({ accountId, keyId, model, isCharged = false }: RequestFilter, before: number) {
    const query = db
      .selectFrom("usage_hours")
      .select("hour")
      .where("account_id", "=", accountId)
      .$if(keyId !== undefined, (query) => query.where("key_id", "=", keyId as string))
      .$if(model !== undefined, (query) => query.where("model", "=", model as string))
      .$if(isCharged, (query) => query.where("cost", ">", 0))
      .where("hour", "<", before)
      .orderBy("hour", "desc")
      .limit(1);
    return engine.all(query)[0]?.hour;
  }

  /** Returns where a step begins that ends before `below`: at the id of a call, or where the span does. */
  function stepFrom(filter: RequestFilter, { least, below }: IdSpan): string {
    const query = db
      .selectFrom("requests")
      .select("id")
      .where("account_id", "=", filter.accountId)
      .where("id", ">=", least)
      .where("id", "<", below)
      .$if(isRare(filter), (query) => query.where((where) => where("outcome", "!=", where.lit(1))))
      .orderBy("id", "desc")
      .offset(stride - 1)
      .limit(1);
    return engine.all(query)[0]?.id ?? least;
  }

  return async (filter, before, limit) => {
    const found: Request[] = [];
    const { least, below: ends } = spanOf(filter, before);
    let below = ends;
    let hour = Number.POSITIVE_INFINITY;
    for (;;) {
      const { id } = newest.get(filter.accountId, least, below) ?? {};
      if (!id) return found;
      const previous = hourBefore(filter, Math.min(hour, afterHourOf(id)));
      if (previous === undefined) return found;
      hour = previous;
      const span = spanOf({ from: hour, to: hour + hourMs }, below);
      const from = span.least > least ? span.least : least;
      for (below = span.below; below > from; await setImmediate()) {
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
  const taken = (timeOfId(id) ?? Number.POSITIVE_INFINITY) + longestBodyMs;
  return taken - (taken % hourMs) + hourMs;
}
