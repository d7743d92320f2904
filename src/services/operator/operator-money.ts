/** The operator's RPCs for money: ledger entries, redeem codes, reconciliation. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { EntryKind } from "../../../gen/modelgateway/v1/accounts_pb.ts";
import {
  CreateRedeemCodesResponseSchema,
  GetLossesResponseSchema,
  ListEntriesResponseSchema,
  ListRedeemCodesResponseSchema,
  type OperatorService,
  ReconcileResponseSchema,
  RecordEntryResponseSchema,
  RevokeRedeemCodesResponseSchema,
} from "../../../gen/modelgateway/v1/operator_pb.ts";
import type { ServiceImplementation } from "../../call/call.ts";
import { internal, invalidValue, resourceNotFound } from "../../call/refusals.ts";
import type { Reconciliation } from "../../storage/proof/proof.ts";
import { entryMessage } from "../accounts/account-message.ts";
import { recordEntry } from "../accounts/record-entry.ts";
import { codeMessage, issueRedeemCodes } from "../accounts/redeem-codes.ts";
import { createShowAccount } from "../accounts/show-account.ts";
import { asked } from "../asked.ts";
import { createOnce } from "../idempotency.ts";
import { pageOf } from "../page.ts";
import { whole } from "../whole.ts";
import { findAccount } from "./operator-accounts.ts";
import type { OperatorParts } from "./parts.ts";

type Rpcs<M extends keyof ServiceImplementation<typeof OperatorService>> = Pick<
  ServiceImplementation<typeof OperatorService>,
  M
>;
type EntryRpcs = Rpcs<"recordEntry" | "listEntries" | "reconcile" | "getLosses">;

/** The most accounts that a loss is told of. */
const maxLosses = 100;
type CodeRpcs = Rpcs<"createRedeemCodes" | "listRedeemCodes" | "revokeRedeemCodes">;

export function operatorMoney(parts: OperatorParts): EntryRpcs & CodeRpcs {
  return { ...entryRpcs(parts), ...codeRpcs(parts) };
}

function entryRpcs({ storage, settings, clock }: OperatorParts): EntryRpcs {
  const { accounts, entries, transact, recall, budgets } = storage;
  const shown = createShowAccount({ budgets, settings, clock });
  return {
    async recordEntry(call) {
      const { account: named = "", kind = EntryKind.UNSPECIFIED, amount = 0n, note } = call.request.message();
      const [now, unit] = [clock(), settings().unit.code];
      const refunded = kind === EntryKind.REFUND ? await accounts.find(named) : undefined;
      if (refunded) await recall(refunded.id);
      const { id, headers } = await createOnce(transact, call, now, async ({ accounts, entries }) => {
        const { id: accountId } = await findAccount(accounts, named);
        const init = { accountId, kind, amount: Number(amount), note: note || null, unit, now };
        return recordEntry(entries, init);
      });
      const entry = await entries.find(id);
      if (!entry) throw internal(new Error(`there is no ledger entry ${id}`));
      const account = await shown(await findAccount(accounts, entry.account_id));
      return whole(RecordEntryResponseSchema, { entry: entryMessage(entry), account }, headers);
    },
    async listEntries({ request, signal }) {
      const message = request.message();
      const { account = "", kinds } = message;
      const { id } = await findAccount(accounts, account);
      const { items, next } = await pageOf(message, "led", (before, limit) =>
        entries.page(id, { kinds, before, limit }, signal),
      );
      return whole(ListEntriesResponseSchema, { entries: items.map(entryMessage), ...next });
    },
    async getLosses({ request }) {
      const { from, to } = request.message();
      const span = { from: from ? timestampMs(from) : 0, to: to ? timestampMs(to) : Number.MAX_SAFE_INTEGER };
      if (span.from >= span.to) throw invalidValue("from", "expected a moment before `to`");
      const { waived, cost, accounts } = await storage.requests.losses(span, maxLosses);
      return whole(GetLossesResponseSchema, {
        waived,
        cost,
        accounts: accounts.map((one) => ({ accountId: one.account_id, name: one.name, waived: one.waived })),
      });
    },
    async reconcile({ request }) {
      const { full: isFull = false } = request.message();
      return whole(ReconcileResponseSchema, proofMessage(await storage.reconcile({ isFull, now: clock() })));
    },
  };
}

function proofMessage(proof: Reconciliation): MessageInitShape<typeof ReconcileResponseSchema> {
  return {
    accounts: proof.accounts,
    entries: BigInt(proof.entries),
    requests: BigInt(proof.requests),
    provedBefore: BigInt(proof.provedBefore),
    withoutPrice: BigInt(proof.withoutPrice),
    differences: proof.findings.map(({ kind, what, written, derived, means, repair, isRepairable }) => ({
      ...{ kind, what, means, repair, repairable: isRepairable },
      written: BigInt(written),
      derived: BigInt(derived),
    })),
  };
}

function codeRpcs({ storage: { redeemCodes, transact }, clock }: OperatorParts): CodeRpcs {
  return {
    async createRedeemCodes(call) {
      const { amount = 0n, count = 1, expiresAt, note } = call.request.message();
      const now = clock();
      const ends = expiresAt ? timestampMs(expiresAt) : null;
      const init = { amount: Number(amount), count, expiresAt: ends, note: note || null, now };
      const { id, made, headers } = await createOnce(transact, call, now, ({ redeemCodes }) => {
        if (ends !== null && ends <= now) throw invalidValue("expires_at", "expected a moment in the future");
        return issueRedeemCodes(redeemCodes, init);
      });
      return whole(CreateRedeemCodesResponseSchema, { batchId: id, codes: made?.codes ?? [] }, headers);
    },
    async listRedeemCodes({ request }) {
      const message = request.message();
      const batchId = asked(message.batchId);
      const { items, next } = await pageOf(message, "cod", (before, limit) =>
        redeemCodes.page({ batchId, before, limit }),
      );
      return whole(ListRedeemCodesResponseSchema, { codes: items.map(codeMessage), ...next });
    },
    async revokeRedeemCodes({ request }) {
      const { batchId = "" } = request.message();
      const revoked = await redeemCodes.revoke(batchId, clock());
      if (revoked === undefined) throw resourceNotFound("batch", batchId, "batch_id");
      return whole(RevokeRedeemCodesResponseSchema, { revoked });
    },
  };
}
