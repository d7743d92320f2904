/** What an account and a key may still spend, with what is due of them. The caller has the account's lock. */
import { booksFunction } from "./function.ts";

/** Nothing is bounded by more: a number that JavaScript still has exactly. */
export const unbounded = Number.MAX_SAFE_INTEGER;

/** Returns what the key's limit leaves, and what its account's balance leaves; null for what does not bound it. */
export const available = booksFunction(
  "available",
  "(p_key text, OUT of_limit bigint, OUT of_balance bigint)",
  `BEGIN
  SELECT k.credit_limit - k.spent - k.held + (SELECT coalesce(sum(d.freed - d.spent), 0)
      FROM due_sums d WHERE d.account_id = k.account_id AND d.key_id = k.id),
    CASE a.postpaid WHEN 1 THEN NULL ELSE a.balance - a.held + (SELECT coalesce(sum(d.released - d.paid), 0)
      FROM due_sums d WHERE d.account_id = a.id) END
  INTO of_limit, of_balance FROM api_keys k JOIN accounts a ON a.id = k.account_id WHERE k.id = p_key;
END`,
);
