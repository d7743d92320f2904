/**
 * Finds those calls of an account that no index leads to, newest first: of a key, of a model, or that cost something.
 *
 * `usage_hours` tells in which hours there are any, with what is due of them, and no other hours are read. In such
 * an hour the account's calls are looked through some thousand at a time, and between two such steps others have their turn:
 * so a rare key of an account with many calls takes longer, and keeps nobody waiting.
 */
import { setImmediate } from "node:timers/promises";
import { timeOfId } from "../../runtime/ids.ts";
import type { CallRow } from "../columns.ts";
import type { Database, Engine } from "../engines/engine.ts";
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
) => Promise<CallRow[]>;

/** Whoever asks, as an AbortSignal says. */
export interface Asker {
  readonly aborted: boolean;
}

/** Whether calls have to be searched for: by what no index has. */
export function isSought({ keyId, model, isCharged = false }: RequestFilter): boolean {
  return keyId !== undefined || model !== undefined || isCharged;
}

/** One in which calls were made, and what they cost at most. */
interface Hour {
  readonly hour: number;
  readonly cost: number;
}

/** Returns so many different hours before another, the last one first. */
function lastOf(most: number, hours: readonly Hour[], before: number): Hour[] {
  const costs = new Map<number, number>();
  for (const { hour, cost } of hours) if (hour < before) costs.set(hour, Math.max(cost, costs.get(hour) ?? 0));
  const last = [...costs].sort(([one], [other]) => other - one).slice(0, most);
  return last.map(([hour, cost]) => ({ hour, cost }));
}

export function createSearch(db: Database, engine: Engine): Search {
  /** Returns the newest of an account's ids in a span. */
  const newest = engine.prepare<[accountId: string, least: string, below: string], { id: string | null }>(
    "SELECT max(id) AS id FROM requests WHERE account_id = ? AND id >= ? AND id < ?",
  );

  /** Returns some hours before another in which such calls were made, the last one first, and what they cost at most. */
  function hoursBefore(table: "usage_hours" | "due_now", filter: RequestFilter, before: number, most: number): Hour[] {
    const { accountId, keyId, model } = filter;
    const query = db
      .selectFrom(table)
      .select((all) => ["hour", all.fn.max<number>("cost").as("cost")])
      .where("account_id", "=", accountId)
      .$if(keyId !== undefined, (query) => query.where("key_id", "=", keyId as string))
      .$if(model !== undefined, (query) => query.where("model", "=", model as string))
      .where("hour", "<", before)
      .groupBy("hour")
      .orderBy("hour", "desc")
      .limit(most);
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
    const found: CallRow[] = [];
    const { least, below: ends } = spanOf(filter, before);
    let below = ends;
    let hour = Number.POSITIVE_INFINITY;
    const most = filter.isCharged ? hoursAtOnce : 1;
    /** Those that are due, which are of late. */
    let due: readonly Hour[] | undefined;
    for (; ; await setImmediate()) {
      const { id } = newest.get(filter.accountId, least, below) ?? {};
      if (!id || asker?.aborted) return found;
      const before = Math.min(hour, afterHourOf(id));
      // After the look for an id, by which all is written.
      due ??= hoursBefore("due_now", filter, Number.MAX_SAFE_INTEGER, hoursAtOnce);
      const hours = lastOf(most, [...hoursBefore("usage_hours", filter, before, most), ...due], before);
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
