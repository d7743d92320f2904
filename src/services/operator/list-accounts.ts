/**
 * Lists accounts for the operator, by filters and in an order.
 *
 * Databases order by what accounts have in their rows. What they used is summed from hours, some accounts at a time, and between two
 * steps the event loop goes on: who orders by it, or looks for who called nothing, waits longer, and keeps nobody waiting.
 */
import { setImmediate } from "node:timers/promises";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { AccountActivity, AccountOrder, type ListAccountsRequest } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { invalidValue } from "../../call/refusals.ts";
import { nextTier, type Tier } from "../../call/tiers.ts";
import { dayMs, hourMs } from "../../runtime/time/durations.ts";
import type { Account, AccountFilter, AccountOrder as Column, RechargedRange } from "../../storage/accounts.ts";
import type { AccountUse } from "../../storage/calls/requests.ts";
import type { CallerSignal } from "../../storage/calls/search.ts";
import type { Storage } from "../../storage/storage.ts";
import { asked } from "../asked.ts";
import { defaultPageSize } from "../page.ts";
import { type PagePlace, pagePlace, unknownToken, writePageToken } from "../page-token.ts";

/** batch is how many accounts are read in one step of many. */
const batch = 500;
const defaultSpanMs = 30 * dayMs;

const columns: Partial<Readonly<Record<AccountOrder, Column | "spent">>> = {
  [AccountOrder.CREATED]: "id",
  [AccountOrder.NAME]: "name",
  [AccountOrder.BALANCE]: "balance",
  [AccountOrder.RECHARGED]: "recharged",
  [AccountOrder.SPENT]: "spent",
};

/** Listed is an account with what it used, which is undefined where nobody asked for it. */
export interface Listed {
  readonly account: Account;
  readonly use: AccountUse | undefined;
}

export interface ListedAccounts {
  readonly listed: readonly Listed[];
  readonly nextPageToken: string | undefined;
}

interface Asked {
  readonly filter: AccountFilter;
  readonly orderBy: Column | "spent";
  readonly descending: boolean;
  readonly after: { readonly id: string; readonly value?: string | number } | undefined;
  readonly activity: AccountActivity;
  /** span is in milliseconds since 1970; undefined where nobody asks what accounts used. */
  readonly span: { readonly from: number; readonly to: number } | undefined;
  readonly limit: number;
}

type Stores = Pick<Storage, "accounts" | "requests">;

/** listAccounts throws a Refusal for what no list has. Where the caller disconnects meanwhile it lists what was found. */
export async function listAccounts(
  stores: Stores,
  message: ListAccountsRequest,
  { tiers, now }: { readonly tiers: readonly Tier[]; readonly now: number },
  signal: CallerSignal,
): Promise<ListedAccounts> {
  const what = readAsked(message, tiers, now);
  const found =
    what.orderBy === "spent" ? await inOrderOfSpend(stores, what, signal) : await firstFound(stores, what, signal);
  // One more than the page has was looked for.
  const listed = found.slice(0, what.limit - 1);
  const last = found.length > listed.length ? listed.at(-1) : undefined;
  return { listed, nextPageToken: last && writePageToken(last.account.id, orderValue(last, what.orderBy)) };
}

function readAsked(message: ListAccountsRequest, tiers: readonly Tier[], now: number): Asked {
  const { search, tier, balanceBelow, suspended, activity = AccountActivity.UNSPECIFIED, descending = false } = message;
  const orderBy = columns[message.orderBy ?? AccountOrder.CREATED] ?? "id";
  const isOfUse = orderBy === "spent" || activity !== AccountActivity.UNSPECIFIED;
  return {
    filter: {
      ...{ search: asked(search), recharged: rangeOf(asked(tier), tiers), suspended },
      balanceBelow: balanceBelow === undefined ? undefined : Number(balanceBelow),
    },
    ...{ orderBy, descending, activity, limit: (message.pageSize ?? defaultPageSize) + 1 },
    after: placeOf(pagePlace(message.pageToken, "acc"), orderBy),
    span: isOfUse || message.usageFrom || message.usageTo ? spanOf(message, now) : undefined,
  };
}

