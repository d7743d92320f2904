/** Finds the account whose calls to models without a price are free: the operator's first account, if the configuration says so. */
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import type { AccountStore } from "../../storage/accounts.ts";

export interface FreeUnpricedOptions {
  readonly accounts: Pick<AccountStore, "first">;
  readonly settings: () => { readonly unpriced: { readonly isFreeForFirst: boolean } };
  /** Returns a greater number after every write that callers must see. */
  readonly version: () => number;
}

/**
 * createFreeUnpriced returns a function that reports whether unpriced models are free for an account. It looks the account up once a
 * version.
 */
export function createFreeUnpriced({ accounts, settings, version }: FreeUnpricedOptions) {
  let seen: number | undefined;
  let first: string | undefined;
  let looking: { readonly asOf: number; readonly found: Promise<string | undefined> } | undefined;

  /** Callers of one version look once. */
  function lookUpOnce(current: number): Promise<string | undefined> {
    if (looking?.asOf === current) return looking.found;
    const found = lookUp(current).finally(() => {
      if (looking?.found === found) looking = undefined;
    });
    looking = { asOf: current, found };
    return found;
  }

  async function lookUp(current: number): Promise<string | undefined> {
    const found = await accounts.first();
    // One that began later may have ended before.
    if (seen === undefined || seen < current) [seen, first] = [current, found];
    return found;
  }

  return (accountId: string): MaybePromise<boolean> => {
    if (!settings().unpriced.isFreeForFirst) return false;
    const current = version();
    if (current === seen) return accountId === first;
    return lookUpOnce(current).then((found) => accountId === found);
  };
}
