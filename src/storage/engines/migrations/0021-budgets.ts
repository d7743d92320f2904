/**
 * Budgets of accounts and keys, the zone in which their windows begin, and what was spent in each quarter of an hour by those that
 * have budgets. Changes of all three are changes that nodes must know.
 *
 * Views and triggers are made anew with the new columns, as they are at this step: a later one that adds columns does the same.
 */
import type { Kysely } from "kysely";
import { addColumn, createIndex, createTable, createView, dropView, run } from "../tables/create.ts";
import { bigint, type Dialect, orNull, orZero, text } from "../tables/shape.ts";

export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await addColumn(db, dialect, "accounts", "time_zone", orNull(text));
  for (const table of ["accounts", "api_keys"]) {
    await addColumn(db, dialect, table, "budgets", orNull(text));
    const where = { column: "budgets", is: "<>", value: "" } as const;
    await createIndex(db, dialect, table, { name: `${table}_with_budgets`, on: ["id"], where });
  }
  await createTable(db, dialect, {
    name: "spent_by_quarter",
    columns: { subject: text, quarter_start: bigint, spent: orZero(bigint) },
    key: ["subject", "quarter_start"],
    indexes: [{ name: "spent_by_quarter_start", on: ["quarter_start"] }],
    use: "hot",
  });
  if (dialect === "postgres") await addColumn(db, dialect, "due_sums", "quarter", orZero(bigint));
  for (const view of ["api_keys_now", "accounts_now"]) await dropView(db, view);
  await createView(db, dialect, { name: "api_keys_now", columns: [], query: () => keysNow(dialect) });
  await createView(db, dialect, { name: "accounts_now", columns: [], query: () => accountsNow(dialect) });
  await createView(db, dialect, { name: "spent_now", columns: [], query: () => spentNow(dialect) });
  for (const statement of dialect === "sqlite" ? onSqlite : onPostgres) await run(db, statement);
}

const ofAccounts = ["name", "recharged", "postpaid", "suspended_at", "time_zone", "budgets"];
const ofKeys = [
  ...["account_id", "name", "secret_hash", "is_admin", "revoked_at", "credit_limit", "models", "disabled"],
  ...["expires_at", "previous_hash", "previous_expires_at", "budgets"],
];

const keyColumns = [
  ...[
    "id",
    "account_id",
    "name",
    "secret_hash",
    "secret_mask",
    "is_admin",
    "created_at",
    "revoked_at",
    "spent",
    "held",
  ],
  ...[
    "credit_limit",
    "models",
    "disabled",
    "expires_at",
    "last_used_at",
    "previous_hash",
    "previous_expires_at",
    "budgets",
  ],
];
const accountColumns = [
  ...["id", "name", "created_at", "balance", "held", "recharged", "postpaid", "suspended_at", "was_postpaid"],
  ...["time_zone", "budgets"],
];

function keysNow(dialect: Dialect): string {
  const whole = dialect === "postgres" ? "::bigint" : "";
  const columns = keyColumns.map((name) => {
    if (name === "spent") return `k.spent + coalesce(d.spent, 0)${whole} AS spent`;
    return name === "held" ? `k.held - coalesce(d.freed, 0)${whole} AS held` : `k.${name}`;
  });
  return `SELECT ${columns.join(", ")}
    FROM api_keys k LEFT JOIN (SELECT key_id, sum(spent) AS spent, sum(freed) AS freed FROM due_now GROUP BY key_id) d
      ON d.key_id = k.id`;
}

function accountsNow(dialect: Dialect): string {
  if (dialect === "sqlite") return `SELECT ${accountColumns.join(", ")} FROM accounts`;
  const columns = accountColumns.map((name) => {
    if (name === "balance") return "a.balance - coalesce(d.paid, 0)::bigint AS balance";
    return name === "held" ? "a.held - coalesce(d.released, 0)::bigint AS held" : `a.${name}`;
  });
  return `SELECT ${columns.join(", ")} FROM accounts a LEFT JOIN
    (SELECT account_id, sum(paid) AS paid, sum(released) AS released FROM due_sums GROUP BY account_id) d
      ON d.account_id = a.id`;
}

function spentNow(dialect: Dialect): string {
  const written = "SELECT subject, quarter_start, spent FROM spent_by_quarter";
  if (dialect === "sqlite") return written;
  const quarter = "CASE WHEN quarter = 0 THEN hour + 2700000 ELSE quarter END";
  const due = (subject: string) => `SELECT ${subject}, ${quarter}, cost FROM due_sums WHERE cost <> 0`;
  return `${written} UNION ALL ${due("account_id")} UNION ALL ${due("key_id")}`;
}

const onSqlite = (["accounts", "api_keys"] as const).flatMap((table) => [
  `DROP TRIGGER ${table}_updated`,
  `CREATE TRIGGER ${table}_updated AFTER UPDATE OF ${(table === "accounts" ? ofAccounts : ofKeys).join(", ")} ON ${table}
    FOR EACH ROW BEGIN
    UPDATE changes SET number = number + 1;
    INSERT OR IGNORE INTO changed_names (number, name) SELECT number, NEW.id FROM changes;
    DELETE FROM changed_names WHERE number <= (SELECT number FROM changes) - 1000;
  END`,
]);

const onPostgres = (["accounts", "api_keys"] as const).flatMap((table) => [
  `DROP TRIGGER note_change ON ${table}`,
  `CREATE CONSTRAINT TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE OF
    ${(table === "accounts" ? ofAccounts : ofKeys).join(", ")} ON ${table}
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_change()`,
]);
