/**
 * Decides a node's turn in one round trip: captures, releases and holds, each in its order, of however many accounts.
 *
 * The accounts and keys of the turn are locked, what they have left is read once, each item is decided in memory, and sums, holds
 * and leases are written once for all. What was decided is kept with the number of the turn: a node whose connection broke asks
 * again under the same number and gets the same, so that no lease grows twice.
 */

import { holdMs } from "../../../../money/books.ts";
import { maxHeld, maxOwed, maxSum } from "../../../../money/bounds.ts";
import { leaseShare, maxLeaseCalls, maxLeaseLeft, minLeaseCalls } from "../../../../money/lease-size.ts";
import { budgetLeft } from "./budgets.ts";
import { callRecord, charged, hourOfCall, insertRequest, requestValues } from "./call-columns.ts";
import { booksFunction } from "./function.ts";
import { isLeased, releaseLeases } from "./leases.ts";

/** lockMs is how long a turn waits for a lock of somebody else's, in milliseconds. */
const lockMs = 1000;

const declarations = `
  v_now bigint := now_ms();
  v_turn bigint; v_told text; v_ids text[]; v_is_alive boolean;
  c record; w record;
  r_accounts text[]; r_keys text[]; r_amounts bigint[];
  -- What accounts and keys have left, by their places in p_accounts and p_keys; null where nothing bounds it.
  a_left bigint[]; a_held bigint[]; k_left bigint[]; k_held bigint[]; k_open boolean[]; k_limited boolean[];
  -- Their budgets as they are stored; null for none.
  a_zone text[]; a_budgets text[]; k_budgets text[];
  -- What is added to their sums.
  a_more bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_accounts)]); a_paid bigint[] := a_more;
  k_more bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_keys)]); k_spent bigint[] := k_more;
  a_due boolean[] := array_fill(false, ARRAY[cardinality(p_accounts)]);
  -- What each lease grew by in this turn, and what of that is left.
  l_grown bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_leases)]); l_left bigint[] := l_grown;
  l_account int[]; l_key int[];
  h_amount bigint[]; h_known bigint[];
  v_captures text[] := '{}'; v_holds text[] := '{}';
  v_released bigint; v_cost bigint; v_asked bigint; v_left bigint; v_due bigint; v_grown bigint; v_amount bigint;
  -- Whether no budget bounds the hold, and else which leaves least, how much, and since when any of it is spent.
  v_free boolean; v_place int; v_room bigint; v_oldest bigint;
  i int; j int;`;

/** guard locks the node's row first: a turn that is asked again waits there until the first is decided. */
const guard = `
  PERFORM set_config('lock_timeout', '${lockMs}', true);
  LOOP
    SELECT n.turn, n.decisions, n.alive_until > v_now INTO v_turn, v_told, v_is_alive FROM nodes n WHERE n.node = p_node FOR NO KEY UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO nodes (node, version, started_at, steady_since, alive_until)
      VALUES (p_node, '', v_now, v_now, v_now + ${holdMs}) ON CONFLICT (node) DO NOTHING;
  END LOOP;
  IF v_turn >= p_turn THEN RETURN CASE WHEN v_turn = p_turn THEN v_told END; END IF;`;

/** given takes leases back before anything is read. All accounts are locked by then, those of released calls among them. */
const given = `
  IF cardinality(p_releases) + cardinality(p_given) > 0 THEN
    PERFORM 1 FROM accounts WHERE id = ANY (p_accounts || ARRAY(
        SELECT h.account_id FROM holds h WHERE h.request_id = ANY (p_releases || p_given)))
      ORDER BY id FOR NO KEY UPDATE;
    PERFORM 1 FROM api_keys WHERE id = ANY (p_keys || ARRAY(
        SELECT h.key_id FROM holds h WHERE h.request_id = ANY (p_releases || p_given)))
      ORDER BY id FOR NO KEY UPDATE;
    IF cardinality(p_given) > 0 THEN PERFORM ${releaseLeases.name}(p_node, p_given); END IF;
  END IF;`;

