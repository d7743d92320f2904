/**
 * The prices that calls were charged by, each card once, for as long as the database is there: a row is priced again by its card, whatever
 * the configuration says by then.
 */
import type { Scope } from "../engines/scope.ts";

export interface PriceStore {
  /** Keeps a card under the id that follows from its content. One that is kept already stays as it is. */
  keep(id: string, card: string, now: number): Promise<void>;
  /** Returns the cards with these ids, as JSON. Those that are not kept are left out. */
  find(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

export function priceStore({ db, unflushed }: Scope): PriceStore {
  return {
    async keep(id, card, created_at) {
      // No sum depends on it, so the ledger keeps its leases. After a start most are there, and reading takes no lock.
      if (await unflushed.selectFrom("prices").select("id").where("id", "=", id).executeTakeFirst()) return;
      await unflushed
        .insertInto("prices")
        .values({ id, card, created_at })
        .onConflict((conflict) => conflict.column("id").doNothing())
        .execute();
    },
    async find(ids) {
      if (ids.length === 0) return new Map();
      const found = await db.selectFrom("prices").select(["id", "card"]).where("id", "in", ids).execute();
      return new Map(found.map(({ id, card }) => [id, card]));
    },
  };
}
