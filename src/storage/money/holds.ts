/** Holds of calls that run: their process lives, or has died so recently that its holds have not expired. */
import { type Selectable, sql } from "kysely";
import type { Scope } from "../engines/scope.ts";
import type { HoldTable } from "../schema.ts";

export type HoldRow = Selectable<HoldTable>;

export interface HoldStore {
  /** Lists an account's holds that have not expired, newest first. */
  list(accountId: string, now: number, limit: number): Promise<HoldRow[]>;
  /**
   * Returns how many holds all accounts and processes have, and their sum in millionths of the unit: as nearly as a number has it where all
   * accounts together hold more than can be counted exactly.
   */
  total(): Promise<HoldTotal>;
}

export interface HoldTotal {
  readonly count: number;
  readonly amount: number;
}

export function holdStore({ db }: Scope): HoldStore {
  // A row without an operation is a lease.
  const ofCalls = db.selectFrom("holds").where("operation", "!=", "");
  return {
    async total() {
      const { count, amount } = await ofCalls
        .select(({ fn }) => [fn.countAll().as("count"), sql<string>`CAST(sum(amount) AS text)`.as("amount")])
        .executeTakeFirstOrThrow();
      return { count: Number(count), amount: Number(amount) };
    },
    list: (accountId, now, limit) =>
      ofCalls
        .selectAll()
        .where("account_id", "=", accountId)
        .where("expires_at", ">", now)
        .orderBy("request_id", "desc")
        .limit(limit)
        .execute(),
  };
}
