/**
 * Budgets: the most that an account or a key may spend within a window of time. Any number of them hold at once.
 *
 * Nothing resets them. What was spent in a window is summed over its quarters of an hour (`spent_by_quarter`), and a call counts in the
 * quarter in which it came, for its hold and its charge alike. The books decide a hold in one step with all budgets: what calls of the
 * window have cost, what running calls of it hold, and the new hold are no more than the budget. So holds of accounts and keys with
 * budgets are never taken from leases.
 *
 * Money is in millionths of the unit, times are milliseconds since 1970.
 */
import { type BudgetPeriod, defaultZone, quarterMs, rollingMs, type TimeWindow, windowOf } from "./budget-windows.ts";

export interface Budget {
  readonly id: string;
  readonly amount: number;
  readonly period: BudgetPeriod;
  readonly rolling: boolean;
  /** byOperator is set for one that the operator has set, which the account cannot change. */
  readonly byOperator?: true;
}

/** BudgetTerms is what is stored of the budgets that a call of a key goes by; null for none, and for the zone UTC. */
export interface BudgetTerms {
  readonly zone: string | null;
  /** Lists of budgets, as JSON. */
  readonly ofAccount: string | null;
  readonly ofKey: string | null;
}

/** BudgetWindow is a budget in the window that a moment is in. */
export interface BudgetWindow extends TimeWindow {
  /** The id of the account or the key. */
  readonly subject: string;
  readonly of: "account" | "key";
  readonly budget: Budget;
}

/** BudgetLeft is what a budget leaves: the one of several that leaves least. */
export interface BudgetLeft {
  readonly of: "account" | "key";
  readonly budget: Budget;
  /** Below 0 where more was spent than the budget allows now. */
  readonly left: number;
  /** endsAt is when its window ends, or the oldest spending leaves it; undefined for a rolling window in which nothing was spent. */
  readonly endsAt: number | undefined;
}

/** BudgetUse is what was spent in a window, and what calls of it hold. */
export interface BudgetUse {
  readonly spent: number;
  readonly held: number;
  /** The first quarter in which anything was spent; undefined for none. */
  readonly oldest: number | undefined;
}

/**
 * maxOutside is how many running calls from before a window, or from after it, are looked at to tell what calls of the window hold: what is
 * held in all is known. With more of them, the calls of the window are summed.
 */
export const maxOutside = 256;

/** readBudgets returns the budgets of a stored list. */
export function readBudgets(text: string | null): readonly Budget[] {
  return text === null ? [] : (JSON.parse(text) as Budget[]);
}

/** storedBudgets returns a list as it is stored. */
export function storedBudgets(budgets: readonly Budget[]): string | null {
  return budgets.length === 0 ? null : JSON.stringify(budgets);
}

/** budgetWindows returns the windows of all budgets of an account and a key that a moment is in. */
export function budgetWindows(terms: BudgetTerms, accountId: string, keyId: string, at: number): BudgetWindow[] {
  const zone = terms.zone ?? defaultZone;
  return [
    ...windowsOf(readBudgets(terms.ofAccount), { of: "account", subject: accountId }, zone, at),
    ...windowsOf(readBudgets(terms.ofKey), { of: "key", subject: keyId }, zone, at),
  ];
}

/** windowsOf returns the windows of one's budgets that a moment is in. */
export function windowsOf(
  budgets: readonly Budget[],
  whose: Pick<BudgetWindow, "of" | "subject">,
  zone: string,
  at: number,
): BudgetWindow[] {
  return budgets.map((budget) => ({ ...whose, budget, ...windowOf(budget.period, budget.rolling, zone, at) }));
}

export function budgetLeft({ of, budget, to }: BudgetWindow, { spent, held, oldest }: BudgetUse): BudgetLeft {
  return { of, budget, left: budget.amount - spent - held, endsAt: endOf(budget, to, oldest) };
}

/** endOf returns when a window ends, or when the oldest spending leaves a rolling one. */
export function endOf({ rolling, period }: Budget, to: number, oldest: number | undefined): number | undefined {
  if (!rolling) return to;
  return oldest === undefined ? undefined : oldest + quarterMs + rollingMs[period];
}

/** tightest returns the one that leaves least, of those that leave alike the one that lasts longest; undefined for none. */
export function tightest(all: readonly BudgetLeft[]): BudgetLeft | undefined {
  return byTightness(all)[0];
}

/** byTightness returns all, those that leave least first, of those that leave alike those that last longest. */
export function byTightness(all: readonly BudgetLeft[]): readonly BudgetLeft[] {
  const end = ({ endsAt }: BudgetLeft) => endsAt ?? 0;
  return all.toSorted((one, other) => one.left - other.left || end(other) - end(one));
}
