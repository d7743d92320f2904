/**
 * The prices that calls were charged by, each card once, for as long as the database is there: a row is priced again by its card, whatever
 * the configuration says by then.
 */
import type { Database, Engine } from "../engines/engine.ts";

export interface PriceStore {
  /** Keeps a card under the id that follows from its content. One that is kept already stays as it is. */
  keep(id: string, card: string, now: number): Promise<void>;
  /** Returns the cards with these ids, as JSON. Those that are not kept are left out. */
  find(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

export function priceStore(db: Database, engine: Engine): PriceStore {
  return {
    keep: async (id, card, created_at) => {
      const insert = db
        .insertInto("prices")
        .values({ id, card, created_at })
        .onConflict((conflict) => conflict.column("id").doNothing());
      await engine.lockRetry.whenFree(() => engine.run(insert));
    },
    find: async (ids) => {
      if (ids.length === 0) return new Map();
      const found = engine.all(
        db
          .selectFrom("prices")
          .select(["id", "card"])
          .where("id", "in", [...ids]),
      );
      return new Map(found.map(({ id, card }) => [id, card]));
    },
  };
}