const [accountLeft, keyLeft] = [
  `a.balance - a.held + a.postpaid * ${maxOwed}`,
  `coalesce(k.credit_limit, ${maxSum}) - k.spent - k.held`,
];

/**
 * Locks accounts and keys, and reads what they have left: rows that are locked are read as they are then. They are asked for in the
 * order of their ids, so they have their places, unless one is not there.
 */
const reads = `
  WITH a AS MATERIALIZED (
      SELECT id, postpaid, balance, held, time_zone, budgets FROM accounts WHERE id = ANY (p_accounts) ORDER BY id FOR NO KEY UPDATE)
    SELECT array_agg(a.id), array_agg(${accountLeft}), array_agg(a.held), array_agg(a.time_zone), array_agg(a.budgets)
    INTO v_ids, a_left, a_held, a_zone, a_budgets FROM a;
  IF v_ids IS DISTINCT FROM p_accounts THEN
    SELECT array_agg(CASE WHEN a.id IS NULL THEN 0 ELSE ${accountLeft} END ORDER BY u.n), array_agg(coalesce(a.held, 0) ORDER BY u.n),
      array_agg(a.time_zone ORDER BY u.n), array_agg(a.budgets ORDER BY u.n)
      INTO a_left, a_held, a_zone, a_budgets FROM unnest(p_accounts) WITH ORDINALITY u(id, n) LEFT JOIN accounts a ON a.id = u.id;
  END IF;
  WITH k AS MATERIALIZED (
      SELECT id, credit_limit, spent, held, revoked_at, budgets FROM api_keys WHERE id = ANY (p_keys) ORDER BY id FOR NO KEY UPDATE)
    SELECT array_agg(k.id), array_agg(${keyLeft}), array_agg(k.held), array_agg(k.revoked_at IS NULL), array_agg(k.credit_limit IS NOT NULL),
      array_agg(k.budgets)
    INTO v_ids, k_left, k_held, k_open, k_limited, k_budgets FROM k;
  IF v_ids IS DISTINCT FROM p_keys THEN
    SELECT array_agg(${keyLeft} ORDER BY u.n), array_agg(coalesce(k.held, 0) ORDER BY u.n),
      array_agg(k.id IS NOT NULL AND k.revoked_at IS NULL ORDER BY u.n), array_agg(k.credit_limit IS NOT NULL ORDER BY u.n),
      array_agg(k.budgets ORDER BY u.n)
      INTO k_left, k_held, k_open, k_limited, k_budgets FROM unnest(p_keys) WITH ORDINALITY u(id, n) LEFT JOIN api_keys k ON k.id = u.id;
  END IF;
  -- What is due of a key with a limit may be more than its row says it has spent. It is read when the locks are there.
  IF true = ANY (k_limited) THEN
    SELECT array_agg(k_left[u.n] + coalesce(d.due, 0) ORDER BY u.n) INTO k_left FROM unnest(p_keys) WITH ORDINALITY u(id, n)
      LEFT JOIN (SELECT x.key_id, sum(x.freed - x.spent)::bigint AS due FROM due_sums x
        WHERE x.account_id = ANY (p_accounts) AND x.key_id = ANY (p_keys) GROUP BY 1) d ON d.key_id = u.id;
  END IF;
  IF cardinality(p_leases) > 0 THEN
    PERFORM 1 FROM holds WHERE request_id = ANY (p_leases) ORDER BY request_id FOR NO KEY UPDATE;
  END IF;`;

/** withDue adds what is due of an account. That is only ever in its favour: it is looked for where the row alone does not reach. */
const withDue = `
      IF NOT a_due[i] AND a_left[i] IS NOT NULL THEN
        a_due[i] := true;
        SELECT coalesce(sum(d.released - d.paid), 0)::bigint INTO v_due FROM due_sums d WHERE d.account_id = p_accounts[i];
        a_left[i] := a_left[i] + v_due;
      END IF;`;

