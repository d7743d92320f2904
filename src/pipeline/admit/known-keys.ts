/**
 * KnownKeys caches the keys that have called. A key is read from the database once, and again when it may have been changed there, or its
 * account, by whatever process: so a revoked key is refused from the next call on.
 */
import { type AddressList, addressList } from "../../call/address-list.ts";
import type { Caller } from "../../call/call.ts";
import { type Tier, tierOf } from "../../call/tiers.ts";
import { isUnchanged, type Ledger, limitOf } from "../../ledger/contract.ts";
import { andThen, type MaybePromise } from "../../runtime/maybe-promise.ts";
import { createGrownCache } from "../../runtime/memory/grown-cache.ts";
import type { KeyStore, KeyWithAccount } from "../../storage/keys.ts";
import type { Changes } from "../../storage/money/books.ts";
import { allowedIpsOf, limitsOf } from "./key-limits.ts";

export interface KnownKey {
  readonly key: KeyWithAccount;
  /** The key was as it is known as of `caller.asOf`, a version of the database. */
  caller: Caller;
  tier: Tier;
  /** settings are those by which its tier and caller were made. */
  settings: KnownKeysSettings;
  /** The addresses that it may be used from; undefined where it may be used from all. */
  readonly allowed: AddressList | undefined;
  /** usedAt is when its use was last recorded, in milliseconds since 1970. */
  usedAt: number;
}

export interface KnownKeys {
  /**
   * Finds a key that is not revoked by the hash of its secret: at once where it is known. `now` is in milliseconds since 1970.
   */
  find(secretHash: string, now: number): MaybePromise<KnownKey | undefined>;
  /** Returns a key as `find` would, without caching it: for a session that calls by it. */
  know(key: KeyWithAccount): Promise<KnownKey>;
  /** Returns what the key may still spend, in millionths of the unit; undefined where nothing limits it. */
  creditRemaining(known: KnownKey): number | undefined;
}

/** KnownKeysSettings are the tiers, lowest first. */
interface KnownKeysSettings {
  readonly tiers: readonly Tier[];
}

export interface KnownKeysOptions {
  readonly keys: Pick<KeyStore, "findBySecretHash">;
  /** Returns another object once any of it has changed. */
  readonly settings: () => KnownKeysSettings;
  readonly ledger: Pick<Ledger, "credit" | "flushCallsOf">;
  /** Reports whether unpriced models are free for an account. Default: for none. */
  readonly isFreeUnpriced?: (accountId: string) => MaybePromise<boolean>;
  /** Tells of every write that callers must see. */
  readonly changes: Changes;
}

/** A key takes about a kilobyte. */
const maxKnown = 50_000;
const maxUnknown = 10_000;

export function createKnownKeys(options: KnownKeysOptions): KnownKeys {
  const { keys, ledger, changes, settings } = options;
  const { credit } = ledger;
  const know = createKnow(options);
  const asOfNow = createAsOfNow(options);
  const known = createGrownCache<KnownKey>(maxKnown);
  /** Hashes that belong to no key: a client that sends one again costs no query. */
  const unknown = createGrownCache<true>(maxUnknown);
  /** reading is what is being read: calls by the same key that come together read it once. */
  const reading = new Map<string, Promise<KnownKey | undefined>>();
  let seen = changes.version();

  /** Reads a key as of a version. That a hash belongs to no key is remembered unless anything was changed meanwhile. */
  async function read(secretHash: string, now: number, asOf: number): Promise<KnownKey | undefined> {
    let key = await keys.findBySecretHash(secretHash, now);
    if (key && (await ledger.flushCallsOf(key.account_id))) key = await keys.findBySecretHash(secretHash, now);
    const made = key && key.revoked_at === null ? await know(key, asOf) : undefined;
    if (made) known.set(secretHash, made);
    else if (seen === asOf) unknown.set(secretHash, true);
    return made;
  }

  function readOnce(secretHash: string, now: number, asOf: number): Promise<KnownKey | undefined> {
    const begun = reading.get(secretHash);
    if (begun) return begun;
    const made = read(secretHash, now, asOf).finally(() => {
      // Since then another version may be read.
      if (reading.get(secretHash) === made) reading.delete(secretHash);
    });
    reading.set(secretHash, made);
    return made;
  }

  return {
    find(secretHash, now) {
      const current = changes.version();
      // Which keys there are may be another matter now.
      if (current !== seen) for (const each of [unknown, reading]) each.clear();
      seen = current;
      const found = known.get(secretHash);
      if (found && isUnchanged(found.caller, changes, current) && isStillValid(found.key, secretHash, now))
        return found.caller.asOf === current && found.settings === settings() ? found : asOfNow(found, current);
      if (unknown.has(secretHash)) return undefined;
      return readOnce(secretHash, now, current);
    },
    know: (key) => know(key),
    creditRemaining({ key }) {
      const remaining = credit.remaining(key.account_id, key.id);
      if (remaining === undefined) return creditWhenRead(key);
      return Number.isFinite(remaining) ? remaining : undefined;
    },
  };
}

