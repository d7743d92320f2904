/** Builds the API message of one account, with its budgets as they stand now. */
import type { Tier } from "../../call/tiers.ts";
import type { Account } from "../../storage/accounts.ts";
import type { BudgetStore } from "../../storage/money/budget-store.ts";
import { accountMessage } from "./account-message.ts";
import { accountBudgets } from "./budget-messages.ts";

export interface ShowAccountParts {
  readonly budgets: BudgetStore;
  /** settings returns the tiers, lowest first. */
  readonly settings: () => { readonly tiers: readonly Tier[] };
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

/** ShowAccount returns the message of an account. */
export type ShowAccount = (account: Account) => Promise<ReturnType<typeof accountMessage>>;

export function createShowAccount({ budgets, settings, clock }: ShowAccountParts): ShowAccount {
  return async (account) =>
    accountMessage(account, settings().tiers, await accountBudgets(budgets, [account], clock()));
}
