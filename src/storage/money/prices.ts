/**
 * The prices that calls were charged by, each card once, for as long as the database is there: a row is priced again by its card, whatever
 * the configuration says by then.
 *
 * Cards are written on the connection of the books, as calls are: no key or account changes by it, so nothing has to be read anew.
 */
import type { Engine } from "../engines/engine.ts";

export interface PriceStore {
  /** Keeps a card under the id that follows from its content. One that is kept already stays as it is. Rejects while writes fail. */
  keep(id: string, card: string, now: number): Promise<void>;
  /** Returns the cards with these ids, as JSON. Those that are not kept are left out. */
  find(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

export function priceStore({ scope, books, lockRetry }: Pick<Engine, "scope" | "books" | "lockRetry">): PriceStore {
  const select = books.prepare<[id: string], unknown>("SELECT 1 FROM prices WHERE id = ?");
  const insert = books.prepare<[id: string, card: string, now: number]>(
    "INSERT INTO prices (id, card, created_at) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING",
  );
  return {
    async keep(id, card, now) {
      // After a start most are there, and reading takes no lock.
      if (select.get(id) === undefined) await lockRetry.whenFree(() => books.transact(() => insert.run(id, card, now)));
    },
    async find(ids) {
      if (ids.length === 0) return new Map();
      const found = await scope.db.selectFrom("prices").select(["id", "card"]).where("id", "in", ids).execute();
      return new Map(found.map(({ id, card }) => [id, card]));
    },
  };
}