/**
 * createAsOfNow returns a function that renews what is known of a key that has not changed: its tier, and whether unpriced models are free
 * for its account, follow from other data, too.
 */
function createAsOfNow({ settings, isFreeUnpriced = () => false }: KnownKeysOptions) {
  return (found: KnownKey, asOf: number): MaybePromise<KnownKey> =>
    andThen(isFreeUnpriced(found.key.account_id), (isFree) => {
      found.settings = settings();
      found.tier = tierOf(found.settings.tiers, found.key.account_recharged);
      found.caller = { ...found.caller, asOf, isFreeUnpriced: isFree, tier: found.tier };
      return found;
    });
}

/** createKnow returns a function that makes a KnownKey of a key as it is stored, and tells the ledger what is left of its credit. */
function createKnow({ settings, ledger: { credit }, isFreeUnpriced = () => false }: KnownKeysOptions) {
  return async (key: KeyWithAccount, asOf?: number): Promise<KnownKey> => {
    const { ofBalance, ofLimit } = availableTo(key);
    credit.learn(key.account_id, ofBalance, key.id, key.credit_limit === null ? undefined : ofLimit);
    const made = settings();
    const tier = tierOf(made.tiers, key.account_recharged);
    const caller = { ...callerOf(key, tier, asOf), isFreeUnpriced: await isFreeUnpriced(key.account_id) };
    const allowed = caller.allowedIps && addressList(caller.allowedIps);
    return { key, tier, settings: made, caller, allowed, usedAt: key.last_used_at ?? 0 };
  };
}

/** isStillValid reports whether a secret is still valid. The one before the last rotation has an expiry of its own. */
function isStillValid({ secret_hash, previous_expires_at }: KeyWithAccount, secretHash: string, now: number): boolean {
  return secret_hash === secretHash || (previous_expires_at ?? 0) > now;
}

function callerOf(key: KeyWithAccount, tier: Tier, asOf: number | undefined): Caller {
  // Also by one that nobody reaches.
  const isLimited = key.credit_limit !== null;
  const { account_time_zone: zone, account_budgets: ofAccount, budgets: ofKey } = key;
  const hasBudgets = ofAccount !== null || ofKey !== null;
  return {
    rights: key.is_admin === 1 ? "admin" : "key",
    accountId: key.account_id,
    keyId: key.id,
    userId: "",
    sessionId: "",
    models: key.models === null ? [] : (JSON.parse(key.models) as string[]),
    mustPay: key.account_postpaid === 0 || limitOf(key) !== null || hasBudgets,
    isLimited,
    budgets: hasBudgets ? { zone, ofAccount, ofKey } : undefined,
    tier,
    limits: limitsOf(key),
    allowedIps: allowedIpsOf(key),
    asOf,
  };
}

/** availableTo returns what is available of the balance and of the key's limit; infinite where there is none. */
function availableTo(key: KeyWithAccount): { ofBalance: number; ofLimit: number } {
  const limit = limitOf(key);
  return {
    ofBalance: key.account_postpaid === 1 ? Number.POSITIVE_INFINITY : key.account_balance - key.account_held,
    ofLimit: limit === null ? Number.POSITIVE_INFINITY : limit - key.spent - key.held,
  };
}

/** creditWhenRead returns the lesser of the two as the key was read, at least 0; undefined where nothing limits it. */
export function creditWhenRead(key: KeyWithAccount): number | undefined {
  const { ofBalance, ofLimit } = availableTo(key);
  const least = Math.min(ofLimit, ofBalance);
  return Number.isFinite(least) ? Math.max(0, least) : undefined;
}
