/** Does what nodes do with leases besides drawing on them: giving them back, and asking others for theirs. */
import { booksFunction } from "./function.ts";

/** releaseLeases gives back what is left of leases of a node, and ends them. */
export const releaseLeases = booksFunction(
  "release_leases",
  "(p_node text, p_leases text[]) RETURNS void",
  `BEGIN
  PERFORM set_config('lock_timeout', '1000', true);
  PERFORM 1 FROM accounts WHERE id IN (SELECT account_id FROM holds WHERE request_id = ANY (p_leases)) ORDER BY id FOR NO KEY UPDATE;
  PERFORM 1 FROM api_keys WHERE id IN (SELECT key_id FROM holds WHERE request_id = ANY (p_leases)) ORDER BY id FOR NO KEY UPDATE;
  PERFORM 1 FROM holds WHERE request_id = ANY (p_leases) ORDER BY request_id FOR UPDATE;
  WITH gone AS MATERIALIZED (
      DELETE FROM holds h WHERE h.request_id = ANY (p_leases) AND h.node = p_node RETURNING h.account_id, h.key_id, h.amount),
    of_accounts AS (
      UPDATE accounts a SET held = a.held - s.amount
      FROM (SELECT account_id, sum(amount)::bigint AS amount FROM gone GROUP BY 1) s WHERE a.id = s.account_id)
  UPDATE api_keys k SET held = k.held - s.amount
    FROM (SELECT key_id, sum(amount)::bigint AS amount FROM gone GROUP BY 1) s WHERE k.id = s.key_id;
END`,
);

/** recall asks all other nodes for their idle leases of accounts; an empty id stands for all accounts. */
export const recall = booksFunction(
  "recall",
  "(p_accounts text[]) RETURNS void",
  `BEGIN
  INSERT INTO recalls (account_id, at) SELECT u.id, now_ms() FROM unnest(p_accounts) u(id);
  PERFORM pg_notify('model_gateway', 'recall');
END`,
);

/** isLeased reports whether other nodes that live have leases of an account, or of any where the id is empty. */
export const isLeased = booksFunction(
  "is_leased",
  "(p_node text, p_account text) RETURNS boolean",
  `BEGIN
  RETURN EXISTS (SELECT 1 FROM holds h JOIN nodes n ON n.node = h.node
    WHERE h.operation = '' AND h.amount > 0 AND (p_account = '' OR h.account_id = p_account) AND h.node <> p_node
      AND n.alive_until > now_ms());
END`,
);

/** leave ends a node: its leases go back, and it counts as dead. */
export const leave = booksFunction(
  "leave",
  "(p_node text) RETURNS void",
  `BEGIN
  PERFORM ${releaseLeases.name}(p_node, ARRAY(SELECT request_id FROM holds WHERE node = p_node AND operation = ''));
  UPDATE nodes SET alive_until = now_ms() WHERE node = p_node;
END`,
);
