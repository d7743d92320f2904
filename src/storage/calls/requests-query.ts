/** Which calls are asked for, and the query that finds them along an index. */
import { firstIdAt } from "../../runtime/ids.ts";
import type { Database } from "../engines/engine.ts";

export interface RequestFilter {
  readonly accountId: string;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  /** Whether only those are meant that cost something. */
  readonly isCharged?: boolean;
  /** Numbers of the proto's Outcome; empty or unset for all. */
  readonly outcomes?: readonly number[];
  /** Calls that were taken up at this moment or after it, and before `to`; in milliseconds since 1970. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** What calls of all accounts are chosen by. */
export type AllFilter = Pick<RequestFilter, "outcomes" | "from" | "to">;

/** What all ids are before. */
const last = "~";

/** A number of the proto's Outcome: that of nearly all calls. */
export const answered = 1;

/** Ids from the first on and before the other. */
export interface IdSpan {
  readonly least: string;
  readonly below: string;
}

/** A call has its id before its body has come, and its time when it has: it comes within an hour at most. */
export const longestBodyMs = 3_600_000;

/** Returns in which span of ids the calls of a span of time are. */
export function spanOf({ from, to }: Pick<RequestFilter, "from" | "to">, before: string | undefined): IdSpan {
  const ends = to === undefined ? last : firstIdAt("req", to);
  return {
    least: from === undefined ? "" : firstIdAt("req", from - longestBodyMs),
    below: before !== undefined && before < ends ? before : ends,
  };
}

/** Whether a filter leaves nearly all calls out, for which there is an index. */
export function isRare({ outcomes = [] }: Pick<RequestFilter, "outcomes">): boolean {
  return outcomes.length > 0 && !outcomes.includes(answered);
}

/** Exported for the test that shows which index it goes along. */
export function pageQuery(db: Database, filter: Partial<RequestFilter>, { least, below }: IdSpan, limit: number) {
  const { accountId, keyId, model, isCharged = false, outcomes = [], from, to } = filter;
  return (
    db
      .selectFrom("requests")
      .selectAll()
      .$if(accountId !== undefined, (query) => query.where("account_id", "=", accountId as string))
      .where("id", ">=", least)
      .where("id", "<", below)
      .$if(keyId !== undefined, (query) => query.where("key_id", "=", keyId as string))
      .$if(model !== undefined, (query) => query.where("model", "=", model as string))
      .$if(isCharged, (query) => query.where("cost", ">", 0))
      .$if(outcomes.length > 0, (query) => query.where("outcome", "in", outcomes))
      // Said as the index says it, which leaves the answered calls out.
      .$if(isRare(filter), (query) => query.where((where) => where("outcome", "!=", where.lit(answered))))
      .$if(from !== undefined, (query) => query.where("created_at", ">=", from as number))
      .$if(to !== undefined, (query) => query.where("created_at", "<", to as number))
      .orderBy("id", "desc")
      .limit(limit)
  );
}
