/**
 * Says whose credential a call carries: an API key's, the operator's, or a session's.
 *
 * A session may call models by any of its account's keys: the one that it names in `x-gateway-key`, with all that this key
 * may and may not do.
 *
 * A key that is unknown or revoked is refused with the same words. What changes of a key or its account holds from the
 * next call on, also where another process changed it (`known-keys.ts`).
 */
import { timingSafeEqual } from "node:crypto";
import { Caller as Least } from "../../../gen/modelgateway/v1/access_pb.ts";
import { type Arrival, type Caller, nobody, operatorCaller, type Peer } from "../../call/call.ts";
import {
  accountSuspended,
  crossSite,
  invalidApiKey,
  keyDisabled,
  keyExpired,
  missingApiKey,
  operatorKeyRefused,
  sessionKeyNotFound,
} from "../../call/refusals.ts";
import { type Tier, tierOf } from "../../call/tiers.ts";
import { networkOf } from "../../limits/networks.ts";
import { hashKeySecret } from "../../runtime/secrets.ts";
import type { KeyStore, KeyWithAccount } from "../../storage/keys.ts";
import type { SessionWithUser } from "../../storage/people/sessions.ts";
import { type AuthenticateSession, isFromElsewhere } from "./authenticate-session.ts";
import { accessOf } from "./authorize.ts";
import type { KnownKey, KnownKeys } from "./known-keys.ts";

export { networkOf };

export interface AuthenticateOptions {
  readonly keys: Pick<KeyStore, "findWithAccount">;
  readonly knownKeys: KnownKeys;
  readonly authenticateSession: AuthenticateSession;
  readonly tiers: readonly Tier[];
  /** Whether models that have no price are free for an account. Default: for none. */
  readonly isFreeUnpriced?: (accountId: string) => boolean;
  /** The operator's credential; undefined where there is none. */
  readonly operatorKey: string | undefined;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Told of a key that is used, now and then. */
  readonly onUsed: (keyId: string, now: number) => void;
}

/** Whose calls are counted, and how many of them are allowed: an account's, a session's, or an address's. */
export interface Counted {
  readonly id: string;
  readonly tier: Tier;
  /** Whether RPCs that have a bound of their own are counted, too. Those that stream are for everybody: they are long. */
  readonly byMethod: boolean;
  /** What the key may still spend, in millionths of the unit; undefined where nothing bounds it. */
  readonly creditRemaining: number | undefined;
}

/** What may be a key, or the operator's. */
interface Credential {
  readonly secretHash: string;
  readonly isOperators: boolean;
}

export interface Authenticated {
  readonly caller: Caller;
  /** Undefined for the operator key. */
  readonly counted: Counted | undefined;
}

/** Throws a Refusal. */
export type Authenticate = (arrival: Arrival) => Authenticated;

/** How exactly it is known when a key was last used. */
const touchMs = 60_000;

