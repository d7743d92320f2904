/**
 * The proof that no money was lost or made: every sum that is kept, with what is due to it, is summed again from what it
 * stands for.
 *
 * What a call was charged stands in its own row while that is kept, and in the ledger from then on (`retention.ts`): the money
 * is proved to its beginning, and sums of usage as far back as calls are kept.
 *
 * What is noted beside the database and not written in it is proved by `reconcile-journal.ts`.
 *
 * It reads one state of the database and changes nothing. What differs is named, and left as it is. It takes seconds for
 * every million calls, so the gateway has it done by a thread of its own.
 */
import type { Engine } from "../engines/engine.ts";

/** A sum that does not hold. */
export interface Difference {
  /** What was summed, as "balance of acc_…". */
  readonly what: string;
  /** What is written there, in millionths of the unit. */
  readonly written: number;
  /** What follows from the ledger, in millionths of the unit. */
  readonly derived: number;
}

export interface Reconciliation {
  /** How many of each were summed. */
  readonly accounts: number;
  readonly keys: number;
  readonly entries: number;
  readonly requests: number;
  /** At most 1,000 of each kind of sum. */
  readonly differences: readonly Difference[];
}

const most = 1000;

/** A number of the proto's EntryKind; those below the grant are recharges and refunds. */
const grant = 3;
const charge = 4;
const hourMs = 3_600_000;

/**
 * Compares what is written with what follows, each a query of `what` and an amount. What one side lacks counts as 0: money
 * of an account that is not there is a difference too. Grouping both at once takes the same time however they are joined.
 */
function compared(written: string, derived: string): string {
  return `SELECT what, sum(written) AS written, sum(derived) AS derived
    FROM (SELECT what, amount AS written, 0 AS derived FROM (${written})
      UNION ALL SELECT what, 0, amount FROM (${derived}))
    GROUP BY what HAVING sum(written) <> sum(derived)`;
}

/** What moved an account's money, in whichever table it stands. */
const movements = `SELECT account_id, key_id, kind, amount FROM ledger_entries
  UNION ALL SELECT account_id, key_id, ${charge}, -cost FROM requests`;

/** Each finds what differs. */
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
    // What is of no key is leased of a whole account.
    "SELECT 'holds of ' || key_id AS what, sum(amount) AS amount FROM holds WHERE key_id <> '' GROUP BY key_id",
  ),
  compared(
    `SELECT 'spend of ' || id AS what, spent AS amount FROM api_keys
     UNION ALL SELECT 'spend of ' || key_id, spent FROM due_now`,
    `SELECT 'spend of ' || coalesce(key_id, 'no key') AS what, -sum(amount) AS amount FROM (${movements})
     WHERE kind = ${charge} GROUP BY key_id`,
  ),
  // A call that is kept has its charge in its row, and nowhere else.
  `SELECT 'cost of ' || r.id AS what, r.cost AS written, r.cost - c.amount AS derived
   FROM ledger_entries c JOIN requests r ON r.id = c.request_id WHERE c.kind = ${charge}`,
  `SELECT 'cost of ' || coalesce(c.request_id, c.id) AS what, 0 AS written, -c.amount AS derived
   FROM ledger_entries c WHERE c.kind = ${charge} AND NOT EXISTS (SELECT 1 FROM requests r WHERE r.id = c.request_id)
     AND coalesce(c.request_id >= (SELECT id FROM kept_from WHERE kind = 'requests'), 1)`,
  `SELECT 'calls that could not be written, set aside by ' || node || ' as ' || seq AS what, 0 AS written,
     (SELECT coalesce(sum(json_extract(value, '$.call.cost')), 0) FROM json_each(body)) AS derived
   FROM set_aside`,
  // As above, and the words are made of what differs alone: there are many hours.
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
      engine.prepare<[], Difference>(`SELECT * FROM (${proof}) LIMIT ${most}`).all(),
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