const captures = `
  IF json_array_length(p_captures) > 0 THEN
  FOR c IN SELECT * FROM json_to_recordset(p_captures) AS t(${callRecord}, most bigint, windows json) LOOP
    i := array_position(p_accounts, c.account_id); j := array_position(p_keys, c.key_id);
    DELETE FROM holds h WHERE h.request_id = c.id RETURNING h.amount INTO v_released;
    -- Without a hold, and older than calls are kept: it may have been captured, and forgotten.
    IF v_released IS NULL AND c.id COLLATE "C" < (SELECT id FROM kept_from WHERE kind = 'requests') THEN
      v_captures := v_captures || 'null'::text;
      CONTINUE;
    END IF;
    v_released := coalesce(v_released, 0);
    v_asked := least(c.cost, c.most);
    v_cost := v_asked;
    IF v_asked > v_released THEN
      IF least(a_left[i], k_left[j]) < v_asked - v_released THEN ${withDue}
      END IF;
      v_cost := least(v_asked, v_released + greatest(0, coalesce(least(a_left[i], k_left[j]), v_asked)));
      IF c.windows IS NOT NULL THEN
        SELECT remaining INTO v_left
          FROM ${budgetLeft.name}(c.account_id, c.windows, a_more[i] - v_released, k_more[j] - v_released);
        v_cost := least(v_cost, greatest(v_released, coalesce(v_left, v_cost)));
      END IF;
    END IF;
    ${insertRequest(requestValues("c", charged))};
    IF FOUND THEN
      v_captures := v_captures || json_build_array(v_cost, c.cost - v_cost)::text;
      ${hourOfCall("c", charged)};
    ELSE
      -- It was captured before: it costs nothing more.
      v_captures := v_captures || 'null'::text;
      v_cost := 0;
    END IF;
    a_more[i] := a_more[i] - v_released; a_paid[i] := a_paid[i] + v_cost; a_left[i] := a_left[i] + v_released - v_cost;
    k_more[j] := k_more[j] - v_released; k_spent[j] := k_spent[j] + v_cost; k_left[j] := k_left[j] + v_released - v_cost;
  END LOOP;
  END IF;`;

const releases = `
  IF cardinality(p_releases) > 0 THEN
    WITH gone AS MATERIALIZED (
        DELETE FROM holds h WHERE h.request_id = ANY (p_releases) AND h.node = p_node RETURNING h.account_id, h.key_id, h.amount),
      of_accounts AS (
        UPDATE accounts a SET held = a.held - s.amount
        FROM (SELECT account_id, sum(amount)::bigint AS amount FROM gone GROUP BY 1) s WHERE a.id = s.account_id),
      of_keys AS (
        UPDATE api_keys k SET held = k.held - s.amount
        FROM (SELECT key_id, sum(amount)::bigint AS amount FROM gone GROUP BY 1) s WHERE k.id = s.key_id)
      SELECT array_agg(account_id), array_agg(key_id), array_agg(amount) INTO r_accounts, r_keys, r_amounts FROM gone;
    FOR n IN 1 .. coalesce(cardinality(r_amounts), 0) LOOP
      i := array_position(p_accounts, r_accounts[n]); j := array_position(p_keys, r_keys[n]);
      IF i IS NOT NULL THEN a_left[i] := a_left[i] + r_amounts[n]; END IF;
      IF j IS NOT NULL THEN k_left[j] := k_left[j] + r_amounts[n]; END IF;
    END LOOP;
  END IF;`;

