/** Does what nodes do for each other: merging what is due, expiring what is held by nodes that died, moving deadlines on. */

import { lost } from "../../../../calls/outcomes.ts";
import { columnNames, defaultOf, summedColumns } from "../../../../columns.ts";
import { holdMs, sweepMs } from "../../../../money/books.ts";
import { dueQuarter } from "../../../tables/calls.ts";
import { dueColumns, dueCounts, hourOf, requestColumns } from "./call-columns.ts";
import { booksFunction } from "./function.ts";

/** mergeRows is how many rows that are due are looked at, and merged, in one transaction. */
const mergeRows = 5000;

const sums = dueCounts.map((name) => `sum(${name})::bigint AS ${name}`).join(", ");
const addUp = dueCounts.map((name) => `${name} = u.${name} + excluded.${name}`).join(", ");

/** mergeOf adds to accounts, keys and hours what is due of accounts whose locks the caller has. Returns how many rows that was. */
export const mergeOf = booksFunction(
  "merge_of",
  "(p_accounts text[]) RETURNS bigint",
  `DECLARE v_rows bigint;
BEGIN
  WITH due AS MATERIALIZED (
      DELETE FROM due_sums WHERE ctid = ANY (ARRAY(SELECT ctid FROM due_sums WHERE account_id = ANY (p_accounts) LIMIT ${mergeRows}))
      RETURNING *),
    sums AS MATERIALIZED (
      SELECT account_id, hour, key_id, model, ${sums}, sum(spent)::bigint AS spent, sum(freed)::bigint AS freed,
        sum(paid)::bigint AS paid, sum(released)::bigint AS released
      FROM due GROUP BY 1, 2, 3, 4),
    of_accounts AS (
      UPDATE accounts a SET balance = a.balance - s.paid, held = a.held - s.released
      FROM (SELECT account_id, sum(paid)::bigint AS paid, sum(released)::bigint AS released FROM sums GROUP BY 1) s
      WHERE a.id = s.account_id AND (s.paid <> 0 OR s.released <> 0)),
    of_keys AS (
      UPDATE api_keys k SET spent = k.spent + s.spent, held = k.held - s.freed
      FROM (SELECT key_id, sum(spent)::bigint AS spent, sum(freed)::bigint AS freed FROM sums GROUP BY 1) s
      WHERE k.id = s.key_id AND (s.spent <> 0 OR s.freed <> 0)),
    of_quarters AS (
      INSERT INTO spent_by_quarter AS q (subject, quarter_start, spent)
      SELECT subject, quarter_start, sum(cost)::bigint FROM (
        SELECT d.account_id AS subject, ${dueQuarter} AS quarter_start, cost FROM due d JOIN accounts a ON a.id = d.account_id
          WHERE d.cost <> 0 AND a.budgets IS NOT NULL
        UNION ALL SELECT d.key_id, ${dueQuarter}, cost FROM due d JOIN api_keys k ON k.id = d.key_id
          WHERE d.cost <> 0 AND k.budgets IS NOT NULL) s
      GROUP BY 1, 2 ON CONFLICT (subject, quarter_start) DO UPDATE SET spent = q.spent + excluded.spent),
    of_hours AS (
      INSERT INTO usage_hours AS u (account_id, hour, key_id, model, ${dueCounts.join(", ")})
      SELECT account_id, hour, key_id, model, ${dueCounts.join(", ")} FROM sums WHERE model <> ''
      ON CONFLICT (account_id, hour, key_id, model) DO UPDATE SET ${addUp})
  SELECT count(*) INTO v_rows FROM due;
  RETURN v_rows;
END`,
);

/** merge merges some of what is due, of accounts that nobody else has locked, or of one. Returns how many rows that was. */
export const merge = booksFunction(
  "merge",
  "(p_account text) RETURNS bigint",
  `DECLARE v_accounts text[];
BEGIN
  PERFORM set_config('lock_timeout', '1000', true);
  IF p_account = '' THEN
    v_accounts := ARRAY(SELECT a.id FROM accounts a
      WHERE a.id IN (SELECT DISTINCT account_id FROM (SELECT account_id FROM due_sums LIMIT ${mergeRows}) d)
      ORDER BY a.id FOR NO KEY UPDATE SKIP LOCKED);
  ELSIF EXISTS (SELECT 1 FROM due_sums WHERE account_id = p_account) THEN
    v_accounts := ARRAY(SELECT a.id FROM accounts a WHERE a.id = p_account FOR NO KEY UPDATE);
  ELSE
    RETURN 0;
  END IF;
  PERFORM 1 FROM api_keys k WHERE k.id IN (SELECT key_id FROM due_sums WHERE account_id = ANY (v_accounts))
    ORDER BY k.id FOR NO KEY UPDATE;
  RETURN ${mergeOf.name}(v_accounts);
END`,
);

/**
 * steadyMs is how long a node has renewed its deadline without a gap before it expires what others hold: after a common outage they come
 * first.
 */
const steadyMs = 30_000;
/** gapMs is how long after one renewal of a node the next makes a gap. */
const gapMs = 2 * steadyMs;
/** selectSteady finds a node that has renewed its deadline without a gap for long enough, up to this moment: also by a clock that was set forward since. */
export const selectSteady = `SELECT 1 FROM nodes
  WHERE alive_until - ${holdMs} >= now_ms() - ${gapMs} AND steady_since <= now_ms() - ${steadyMs} LIMIT 1`;
/** batch is how many holds expire in one transaction. */
const batch = 500;

