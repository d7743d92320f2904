/**
 * Says whose credential a call carries: an API key's, or the operator's.
 *
 * A key that is unknown or revoked is refused with the same words. What changes of a key or its account holds from the
 * next call on, also when another process changed it: both are read from the database every time.
 */
import { timingSafeEqual } from "node:crypto";
import { type Arrival, type Caller, operatorCaller } from "../call.ts";
import { accountSuspended, invalidApiKey, keyDisabled, keyExpired, missingApiKey } from "../errors.ts";
import { type Tier, tierOf } from "../limits/tiers.ts";
import { hashKeySecret } from "../secrets.ts";
import type { KeyStanding, KeyStore } from "../storage/keys.ts";

export interface AuthenticateOptions {
  readonly keys: KeyStore;
  readonly tiers: readonly Tier[];
  /** The operator's credential; undefined where there is none. */
  readonly operatorKey: string | undefined;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Told of a key that is used, now and then. */
  readonly onUsed: (keyId: string, now: number) => void;
}

/** The account that a call is counted on and paid by. */
export interface PayingAccount {
  readonly id: string;
  readonly tier: Tier;
  /** What the key may still spend, in millionths of the unit; undefined where nothing bounds it. */
  readonly creditRemaining: number | undefined;
}

export interface Authenticated {
  readonly caller: Caller;
  /** Undefined for the operator. */
  readonly account: PayingAccount | undefined;
}

/** Throws a Refusal. */
export type Authenticate = (arrival: Arrival) => Authenticated;

/** How exactly it is known when a key was last used. */
const touchMs = 60_000;

export function createAuthenticate(options: AuthenticateOptions): Authenticate {
  const { keys, clock, tiers, onUsed } = options;
  const operatorHash = options.operatorKey === undefined ? undefined : Buffer.from(hashKeySecret(options.operatorKey));
  return ({ header }) => {
    const credentials = credentialsOf(header);
    if (credentials.length === 0) throw missingApiKey();
    const now = clock();
    for (const secret of credentials) {
      const secretHash = hashKeySecret(secret);
      if (operatorHash && timingSafeEqual(Buffer.from(secretHash), operatorHash)) return operator;
      const key = keys.findBySecretHash(secretHash, now);
      if (!key || key.revoked_at !== null) continue;
      refuseInvalid(key, now);
      if (now - (key.last_used_at ?? 0) >= touchMs) onUsed(key.id, now);
      return authenticated(key, tiers);
    }
    throw invalidApiKey();
  };
}

const operator: Authenticated = { caller: operatorCaller, account: undefined };

function refuseInvalid(key: KeyStanding, now: number): void {
  if (key.disabled === 1) throw keyDisabled();
  if (key.expires_at !== null && key.expires_at <= now) throw keyExpired();
  if (key.account_suspended_at !== null) throw accountSuspended();
}

function authenticated(key: KeyStanding, tiers: readonly Tier[]): Authenticated {
  const tier = tierOf(tiers, key.account_recharged);
  const caller: Caller = {
    rights: key.is_admin === 1 ? "admin" : "key",
    accountId: key.account_id,
    keyId: key.id,
    models: key.models === null ? [] : (JSON.parse(key.models) as string[]),
    mustPay: key.account_postpaid === 0 || key.credit_limit !== null,
    tier,
  };
  return { caller, account: { id: key.account_id, tier, creditRemaining: creditRemaining(key) } };
}

/** Returns the least of what is left of the key's limit and of its account's balance. */
export function creditRemaining(key: KeyStanding): number | undefined {
  const ofLimit = key.credit_limit === null ? Number.POSITIVE_INFINITY : key.credit_limit - key.spent - key.held;
  const ofBalance = key.account_postpaid === 1 ? Number.POSITIVE_INFINITY : key.account_balance - key.account_held;
  const least = Math.min(ofLimit, ofBalance);
  return Number.isFinite(least) ? Math.max(0, least) : undefined;
}

/**
 * Returns what may be our key, in the forms that clients send: `Authorization: Bearer <key>`, the bare key in
 * `Authorization`, and `x-api-key`. Some send a foreign token in one and ours in the other: both are tried.
 */
export function credentialsOf(header: Arrival["header"]): string[] {
  const authorization = header("authorization")?.trim() ?? "";
  const bearer = /^bearer(?:\s+(.*))?$/is.exec(authorization);
  const secrets = [bearer ? (bearer[1] ?? "") : authorization, header("x-api-key")?.trim() ?? ""];
  return [...new Set(secrets.filter((secret) => secret !== ""))];
}
