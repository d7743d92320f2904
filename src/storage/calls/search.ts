/**
 * Searches for those calls of an account that no index leads to, newest first: of a key or several, of a model, of an
 * upstream, or that cost something.
 *
 * `usage_hours` and the pending totals tell in which hours there are any; no other hours are read. In such an hour the account's
 * calls are read some thousand at a time, and between two steps the event loop goes on: a rare key of an account with many calls
 * takes longer to find, and keeps nobody waiting.
 */
import { setImmediate } from "node:timers/promises";
import type { Signal } from "../../runtime/caller-abort.ts";
import { timeOfId } from "../../runtime/ids.ts";
import { hourMs } from "../../runtime/time/durations.ts";
import type { CallRow } from "../columns.ts";
import { type Database, stated } from "../engines/scope.ts";
import { answered } from "./outcomes.ts";
import {
  type IdSpan,
  isRare,
  listed,
  maxBodyMs,
  pageQuery,
  type RequestFilter,
  spanOf,
  stride,
} from "./requests-query.ts";

/** hoursAtOnce is how many hours are looked at in one step for one in which something was charged. */
const hoursAtOnce = 50;
/** clockStepMs is how far a clock may be set back while a call comes, whose time is then before that of its id. */
const clockStepMs = 600_000;

/** Search finds fewer calls where the caller disconnects meanwhile. */
export type Search = (
  filter: RequestFilter,
  before: string | undefined,
  limit: number,
  signal?: CallerSignal,
) => Promise<CallRow[]>;

/** CallerSignal is what reading many calls uses of a signal: it ends early where the caller has disconnected. */
export type CallerSignal = Pick<Signal, "aborted">;

/** isSought reports whether calls have to be searched for, since no index has what the filter names. */
export function isSought({ keyId, keyIds, model, upstream, isCharged = false }: Partial<RequestFilter>): boolean {
  return keyId !== undefined || keyIds !== undefined || model !== undefined || upstream !== undefined || isCharged;
}

/** Hour is an hour in which calls were made, and the highest cost of theirs. */
interface Hour {
  readonly hour: number;
  readonly cost: number;
}

/** lastOf returns up to `most` different hours before another, the last one first. */
function lastOf(most: number, hours: readonly Hour[], before: number): Hour[] {
  const costs = new Map<number, number>();
  for (const { hour, cost } of hours) if (hour < before) costs.set(hour, Math.max(cost, costs.get(hour) ?? 0));
  const last = [...costs].sort(([one], [other]) => other - one).slice(0, most);
  return last.map(([hour, cost]) => ({ hour, cost }));
}

export function createSearch(db: Database): Search {
  const { newest, hoursBefore, stepFrom } = createSteps(db);

  return async (filter, before, limit, signal) => {
    const found: CallRow[] = [];
    const { least, below: ends } = spanOf(filter, before);
    let below = ends;
    let hour = Number.MAX_SAFE_INTEGER;
    const most = filter.isCharged ? hoursAtOnce : 1;
    /** Hours that are pending: those are recent ones. */
    let pending: readonly Hour[] | undefined;
    for (; ; await setImmediate()) {
      const id = await newest(filter.accountId, { least, below });
      if (!id || signal?.aborted) return found;
      const before = Math.min(hour, afterHourOf(id));
      // After the look for an id, which has flushed the ledger.
      pending ??= await hoursBefore("due_now", filter, Number.MAX_SAFE_INTEGER, hoursAtOnce);
      const hours = lastOf(most, [...(await hoursBefore("usage_hours", filter, before, most)), ...pending], before);
      const last = hours.at(-1)?.hour;
      if (last === undefined) return found;
      const meant = filter.isCharged ? hours.find(({ cost }) => Number(cost) > 0)?.hour : last;
      hour = meant ?? last;
      if (meant === undefined) continue;
      const span = spanOf({ from: hour, to: hour + hourMs + clockStepMs }, below);
      const from = span.least > least ? span.least : least;
      for (below = span.below; below > from && !signal?.aborted; await setImmediate()) {
        const step = { least: await stepFrom(filter, { least: from, below }), below };
        found.push(...(await pageQuery(db, filter, step, limit - found.length).execute()));
        if (found.length === limit) return found;
        below = step.least;
      }
    }
  };
}

