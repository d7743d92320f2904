/** Selects calls, by a query that follows an index. */
import { firstIdAt } from "../../runtime/ids.ts";
import { hourMs } from "../../runtime/time/durations.ts";
import { type Database, stated } from "../engines/scope.ts";
import { answered } from "./outcomes.ts";

export interface RequestFilter {
  readonly accountId: string;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  readonly upstream?: string | undefined;
  /** Selects calls of these keys. */
  readonly keyIds?: readonly string[] | undefined;
  /** Selects calls that cost something. */
  readonly isCharged?: boolean;
  /** Selects calls that ended so: numbers of the proto's Outcome. Empty or unset for all. */
  readonly outcomes?: readonly number[];
  /** Selects calls that came at this moment or after it, and before `to`; in milliseconds since 1970. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** AllFilter is what calls of all accounts may be selected by. */
export type AllFilter = Omit<RequestFilter, "accountId">;

/** Sorts behind all ids. */
const last = "~";

/** IdSpan is the ids from `least` on that are before `below`. */
export interface IdSpan {
  readonly least: string;
  readonly below: string;
}

/** maxBodyMs is how long reading a body takes at most, in milliseconds: a call gets its id before that, and its time after. */
export const maxBodyMs = hourMs;

/** stride is how many calls are read in one step of many: between two steps the event loop goes on. */
export const stride = 2000;

/** spanOf returns the span of ids that has the calls of a span of time. */
export function spanOf({ from, to }: Pick<RequestFilter, "from" | "to">, before: string | undefined): IdSpan {
  const ends = to === undefined ? last : firstIdAt("req", to);
  return {
    least: from === undefined ? "" : firstIdAt("req", from - maxBodyMs),
    below: before !== undefined && before < ends ? before : ends,
  };
}

/** isRare reports whether a filter leaves nearly all calls out; those that remain have an index. */
export function isRare({ outcomes = [] }: Pick<RequestFilter, "outcomes">): boolean {
  return outcomes.length > 0 && !outcomes.includes(answered);
}

/** listed returns the ids for a condition: an empty list is no SQL, and no key has the empty id. */
export function listed(ids: readonly string[] = []): readonly string[] {
  return ids.length === 0 ? [""] : ids;
}

/** pageQuery returns the query. Exported for the test that proves which index it follows. */
export function pageQuery(db: Database, filter: Partial<RequestFilter>, { least, below }: IdSpan, limit: number) {
  const { accountId, keyId, model, keyIds, upstream, isCharged = false, outcomes = [], from, to } = filter;
  return (
    db
      .selectFrom("requests")
      .selectAll()
      .where((is) => is.and(stated({ account_id: accountId, key_id: keyId, model, upstream })))
      .where("id", ">=", least)
      .where("id", "<", below)
      .$if(keyIds !== undefined, (query) => query.where("key_id", "in", listed(keyIds)))
      .$if(isCharged, (query) => query.where("cost", ">", 0))
      .$if(outcomes.length > 0, (query) => query.where("outcome", "in", outcomes))
      // The condition as the index has it, which leaves answered calls out.
      .$if(isRare(filter), (query) => query.where((where) => where("outcome", "!=", where.lit(answered))))
      .$if(from !== undefined, (query) => query.where("created_at", ">=", from as number))
      .$if(to !== undefined, (query) => query.where("created_at", "<", to as number))
      .orderBy("id", "desc")
      .limit(limit)
  );
}
