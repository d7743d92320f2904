/**
 * Counts the changes that nodes must know within a second: of keys, accounts and users, by whatever statement, that of an operator's
 * hand too. Triggers count them when their transaction commits, so that who reads a new number reads what changed as well; and
 * they send a notification, which makes it quicker.
 *
 * What calls change (balances, holds, spend, when a key was used) is no such change.
 */

/** The columns of a change, by table. */
const watched: Readonly<Record<string, readonly string[]>> = {
  accounts: ["name", "recharged", "postpaid", "suspended_at"],
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
    ...["previous_hash", "previous_expires_at"],
  ],
  users: ["account_id", "email", "password_hash", "is_operator", "totp_secret"],
};

export const watchedTables = Object.keys(watched);

/** Once a transaction: the row is locked until that ends, which is at once, for the trigger comes last. */
const noteChange = `CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  IF current_setting('model_gateway.changed', true) IS DISTINCT FROM pg_current_xact_id()::text THEN
    PERFORM set_config('model_gateway.changed', pg_current_xact_id()::text, true);
    UPDATE changes SET number = number + 1;
    PERFORM pg_notify('model_gateway', 'change');
  END IF;
  RETURN NULL;
END $body$`;

export const changeStatements: readonly string[] = [
  "INSERT INTO changes (id, number) VALUES (1, 0)",
  noteChange,
  ...Object.entries(watched).map(
    ([
      table,
      columns,
    ]) => `CREATE CONSTRAINT TRIGGER note_change AFTER INSERT OR DELETE OR UPDATE OF ${columns.join(", ")}
      ON ${table} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_change()`,
  ),
];