/** Found is a page of calls, which ended with `readUntil` where there may be more that were not read yet. */
export interface Found {
  readonly rows: readonly CallRow[];
  readonly readUntil?: string | undefined;
}

/** SoughtPage is up to `limit` calls before the id `before`, the newest ones. */
export interface SoughtPage {
  readonly filter: Partial<RequestFilter>;
  readonly before: string | undefined;
  readonly limit: number;
}

/** mostOfAll is how many calls of all accounts a page reads at most, about. */
const mostOfAll = 200_000;

/** searchAll searches the calls of all accounts. It stops when `most` are read, whatever it has found. */
export async function searchAll(
  db: Database,
  { filter, before, limit }: SoughtPage,
  signal?: CallerSignal,
  most = mostOfAll,
): Promise<Found> {
  const { stepFrom } = createSteps(db);
  const rows: CallRow[] = [];
  const { least, below: ends } = spanOf(filter, before);
  let below = ends;
  for (let read = 0; read < most; read += stride, await setImmediate()) {
    const from = await stepFrom(filter, { least, below });
    rows.push(...(await pageQuery(db, filter, { least: from, below }, limit - rows.length).execute()));
    if (rows.length === limit || from === least || signal?.aborted) return { rows };
    below = from;
  }
  return { rows, readUntil: below };
}

function createSteps(db: Database) {
  return {
    /** Returns the newest of an account's ids in a span. */
    async newest(accountId: string, { least, below }: IdSpan): Promise<string | undefined> {
      const query = db
        .selectFrom("requests")
        .select("id")
        .where("account_id", "=", accountId)
        .where("id", ">=", least)
        .where("id", "<", below)
        .orderBy("id", "desc")
        .limit(1);
      return (await query.executeTakeFirst())?.id;
    },
    /** Returns up to `most` hours before another in which such calls were made, the last one first, and their highest cost. */
    hoursBefore(
      table: "usage_hours" | "due_now",
      filter: RequestFilter,
      before: number,
      most: number,
    ): Promise<Hour[]> {
      const { accountId, keyId, keyIds, model } = filter;
      return db
        .selectFrom(table)
        .select((all) => ["hour", all.fn.max<number>("cost").as("cost")])
        .where("account_id", "=", accountId)
        .where((is) => is.and(stated({ key_id: keyId, model })))
        .$if(keyIds !== undefined, (query) => query.where("key_id", "in", listed(keyIds)))
        .where("hour", "<", before)
        .groupBy("hour")
        .orderBy("hour", "desc")
        .limit(most)
        .execute();
    },
    /** Returns where the step begins that ends before `below`: at the id of a call, or where the span begins. */
    async stepFrom(filter: Partial<RequestFilter>, { least, below }: IdSpan): Promise<string> {
      const { accountId } = filter;
      const query = db
        .selectFrom("requests")
        .select("id")
        .where((is) => is.and(stated({ account_id: accountId })))
        .where("id", ">=", least)
        .where("id", "<", below)
        .$if(isRare(filter), (query) => query.where((where) => where("outcome", "!=", where.lit(answered))))
        .orderBy("id", "desc")
        .offset(stride - 1)
        .limit(1);
      return (await query.executeTakeFirst())?.id ?? least;
    },
  };
}

/** afterHourOf returns the beginning of the hour after all in which a call can have been taken up that came then, or before. */
function afterHourOf(id: string): number {
  const came = timeOfId(id);
  if (came === undefined) return Number.MAX_SAFE_INTEGER;
  return (Math.floor((came + maxBodyMs) / hourMs) + 1) * hourMs;
}