export function createAuthenticate(options: AuthenticateOptions): Authenticate {
  const { keys, knownKeys, authenticateSession, clock, tiers, isFreeUnpriced = () => false, onUsed } = options;
  const operatorHash = options.operatorKey === undefined ? undefined : Buffer.from(hashKeySecret(options.operatorKey));
  const remembered = new WeakMap<object, readonly Credential[]>();

  /** Who sends the same headers with each call has its secret hashed once. */
  function credentialsIn({ header, sameHeaders }: Arrival): readonly Credential[] {
    const known = sameHeaders && remembered.get(sameHeaders);
    if (known) return known;
    const credentials = secretsIn(header).map((secret) => {
      const secretHash = hashKeySecret(secret);
      const isOperators = operatorHash !== undefined && timingSafeEqual(Buffer.from(secretHash), operatorHash);
      return { secretHash, isOperators };
    });
    if (sameHeaders) remembered.set(sameHeaders, credentials);
    return credentials;
  }

  function useKey(known: KnownKey, now: number): Authenticated {
    const { key, caller, tier } = known;
    refuseInvalid(key, now);
    if (now - known.usedAt >= touchMs) {
      known.usedAt = now;
      onUsed(key.id, now);
    }
    const creditRemaining = knownKeys.creditRemaining(known);
    return { caller, counted: { id: key.account_id, tier, byMethod: true, creditRemaining } };
  }

  function bySession(session: SessionWithUser, header: Arrival["header"]): Authenticated {
    const keyId = header("x-gateway-key");
    const { user_id: userId, id: sessionId, account_id: accountId } = session;
    if (keyId === undefined) return signedIn(session, tiers, isFreeUnpriced(accountId));
    const key = keys.findWithAccount(keyId);
    if (!key || key.revoked_at !== null || key.account_id !== accountId) {
      throw sessionKeyNotFound(keyId);
    }
    const { caller, counted } = useKey(knownKeys.know(key), clock());
    return { caller: { ...caller, rights: "key", userId, sessionId }, counted };
  }

  /** Who calls what needs no credential: a session that has ended is as good as none. */
  function whoever(header: Arrival["header"], peer: Peer): Caller {
    try {
      const session = authenticateSession({ header, peer });
      return session ? signedIn(session, tiers, isFreeUnpriced(session.account_id)).caller : nobody;
    } catch {
      return nobody;
    }
  }

  return (arrival) => {
    const { header, method, peer } = arrival;
    const least = accessOf(method).caller;
    if (least === Least.ANYONE) {
      if (isFromElsewhere(header)) throw crossSite();
      const counted = countedBy(`address ${networkOf(peer.address)}`, openTier);
      return { caller: whoever(header, peer), counted };
    }
    const credentials = credentialsIn(arrival);
    if (credentials.length === 0) {
      const session = authenticateSession({ header, peer });
      if (session) return bySession(session, header);
      throw missingApiKey();
    }
    const now = clock();
    for (const { secretHash, isOperators } of credentials) {
      if (isOperators) return operator;
      const known = knownKeys.find(secretHash, now);
      if (known) return useKey(known, now);
    }
    throw least === Least.OPERATOR ? operatorKeyRefused(operatorHash !== undefined) : invalidApiKey();
  };
}

const operator: Authenticated = { caller: operatorCaller, counted: undefined };

/** How often the pages of one user may call: more than any person needs. */
const sessionTier: Tier = { name: "session", recharge: 0, requestsPerMinute: 600, tokensPerMinute: undefined };

/** How often who has not signed in may call, by their address. */
const openTier: Tier = { name: "open", recharge: 0, requestsPerMinute: 120, tokensPerMinute: undefined };

function countedBy(id: string, tier: Tier): Counted {
  return { id, tier, byMethod: false, creditRemaining: undefined };
}

function signedIn(session: SessionWithUser, tiers: readonly Tier[], isFreeUnpriced: boolean): Authenticated {
  const caller: Caller = {
    rights: session.is_operator === 1 ? "operator_session" : "session",
    accountId: session.account_id,
    keyId: "",
    userId: session.user_id,
    sessionId: session.id,
    models: [],
    mustPay: session.account_postpaid === 0,
    isFreeUnpriced,
    isLimited: false,
    tier: tierOf(tiers, session.account_recharged),
  };
  return { caller, counted: countedBy(`user ${session.user_id}`, sessionTier) };
}

function refuseInvalid(key: KeyWithAccount, now: number): void {
  if (key.disabled === 1) throw keyDisabled();
  if (key.expires_at !== null && key.expires_at <= now) throw keyExpired();
  if (key.account_suspended_at !== null) throw accountSuspended();
}

/**
 * Returns what may be the secret of a key, in the forms that clients send: `Authorization: Bearer <key>`, the bare key in
 * `Authorization`, and `x-api-key`. Some send a foreign token in one and ours in the other: both are tried.
 */
function secretsIn(header: Arrival["header"]): string[] {
  const authorization = header("authorization")?.trim() ?? "";
  const bearer = /^bearer(?:\s+(.*))?$/is.exec(authorization);
  const first = bearer ? (bearer[1] ?? "") : authorization;
  const second = header("x-api-key")?.trim() ?? "";
  if (first === "" || first === second) return second === "" ? [] : [second];
  return second === "" ? [first] : [first, second];
}
