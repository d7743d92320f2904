/**
 * Changes of keys and accounts name what they are of. Postgres counted them before; SQLite does from here on, in place of all writes of
 * whatever kind. Nodes of Postgres tell which configuration they have.
 *
 * A later migration that makes one of these tables of SQLite anew makes its triggers anew, too.
 */
import type { Kysely } from "kysely";
import { addColumn, createTable, run } from "../tables/create.ts";
import { bigint, type Dialect, integer, text } from "../tables/shape.ts";

export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  const columns = { number: bigint, name: text };
  await createTable(db, dialect, { name: "changed_names", columns, key: ["number", "name"], use: "passing" });
  if (dialect === "sqlite") {
    await createTable(db, dialect, { name: "changes", columns: { id: integer, number: bigint }, key: ["id"] });
    await run(db, "INSERT INTO changes (id, number) VALUES (1, 0)");
    for (const trigger of triggers) await run(db, trigger);
    return;
  }
  for (const statement of onPostgres) await run(db, statement);
  await addColumn(db, dialect, "nodes", "configuration", { kind: "text", default: "" });
}

const ofAccounts = ["name", "recharged", "postpaid", "suspended_at"];
const ofKeys = [
  ...["account_id", "name", "secret_hash", "is_admin", "revoked_at", "credit_limit", "models", "disabled"],
  ...["expires_at", "previous_hash", "previous_expires_at"],
];
const ofUsers = ["account_id", "email", "password_hash", "is_operator", "totp_secret"];

const sqliteTrigger = (name: string, event: string, changed: string, when = "") =>
  `CREATE TRIGGER ${name} AFTER ${event} FOR EACH ROW ${when} BEGIN
    UPDATE changes SET number = number + 1;
    INSERT OR IGNORE INTO changed_names (number, name) SELECT number, ${changed} FROM changes;
    DELETE FROM changed_names WHERE number <= (SELECT number FROM changes) - 1000;
  END`;

const triggers = [
  sqliteTrigger("accounts_inserted", "INSERT ON accounts", "NEW.id"),
  sqliteTrigger("accounts_updated", `UPDATE OF ${ofAccounts.join(", ")} ON accounts`, "NEW.id"),
  sqliteTrigger("accounts_deleted", "DELETE ON accounts", "OLD.id"),
  sqliteTrigger("api_keys_inserted", "INSERT ON api_keys", "NEW.id"),
  sqliteTrigger("api_keys_updated", `UPDATE OF ${ofKeys.join(", ")} ON api_keys`, "NEW.id"),
  sqliteTrigger("api_keys_deleted", "DELETE ON api_keys", "OLD.id"),
  // Whose account the first one is (`free-unpriced.ts`) follows from its users.
  sqliteTrigger("users_inserted", "INSERT ON users", "NEW.account_id"),
  sqliteTrigger("users_updated", `UPDATE OF ${ofUsers.join(", ")} ON users`, "NEW.account_id"),
  sqliteTrigger("users_deleted", "DELETE ON users", "OLD.account_id"),
  sqliteTrigger("entries_inserted", "INSERT ON ledger_entries", "NEW.account_id", "WHEN NEW.kind <> 4"),
];

/** Once a transaction the number grows: its row is locked until that ends, which is at once, for the trigger comes last. */
const noteChange = `CREATE OR REPLACE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $body$
DECLARE
  v_noted text[] := string_to_array(current_setting('model_gateway.changed', true), ' ');
  v_xact text := pg_current_xact_id()::text; v_number bigint; v_count int := 0; v_row record; v_name text;
BEGIN
  IF v_noted[1] IS DISTINCT FROM v_xact THEN
    UPDATE changes SET number = number + 1 RETURNING number INTO v_number;
    DELETE FROM changed_names WHERE number <= v_number - 1000;
    PERFORM pg_notify('model_gateway', 'change');
  ELSE
    v_number := v_noted[2]; v_count := v_noted[3];
  END IF;
  IF v_count <= 100 THEN
    IF TG_OP = 'DELETE' THEN v_row := OLD; ELSE v_row := NEW; END IF;
    v_name := to_jsonb(v_row) ->> coalesce(TG_ARGV[0], 'id');
    INSERT INTO changed_names (number, name) VALUES (v_number, CASE WHEN v_count = 100 THEN '' ELSE v_name END)
      ON CONFLICT DO NOTHING;
    PERFORM set_config('model_gateway.changed', concat_ws(' ', v_xact, v_number, v_count + 1), true);
  END IF;
  RETURN NULL;
END $body$`;

const onPostgres = [
  noteChange,
  `CREATE CONSTRAINT TRIGGER note_change AFTER INSERT ON ledger_entries DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.kind <> 4) EXECUTE FUNCTION note_change('account_id')`,
];