/** rangeOf returns what accounts of a tier have recharged. Throws a Refusal for a name that no tier has. */
function rangeOf(name: string | undefined, tiers: readonly Tier[]): RechargedRange | undefined {
  if (name === undefined) return undefined;
  const tier = tiers.find((one) => one.name === name);
  if (!tier) throw invalidValue("tier", `expected one of ${tiers.map((one) => one.name).join(", ")}`);
  return { from: tier.recharge, below: nextTier(tiers, tier.recharge)?.recharge };
}

/** spanOf returns the whole hours of a span. Throws a Refusal if it is empty. */
function spanOf({ usageFrom, usageTo }: ListAccountsRequest, now: number) {
  const to = usageTo ? timestampMs(usageTo) : now;
  const from = usageFrom ? timestampMs(usageFrom) : to - defaultSpanMs;
  if (from >= to) throw invalidValue("usage_from", "expected a moment before `usage_to`");
  return { from: Math.floor(from / hourMs) * hourMs, to };
}

/** placeOf throws a Refusal for a token of a list in another order. */
function placeOf(place: PagePlace | undefined, orderBy: Asked["orderBy"]): Asked["after"] {
  if (!place || orderBy === "id") {
    if (place?.value !== undefined) throw unknownToken();
    return place && { id: place.id };
  }
  const { id, value = "" } = place;
  if (orderBy === "name" ? value === "" : !/^-?\d{1,16}$/.test(value)) throw unknownToken();
  return { id, value: orderBy === "name" ? value : Number(value) };
}

function orderValue({ account, use }: Listed, orderBy: Asked["orderBy"]): string | number | undefined {
  if (orderBy === "id") return undefined;
  return orderBy === "spent" ? spentOf(use) : account[orderBy];
}

function spentOf(use: AccountUse = noUse): number {
  return use.cost;
}

/** firstFound reads accounts in their order until the page is full. */
async function firstFound(stores: Stores, what: Asked, signal: CallerSignal): Promise<Listed[]> {
  const found: Listed[] = [];
  for await (const some of batches(stores, what, signal)) {
    found.push(...some);
    if (found.length >= what.limit) break;
  }
  return found.slice(0, what.limit);
}

/** inOrderOfSpend reads all accounts, and keeps no more of them than the page and a batch. */
async function inOrderOfSpend(stores: Stores, what: Asked, signal: CallerSignal): Promise<Listed[]> {
  const { after, descending, limit } = what;
  const sign = descending ? -1 : 1;
  const compare = (one: Place, other: Place) =>
    sign * (one.value - other.value || (one.id < other.id ? -1 : one.id > other.id ? 1 : 0));
  const placed = (one: Listed): Place => ({ id: one.account.id, value: spentOf(one.use) });
  const last = after && { id: after.id, value: Number(after.value) };
  let found: Listed[] = [];
  for await (const some of batches(stores, { ...what, after: undefined }, signal)) {
    const behind = last ? some.filter((one) => compare(placed(one), last) > 0) : some;
    found = [...found, ...behind].sort((one, other) => compare(placed(one), placed(other))).slice(0, limit);
  }
  return found;
}

interface Place {
  readonly id: string;
  readonly value: number;
}

/** batches yields the accounts that are asked for, in the order of the database, with what they used. */
async function* batches({ accounts, requests }: Stores, what: Asked, signal: CallerSignal): AsyncIterable<Listed[]> {
  const { filter, activity, span, descending } = what;
  const orderBy = what.orderBy === "spent" ? "id" : what.orderBy;
  const limit = what.orderBy === "spent" || activity !== AccountActivity.UNSPECIFIED ? batch : what.limit;
  let { after } = what;
  for (; !signal.aborted; await setImmediate()) {
    const rows = await accounts.page({ ...filter, orderBy, descending, after, limit });
    const ids = rows.map(({ id }) => id);
    const uses = span && (await requests.useOf(ids, span));
    yield rows.map((account) => ({ account, use: uses && (uses.get(account.id) ?? noUse) })).filter(isAsked(activity));
    const last = rows.at(-1);
    if (!last || rows.length < limit) return;
    after = { id: last.id, ...(orderBy === "id" ? {} : { value: last[orderBy] }) };
  }
}

const noUse: AccountUse = { requests: 0, cost: 0 };

function isAsked(activity: AccountActivity) {
  return ({ use = noUse }: Listed): boolean =>
    activity === AccountActivity.UNSPECIFIED || use.requests > 0 === (activity === AccountActivity.ACTIVE);
}
