/** Compares the sums of accounts and keys with what they sum: ledger entries, calls, holds. */
import { type RawBuilder, sql } from "kysely";
import type { Database } from "../engines/scope.ts";
import { charge, grant } from "../money/entries.ts";
import { type FindingKind, type Found, found } from "./finding.ts";
import { callsIn, hourIn, type Spans } from "./spans.ts";
import { summedText } from "./whole-sums.ts";

/** maxOfKind is the most that are reported of each kind. */
export const maxOfKind = 1000;

interface Comparison {
  readonly kind: FindingKind;
  /** name is what is before the id in `what`. */
  readonly name: string;
  /** Queries of an `id` and an `amount`. */
  readonly written: RawBuilder<unknown>;
  readonly derived: RawBuilder<unknown>;
}

/** compareSums finds the sums of accounts and keys that are not what they should be. */
export async function compareSums(db: Database, spans: Spans): Promise<Found[]> {
  const all: Found[] = [];
  for (const comparison of [...sumsOfCalls(spans), ...sumsOfHolds(), recharges])
    all.push(...(await compare(db, comparison)));
  return all;
}

/** movements returns the query of what moved an account's money: entries, calls that are read, and hours that stand for calls. */
function movements({ open, closed }: Spans): RawBuilder<unknown> {
  const columns = sql`account_id, key_id, ${sql.lit(charge)} AS kind, -cost AS amount`;
  const parts = [sql`SELECT account_id, key_id, kind, amount FROM ledger_entries`, callsIn(open, columns)];
  const hours = sql`SELECT ${columns} FROM usage_hours_now WHERE cost <> 0 AND ${hourIn(closed)}`;
  return sql.join(closed.length === 0 ? parts : [...parts, hours], sql` UNION ALL `);
}

function sumsOfCalls(spans: Spans): Comparison[] {
  return [
    {
      kind: "balance",
      name: "balance of",
      written: sql`SELECT id, balance AS amount FROM accounts_now`,
      derived: sql`SELECT account_id AS id, sum(amount) AS amount FROM (${movements(spans)}) AS moved GROUP BY account_id`,
    },
    {
      kind: "key_spent",
      name: "spend of",
      written: sql`SELECT id, spent AS amount FROM api_keys UNION ALL SELECT key_id, spent FROM due_now`,
      derived: sql`SELECT coalesce(key_id, 'no key') AS id, -sum(amount) AS amount FROM (${movements(spans)}) AS moved
        WHERE kind = ${sql.lit(charge)} GROUP BY key_id`,
    },
  ];
}

const recharges: Comparison = {
  kind: "recharged",
  name: "recharge of",
  written: sql`SELECT id, recharged AS amount FROM accounts`,
  // Kinds below the grant are recharges and refunds. The first condition is that of the index.
  derived: sql`SELECT account_id AS id, sum(amount) AS amount FROM ledger_entries
    WHERE kind <> ${sql.lit(charge)} AND kind < ${sql.lit(grant)} GROUP BY account_id`,
};

function sumsOfHolds(): Comparison[] {
  return [
    {
      kind: "account_held",
      name: "holds of",
      written: sql`SELECT id, held AS amount FROM accounts_now`,
      derived: sql`SELECT account_id AS id, sum(amount) AS amount FROM holds GROUP BY account_id`,
    },
    {
      kind: "key_held",
      name: "holds of",
      written: sql`SELECT id, held AS amount FROM api_keys UNION ALL SELECT key_id, -freed FROM due_now`,
      // A row without a key is a lease of a whole account.
      derived: sql`SELECT key_id AS id, sum(amount) AS amount FROM holds WHERE key_id <> '' GROUP BY key_id`,
    },
  ];
}

/**
 * compare compares two sides. What one side lacks counts as 0, so that money of an account that does not exist is found, too. Both sides
 * are grouped at once: that takes the same time whatever plan the database chooses.
 */
async function compare(db: Database, { kind, name, written, derived }: Comparison): Promise<Found[]> {
  const { rows } = await sql<{ id: string; written: string; derived: string }>`
    SELECT id, ${summedText(sql.ref("written"))} AS written, ${summedText(sql.ref("derived"))} AS derived
    FROM (SELECT id, amount AS written, 0 AS derived FROM (${written}) AS stored
      UNION ALL SELECT id, 0, amount FROM (${derived}) AS summed) AS both_sides
    GROUP BY id HAVING sum(written) <> sum(derived) ORDER BY id LIMIT ${sql.lit(maxOfKind)}`.execute(db);
  return rows.map(({ id, written, derived }) =>
    found(kind, {
      what: `${name} ${id}`,
      written: Number(written),
      derived: Number(derived),
      subject: { id, accountId: isOfAccount(kind) ? id : undefined },
    }),
  );
}

function isOfAccount(kind: FindingKind): boolean {
  return kind === "balance" || kind === "recharged" || kind === "account_held";
}
