/** Finds charges that are there twice, that charge no call, or that could not be written. */
import { sql } from "kysely";
import type { Database } from "../engines/scope.ts";
import type { Entry } from "../money/books.ts";
import { charge } from "../money/entries.ts";
import { type Found, found } from "./finding.ts";
import { maxOfKind } from "./sums.ts";

export async function findCharges(db: Database): Promise<Found[]> {
  return [...(await chargedTwice(db)), ...(await chargesWithoutCalls(db)), ...(await setAside(db))];
}

interface ChargeRow {
  readonly id: string;
  readonly account_id: string;
  readonly written: number;
  readonly derived: number;
}

/** A call that is kept has its charge in its row and in no entry. */
async function chargedTwice(db: Database): Promise<Found[]> {
  const { rows } = await sql<ChargeRow>`
    SELECT r.id, r.account_id, r.cost AS written, r.cost - c.amount AS derived
    FROM ledger_entries c JOIN requests r ON r.id = c.request_id
    WHERE c.kind = ${sql.lit(charge)} ORDER BY r.id LIMIT ${sql.lit(maxOfKind)}`.execute(db);
  return rows.map((row) => ofCall("charged_twice", row));
}

/** An entry of a call that is forgotten is folded into that of its month; until then it charges a call before `kept_from`. */
async function chargesWithoutCalls(db: Database): Promise<Found[]> {
  const { rows } = await sql<ChargeRow>`
    SELECT coalesce(c.request_id, c.id) AS id, c.account_id, 0 AS written, -c.amount AS derived
    FROM ledger_entries c
    WHERE c.kind = ${sql.lit(charge)} AND c.calls IS NULL
      AND NOT EXISTS (SELECT 1 FROM requests r WHERE r.id = c.request_id)
      AND NOT EXISTS (SELECT 1 FROM kept_from k WHERE k.kind = 'requests' AND c.request_id < k.id)
    ORDER BY c.id LIMIT ${sql.lit(maxOfKind)}`.execute(db);
  return rows.map((row) => ofCall("charge_without_call", row));
}

function ofCall(kind: "charged_twice" | "charge_without_call", { id, account_id, written, derived }: ChargeRow): Found {
  return found(kind, { what: `cost of ${id}`, written, derived, subject: { id, accountId: account_id } });
}

async function setAside(db: Database): Promise<Found[]> {
  const rows = await db
    .selectFrom("set_aside")
    .select(["node", "seq", "body"])
    .orderBy("node")
    .orderBy("seq")
    .limit(maxOfKind)
    .execute();
  return rows.map(({ node, seq, body }) =>
    found("set_aside", {
      what: `calls that could not be written, set aside by ${node} as ${seq}`,
      derived: costIn(body),
    }),
  );
}

/** costIn returns what the calls of a body cost; 0 for what an operator has edited beyond recognition. */
function costIn(body: string): number {
  try {
    const entries = JSON.parse(body) as readonly Partial<Entry>[];
    return entries.reduce((sum, entry) => sum + (entry.kind === "settle" ? Number(entry.call?.cost ?? 0) : 0), 0);
  } catch {
    return 0;
  }
}
