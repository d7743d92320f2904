/** Whose calls to models without a price are free: those of the operator's own first account, where the configuration has it so. */
import type { AccountStore } from "../../storage/accounts.ts";

export interface FreeUnpricedOptions {
  readonly accounts: Pick<AccountStore, "first">;
  readonly isFreeForFirst: boolean;
  /** Another number whenever something was written that callers must see. */
  readonly version: () => number;
}

/** Returns whether models that have no price are free for an account. Which one is the first is looked up once a version. */
export function createFreeUnpriced({ accounts, isFreeForFirst, version }: FreeUnpricedOptions) {
  let seen: number | undefined;
  let first: string | undefined;
  return (accountId: string): boolean => {
    if (!isFreeForFirst) return false;
    const current = version();
    if (current !== seen) first = accounts.first();
    seen = current;
    return accountId === first;
  };
}
