/** Holds of calls that run: their process lives, or has died so recently that its holds have not expired. */
import type { Selectable } from "kysely";
import type { Database, Engine } from "../engines/engine.ts";
import type { HoldTable } from "../schema.ts";

export type HoldRow = Selectable<HoldTable>;

export interface HoldStore {
  /** Lists an account's holds that have not expired, newest first. */
  list(accountId: string, now: number, limit: number): HoldRow[];
  /** Returns how many holds all accounts and processes have, and their sum in millionths of the unit. */
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
          // A row without an operation is a lease.
          .where("operation", "!=", "")
          .where("expires_at", ">", now)
          .orderBy("request_id", "desc")
          .limit(limit),
      ),
  };
}
