/** What the operator does: accounts, money that moves outside, redeem codes, and the proof that the sums hold. */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { EntryKind } from "../../gen/modelgateway/v1/accounts_pb.ts";
import {
  CreateAccountResponseSchema,
  CreateRedeemCodesResponseSchema,
  ListAccountsResponseSchema,
  ListRedeemCodesResponseSchema,
  type OperatorService,
  ReconcileResponseSchema,
  RecordEntryResponseSchema,
  RevokeRedeemCodesResponseSchema,
  UpdateAccountResponseSchema,
} from "../../gen/modelgateway/v1/operator_pb.ts";
import type { ServiceImplementation } from "../call.ts";
import { conflict, internal, invalidValue, resourceNotFound } from "../errors.ts";
import { newId } from "../ids.ts";
import type { Tier } from "../limits/tiers.ts";
import type { Account } from "../storage/accounts.ts";
import type { Storage } from "../storage/storage.ts";
import { accountMessage, entryMessage } from "./account-message.ts";
import { makeOnce } from "./idempotency.ts";
import { pageOf } from "./page.ts";
import { recordEntry } from "./record-entry.ts";
import { codeMessage, issueRedeemCodes } from "./redeem-codes.ts";
import { whole } from "./whole.ts";

export interface OperatorParts {
  readonly storage: Pick<Storage, "accounts" | "entries" | "redeemCodes" | "idempotency" | "reconcile">;
  /** Lowest first. */
  readonly tiers: readonly Tier[];
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

export function operatorService({
  storage,
  tiers,
  clock,
}: OperatorParts): ServiceImplementation<typeof OperatorService> {
  const { accounts, entries, redeemCodes, idempotency } = storage;
  const known = (idOrName: string): Account => {
    const account = accounts.find(idOrName);
    if (!account) throw resourceNotFound("account", idOrName, "account");
    return account;
  };
  return {
    async createAccount({ request }) {
      const { name = "", postpaid = false } = request.message();
      const now = clock();
      const id = newId("acc", now);
      if (!accounts.insert({ id, name, postpaid: Number(postpaid), created_at: now })) throw nameTaken(name);
      return whole(CreateAccountResponseSchema, { account: accountMessage(known(id), tiers) });
    },
    async listAccounts({ request }) {
      const message = request.message();
      const search = message.search || undefined;
      const { items, next } = pageOf(message, "acc", (after, limit) => accounts.page({ search, after, limit }));
      return whole(ListAccountsResponseSchema, { accounts: items.map((item) => accountMessage(item, tiers)), ...next });
    },
    async updateAccount({ request }) {
      const { account = "", name, suspended, postpaid } = request.message();
      const { id, suspended_at } = known(account);
      const updated = accounts.update(id, {
        ...(name === undefined ? {} : { name }),
        ...(suspended === undefined ? {} : { suspended_at: suspended ? (suspended_at ?? clock()) : null }),
        ...(postpaid === undefined ? {} : { postpaid: Number(postpaid) }),
      });
      if (updated === "taken") throw nameTaken(name as string);
      if (updated === "absent") throw resourceNotFound("account", account, "account");
      return whole(UpdateAccountResponseSchema, { account: accountMessage(updated, tiers) });
    },
    async recordEntry(call) {
      const { account = "", kind = EntryKind.UNSPECIFIED, amount = 0n, note } = call.request.message();
      const now = clock();
      const id = makeOnce(idempotency, call, now, () => {
        const { id: accountId } = known(account);
        const init = { accountId, kind, amount: Number(amount), note: note || null, now };
        return recordEntry(entries, init).id;
      });
      const entry = entries.find(id);
      if (!entry) throw internal(new Error(`there is no ledger entry ${id}`));
      return whole(RecordEntryResponseSchema, {
        entry: entryMessage(entry),
        account: accountMessage(known(entry.account_id), tiers),
      });
    },
    async createRedeemCodes({ request }) {
      const { amount = 0n, count = 1, expiresAt, note } = request.message();
      const now = clock();
      const ends = expiresAt ? timestampMs(expiresAt) : null;
      if (ends !== null && ends <= now) throw invalidValue("expires_at", "expected a moment in the future");
      const init = { amount: Number(amount), count, expiresAt: ends, note: note || null, now };
      return whole(CreateRedeemCodesResponseSchema, issueRedeemCodes(redeemCodes, init));
    },
    async listRedeemCodes({ request }) {
      const message = request.message();
      const { batchId } = message;
      const { items, next } = pageOf(message, "cod", (before, limit) => redeemCodes.page({ batchId, before, limit }));
      return whole(ListRedeemCodesResponseSchema, { codes: items.map(codeMessage), ...next });
    },
    async revokeRedeemCodes({ request }) {
      const { batchId = "" } = request.message();
      const revoked = redeemCodes.revoke(batchId, clock());
      if (revoked === undefined) throw resourceNotFound("batch", batchId, "batch_id");
      return whole(RevokeRedeemCodesResponseSchema, { revoked });
    },
    async reconcile() {
      const { accounts, entries, differences } = await storage.reconcile();
      return whole(ReconcileResponseSchema, {
        accounts,
        entries: BigInt(entries),
        differences: differences.map(({ what, written, derived }) => ({
          what,
          written: BigInt(written),
          derived: BigInt(derived),
        })),
      });
    },
  };
}

function nameTaken(name: string) {
  return conflict(`There is an account "${name}" already. Choose another name.`);
}