const lease = `
    IF w.l IS NOT NULL AND w.max > 0 AND v_free AND k_open[j] AND (w.lk OR NOT k_limited[j]) THEN
      IF l_left[w.l] >= w.max THEN
        l_left[w.l] := l_left[w.l] - w.max;
        v_holds := v_holds || '["leased",0]'::text;
        CONTINUE;
      END IF;
      v_left := least(a_left[i], k_left[j], ${maxLeaseLeft}) / ${leaseShare};
      v_grown := CASE WHEN v_is_alive AND v_left >= w.max * ${minLeaseCalls} THEN least(v_left, w.max * ${maxLeaseCalls}) ELSE 0 END;
      IF v_grown > 0 AND a_held[i] + a_more[i] < ${maxHeld} AND (NOT w.lk OR k_held[j] + k_more[j] < ${maxHeld}) THEN
        a_more[i] := a_more[i] + v_grown; a_left[i] := a_left[i] - v_grown;
        IF w.lk THEN k_more[j] := k_more[j] + v_grown; k_left[j] := k_left[j] - v_grown; END IF;
        l_grown[w.l] := l_grown[w.l] + v_grown; l_left[w.l] := l_left[w.l] + v_grown - w.max;
        l_account[w.l] := i; l_key[w.l] := CASE WHEN w.lk THEN j END;
        v_holds := v_holds || json_build_array('leased', v_grown)::text;
        CONTINUE;
      END IF;
    END IF;`;

/**
 * budgets looks at those of the account and the key. Their windows were computed by what the node knows of them. It is told how they are
 * stored where that is otherwise, and asks again.
 */
const budgets = `
    v_free := a_budgets[i] IS NULL AND k_budgets[j] IS NULL;
    IF NOT v_free THEN
      IF w.b IS NULL OR (w.b ->> 'zone') IS DISTINCT FROM a_zone[i] OR (w.b ->> 'ofAccount') IS DISTINCT FROM a_budgets[i]
          OR (w.b ->> 'ofKey') IS DISTINCT FROM k_budgets[j] THEN
        v_holds := v_holds || json_build_array('stale', a_zone[i], a_budgets[i], k_budgets[j])::text;
        CONTINUE;
      END IF;
      SELECT place, remaining, oldest INTO v_place, v_room, v_oldest
        FROM ${budgetLeft.name}(p_accounts[i], w.b -> 'windows', a_more[i], k_more[j]);
    END IF;`;

const holds = `
  IF json_array_length(p_holds) > 0 THEN
  -- A hold that is there already, of a call that is asked for again, counts once.
  SELECT array_agg(h.amount ORDER BY w.n) INTO h_known
    FROM json_to_recordset(p_holds) AS w(n int, i text)
    LEFT JOIN holds h ON h.request_id = w.i AND h.node = p_node;
  FOR w IN SELECT * FROM json_to_recordset(p_holds) AS t(n int, a int, k int, l int, lk boolean, max bigint, min bigint,
      i text, o text, m text, t bigint, b json) LOOP
    i := w.a; j := w.k;
    IF h_known[w.n] IS NOT NULL THEN
      v_holds := v_holds || json_build_array('held', h_known[w.n])::text;
      CONTINUE;
    END IF;
    ${budgets}
    ${lease}
    IF least(a_left[i], k_left[j]) < w.max THEN ${withDue}
    END IF;
    v_left := greatest(0, coalesce(least(a_left[i], k_left[j]), ${Number.MAX_SAFE_INTEGER}));
    v_amount := least(w.max, v_left, ${maxHeld});
    IF NOT v_free THEN v_amount := greatest(0, least(v_amount, v_room)); END IF;
    IF v_amount >= least(w.min, w.max) AND k_open[j] AND a_held[i] + a_more[i] < ${maxHeld} AND k_held[j] + k_more[j] < ${maxHeld} THEN
      a_more[i] := a_more[i] + v_amount; a_left[i] := a_left[i] - v_amount;
      k_more[j] := k_more[j] + v_amount; k_left[j] := k_left[j] - v_amount;
      IF v_free THEN
        h_amount[w.n] := v_amount;
        v_holds := v_holds || json_build_array('held', v_amount)::text;
      ELSE
        -- At once: the next hold of this turn is decided by it.
        INSERT INTO holds (request_id, node, account_id, key_id, operation, model, amount, created_at, expires_at)
          VALUES (w.i, p_node, p_accounts[i], p_keys[j], w.o, w.m, v_amount, w.t, v_now + ${holdMs});
        v_holds := v_holds || json_build_array('held', v_amount, v_place, v_room - v_amount, v_oldest)::text;
      END IF;
    ELSIF NOT k_open[j] THEN
      v_holds := v_holds || '["short","key",0,false]'::text;
    ELSIF NOT v_free AND v_room < least(v_left, ${maxHeld}) THEN
      v_holds := v_holds || json_build_array('short', 'budget', v_amount, false, v_place, v_room, v_oldest)::text;
    ELSE
      v_holds := v_holds || json_build_array('short',
        CASE WHEN k_left[j] < a_left[i] AND (k_limited[j] OR k_left[j] < ${maxHeld}) THEN 'limit' ELSE 'balance' END,
        least(v_left, ${maxHeld}), ${isLeased.name}(p_node, p_accounts[i]))::text;
    END IF;
  END LOOP;
  END IF;`;

