/** Converts between budgets and the values of their fields. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Budget, BudgetPeriod, type NewBudgetSchema } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { isAmount, readAmount, writeAmount } from "../parts/amount.ts";

/** BudgetValue is one budget in a form. */
export interface BudgetValue {
  /** id is that of a budget that is there; empty for a new one. */
  readonly id: string;
  /** key tells the fields of one budget from those of another. */
  readonly key: string;
  readonly amount: string;
  readonly window: BudgetWindowName;
}

export const budgetWindows = ["day", "week", "month", "rolling day", "rolling week", "rolling month"] as const;
export type BudgetWindowName = (typeof budgetWindows)[number];

/** maxBudgets is the most budgets of an account or a key. */
export const maxBudgets = 10;

const periods = new Map<BudgetPeriod, "day" | "week" | "month">([
  [BudgetPeriod.DAY, "day"],
  [BudgetPeriod.WEEK, "week"],
  [BudgetPeriod.MONTH, "month"],
]);

export function windowNameOf({ period, rolling }: Pick<Budget, "period" | "rolling">): BudgetWindowName {
  const name = periods.get(period) ?? "month";
  return rolling ? `rolling ${name}` : name;
}

/** budgetValuesOf returns the values of budgets, without those that the operator has set unless they are asked for. */
export function budgetValuesOf(budgets: readonly Budget[], byOperator = false): BudgetValue[] {
  return budgets
    .filter((budget) => budget.byOperator === byOperator)
    .map((budget) => ({
      id: budget.id,
      key: budget.id,
      amount: writeAmount(budget.amount),
      window: windowNameOf(budget),
    }));
}

let made = 0;

export function newBudgetValue(): BudgetValue {
  return { id: "", key: `new ${++made}`, amount: "", window: "month" };
}

/** isBudgetValid reports whether a budget can be set as it is filled in. */
export function isBudgetValid({ amount }: BudgetValue): boolean {
  return isAmount(amount, 1n);
}

/** budgetListOf returns the field of a request that sets budgets. All must be valid. */
export function budgetListOf(values: readonly BudgetValue[]) {
  const budgets = values.map(({ id, amount, window }): MessageInitShape<typeof NewBudgetSchema> => {
    const period = [...periods].find(([, name]) => window.endsWith(name))?.[0] ?? BudgetPeriod.MONTH;
    const budget = { amount: readAmount(amount) ?? 0n, period, rolling: window.startsWith("rolling") };
    return id === "" ? budget : { id, ...budget };
  });
  return { budgets };
}

/** isSameBudgets reports whether the fields say the same as before. */
export function isSameBudgets(one: readonly BudgetValue[], other: readonly BudgetValue[]): boolean {
  const text = (values: readonly BudgetValue[]) =>
    JSON.stringify(values.map(({ id, amount, window }) => [id, String(readAmount(amount)), window]));
  return text(one) === text(other);
}
