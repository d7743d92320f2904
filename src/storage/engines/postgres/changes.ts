/**
 * Counts the changes that nodes must know within a second: of keys, accounts and users, by whatever statement, that of an operator's
 * hand too. Triggers count them when their transaction commits, so that who reads a new number reads what changed as well; and
 * they send a notification, which makes it quicker. Each change names the keys and accounts that it is of.
 *
 * Calls make no such change: their balances, holds, spend and times of use do not count.
 */

import { keptChanges, mostNames, ofAll, ofConfiguration } from "../changed-names.ts";

/** The columns of a change, by table. */
const watched: Readonly<Record<string, readonly string[]>> = {
  accounts: ["name", "recharged", "postpaid", "suspended_at", "time_zone", "budgets"],
  api_keys: [
    ...[
      "account_id",
      "name",
      "secret_hash",
      "is_admin",
      "revoked_at",
      "credit_limit",
      "models",
      "disabled",
      "expires_at",
    ],
    ...["previous_hash", "previous_expires_at", "budgets", "requests_per_minute", "tokens_per_minute", "model_rates"],
    ...["max_concurrent", "allowed_ips", "tags", "owner"],
  ],
  users: ["account_id", "email", "password_hash", "is_operator", "totp_secret"],
};

export const watchedTables = [...Object.keys(watched), "ledger_entries", "configurations"];

/**
 * Once a transaction the number grows: the row is locked until that ends, which is at once, for the trigger comes last. The names of what
 * has changed go with the number (`changed-names.ts`).
 */
const noteChange = `CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $body$
DECLARE
  v_noted text[] := string_to_array(current_setting('model_gateway.changed', true), ' ');
  v_xact text := pg_current_xact_id()::text; v_number bigint; v_count int := 0; v_row record; v_name text;
BEGIN
  IF v_noted[1] IS DISTINCT FROM v_xact THEN
    UPDATE changes SET number = number + 1 RETURNING number INTO v_number;
    DELETE FROM changed_names WHERE number <= v_number - ${keptChanges};
    PERFORM pg_notify('model_gateway', 'change');
  ELSE
    v_number := v_noted[2]; v_count := v_noted[3];
  END IF;
  IF v_count <= ${mostNames} THEN
    IF TG_OP = 'DELETE' THEN v_row := OLD; ELSE v_row := NEW; END IF;
    v_name := coalesce(TG_ARGV[1], to_jsonb(v_row) ->> coalesce(TG_ARGV[0], 'id'));
    INSERT INTO changed_names (number, name) VALUES (v_number, CASE WHEN v_count = ${mostNames} THEN '${ofAll}' ELSE v_name END)
      ON CONFLICT DO NOTHING;
    PERFORM set_config('model_gateway.changed', concat_ws(' ', v_xact, v_number, v_count + 1), true);
  END IF;
  RETURN NULL;
END $body$`;

const trigger = (event: string, more: string) =>
  `CREATE CONSTRAINT TRIGGER note_change AFTER ${event} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW ${more}`;

export const changeStatements: readonly string[] = [
  "INSERT INTO changes (id, number) VALUES (1, 0)",
  noteChange,
  ...Object.entries(watched).map(([table, columns]) =>
    trigger(`INSERT OR DELETE OR UPDATE OF ${columns.join(", ")} ON ${table}`, "EXECUTE FUNCTION note_change()"),
  ),
  // What is recorded of an account besides charges (4), which calls alone make.
  trigger("INSERT ON ledger_entries", "WHEN (NEW.kind <> 4) EXECUTE FUNCTION note_change('account_id')"),
  trigger("INSERT ON configurations", `EXECUTE FUNCTION note_change('version', '${ofConfiguration}')`),
];
