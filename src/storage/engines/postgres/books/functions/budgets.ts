/** Tells what the budgets of an account and a key leave, at this moment of a transaction that has the account's lock. */
import { quarterMs } from "../../../../money/budget-windows.ts";
import { maxOutside } from "../../../../money/budgets.ts";
import { dueQuarter } from "../../../tables/calls.ts";
import { booksFunction } from "./function.ts";

/** quarterOf returns when the quarter of an hour of a moment began. */
export function quarterOf(ms: string): string {
  return `${ms} - ${ms} % ${quarterMs}`;
}

/** `p_windows` is a list of windows: their numbers, subjects, whether those are keys, amounts, and from and to when they last. */
const windows = "json_to_recordset(p_windows) AS w(n int, s text, k boolean, m bigint, f bigint, t bigint)";

/** Calls of the account that no lease is, and of the key where the window is a key's. */
const ofCalls = "x.account_id = p_account AND x.operation <> ''";
const ofWindow = "(NOT w.k OR x.key_id = w.s)";

/**
 * heldInAll is what is held in all of the account or the key, less leases, which no call holds. What is due is no longer held. `p_more`
 * and `p_key_more` are what the transaction adds to it, and has not written yet.
 */
const heldInAll = `CASE WHEN w.k
    THEN (SELECT k.held FROM api_keys k WHERE k.id = w.s) + p_key_more
      - (SELECT coalesce(sum(d.freed), 0) FROM due_sums d WHERE d.account_id = p_account AND d.key_id = w.s)
      - (SELECT coalesce(sum(x.amount), 0) FROM holds x WHERE x.account_id = p_account AND x.key_id = w.s AND x.operation = '')
    ELSE (SELECT a.held FROM accounts a WHERE a.id = p_account) + p_more
      - (SELECT coalesce(sum(d.released), 0) FROM due_sums d WHERE d.account_id = p_account)
      - (SELECT coalesce(sum(x.amount), 0) FROM holds x WHERE x.account_id = p_account AND x.operation = '')
  END`;

/** outside selects running calls that came before the window, or after it: one more than are looked at. */
const outside = (when: string) =>
  `(SELECT x.key_id, x.amount FROM holds x WHERE ${ofCalls} AND ${when} LIMIT ${maxOutside + 1})`;

/**
 * budgetLeft returns the number of the window that leaves least, how much that is, and when the first quarter began in which any of it
 * was spent. Sums that are due count, and holds of running calls; leases do not, which no call holds.
 *
 * Nearly all calls that run came within the window, and may be thousands. So what they hold is what is held in all, less what the few
 * others do; where those are many, as in the first minutes of a month, the calls of the window are summed. All of it is one statement: what
 * other nodes write at this moment is all of it in it, or nothing.
 */
export const budgetLeft = booksFunction(
  "budget_left",
  `(p_account text, p_windows json, p_more bigint, p_key_more bigint, OUT place int, OUT remaining bigint, OUT oldest bigint)`,
  `BEGIN
  SELECT w.n, w.m - s.spent - h.held, s.oldest INTO place, remaining, oldest FROM ${windows}
    CROSS JOIN LATERAL (SELECT coalesce(sum(x.spent), 0)::bigint AS spent, min(x.quarter_start) AS oldest FROM (
        SELECT q.spent, q.quarter_start FROM spent_by_quarter q
          WHERE q.subject = w.s AND q.quarter_start >= w.f AND q.quarter_start < w.t
        UNION ALL SELECT d.cost, d.quarter_start FROM (
            SELECT cost, ${dueQuarter} AS quarter_start FROM due_sums
            WHERE account_id = p_account AND (NOT w.k OR key_id = w.s) AND cost <> 0) d
          WHERE d.quarter_start >= w.f AND d.quarter_start < w.t) x) s
    CROSS JOIN LATERAL (SELECT count(*) AS calls, coalesce(sum(x.amount) FILTER (WHERE ${ofWindow}), 0) AS amount
      FROM (${outside("x.created_at < w.f")} UNION ALL ${outside("x.created_at >= w.t")}) x) o
    CROSS JOIN LATERAL (SELECT (CASE WHEN o.calls <= ${maxOutside} THEN ${heldInAll} - o.amount
      ELSE (SELECT coalesce(sum(x.amount), 0) FROM holds x
        WHERE ${ofCalls} AND ${ofWindow} AND x.created_at >= w.f AND x.created_at < w.t) END)::bigint AS held) h
    ORDER BY 2, w.t DESC, w.n LIMIT 1;
END`,
);
