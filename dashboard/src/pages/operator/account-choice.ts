/** Parses an address into what the list of accounts is asked for. Invalid values are ignored. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  AccountActivity,
  AccountOrder,
  type ListAccountsRequestSchema,
} from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { readAmount } from "../../parts/amount.ts";
import { daySpan } from "../../parts/day-spans.ts";
import { momentsOf } from "../../parts/request-choice.ts";
import type { AccountSearch } from "../../search.ts";

const columns = {
  created: AccountOrder.CREATED,
  name: AccountOrder.NAME,
  balance: AccountOrder.BALANCE,
  recharged: AccountOrder.RECHARGED,
  spent: AccountOrder.SPENT,
} as const;

export type OrderColumn = keyof typeof columns;

export interface ListOrder {
  readonly by: OrderColumn;
  readonly isDescending: boolean;
}

/** listOrders are the orders to choose from. */
export const listOrders = [
  "created",
  "created-desc",
  "name",
  "balance",
  "balance-desc",
  "recharged-desc",
  "spent-desc",
  "spent",
] as const;

/** orderOf returns the order in an address: by default the oldest accounts first. */
export function orderOf({ order = "" }: AccountSearch): ListOrder {
  const [by = "", direction] = order.split("-");
  return Object.hasOwn(columns, by)
    ? { by: by as OrderColumn, isDescending: direction === "desc" }
    : { by: "created", isDescending: false };
}

/** turned returns the order after a click on a column's head, as in an address: names begin with A, all others with the most. */
export function turned({ by, isDescending }: ListOrder, clicked: OrderColumn): string {
  return (by === clicked ? !isDescending : clicked !== "name") ? `${clicked}-desc` : clicked;
}

/** usageDays returns the days that the list tells the use of: by default the last thirty. */
export function usageDays({ from, to }: AccountSearch, now: Date) {
  return from === undefined && to === undefined ? daySpan("days30", now) : { from, to };
}

type Asked = Exclude<MessageInitShape<typeof ListAccountsRequestSchema>, { $typeName: string }>;

export function accountsAsked(search: AccountSearch): Asked {
  const { find, tier, below, state, activity } = search;
  const { by, isDescending } = orderOf(search);
  const { from, to } = momentsOf(usageDays(search, new Date()));
  const amount = below === undefined ? undefined : readAmount(below);
  return {
    ...(find === undefined ? {} : { search: find }),
    ...(tier === undefined ? {} : { tier }),
    ...(amount === undefined ? {} : { balanceBelow: amount }),
    ...(state === "active" || state === "suspended" ? { suspended: state === "suspended" } : {}),
    ...(activity === "active" ? { activity: AccountActivity.ACTIVE } : {}),
    ...(activity === "idle" ? { activity: AccountActivity.IDLE } : {}),
    ...{ orderBy: columns[by], descending: isDescending },
    ...(from ? { usageFrom: from } : {}),
    ...(to ? { usageTo: to } : {}),
  };
}
