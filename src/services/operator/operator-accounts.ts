/** The operator's RPCs for accounts: create, list, update. */
import {
  CreateAccountResponseSchema,
  ListAccountsResponseSchema,
  type OperatorService,
  UpdateAccountResponseSchema,
} from "../../../gen/modelgateway/v1/operator_pb.ts";
import type { ServiceImplementation } from "../../call/call.ts";
import { conflict, resourceNotFound } from "../../call/refusals.ts";
import { newId } from "../../runtime/ids.ts";
import type { Account, AccountChange, AccountStore } from "../../storage/accounts.ts";
import { accountMessage } from "../accounts/account-message.ts";
import { accountBudgets, readBudgetList, readTimeZone } from "../accounts/budget-messages.ts";
import { createShowAccount } from "../accounts/show-account.ts";
import { createOnce } from "../idempotency.ts";
import { whole } from "../whole.ts";
import { listAccounts } from "./list-accounts.ts";
import type { OperatorParts } from "./parts.ts";

type Rpcs = Pick<ServiceImplementation<typeof OperatorService>, "createAccount" | "listAccounts" | "updateAccount">;

export function operatorAccounts({ storage, settings, clock }: OperatorParts): Rpcs {
  const { accounts, budgets } = storage;
  const shown = createShowAccount({ budgets, settings, clock });

  /** Suspending ends the sessions of the account's users; reinstating does not restore them. */
  function update(
    id: string,
    changeOf: (account: Account | undefined) => AccountChange,
  ): Promise<Account | "taken" | "absent"> {
    return storage.transact(async ({ accounts, sessions }) => {
      // Budgets that the account has set stay, whoever changes them meanwhile.
      await accounts.lock(id);
      const updated = await accounts.update(id, changeOf(await accounts.find(id)), clock());
      if (typeof updated === "object" && updated.suspended_at !== null) await sessions.revokeAccount(id);
      return updated;
    });
  }

  return {
    async createAccount(call) {
      const { name = "", postpaid = false } = call.request.message();
      const now = clock();
      const { id, headers } = await createOnce(storage.transact, call, now, async ({ accounts }) => {
        const account = { id: newId("acc", now), name, postpaid: Number(postpaid), created_at: now };
        if (!(await accounts.insert(account))) throw nameTaken(name);
        return account;
      });
      return whole(CreateAccountResponseSchema, { account: await shown(await findAccount(accounts, id)) }, headers);
    },
    listAccounts: createListAccounts({ storage, settings, clock }),
    async updateAccount({ request, caller }) {
      const { account = "", name, suspended, postpaid, budgets, timeZone } = request.message();
      const { id, suspended_at } = await findAccount(accounts, account);
      if (suspended && caller.userId !== "" && caller.accountId === id) throw ownAccount();
      const zone = readTimeZone(timeZone);
      const updated = await update(id, (before) => ({
        ...(name === undefined ? {} : { name }),
        ...(suspended === undefined ? {} : { suspended_at: suspended ? (suspended_at ?? clock()) : null }),
        ...(postpaid === undefined ? {} : { postpaid: Number(postpaid) }),
        time_zone: zone,
        budgets: readBudgetList(budgets, before?.budgets ?? null, { byOperator: true, now: clock() }),
      }));
      if (updated === "taken") throw nameTaken(name as string);
      if (updated === "absent") throw resourceNotFound("account", account, "account");
      return whole(UpdateAccountResponseSchema, { account: await shown(updated) });
    },
  };
}

function createListAccounts({
  storage,
  settings,
  clock,
}: Pick<OperatorParts, "storage" | "settings" | "clock">): Rpcs["listAccounts"] {
  return async ({ request, signal }) => {
    const { tiers } = settings();
    const { listed, nextPageToken } = await listAccounts(storage, request.message(), { tiers, now: clock() }, signal);
    const accounts = listed.map(({ account }) => account);
    const standing = await accountBudgets(storage.budgets, accounts, clock());
    return whole(ListAccountsResponseSchema, {
      accounts: accounts.map((account) => accountMessage(account, tiers, standing)),
      uses: listed.flatMap(({ use }) => (use ? [{ requests: BigInt(use.requests), spent: BigInt(use.cost) }] : [])),
      ...(nextPageToken === undefined ? {} : { nextPageToken }),
    });
  };
}

/** findAccount throws a Refusal if no account has the id or name. */
export async function findAccount(accounts: Pick<AccountStore, "find">, idOrName: string): Promise<Account> {
  const account = await accounts.find(idOrName);
  if (!account) throw resourceNotFound("account", idOrName, "account");
  return account;
}

function nameTaken(name: string) {
  return conflict("ACCOUNT_NAME_TAKEN", { name });
}

function ownAccount() {
  return conflict("OWN_ACCOUNT");
}
