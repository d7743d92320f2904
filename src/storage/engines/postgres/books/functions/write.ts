/**
 * Writes what came of calls that leases and holds of a node cover: for all calls of a batch one statement, which appends. No row
 * is written that another node writes too: what calls add to sums is left due (`upkeep.ts`).
 *
 * It is for what is as the node believes: each lease has what was drawn, each hold is there, no call is known. Where anything is
 * otherwise it fails as a whole with `notCovered`, and `write-alone.ts` decides call by call.
 */

import {
  type CallColumn,
  type ColumnName,
  callColumns,
  defaultOf,
  ownColumns,
  sharedColumns,
} from "../../../../columns.ts";
import { holdMs } from "../../../../money/books.ts";
import { quarterOf } from "./budgets.ts";
import { dueColumns, dueCounts, hourOf, requestColumns, sumsOfCalls } from "./call-columns.ts";
import { booksFunction } from "./function.ts";

/** notCovered is the SQLSTATE of a batch that leases and holds do not cover. */
export const notCovered = "GW001";

const columns: readonly CallColumn[] = callColumns;
const typeOf = (name: ColumnName) => columns.find((column) => column.name === name)?.type ?? "text";

/** ownNames are the members of a call's own values in JSON, in the order of `ownColumns`: short, since each call has them. */
export const ownNames = ownColumns.map((_, i) => memberName(i));
/** sharedNames are the members of what calls of a run share, in the order of `sharedColumns`. */
export const sharedNames = sharedColumns.map((_, i) => memberName(i));

/** memberName returns `a` to `z`, then `za`, `zb` and so on. */
function memberName(i: number): string {
  return i < 25 ? String.fromCharCode(97 + i) : `z${memberName(i - 25)}`;
}

function record(names: readonly string[], of: readonly ColumnName[]): string {
  return names.map((name, i) => `${name} ${typeOf(of[i] as ColumnName)}`).join(", ");
}

/** named names the values of a call by their columns. What is left out has the column's default. */
function named(from: string, names: readonly string[], of: readonly ColumnName[]): string {
  return names
    .map((name, i) => {
      const column = of[i] as ColumnName;
      const byDefault = omitted(column);
      return byDefault === undefined
        ? `${from}.${name} AS ${column}`
        : `coalesce(${from}.${name}, ${byDefault}) AS ${column}`;
    })
    .join(", ");
}

/** omitted returns in SQL what a column has that JSON leaves out: `books.ts` leaves out nulls and zeros. */
function omitted(column: ColumnName): string | undefined {
  if (typeOf(column) === "text") return defaultOf(column) === "" ? "''" : undefined;
  return columns.find(({ name }) => name === column)?.isNullable ? undefined : "0";
}

/** `drawn` says that a call's hold began in the same batch, and so never had a row: its cost is taken from the lease itself. */
const told = `told AS MATERIALIZED (
    SELECT ${named("g", sharedNames, sharedColumns)}, ${named("o", ownNames, ownColumns)},
      g.lease, coalesce(g.of_key, false) AS of_key, coalesce(g.held, false) AS held, coalesce(g.drawn, false) AS drawn
    FROM json_to_recordset(p_calls)
        AS g(${record(sharedNames, sharedColumns)}, lease text, of_key boolean, held boolean, drawn boolean, own json),
      json_to_recordset(g.own) AS o(${record(ownNames, ownColumns)})),
  begun AS MATERIALIZED (
    SELECT * FROM json_to_recordset(p_holds) AS b(i text, l text, of_key boolean, a text, k text, o text, m text, amount bigint, t bigint)),
  freed AS MATERIALIZED (
    SELECT * FROM json_to_recordset(p_releases) AS f(i text, l text, of_key boolean))`;

