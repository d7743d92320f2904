/**
 * Writes what came of calls one by one: where a lease or a hold has expired, because its node stood still for long or the database
 * was away, where a call is known, or where one of them cannot be written.
 *
 * A call that its lease or hold does not cover is charged by what is available, and the rest is waived. What cannot be written is
 * set aside, and keeps no other call from being written. Sums are changed at once: the accounts are locked first.
 */

import { holdMs } from "../../../../money/books.ts";
import { available } from "./available.ts";
import { budgetLeft } from "./budgets.ts";
import { callRecord, charged, hourOfCall, insertRequest, requestValues } from "./call-columns.ts";
import { booksFunction } from "./function.ts";

const capture = `
  SELECT * INTO c FROM json_to_record(e -> 'call') AS t(${callRecord});
  v_released := 0; v_freed := 0; v_cost := c.cost; v_covered := NOT v_held;
  IF v_drawn THEN
    UPDATE holds h SET amount = h.amount - c.cost WHERE h.request_id = v_lease AND h.node = p_node AND h.amount >= c.cost;
    v_covered := FOUND;
    IF FOUND THEN v_released := c.cost; v_freed := CASE WHEN v_of_key THEN c.cost ELSE 0 END; END IF;
  ELSIF v_held THEN
    DELETE FROM holds h WHERE h.request_id = c.id AND h.node = p_node RETURNING h.amount INTO v_amount;
    v_covered := coalesce(v_amount >= c.cost, false);
    v_released := coalesce(v_amount, 0); v_freed := v_released;
    IF v_covered THEN
      UPDATE holds h SET amount = h.amount + v_amount - c.cost WHERE h.request_id = v_lease AND h.node = p_node;
      IF FOUND THEN
        v_released := c.cost;
        IF v_of_key THEN v_freed := c.cost; END IF;
      END IF;
    END IF;
  END IF;
  IF NOT v_covered THEN
    SELECT least(of_limit, of_balance) INTO v_left FROM ${available.name}(c.key_id);
    v_cost := least(c.cost, v_released + greatest(0, coalesce(v_left, c.cost)));
    IF e ->> 'windows' IS NOT NULL THEN
      SELECT remaining INTO v_left FROM ${budgetLeft.name}(c.account_id, e -> 'windows', -coalesce(v_amount, 0), -coalesce(v_amount, 0));
      v_cost := least(v_cost, greatest(v_released, coalesce(v_left, v_cost)));
    END IF;
  END IF;
  ${insertRequest(requestValues("c", charged))};
  IF FOUND THEN
    -- The charge of a call that is older than calls are kept may be in the ledger: without a hold of its own it is set aside.
    IF v_amount IS NULL AND c.cost > 0 AND c.id COLLATE "C" < (SELECT id FROM kept_from WHERE kind = 'requests') THEN
      RAISE EXCEPTION 'it may have been charged before, and was not charged again' USING ERRCODE = 'data_exception';
    END IF;
    ${hourOfCall("c", charged)};
  ELSE
    -- It has a row already, and costs nothing more. What it held is released all the same.
    v_cost := 0;
  END IF;
  UPDATE accounts SET held = held - v_released, balance = balance - v_cost WHERE id = c.account_id;
  UPDATE api_keys SET held = held - v_freed, spent = spent + v_cost WHERE id = c.key_id;`;

const hold = `
  SELECT * INTO h FROM json_to_record(e) AS t(i text, a text, k text, o text, m text, amount bigint, t bigint);
  UPDATE holds x SET amount = x.amount - h.amount WHERE x.request_id = v_lease AND x.node = p_node AND x.amount >= h.amount;
  IF FOUND THEN
    IF NOT v_of_key THEN UPDATE api_keys SET held = held + h.amount WHERE id = h.k; END IF;
  ELSIF h.amount > 0 THEN
    -- Its lease has expired: it holds anew, if there is still as much.
    SELECT least(of_limit, of_balance) INTO v_left FROM ${available.name}(h.k);
    IF v_left < h.amount THEN CONTINUE; END IF;
    UPDATE api_keys SET held = held + h.amount WHERE id = h.k AND revoked_at IS NULL;
    IF NOT FOUND THEN CONTINUE; END IF;
    UPDATE accounts SET held = held + h.amount WHERE id = h.a;
  END IF;
  INSERT INTO holds (request_id, node, account_id, key_id, operation, model, amount, created_at, expires_at)
    VALUES (h.i, p_node, h.a, h.k, h.o, h.m, h.amount, h.t, now_ms() + ${holdMs});`;

const release = `
  DELETE FROM holds h WHERE h.request_id = e ->> 'i' AND h.node = p_node RETURNING h.account_id, h.key_id, h.amount INTO r;
  IF FOUND THEN
    UPDATE holds h SET amount = h.amount + r.amount WHERE h.request_id = v_lease AND h.node = p_node;
    v_covered := FOUND;
    IF NOT v_covered THEN UPDATE accounts SET held = held - r.amount WHERE id = r.account_id; END IF;
    IF NOT (v_covered AND v_of_key) THEN UPDATE api_keys SET held = held - r.amount WHERE id = r.key_id; END IF;
  END IF;`;

/**
 * writeAlone writes records call by call, and sets aside those that cannot be written. `p_calls` has the entries of each call, `p_aside` the
 * text under which they are set aside. Returns how many calls were.
 */
export const writeAlone = booksFunction(
  "write_alone",
  "(p_node text, p_after bigint, p_seq bigint, p_accounts text[], p_calls text[], p_aside text[]) RETURNS int",
  `DECLARE
  g record; e json; c record; h record; r record; v_lease text; v_drawn boolean; v_held boolean; v_of_key boolean; v_covered boolean;
  v_released bigint; v_freed bigint; v_cost bigint; v_amount bigint; v_left bigint; v_aside text[] := '{}';
BEGIN
  PERFORM set_config('lock_timeout', '1000', true);
  INSERT INTO journals (node, posted) VALUES (p_node, p_seq)
    ON CONFLICT (node) DO UPDATE SET posted = excluded.posted WHERE journals.posted = p_after;
  IF NOT FOUND THEN RETURN NULL; END IF;
  PERFORM 1 FROM accounts WHERE id = ANY (p_accounts) ORDER BY id FOR NO KEY UPDATE;
  FOR g IN SELECT * FROM unnest(p_calls, p_aside) AS t(entries, aside) LOOP
    BEGIN
      FOR e IN SELECT * FROM json_array_elements(g.entries::json) LOOP
        v_amount := NULL;
        v_lease := e ->> 'lease'; v_of_key := coalesce((e ->> 'of_key')::boolean, false);
        v_held := coalesce((e ->> 'held')::boolean, false); v_drawn := coalesce((e ->> 'drawn')::boolean, false);
        IF e ->> 'kind' = 'settle' THEN ${capture}
        ELSIF e ->> 'kind' = 'hold' THEN ${hold}
        ELSE ${release}
        END IF;
      END LOOP;
    EXCEPTION WHEN data_exception OR integrity_constraint_violation THEN
      v_aside := v_aside || g.aside;
    END;
  END LOOP;
  IF cardinality(v_aside) > 0 THEN
    INSERT INTO set_aside (node, seq, created_at, body)
      VALUES (p_node, p_seq, now_ms(), '[' || array_to_string(v_aside, ',') || ']') ON CONFLICT DO NOTHING;
  END IF;
  RETURN cardinality(v_aside);
END`,
);
