/** Builds the API messages of accounts, tiers and ledger entries from their rows. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type {
  AccountSchema,
  EntryKind,
  LedgerEntrySchema,
  TierSchema,
} from "../../../gen/modelgateway/v1/accounts_pb.ts";
import { nextTier, type Tier, tierOf } from "../../call/tiers.ts";
import type { Account } from "../../storage/accounts.ts";
import { defaultZone } from "../../storage/money/budget-windows.ts";
import type { LedgerEntry } from "../../storage/money/entries.ts";
import type { BudgetMessages } from "./budget-messages.ts";

/** accountMessage builds an account's message. `budgets` has those of the account if it has any. */
export function accountMessage(
  account: Account,
  tiers: readonly Tier[],
  budgets: BudgetMessages,
): MessageInitShape<typeof AccountSchema> {
  const { id, name, balance, held, recharged, postpaid, suspended_at, created_at } = account;
  const next = nextTier(tiers, recharged);
  return {
    id,
    name,
    balance: BigInt(balance),
    held: BigInt(held),
    recharged: BigInt(recharged),
    tier: tierMessage(tierOf(tiers, recharged)),
    ...(next ? { nextTier: tierMessage(next) } : {}),
    postpaid: postpaid === 1,
    ...(suspended_at === null ? {} : { suspendedAt: timestampFromMs(suspended_at) }),
    createdAt: timestampFromMs(created_at),
    timeZone: account.time_zone ?? defaultZone,
    budgets: [...(budgets.get(id) ?? [])],
  };
}

export function tierMessage(tier: Tier): MessageInitShape<typeof TierSchema> {
  const { name, recharge, requestsPerMinute, tokensPerMinute } = tier;
  return {
    name,
    recharge: BigInt(recharge),
    requestsPerMinute,
    ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
  };
}

export function entryMessage(entry: LedgerEntry): MessageInitShape<typeof LedgerEntrySchema> {
  const { id, account_id, kind, amount, request_id, key_id, note, created_at, calls } = entry;
  return {
    id,
    accountId: account_id,
    kind: kind as EntryKind,
    amount: BigInt(amount),
    ...(request_id === null ? {} : { requestId: request_id }),
    ...(key_id === null ? {} : { keyId: key_id }),
    ...(note === null ? {} : { note }),
    ...(calls === null ? {} : { calls: BigInt(calls) }),
    createdAt: timestampFromMs(created_at),
  };
}
