/** Undoes a turn of which nobody was told. */
import { holdMs } from "../../../../money/books.ts";
import { booksFunction } from "./function.ts";

/**
 * abandon ends a turn whose caller was told that nothing came of it, because the connection broke. A turn that was not decided never will
 * be; of one that was, holds and leases go back. What it captured stays captured.
 */
export const abandon = booksFunction(
  "abandon",
  "(p_node text, p_turn bigint, p_ids text[], p_leases text[]) RETURNS boolean",
  `DECLARE v_told text; r record; h record;
BEGIN
  INSERT INTO nodes (node, version, started_at, steady_since, alive_until, turn)
    VALUES (p_node, '', now_ms(), now_ms(), now_ms() + ${holdMs}, p_turn)
    ON CONFLICT (node) DO UPDATE SET turn = excluded.turn, decisions = NULL WHERE nodes.turn < excluded.turn;
  IF FOUND THEN RETURN false; END IF;
  SELECT n.decisions INTO v_told FROM nodes n WHERE n.node = p_node AND n.turn = p_turn;
  IF v_told IS NULL THEN RETURN false; END IF;
  PERFORM 1 FROM accounts WHERE id IN (SELECT account_id FROM holds WHERE request_id = ANY (p_ids || p_leases))
    ORDER BY id FOR NO KEY UPDATE;
  -- What a hold was short of is a word, and nothing is to be undone of it.
  FOR r IN SELECT t.kind, CASE WHEN t.kind IN ('held', 'leased') THEN t.told::bigint END AS amount, p_ids[t.n] AS id, p_leases[t.n] AS lease
      FROM (SELECT d.value ->> 0 AS kind, d.value ->> 1 AS told, d.n
        FROM json_array_elements(v_told::json -> 'holds') WITH ORDINALITY d(value, n)) t LOOP
    IF r.kind = 'held' THEN
      DELETE FROM holds x WHERE x.request_id = r.id AND x.node = p_node RETURNING x.account_id, x.key_id INTO h;
    ELSIF r.kind = 'leased' AND r.amount > 0 THEN
      UPDATE holds x SET amount = x.amount - r.amount WHERE x.request_id = r.lease AND x.node = p_node AND x.amount >= r.amount
        RETURNING x.account_id, x.key_id INTO h;
    ELSE CONTINUE;
    END IF;
    CONTINUE WHEN NOT FOUND;
    UPDATE accounts SET held = held - r.amount WHERE id = h.account_id;
    UPDATE api_keys SET held = held - r.amount WHERE id = h.key_id;
  END LOOP;
  DELETE FROM holds WHERE request_id = ANY (p_leases) AND node = p_node AND amount = 0 AND operation = '';
  RETURN true;
END`,
);
