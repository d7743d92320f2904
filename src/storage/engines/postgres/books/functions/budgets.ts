/** Tells what the budgets of an account and a key leave, at this moment of a transaction that has the account's lock. */
import { quarterMs } from "../../../../money/budget-windows.ts";
import { dueQuarter } from "../../../tables/calls.ts";
import { booksFunction } from "./function.ts";

/** Returns when the quarter of an hour of a moment began. */
export function quarterOf(ms: string): string {
  return `${ms} - ${ms} % ${quarterMs}`;
}

/** `p_windows` is a list of windows: their numbers, subjects, whether those are keys, amounts, and from and to when they last. */
const windows = "json_to_recordset(p_windows) AS w(n int, s text, k boolean, m bigint, f bigint, t bigint)";

/**
 * Returns the number of the window that leaves least, how much that is, and when the first quarter began in which any of it was spent.
 * What is due counts, and what running calls hold; leases do not, which no call holds.
 */
export const budgetLeft = booksFunction(
  "budget_left",
  "(p_account text, p_windows json, OUT place int, OUT remaining bigint, OUT oldest bigint)",
  `BEGIN
  SELECT w.n, w.m - s.spent - h.held, s.oldest INTO place, remaining, oldest FROM ${windows}
    CROSS JOIN LATERAL (SELECT coalesce(sum(x.spent), 0)::bigint AS spent, min(x.quarter_start) AS oldest FROM (
        SELECT q.spent, q.quarter_start FROM spent_by_quarter q
          WHERE q.subject = w.s AND q.quarter_start >= w.f AND q.quarter_start < w.t
        UNION ALL SELECT d.cost, d.quarter_start FROM (
            SELECT cost, ${dueQuarter} AS quarter_start FROM due_sums
            WHERE account_id = p_account AND (NOT w.k OR key_id = w.s) AND cost <> 0) d
          WHERE d.quarter_start >= w.f AND d.quarter_start < w.t) x) s
    CROSS JOIN LATERAL (SELECT coalesce(sum(x.amount), 0)::bigint AS held FROM holds x
      WHERE x.account_id = p_account AND (NOT w.k OR x.key_id = w.s) AND x.operation <> ''
        AND x.created_at >= w.f AND x.created_at < w.t) h
    ORDER BY 2, w.t DESC, w.n LIMIT 1;
END`,
);