const writes = `
  IF h_amount IS NOT NULL THEN
  INSERT INTO holds (request_id, node, account_id, key_id, operation, model, amount, created_at, expires_at)
    SELECT w.i, p_node, p_accounts[w.a], p_keys[w.k], w.o, w.m, h_amount[w.n], w.t, v_now + ${holdMs}
    FROM json_to_recordset(p_holds) AS w(n int, i text, a int, k int, o text, m text, t bigint)
    WHERE h_amount[w.n] IS NOT NULL;
  END IF;
  IF l_account IS NOT NULL THEN
  INSERT INTO holds AS h (request_id, node, account_id, key_id, operation, model, amount, created_at, expires_at)
    SELECT p_leases[g.n], p_node, p_accounts[l_account[g.n]], coalesce(p_keys[l_key[g.n]], ''), '', '', g.grown, v_now,
      v_now + ${holdMs}
    FROM unnest(l_grown) WITH ORDINALITY g(grown, n) WHERE g.grown > 0 ORDER BY p_leases[g.n]
    ON CONFLICT (request_id) DO UPDATE
      SET amount = h.amount + excluded.amount, expires_at = greatest(h.expires_at, excluded.expires_at);
  END IF;
  UPDATE accounts a SET held = a.held + m.more, balance = a.balance - m.paid
    FROM unnest(p_accounts, a_more, a_paid) m(id, more, paid) WHERE a.id = m.id AND (m.more <> 0 OR m.paid <> 0);
  UPDATE api_keys k SET held = k.held + m.more, spent = k.spent + m.spent
    FROM unnest(p_keys, k_more, k_spent) m(id, more, spent) WHERE k.id = m.id AND (m.more <> 0 OR m.spent <> 0);`;

/**
 * decide returns what was decided, as JSON: `{captures: [[cost, waived] or null, …], holds: [["held", amount], …]}`. A hold that is `short`
 * says of what, what is left, and whether other nodes have leases that may come back.
 */
export const decide = booksFunction(
  "decide",
  `(p_node text, p_turn bigint, p_accounts text[], p_keys text[], p_leases text[], p_given text[], p_captures json, p_releases text[], p_holds json)
  RETURNS text`,
  `DECLARE ${declarations}
BEGIN ${guard} ${given} ${reads} ${captures} ${releases} ${holds} ${writes}
  v_told := '{"captures":[' || array_to_string(v_captures, ',') || '],"holds":[' || array_to_string(v_holds, ',') || ']}';
  UPDATE nodes SET turn = p_turn, decisions = v_told WHERE node = p_node;
  RETURN v_told;
END`,
);
