/** Reads `--budget` of keys and accounts, as the field of the requests that set budgets. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type BudgetList, BudgetListSchema, BudgetPeriod } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { mostOfKey } from "../../call/key-bounds.ts";
import { formatDecimal } from "../../runtime/decimal.ts";
import { readAmount } from "../command.ts";
import { UsageError } from "./errors.ts";

const periods = new Map([
  ["day", BudgetPeriod.DAY],
  ["week", BudgetPeriod.WEEK],
  ["month", BudgetPeriod.MONTH],
]);

/** A budget as it is stored, or as a message tells it. */
interface WrittenBudget {
  readonly amount: number | bigint;
  readonly period: string | BudgetPeriod;
  readonly rolling: boolean;
}

export type BudgetFields = { readonly budgets?: MessageInitShape<typeof BudgetListSchema> };

/** readBudgetOption reads `10/day` and `10/rolling-day`; one that is empty removes all. Throws a UsageError. */
export function readBudgetOption(entries: readonly string[] | undefined): BudgetFields {
  if (!entries) return {};
  if (entries.length === 1 && entries[0]?.trim() === "") return { budgets: { budgets: [] } };
  if (entries.length > mostOfKey.budgets) throw new UsageError(`--budget: expected at most ${mostOfKey.budgets}`);
  return { budgets: { budgets: entries.map(readBudget) } };
}

/** budgetListOf returns the whole message of the field, for `readBudgetList`; undefined where it was not given. */
export function budgetListOf({ budgets }: BudgetFields): BudgetList | undefined {
  return budgets && create(BudgetListSchema, budgets);
}

/** writeBudgets writes budgets as `--budget` takes them, with commas between; a dash where there are none. */
export function writeBudgets(budgets: readonly WrittenBudget[]): string {
  const all = budgets.map(
    ({ amount, period, rolling }) => `${formatDecimal(amount)}/${rolling ? "rolling-" : ""}${nameOf(period)}`,
  );
  return all.length === 0 ? "-" : all.join(", ");
}

function nameOf(period: string | BudgetPeriod): string {
  return [...periods].find(([, known]) => known === period)?.[0] ?? String(period);
}

function readBudget(text: string) {
  const [, amount = "", rolling, name = ""] = /^([^/]+)\/(rolling-)?([a-z]+)$/.exec(text.trim()) ?? [];
  const period = periods.get(name);
  if (period === undefined)
    throw new UsageError("--budget: expected AMOUNT/PERIOD, as 10/day, 50/week, 100/month or 10/rolling-month");
  return { amount: BigInt(readAmount("--budget", amount)), period, rolling: rolling !== undefined };
}
