/**
 * Keys that have called before, ready to call again: read from the database once, and again when anything there has changed,
 * by whatever process: so a key that is revoked is refused from the next call on.
 */
import { LRUCache } from "lru-cache";
import type { Caller } from "../../call/call.ts";
import { type Tier, tierOf } from "../../call/tiers.ts";
import type { Ledger } from "../../ledger/contract.ts";
import type { KeyStore, KeyWithAccount } from "../../storage/keys.ts";

export interface KnownKey {
  readonly key: KeyWithAccount;
  readonly caller: Caller;
  readonly tier: Tier;
  /** When it was last noted that it is used, in milliseconds since 1970. */
  usedAt: number;
}

export interface KnownKeys {
  /** Finds a key that is not revoked by the hash of its secret. `now` is in milliseconds since 1970. */
  find(secretHash: string, now: number): KnownKey | undefined;
  /** Returns a key as if it were known, and keeps nothing: for a session that calls by it. */
  know(key: KeyWithAccount): KnownKey;
  /** Tells what it may still spend, in millionths of the unit; undefined where nothing bounds it. */
  creditRemaining(known: KnownKey): number | undefined;
}

export interface KnownKeysOptions {
  readonly keys: Pick<KeyStore, "findBySecretHash">;
  readonly tiers: readonly Tier[];
  readonly ledger: Pick<Ledger, "credit" | "flushCallsOf">;
  /** Whether models that have no price are free for an account. Default: for none. */
  readonly isFreeUnpriced?: (accountId: string) => boolean;
  /** Another number whenever something was written that callers must see. */
  readonly version: () => number;
}

/** A key takes about a kilobyte. */
const most = 50_000;
const mostUnknown = 10_000;

export function createKnownKeys({
  keys,
  tiers,
  ledger,
  isFreeUnpriced = () => false,
  version,
}: KnownKeysOptions): KnownKeys {
  const { credit } = ledger;
  const known = new LRUCache<string, KnownKey>({ max: most });
  /** Hashes of no key: who shows the same again costs no look at the database. */
  const unknown = new LRUCache<string, true>({ max: mostUnknown });
  let seen = version();

  function know(key: KeyWithAccount, asOf?: number): KnownKey {
    const { ofBalance, ofLimit } = leftOf(key);
    credit.learn(key.account_id, ofBalance, key.id, key.credit_limit === null ? undefined : ofLimit);
    const tier = tierOf(tiers, key.account_recharged);
    const caller = { ...callerOf(key, tier, asOf), isFreeUnpriced: isFreeUnpriced(key.account_id) };
    return { key, tier, caller, usedAt: key.last_used_at ?? 0 };
  }

  return {
    find(secretHash, now) {
      const current = version();
      if (current !== seen) {
        known.clear();
        unknown.clear();
      }
      seen = current;
      const found = known.get(secretHash);
      if (found && isStill(found.key, secretHash, now)) return found;
      if (unknown.has(secretHash)) return undefined;
      let key = keys.findBySecretHash(secretHash, now);
      if (key && ledger.flushCallsOf(key.account_id)) key = keys.findBySecretHash(secretHash, now);
      if (!key || key.revoked_at !== null) {
        unknown.set(secretHash, true);
        return undefined;
      }
      const made = know(key, current);
      known.set(secretHash, made);
      return made;
    },
    know: (key) => know(key),
    creditRemaining({ key }) {
      const remaining = credit.remaining(key.account_id, key.id);
      if (remaining === undefined) return creditWhenRead(key);
      return Number.isFinite(remaining) ? remaining : undefined;
    },
  };
}

/** The secret before the last rotation has an end of its own. */
function isStill({ secret_hash, previous_expires_at }: KeyWithAccount, secretHash: string, now: number): boolean {
  return secret_hash === secretHash || (previous_expires_at ?? 0) > now;
}

function callerOf(key: KeyWithAccount, tier: Tier, asOf: number | undefined): Caller {
  const isLimited = key.credit_limit !== null;
  return {
    rights: key.is_admin === 1 ? "admin" : "key",
    accountId: key.account_id,
    keyId: key.id,
    userId: "",
    sessionId: "",
    models: key.models === null ? [] : (JSON.parse(key.models) as string[]),
    mustPay: key.account_postpaid === 0 || isLimited,
    isLimited,
    tier,
    asOf,
  };
}

/** Infinite where nothing bounds it. */
function leftOf(key: KeyWithAccount): { ofBalance: number; ofLimit: number } {
  return {
    ofBalance: key.account_postpaid === 1 ? Number.POSITIVE_INFINITY : key.account_balance - key.account_held,
    ofLimit: key.credit_limit === null ? Number.POSITIVE_INFINITY : key.credit_limit - key.spent - key.held,
  };
}

/** Returns the least of what is left of the key's limit and of its account's balance, as it was read. */
export function creditWhenRead(key: KeyWithAccount): number | undefined {
  const { ofBalance, ofLimit } = leftOf(key);
  const least = Math.min(ofLimit, ofBalance);
  return Number.isFinite(least) ? Math.max(0, least) : undefined;
}
