/**
 * Compares what accounts and keys with budgets have spent by quarters of an hour with what their calls cost by hours, which are proved by the
 * calls themselves. An hour's quarters are compared in all: within it nothing else says in which a call came.
 */
import { sql } from "kysely";
import { hourMs } from "../../runtime/time/durations.ts";
import type { Database } from "../engines/scope.ts";
import { longestWindowMs } from "../money/budget-windows.ts";
import { type Found, found } from "./finding.ts";
import { maxOfKind } from "./sums.ts";
import { summedText } from "./whole-sums.ts";

interface Differing {
  readonly subject: string;
  readonly account_id: string;
  readonly hour: number;
  readonly written: string;
  readonly derived: string;
}

/** compareBudgets looks at the hours that a window may reach. `now` is in milliseconds since 1970. */
export async function compareBudgets(db: Database, now: number): Promise<Found[]> {
  const from = sql.lit(Math.floor((now - longestWindowMs) / hourMs) * hourMs);
  const hour = sql`s.quarter_start - s.quarter_start % ${sql.lit(hourMs)}`;
  const [accounts, keys] = [sql`accounts b`, sql`api_keys b`];
  const written = (of: typeof accounts, account: typeof accounts) =>
    sql`SELECT s.subject, ${account} AS account_id, ${hour} AS hour, s.spent AS written, 0 AS derived
      FROM spent_now s JOIN ${of} ON b.id = s.subject WHERE b.budgets <> '' AND s.quarter_start >= ${from}`;
  const derived = (of: typeof accounts, id: typeof accounts) =>
    sql`SELECT b.id, u.account_id, u.hour, 0, u.cost FROM usage_hours_now u JOIN ${of} ON b.id = ${id}
      WHERE b.budgets <> '' AND u.hour >= ${from} AND u.cost <> 0`;
  const { rows } = await sql<Differing>`
    SELECT subject, account_id, hour, ${summedText(sql.ref("written"))} AS written, ${summedText(sql.ref("derived"))} AS derived FROM (
      ${written(accounts, sql`b.id`)} UNION ALL ${written(keys, sql`b.account_id`)}
      UNION ALL ${derived(accounts, sql`u.account_id`)} UNION ALL ${derived(keys, sql`u.key_id`)}) AS both_sides
    GROUP BY subject, account_id, hour HAVING sum(written) <> sum(derived)
    ORDER BY subject, hour LIMIT ${sql.lit(maxOfKind)}`.execute(db);
  return rows.map(({ subject: id, account_id: accountId, hour, written, derived }) => {
    const at = new Date(hour).toISOString().replace(":00.000Z", "Z");
    return found("budget_spent", {
      what: `spending of ${id} that counts for its budgets from ${at}`,
      written: Number(written),
      derived: Number(derived),
      subject: { id, accountId, spentIn: hour },
    });
  });
}