/** Ends holds of the node; what a hold has left goes back to its lease, if that is still there, and else to its account. */
const ended = `there AS MATERIALIZED (SELECT unnest(v_there) AS id),
  gone AS MATERIALIZED (
    DELETE FROM holds h WHERE h.request_id = ANY (p_ended) AND h.node = p_node
    RETURNING h.request_id, h.account_id, h.key_id, h.amount),
  covered AS MATERIALIZED (
    SELECT t.*, coalesce(g.amount, 0) AS amount, th.id IS NOT NULL AND NOT t.drawn AS is_back,
      t.held AND NOT t.drawn AND (g.amount IS NULL OR g.amount < t.cost) AS is_open
    FROM told t LEFT JOIN gone g ON g.request_id = t.id AND t.held AND NOT t.drawn LEFT JOIN there th ON th.id = t.lease),
  let_go AS MATERIALIZED (
    SELECT g.*, f.l AS lease, coalesce(f.of_key, false) AS of_key, th.id IS NOT NULL AS is_back
    FROM freed f JOIN gone g ON g.request_id = f.i LEFT JOIN there th ON th.id = f.l),
  wanted AS MATERIALIZED (
    SELECT lease, sum(take)::bigint AS take FROM (
      SELECT lease, cost AS take FROM told WHERE drawn
      UNION ALL SELECT l, amount FROM begun
      UNION ALL SELECT lease, cost - amount FROM covered WHERE is_back
      UNION ALL SELECT lease, -amount FROM let_go WHERE is_back) t
    GROUP BY lease HAVING sum(take) <> 0),
  taken AS (
    UPDATE holds h SET amount = h.amount - w.take FROM wanted w
    WHERE h.request_id = w.lease AND h.request_id = ANY (p_leases) AND h.node = p_node AND h.amount >= w.take RETURNING 1)`;

const written = `fresh AS (
    INSERT INTO requests (${requestColumns}) SELECT ${requestColumns} FROM told ON CONFLICT (id) DO NOTHING
    RETURNING 1),
  made AS (
    INSERT INTO holds (request_id, node, account_id, key_id, operation, model, amount, created_at, expires_at)
    SELECT i, p_node, a, k, o, m, amount, t, now_ms() + ${holdMs} FROM begun RETURNING 1)`;

const noCounts = dueCounts.map(() => "0").join(", ");

/** due is what is due: of calls by hours; of holds that begin, and that end without a charge, of the key and the account alone. */
const due = `due AS (
    INSERT INTO due_sums (${dueColumns.join(", ")})
    SELECT account_id, ${hourOf("created_at")}, key_id, model, count(*),
      ${sumsOfCalls()}, sum(cost),
      sum(CASE WHEN drawn OR is_back THEN CASE WHEN of_key THEN cost ELSE amount END ELSE amount END),
      sum(cost), sum(CASE WHEN drawn OR is_back THEN cost ELSE amount END), ${quarterOf("created_at")}
    FROM covered GROUP BY account_id, key_id, model, ${hourOf("created_at")}, ${quarterOf("created_at")}
    UNION ALL
    SELECT account_id, 0, key_id, '', ${noCounts}, 0, sum(freed), 0, sum(released), 0
    FROM (SELECT account_id, key_id, CASE WHEN is_back AND of_key THEN 0 ELSE amount END AS freed,
        CASE WHEN is_back THEN 0 ELSE amount END AS released FROM let_go
      UNION ALL SELECT a, k, -amount, 0 FROM begun WHERE NOT of_key) h
    GROUP BY 1, 3 HAVING sum(freed) <> 0 OR sum(released) <> 0
    RETURNING 1)`;

export const write = booksFunction(
  "write",
  "(p_node text, p_after bigint, p_seq bigint, p_leases text[], p_ended text[], p_calls json, p_releases json, p_holds json) RETURNS boolean",
  `DECLARE v_covered boolean; v_there text[] := '{}';
BEGIN
  PERFORM set_config('lock_timeout', '1000', true);
  INSERT INTO journals (node, posted) VALUES (p_node, p_seq)
    ON CONFLICT (node) DO UPDATE SET posted = excluded.posted WHERE journals.posted = p_after;
  IF NOT FOUND THEN RETURN false; END IF;
  -- In the order in which a turn locks them.
  IF cardinality(p_leases) > 0 THEN
    v_there := ARRAY(SELECT request_id FROM holds WHERE request_id = ANY (p_leases) AND node = p_node
      ORDER BY request_id FOR NO KEY UPDATE);
  END IF;
  WITH ${told}, ${ended}, ${written}, ${due}
  SELECT (SELECT count(*) FROM wanted) = (SELECT count(*) FROM taken) AND (SELECT count(*) FROM told) = (SELECT count(*) FROM fresh)
    AND NOT EXISTS (SELECT 1 FROM covered WHERE is_open
      OR (NOT (held AND NOT drawn) AND cost > 0 AND id COLLATE "C" < (SELECT id FROM kept_from WHERE kind = 'requests')))
    AND (SELECT count(*) FROM due) + (SELECT count(*) FROM made) >= 0 INTO v_covered;
  IF NOT v_covered THEN RAISE EXCEPTION 'not covered by leases and holds' USING ERRCODE = '${notCovered}'; END IF;
  RETURN true;
END`,
);
