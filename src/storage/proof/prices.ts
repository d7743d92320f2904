/**
 * Prices calls again, each from its own row and the price that is kept with it, and compares that with what they cost: what was charged and
 * what was waived together. A call that costs something and names no price, as those of older versions, is counted. A price is only added,
 * and its id follows from it: one that is gone or was changed is found, whichever calls name it.
 */
import { sql } from "kysely";
import { cardFrom, cardId, type PriceCard } from "../../ledger/price-card.ts";
import { type FindCard, type RepricedRow, repriced } from "../../ledger/reprice.ts";
import type { Database } from "../engines/scope.ts";
import { type Found, found } from "./finding.ts";
import { boundsOf, type Span } from "./spans.ts";
import { maxOfKind } from "./sums.ts";

interface PricedRow extends RepricedRow {
  readonly id: string;
  readonly account_id: string;
  readonly cost: number;
  readonly waived: number;
}

export interface Prices {
  readonly found: readonly Found[];
  /** withoutPrice is how many calls cost something and keep no price. */
  readonly withoutPrice: number;
}

const columns = [
  ...["id", "account_id", "cost", "waived", "price_id", "price_parts"],
  ...["input", "cache_read", "cache_write", "cache_write_hour", "output", "characters"],
].map((name) => sql.ref(name));

/** Rows are read so many at a time, so that none of it is large. */
const rowsAtOnce = 5000;

/** comparePrices prices the calls of these spans again. */
export async function comparePrices(db: Database, spans: readonly Span[]): Promise<Prices> {
  const { findCard, changed } = await cardsOf(db);
  const findings: Found[] = [];
  const gone = new Set<string>();
  let withoutPrice = 0;
  const compare = (row: PricedRow) => {
    const missing: string[] = [];
    const again = costOf(row, (id) => findCard(id) ?? void missing.push(id));
    const written = row.cost + row.waived;
    for (const id of missing) gone.add(id);
    if (missing.length > 0) return;
    if (again === undefined) withoutPrice += written > 0 ? 1 : 0;
    else if (again !== written && findings.length < maxOfKind) findings.push(wrongPrice(row, written, again));
  };
  for await (const rows of callsOf(db, spans)) for (const row of rows) compare(row);
  const cards = [...[...gone].map((id) => `${id}, which is gone`), ...changed.map((id) => `${id}, which was changed`)];
  const ofCards = cards.slice(0, maxOfKind).map((which) => found("price_card", { what: `kept price ${which}` }));
  return { found: [...findings, ...ofCards], withoutPrice };
}

function wrongPrice({ id, account_id }: PricedRow, written: number, again: number | "unreadable"): Found {
  const subject = { id, accountId: account_id };
  if (again === "unreadable") return found("price", { what: `price of ${id}, which cannot be read`, subject });
  return found("price", { what: `price of ${id}`, written, derived: again, subject });
}

function costOf(row: PricedRow, findCard: FindCard): number | "unreadable" | undefined {
  try {
    return repriced(row, findCard);
  } catch {
    return "unreadable";
  }
}

interface Cards {
  readonly findCard: FindCard;
  /** The ids of those that are not what they were. */
  readonly changed: readonly string[];
}

/** There is a card for each price of the configuration that was ever in force, and no more. */
async function cardsOf(db: Database): Promise<Cards> {
  const rows = await db.selectFrom("prices").select(["id", "card"]).execute();
  const texts = new Map(rows.map(({ id, card }) => [id, card]));
  const cards = new Map<string, PriceCard>();
  const findCard: FindCard = (id) => {
    const text = texts.get(id);
    if (text !== undefined && !cards.has(id)) cards.set(id, cardFrom(text));
    return cards.get(id);
  };
  return { findCard, changed: rows.flatMap(({ id, card }) => (cardId(card) === id ? [] : [id])) };
}

async function* callsOf(db: Database, spans: readonly Span[]): AsyncGenerator<readonly PricedRow[]> {
  for (const span of spans) {
    for (let last = ""; ; ) {
      const where = sql.join([sql`id > ${last}`, ...boundsOf(span)], sql` AND `);
      const { rows } = await sql<PricedRow>`SELECT ${sql.join(columns)} FROM requests WHERE ${where}
        ORDER BY id LIMIT ${sql.lit(rowsAtOnce)}`.execute(db);
      yield rows;
      if (rows.length < rowsAtOnce) break;
      last = rows.at(-1)?.id ?? "";
    }
  }
}
