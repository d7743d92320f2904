/**
 * AccountService: the caller's own account with its tier and rate limit, its ledger, the models it may call, and the
 * redeem codes it claims.
 */
import {
  type AccountService,
  GetAccountResponseSchema,
  ListCatalogResponseSchema,
  ListLedgerResponseSchema,
  RedeemCodeResponseSchema,
  UpdateBudgetsResponseSchema,
} from "../../../gen/modelgateway/v1/accounts_pb.ts";
import type { Caller, ServiceImplementation } from "../../call/call.ts";
import { conflict, internal, redeemCodeNotFound } from "../../call/refusals.ts";
import type { Tier } from "../../call/tiers.ts";
import type { AccountRate } from "../../pipeline/admit/limit.ts";
import { newId } from "../../runtime/ids.ts";
import type { Account, AccountStore } from "../../storage/accounts.ts";
import type { RequestStore } from "../../storage/calls/requests.ts";
import type { BudgetStore } from "../../storage/money/budget-store.ts";
import { readBudgets } from "../../storage/money/budgets.ts";
import type { EntryStore } from "../../storage/money/entries.ts";
import type { Claimed } from "../../storage/money/redeem-codes.ts";
import type { Transact } from "../../storage/storage.ts";
import type { Catalog } from "../../targets/catalog.ts";
import { createOnce } from "../idempotency.ts";
import { catalogMessage } from "../inference/catalog-message.ts";
import { pageOf } from "../page.ts";
import { whole } from "../whole.ts";
import { entryMessage, tierMessage } from "./account-message.ts";
import { readBudgetList, readTimeZone } from "./budget-messages.ts";
import { createMeasureModels } from "./model-measures.ts";
import { creditedInFull } from "./record-entry.ts";
import { hashRedeemCode } from "./redeem-codes.ts";
import { createShowAccount, type ShowAccount } from "./show-account.ts";

export interface AccountParts {
  readonly accounts: AccountStore;
  readonly transact: Transact;
  readonly budgets: BudgetStore;
  readonly entries: EntryStore;
  readonly requests: Pick<RequestStore, "measureAttempts">;
  readonly catalog: Catalog;
  /** settings returns the tiers, lowest first. */
  readonly settings: () => { readonly tiers: readonly Tier[] };
  /** unit is the code of the unit of money, such as "JPY". */
  readonly unit: string;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  /** accountRate returns the state of the rate limit of a caller's account. */
  readonly accountRate: (caller: Caller) => AccountRate | Promise<AccountRate>;
}

export function accountService(parts: AccountParts): ServiceImplementation<typeof AccountService> {
  const { accounts, entries, catalog, settings, unit, clock } = parts;
  const shown = createShowAccount(parts);
  return {
    async getAccount({ caller }) {
      const { requestsRemaining } = await parts.accountRate(caller);
      const { tiers } = settings();
      return whole(GetAccountResponseSchema, {
        account: await shown(await own(accounts, caller)),
        tiers: tiers.map(tierMessage),
        unit,
        requestsRemaining,
      });
    },
    updateBudgets: updateBudgets(parts, shown),
    async redeemCode(call) {
      const { code = "" } = call.request.message();
      const { accountId } = call.caller;
      const now = clock();
      const { id, headers } = await createOnce(parts.transact, call, now, async ({ redeemCodes }) => {
        const claim = { codeHash: hashRedeemCode(code), accountId, entryId: newId("led", now), now };
        const claimed = await redeemCodes.claim(claim);
        if (claimed.kind === "recorded") return claimed.entry;
        throw unclaimed(claimed, unit);
      });
      const entry = await entries.find(id);
      if (!entry) throw internal(new Error(`there is no ledger entry ${id}`));
      const account = await shown(await own(accounts, call.caller));
      return whole(RedeemCodeResponseSchema, { entry: entryMessage(entry), account }, headers);
    },
    async listCatalog({ caller }) {
      const { postpaid } = await own(accounts, caller);
      const mayCallUnpriced = postpaid === 1 || caller.isFreeUnpriced === true;
      return whole(ListCatalogResponseSchema, {
        models: catalog.list().map((model) => catalogMessage(model, mayCallUnpriced)),
      });
    },
    measureModels: createMeasureModels(parts),
    async listLedger({ request, caller, signal }) {
      const message = request.message();
      const { kinds } = message;
      const { items, next } = await pageOf(message, "led", (before, limit) =>
        entries.page(caller.accountId, { kinds, before, limit }, signal),
      );
      return whole(ListLedgerResponseSchema, { entries: items.map(entryMessage), ...next });
    },
  };
}

/** unclaimed says why a code was not claimed. */
function unclaimed({ kind }: Claimed, unit: string): Error {
  if (kind === "none") return redeemCodeNotFound();
  if (kind === "claimed") return conflict("CODE_CLAIMED");
  if (kind === "full") return creditedInFull(unit);
  return internal(new Error(`a redeem code could not be recorded: ${kind}`));
}

type Rpc<M extends keyof ServiceImplementation<typeof AccountService>> = ServiceImplementation<
  typeof AccountService
>[M];

/** updateBudgets sets the account's own budgets; `shown` makes its message. */
function updateBudgets({ transact, clock }: AccountParts, shown: ShowAccount): Rpc<"updateBudgets"> {
  return async ({ request, caller }) => {
    const message = request.message();
    const now = clock();
    const updated = await transact(async ({ accounts }) => {
      // The operator's budgets stay, whoever changes them meanwhile.
      await accounts.lock(caller.accountId);
      const account = await own(accounts, caller);
      const change = {
        budgets: readBudgetList(message.budgets, account.budgets, { byOperator: false, now }),
        time_zone: readTimeZone(message.timeZone),
      };
      refuseToMoveOperators(account, change.time_zone);
      return accounts.update(account.id, change, now);
    });
    if (typeof updated === "string") throw internal(new Error(`the account ${caller.accountId} is ${updated}`));
    return whole(UpdateBudgetsResponseSchema, { account: await shown(updated) });
  };
}

/**
 * refuseToMoveOperators throws a Refusal where another zone would have windows of the operator's budgets begin at another moment: an
 * account that chooses one in which it is just past midnight would have a new day, and all of the budget again.
 */
function refuseToMoveOperators({ budgets, time_zone }: Account, zone: string | null | undefined): void {
  if (zone === undefined || zone === time_zone) return;
  if (readBudgets(budgets).some(({ byOperator, rolling }) => byOperator && !rolling)) throw conflict("ZONE_BOUND");
}

async function own(accounts: AccountStore, { accountId }: Caller): Promise<Account> {
  const account = await accounts.find(accountId);
  if (!account) throw internal(new Error(`there is no account ${accountId}`));
  return account;
}
