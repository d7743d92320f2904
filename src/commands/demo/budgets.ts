/** Gives an account of the furnished demo budgets, and some of its keys: each a little above what was spent in its window. */
import { newId } from "../../runtime/ids.ts";
import type { Capture } from "../../storage/columns.ts";
import { windowOf } from "../../storage/money/budget-windows.ts";
import { type Budget, storedBudgets } from "../../storage/money/budgets.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Caller } from "./traffic.ts";

export interface BudgetedAccount {
  readonly storage: Pick<Storage, "accounts" | "keys">;
  readonly accountId: string;
  readonly callers: readonly Caller[];
  readonly calls: readonly Capture[];
  /** now is in milliseconds since 1970. */
  readonly now: number;
}

const zone = "Europe/Berlin";
const unit = 1_000_000;
type Window = Pick<Budget, "period" | "rolling">;

/** The budgets of the first keys that call; others have none. */
const ofKeys: readonly (readonly Window[])[] = [
  [
    { period: "day", rolling: false },
    { period: "month", rolling: false },
  ],
  [{ period: "week", rolling: true }],
  [],
  [{ period: "month", rolling: false }],
];

export async function furnishBudgets({ storage, accountId, callers, calls, now }: BudgetedAccount): Promise<void> {
  const budgetOf = ({ period, rolling }: Window, own: readonly Capture[]): Budget => {
    const { from } = windowOf(period, rolling, zone, now);
    const spent = own.reduce((sum, { created_at, cost }) => sum + (created_at >= from ? cost : 0), 0);
    const amount = Math.max(5, Math.ceil((spent * 1.3) / unit / 5) * 5) * unit;
    return { id: newId("bud", now), amount, period, rolling };
  };
  const month = budgetOf({ period: "month", rolling: false }, calls);
  await storage.accounts.update(accountId, { time_zone: zone, budgets: storedBudgets([month]) }, now);
  for (const [place, { keyId }] of callers.entries()) {
    const own = calls.filter(({ key_id }) => key_id === keyId);
    const budgets = storedBudgets((ofKeys[place] ?? []).map((window) => budgetOf(window, own)));
    if (budgets !== null) await storage.keys.update(accountId, keyId, { budgets }, now);
  }
}
