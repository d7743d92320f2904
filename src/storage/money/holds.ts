/** Calls that are under way, as their holds tell: those whose process still lives, or died so lately that nobody knows. */
import type { Selectable } from "kysely";
import type { Database, Engine } from "../engines/engine.ts";
import type { HoldTable } from "../schema.ts";

export type HoldRow = Selectable<HoldTable>;

export interface HoldStore {
  /** Lists an account's holds whose deadline has not passed, newest first. */
  list(accountId: string, now: number, limit: number): HoldRow[];
  /** How many holds there are, of all accounts and processes, and what they come to in millionths of the unit. */
  total(): HoldTotal;
}

export interface HoldTotal {
  readonly count: number;
  readonly amount: number;
}

export function holdStore(db: Database, engine: Engine): HoldStore {
  const total = engine.prepare<[], HoldTotal>(
    "SELECT count(*) AS count, coalesce(sum(amount), 0) AS amount FROM holds WHERE operation <> ''",
  );
  return {
    total: () => total.get() as HoldTotal,
    list: (accountId, now, limit) =>
      engine.all(
        db
          .selectFrom("holds")
          .selectAll()
          .where("account_id", "=", accountId)
          // What is without one is a lease, and no call's.
          .where("operation", "!=", "")
          .where("expires_at", ">", now)
          .orderBy("request_id", "desc")
          .limit(limit),
      ),
  };
}
