/** Finds the account whose calls to models without a price are free: the operator's first account, if the configuration says so. */
import type { AccountStore } from "../../storage/accounts.ts";

export interface FreeUnpricedOptions {
  readonly accounts: Pick<AccountStore, "first">;
  readonly isFreeForFirst: boolean;
  /** Returns another number after every write that callers must see. */
  readonly version: () => number;
}

/** Returns a function that reports whether unpriced models are free for an account. It looks the account up once a version. */
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
