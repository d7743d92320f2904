/** Says in words, and in the header `x-gateway-budget`, which budget is nearest to its end. */
import type { AnswerHeaders } from "../../call/call.ts";
import type { BudgetWords } from "../../call/refusals.ts";
import type { BudgetLeft, Hold } from "../../ledger/contract.ts";
import { formatAmount, formatDecimal } from "../../runtime/decimal.ts";
import type { Unit } from "../complete/model-call.ts";

const rolling = { day: "the last 24 hours", week: "the last 7 days", month: "the last 30 days" } as const;
const calendar = { day: "today", week: "this week", month: "this month" } as const;

/**
 * budgetHeader returns the header: whose budget, its window, what it allows, what is left of it, and in how many seconds its window ends,
 * or its oldest spending leaves it. It is an item of structured fields (RFC 9651), whose amounts are texts:
 * `key-month;limit="20.00";remaining="12.50";reset=86400`. `now` is in milliseconds since 1970.
 */
export function budgetHeader({ of, budget, left, endsAt }: BudgetLeft, now: number): string {
  const window = budget.rolling ? `rolling-${budget.period}` : budget.period;
  const reset = endsAt === undefined ? "" : `;reset=${Math.max(0, Math.ceil((endsAt - now) / 1000))}`;
  const remaining = formatDecimal(Math.max(0, left));
  return `${of}-${window};limit="${formatDecimal(budget.amount)}";remaining="${remaining}"${reset}`;
}

/**
 * budgetHeaderAfter returns the header once a call has been charged: what its hold was not needed for is left again. Undefined where no
 * budget bounded it.
 */
export function budgetHeaderAfter(held: ChargedHold | undefined, cost: number, now: number): AnswerHeaders | undefined {
  if (!held?.budget) return undefined;
  const { amount, budget } = held;
  return { "x-gateway-budget": budgetHeader({ ...budget, left: budget.left + amount - cost }, now) };
}

type ChargedHold = Pick<Hold, "amount" | "budget">;

export function budgetWords(left: BudgetLeft, unit: Unit, now: number): BudgetWords {
  const { of, budget, endsAt } = left;
  const whose = of === "key" ? "the API key's" : "the account's";
  const when = budget.rolling ? rolling[budget.period] : calendar[budget.period];
  return {
    name: `${whose} budget of ${formatAmount(budget.amount, unit)} for ${when}`,
    available: formatAmount(Math.max(0, left.left), unit),
    endsAt: endsAt === undefined ? undefined : new Date(endsAt).toISOString().replace(".000Z", "Z"),
    header: budgetHeader(left, now),
  };
}
