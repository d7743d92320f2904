/** Tells what an account and a key may still spend, with what is due of them. The caller has the account's lock. */
import { maxOwed, maxSum, unreachedLimit } from "../../../../money/bounds.ts";
import { booksFunction } from "./function.ts";

/** available returns what the key's limit leaves, and what its account's balance leaves; without either, what can be counted leaves. */
export const available = booksFunction(
  "available",
  "(p_key text, OUT of_limit bigint, OUT of_balance bigint, OUT is_limited boolean, OUT is_prepaid boolean)",
  `BEGIN
  SELECT coalesce(k.credit_limit, ${maxSum}) - k.spent - k.held + (SELECT coalesce(sum(d.freed - d.spent), 0)
      FROM due_sums d WHERE d.account_id = k.account_id AND d.key_id = k.id),
    a.balance - a.held + a.postpaid * ${maxOwed} + (SELECT coalesce(sum(d.released - d.paid), 0)
      FROM due_sums d WHERE d.account_id = a.id), coalesce(k.credit_limit, ${unreachedLimit}) < ${unreachedLimit}, a.postpaid = 0
  INTO of_limit, of_balance, is_limited, is_prepaid FROM api_keys k JOIN accounts a ON a.id = k.account_id WHERE k.id = p_key;
END`,
);
