/** Reads budgets that are to be set, and builds the API messages of those that are. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type BudgetList, BudgetPeriod, type BudgetSchema } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { invalidValue } from "../../call/refusals.ts";
import { newId } from "../../runtime/ids.ts";
import type { Account } from "../../storage/accounts.ts";
import type { ApiKey } from "../../storage/keys.ts";
import type { BudgetStatus, BudgetStore } from "../../storage/money/budget-store.ts";
import { defaultZone, timeZoneNamed } from "../../storage/money/budget-windows.ts";
import { type Budget, endOf, readBudgets, storedBudgets } from "../../storage/money/budgets.ts";
import { refuseUnknown } from "../unknown-fields.ts";

export type BudgetMessage = MessageInitShape<typeof BudgetSchema>;
/** BudgetMessages are the budgets of accounts and keys, by their ids. */
export type BudgetMessages = ReadonlyMap<string, readonly BudgetMessage[]>;

const periods = [
  [BudgetPeriod.DAY, "day"],
  [BudgetPeriod.WEEK, "week"],
  [BudgetPeriod.MONTH, "month"],
] as const;

export interface ReadingBudgets {
  /** byOperator is whether the operator sets them: operator and account set and remove their own alone. */
  readonly byOperator: boolean;
  /** now is in milliseconds since 1970. */
  readonly now: number;
}

/**
 * readBudgetList returns the budgets to store in the place of those that are there: null for none, undefined if the request omits
 * them. One whose id is there keeps it. Throws a Refusal.
 */
export function readBudgetList(
  list: BudgetList | undefined,
  before: string | null,
  { byOperator, now }: ReadingBudgets,
): string | null | undefined {
  if (!list) return undefined;
  const there = readBudgets(before);
  const [own, others] = [there.filter(isOwn), there.filter((budget) => !isOwn(budget))];
  const ids = new Set(own.map(({ id }) => id));
  const asked = list.budgets.map((one, place): Budget => {
    refuseUnknown(one.extra, ["id", "rolling"], `budgets[${place}]`);
    const id = one.id !== undefined && ids.delete(one.id) ? one.id : newId("bud", now);
    const period = periods.find(([number]) => number === one.period)?.[1] ?? "month";
    const budget = { id, amount: Number(one.amount), period, rolling: one.rolling ?? false };
    return byOperator ? { ...budget, byOperator } : budget;
  });
  return storedBudgets([...others, ...asked]);

  function isOwn(budget: Budget): boolean {
    return (budget.byOperator ?? false) === byOperator;
  }
}

/** readTimeZone returns the zone to store: null for UTC, undefined if the request omits it. Throws a Refusal. */
export function readTimeZone(name: string | undefined): string | null | undefined {
  if (name === undefined || name === "") return name === "" ? null : undefined;
  const zone = timeZoneNamed(name);
  if (zone === undefined)
    throw invalidValue(
      "time_zone",
      "there is no such time zone; expected an IANA name such as Asia/Tokyo or Europe/Berlin",
    );
  return zone === defaultZone ? null : zone;
}

/** keyBudgets returns the budgets of an account's keys as they stand now. */
export async function keyBudgets(store: BudgetStore, keys: readonly ApiKey[], now: number): Promise<BudgetMessages> {
  const all = keys.map(({ id, account_id, budgets }) => ({ accountId: account_id, keyId: id, budgets }));
  return messagesOf(await store.statuses(all, now));
}

/** accountBudgets returns the budgets of accounts as they stand now. */
export async function accountBudgets(
  store: BudgetStore,
  accounts: readonly Pick<Account, "id" | "budgets">[],
  now: number,
): Promise<BudgetMessages> {
  return messagesOf(
    await store.statuses(
      accounts.map(({ id, budgets }) => ({ accountId: id, budgets })),
      now,
    ),
  );
}

function messagesOf(statuses: ReadonlyMap<string, readonly BudgetStatus[]>): BudgetMessages {
  return new Map([...statuses].map(([id, all]) => [id, all.map(messageOf)]));
}

function messageOf({ window, spent, held, oldest }: BudgetStatus): BudgetMessage {
  const { budget, from, to } = window;
  const { id, amount, period, rolling, byOperator = false } = budget;
  const endsAt = endOf(budget, to, oldest);
  return {
    id,
    amount: BigInt(amount),
    period: periods.find(([, name]) => name === period)?.[0] ?? BudgetPeriod.UNSPECIFIED,
    rolling,
    byOperator,
    spent: BigInt(spent),
    held: BigInt(held),
    remaining: BigInt(Math.max(0, amount - spent - held)),
    windowStartsAt: timestampFromMs(from),
    ...(endsAt === undefined ? {} : { windowEndsAt: timestampFromMs(endsAt) }),
  };
}
