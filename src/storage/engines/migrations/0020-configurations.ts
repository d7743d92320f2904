/** The versions of the configuration. A new one counts as a change named `configuration`, which every node knows within a second. */
import type { Kysely } from "kysely";
import { createTable, run } from "../tables/create.ts";
import { bigint, type Dialect, integer, orNull, text } from "../tables/shape.ts";

export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await createTable(db, dialect, {
    name: "configurations",
    columns: {
      ...{ version: integer, document: text, created_at: bigint },
      ...{ actor_kind: text, actor_id: text, note: orNull(text), changed: text },
    },
    key: ["version"],
  });
  for (const statement of dialect === "sqlite" ? onSqlite : onPostgres) await run(db, statement);
}

const onSqlite = [
  `CREATE TRIGGER configurations_inserted AFTER INSERT ON configurations FOR EACH ROW BEGIN
    UPDATE changes SET number = number + 1;
    INSERT OR IGNORE INTO changed_names (number, name) SELECT number, 'configuration' FROM changes;
    DELETE FROM changed_names WHERE number <= (SELECT number FROM changes) - 1000;
  END`,
];

/** The second argument of its triggers is a name for all rows, in the place of a column. */
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
    v_name := coalesce(TG_ARGV[1], to_jsonb(v_row) ->> coalesce(TG_ARGV[0], 'id'));
    INSERT INTO changed_names (number, name) VALUES (v_number, CASE WHEN v_count = 100 THEN '' ELSE v_name END)
      ON CONFLICT DO NOTHING;
    PERFORM set_config('model_gateway.changed', concat_ws(' ', v_xact, v_number, v_count + 1), true);
  END IF;
  RETURN NULL;
END $body$`;

const onPostgres = [
  noteChange,
  `CREATE CONSTRAINT TRIGGER note_change AFTER INSERT ON configurations DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION note_change('version', 'configuration')`,
];
