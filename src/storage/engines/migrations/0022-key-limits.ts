/**
 * Keys get rates of their own, in all and by model, a number of calls at a time, the addresses that they may be used from, tags and an
 * owner. A change of them is a change of the key, which nodes know as they know any other.
 */
import type { Kysely } from "kysely";
import { addColumn, createView, dropView, run } from "../tables/create.ts";
import { bigint, type ColumnShape, type Dialect, orNull, text } from "../tables/shape.ts";

const added: Readonly<Record<string, ColumnShape>> = {
  requests_per_minute: orNull(bigint),
  tokens_per_minute: orNull(bigint),
  model_rates: orNull(text),
  max_concurrent: orNull(bigint),
  allowed_ips: orNull(text),
  tags: orNull(text),
  owner: orNull(text),
};

const before = [
  ...["id", "account_id", "name", "secret_hash", "secret_mask", "is_admin", "created_at", "revoked_at", "spent"],
  ...["held", "credit_limit", "models", "disabled", "expires_at", "last_used_at", "previous_hash"],
  ...["previous_expires_at", "budgets"],
];

const watched = [
  ...["account_id", "name", "secret_hash", "is_admin", "revoked_at", "credit_limit", "models", "disabled"],
  ...["expires_at", "previous_hash", "previous_expires_at", "budgets"],
];

export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  for (const [column, shape] of Object.entries(added)) await addColumn(db, dialect, "api_keys", column, shape);
  await dropView(db, "api_keys_now");
  const columns = [...before, ...Object.keys(added)];
  await createView(db, dialect, { name: "api_keys_now", columns, query: () => viewOf(columns, dialect) });
  for (const statement of dialect === "sqlite" ? onSqlite() : onPostgres()) await run(db, statement);
}

function viewOf(columns: readonly string[], dialect: Dialect): string {
  const whole = dialect === "postgres" ? "::bigint" : "";
  const selected = columns.map((name) => {
    if (name === "spent") return `k.spent + coalesce(d.spent, 0)${whole} AS spent`;
    if (name === "held") return `k.held - coalesce(d.freed, 0)${whole} AS held`;
    return `k.${name}`;
  });
  return `SELECT ${selected.join(", ")}
    FROM api_keys k LEFT JOIN (SELECT key_id, sum(spent) AS spent, sum(freed) AS freed FROM due_now GROUP BY key_id) d
      ON d.key_id = k.id`;
}

function onSqlite(): string[] {
  const columns = [...watched, ...Object.keys(added)].join(", ");
  return [
    "DROP TRIGGER api_keys_updated",
    `CREATE TRIGGER api_keys_updated AFTER UPDATE OF ${columns} ON api_keys FOR EACH ROW BEGIN
      UPDATE changes SET number = number + 1;
      INSERT OR IGNORE INTO changed_names (number, name) SELECT number, NEW.id FROM changes;
      DELETE FROM changed_names WHERE number <= (SELECT number FROM changes) - 1000;
    END`,
  ];
}

function onPostgres(): string[] {
  const columns = [...watched, ...Object.keys(added)].join(", ");
  return [
    "DROP TRIGGER note_change ON api_keys",
    `CREATE CONSTRAINT TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE OF ${columns} ON api_keys
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_change()`,
  ];
}