const lostValues = columnNames
  .map((name) => {
    const decided: Partial<Record<string, string>> = {
      ...{ id: "request_id", account_id: "account_id", key_id: "key_id", operation: "operation", model: "model" },
      ...{
        created_at: "created_at",
        outcome: String(lost),
        upstream: "''",
        duration_ms: "greatest(0, v_now - created_at)",
      },
    };
    const byDefault = defaultOf(name);
    return decided[name] ?? (byDefault === "" ? "''" : byDefault === null || name === "first_byte_ms" ? "NULL" : "0");
  })
  .join(", ");

/** expire releases holds and leases whose deadline has passed, and records calls as lost. Returns how many. */
export const expire = booksFunction(
  "expire",
  "(p_node text) RETURNS int",
  `DECLARE v_now bigint := now_ms(); v_accounts text[]; v_gone int;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM nodes WHERE node = p_node AND alive_until > v_now AND steady_since <= v_now - ${steadyMs}) THEN
    RETURN 0;
  END IF;
  v_accounts := ARRAY(SELECT a.id FROM accounts a
    WHERE a.id IN (SELECT DISTINCT account_id FROM (SELECT account_id FROM holds WHERE expires_at <= v_now LIMIT ${batch}) h)
    ORDER BY a.id FOR NO KEY UPDATE SKIP LOCKED);
  PERFORM 1 FROM api_keys k WHERE k.id IN (SELECT key_id FROM holds WHERE expires_at <= v_now AND account_id = ANY (v_accounts))
    ORDER BY k.id FOR NO KEY UPDATE;
  WITH old AS MATERIALIZED (
      SELECT request_id FROM holds WHERE expires_at <= v_now AND account_id = ANY (v_accounts)
      ORDER BY request_id LIMIT ${batch} FOR UPDATE SKIP LOCKED),
    gone AS MATERIALIZED (DELETE FROM holds h USING old WHERE h.request_id = old.request_id RETURNING h.*),
    of_accounts AS (
      UPDATE accounts a SET held = a.held - s.amount
      FROM (SELECT account_id, sum(amount)::bigint AS amount FROM gone GROUP BY 1) s WHERE a.id = s.account_id),
    of_keys AS (
      UPDATE api_keys k SET held = k.held - s.amount
      FROM (SELECT key_id, sum(amount)::bigint AS amount FROM gone GROUP BY 1) s WHERE k.id = s.key_id),
    calls AS (
      INSERT INTO requests (${requestColumns}) SELECT ${lostValues} FROM gone WHERE operation <> '' ON CONFLICT (id) DO NOTHING
      RETURNING account_id, created_at, key_id, model),
    hours AS (
      INSERT INTO due_sums (${dueColumns.join(", ")})
      SELECT DISTINCT account_id, ${hourOf("created_at")}, key_id, model, 0, ${summedColumns.map(() => "0").join(", ")}, 0, 0, 0, 0, 0 FROM calls)
  SELECT count(*) INTO v_gone FROM gone;
  DELETE FROM nodes WHERE alive_until < v_now - 7 * 86400000;
  DELETE FROM journals j WHERE NOT EXISTS (SELECT 1 FROM nodes n WHERE n.node = j.node);
  DELETE FROM recalls WHERE at < v_now - 60000;
  RETURN v_gone;
END`,
);

/**
 * renew moves on the deadlines of a node, its leases, and the holds of the calls that it names; of all where it names none by null. Others
 * expire: a standby that took over may have holds of calls whose end it lacks. Returns whether the node had no deadline that has passed.
 */
export const renew = booksFunction(
  "renew",
  "(p_node text, p_version text, p_configuration text, p_calls text[]) RETURNS boolean",
  `DECLARE v_now bigint := now_ms(); v_alive bigint;
BEGIN
  PERFORM set_config('lock_timeout', '1000', true);
  SELECT n.alive_until INTO v_alive FROM nodes n WHERE n.node = p_node FOR NO KEY UPDATE;
  INSERT INTO nodes (node, version, configuration, started_at, steady_since, alive_until)
    VALUES (p_node, p_version, p_configuration, v_now, v_now, v_now + ${holdMs})
    ON CONFLICT (node) DO UPDATE SET version = excluded.version, configuration = excluded.configuration, alive_until = excluded.alive_until,
      steady_since = CASE WHEN nodes.alive_until - ${holdMs} < v_now - ${gapMs} THEN v_now ELSE nodes.steady_since END;
  -- Those that somebody works on at this moment have their turn the next time: they have time until then.
  UPDATE holds h SET expires_at = v_now + ${holdMs} WHERE h.request_id IN (
    SELECT request_id FROM holds WHERE node = p_node AND expires_at < v_now + ${holdMs - sweepMs}
      AND (p_calls IS NULL OR operation = '' OR request_id IN (SELECT unnest(p_calls))) FOR NO KEY UPDATE SKIP LOCKED);
  RETURN coalesce(v_alive > v_now, true);
END`,
);

/** touch records when keys were used last, where that is a second later than what is recorded. */
export const touch = booksFunction(
  "touch",
  "(p_uses json) RETURNS void",
  `BEGIN
  UPDATE api_keys k SET last_used_at = u.at
    FROM (SELECT x.id, t.at FROM json_to_recordset(p_uses) AS t(id text, at bigint) JOIN api_keys x ON x.id = t.id
      WHERE x.last_used_at IS NULL OR x.last_used_at + 1000 <= t.at ORDER BY x.id FOR NO KEY UPDATE OF x SKIP LOCKED) u
    WHERE k.id = u.id;
END`,
);
