/** Prices every call of a database again, from its row and its kept price alone. */
import { cardFrom } from "../../../src/ledger/price-card.ts";
import { type RepricedRow, repriced } from "../../../src/ledger/reprice.ts";
import type { TestDatabase } from "../storage/test-database.ts";

type Row = RepricedRow & { readonly id: string; readonly cost: number; readonly waived: number };

export interface RepricedRows {
  /** The calls that cost something and name a price. */
  readonly priced: number;
  /** The calls that cost something and name none. */
  readonly withoutPrice: number;
  readonly differing: readonly { readonly id: string; readonly written: number; readonly repriced: number }[];
}

export async function repricedRows({ query }: Pick<TestDatabase, "query">): Promise<RepricedRows> {
  const cards = await query<{ id: string; card: string }>("SELECT id, card FROM prices");
  const byId = new Map(cards.map(({ id, card }) => [id, cardFrom(card)]));
  const rows = await query<Row>("SELECT * FROM requests");
  const costs = rows.map((row) => ({
    row,
    written: row.cost + row.waived,
    again: repriced(row, (id) => byId.get(id)),
  }));
  const isCostly = costs.filter(({ written }) => written > 0);
  return {
    priced: isCostly.filter(({ again }) => again !== undefined).length,
    withoutPrice: isCostly.filter(({ again }) => again === undefined).length,
    differing: costs.flatMap(({ row: { id }, written, again }) =>
      again === undefined || again === written ? [] : [{ id, written, repriced: again }],
    ),
  };
}
