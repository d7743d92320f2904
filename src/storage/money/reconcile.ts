/**
 * Proves that no money was lost or made: computes every sum that is stored, with what is pending of it, anew from what it
 * sums.
 *
 * The charge of a call is in its own row while that is kept, and in the ledger from then on (`retention.ts`): so money is proved
 * to its beginning, and sums of usage as far back as calls are kept. `reconcile-journal.ts` proves what is in the journal and not
 * posted.
 *
 * It reads one state of the database and changes nothing. Differences are reported, and left as they are. It takes seconds for
 * every million calls, so the gateway runs it in a thread of its own.
 */
import type { Engine } from "../engines/engine.ts";

/** Difference is a stored sum that is not what it should be. */
export interface Difference {
  /** What is summed, such as "balance of acc_…". */
  readonly what: string;
  /** The stored sum, in millionths of the unit. */
  readonly written: number;
  /** The sum that follows from the ledger, in millionths of the unit. */
  readonly derived: number;
}

export interface Reconciliation {
  /** How many accounts were proved. */
  readonly accounts: number;
  readonly keys: number;
  readonly entries: number;
  readonly requests: number;
  /** At most 1,000 of each kind of sum. */
  readonly differences: readonly Difference[];
}

const maxOfKind = 1000;

/** A number of the proto's EntryKind; those below the grant are recharges and refunds. */
const grant = 3;
const charge = 4;
const hourMs = 3_600_000;

/**
 * Returns a query that compares stored sums with derived ones, each a query of `what` and an amount. What one side lacks counts as
 * 0, so that money of an account that does not exist is a difference, too. Both are grouped at once: that takes the same time
 * whatever plan the database chooses.
 */
function compared(written: string, derived: string): string {
  return `SELECT what, sum(written) AS written, sum(derived) AS derived
    FROM (SELECT what, amount AS written, 0 AS derived FROM (${written})
      UNION ALL SELECT what, 0, amount FROM (${derived}))
    GROUP BY what HAVING sum(written) <> sum(derived)`;
}

/** What moved an account's money, from both tables that have it. */
const movements = `SELECT account_id, key_id, kind, amount FROM ledger_entries
  UNION ALL SELECT account_id, key_id, ${charge}, -cost FROM requests`;

/** Queries that return differences. */
const proofs: readonly string[] = [
  compared(
    "SELECT 'balance of ' || id AS what, balance AS amount FROM accounts",
    `SELECT 'balance of ' || account_id AS what, sum(amount) AS amount FROM (${movements}) GROUP BY account_id`,
  ),
  compared(
    "SELECT 'recharge of ' || id AS what, recharged AS amount FROM accounts",
    `SELECT 'recharge of ' || account_id AS what, sum(amount) AS amount FROM ledger_entries
     WHERE kind <> ${charge} AND kind < ${grant} GROUP BY account_id`,
  ),
  compared(
    "SELECT 'holds of ' || id AS what, held AS amount FROM accounts",
    "SELECT 'holds of ' || account_id AS what, sum(amount) AS amount FROM holds GROUP BY account_id",
  ),
  compared(
    `SELECT 'holds of ' || id AS what, held AS amount FROM api_keys
     UNION ALL SELECT 'holds of ' || key_id, -freed FROM due_now`,
    // A row without a key is a lease of a whole account.
    "SELECT 'holds of ' || key_id AS what, sum(amount) AS amount FROM holds WHERE key_id <> '' GROUP BY key_id",
  ),
  compared(
    `SELECT 'spend of ' || id AS what, spent AS amount FROM api_keys
     UNION ALL SELECT 'spend of ' || key_id, spent FROM due_now`,
    `SELECT 'spend of ' || coalesce(key_id, 'no key') AS what, -sum(amount) AS amount FROM (${movements})
     WHERE kind = ${charge} GROUP BY key_id`,
  ),
  // A call that is kept has its charge in its row and in no entry.
  `SELECT 'cost of ' || r.id AS what, r.cost AS written, r.cost - c.amount AS derived
   FROM ledger_entries c JOIN requests r ON r.id = c.request_id WHERE c.kind = ${charge}`,
  `SELECT 'cost of ' || coalesce(c.request_id, c.id) AS what, 0 AS written, -c.amount AS derived
   FROM ledger_entries c WHERE c.kind = ${charge} AND NOT EXISTS (SELECT 1 FROM requests r WHERE r.id = c.request_id)
     AND coalesce(c.request_id >= (SELECT id FROM kept_from WHERE kind = 'requests'), 1)`,
  `SELECT 'calls that could not be written, set aside by ' || node || ' as ' || seq AS what, 0 AS written,
     (SELECT coalesce(sum(json_extract(value, '$.call.cost')), 0) FROM json_each(body)) AS derived
   FROM set_aside`,
  // As `compared`, except that `what` is made of differences alone: there are many hours.
  `SELECT 'usage of ' || key_id || ' with ' || model || ' from '
       || strftime('%Y-%m-%dT%H:00Z', hour / 1000, 'unixepoch') AS what, written, derived
   FROM (SELECT key_id, model, hour, sum(written) AS written, sum(derived) AS derived
     FROM (SELECT account_id, key_id, model, hour, cost AS written, 0 AS derived FROM usage_hours_now
       UNION ALL SELECT account_id, key_id, model, created_at - created_at % ${hourMs}, 0, cost FROM requests)
     WHERE hour >= coalesce((SELECT at FROM kept_from WHERE kind = 'requests'), 0)
     GROUP BY account_id, hour, key_id, model HAVING sum(written) <> sum(derived))`,
];

export function reconcile(engine: Engine): Reconciliation {
  return engine.read(() => {
    const count = (rows: string) =>
      engine.prepare<[], { count: number }>(`SELECT count(*) AS count FROM ${rows}`).get()?.count ?? 0;
    const differences = proofs.flatMap((proof) =>
      engine.prepare<[], Difference>(`SELECT * FROM (${proof}) LIMIT ${maxOfKind}`).all(),
    );
    return {
      accounts: count("accounts"),
      keys: count("api_keys"),
      entries: count("ledger_entries") + count("requests WHERE cost > 0"),
      requests: count("requests"),
      differences,
    };
  });
}
