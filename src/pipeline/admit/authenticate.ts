/**
 * Authenticates a call: finds whose credential it carries, an API key's, the operator's or a session's.
 *
 * A session may call models by any key of its account: it names the key in `x-gateway-key`, and gets exactly that key's
 * permissions.
 *
 * An unknown key and a revoked one are refused with the same message. A change to a key or its account holds from the next call
 * on, also where another process made it (`known-keys.ts`).
 */
import { Caller as Least } from "../../../gen/modelgateway/v1/access_pb.ts";
import { type Arrival, type Caller, nobody, operatorCaller } from "../../call/call.ts";
import {
  accountSuspended,
  addressNotPermitted,
  crossSite,
  invalidApiKey,
  keyDisabled,
  keyExpired,
  missingApiKey,
  operatorKeyRefused,
  refusedTo,
  sessionKeyNotFound,
} from "../../call/refusals.ts";
import { type Tier, tierOf } from "../../call/tiers.ts";
import { andThen, type MaybePromise } from "../../runtime/maybe-promise.ts";
import { networkOf } from "../../runtime/net/networks.ts";
import type { KeyStore } from "../../storage/keys.ts";
import type { SessionWithUser } from "../../storage/people/sessions.ts";
import { type AuthenticateSession, isFromElsewhere } from "./authenticate-session.ts";
import { accessOf } from "./authorize.ts";
import { type Credential, createCredentialsIn } from "./credentials.ts";
import type { KnownKey, KnownKeys } from "./known-keys.ts";
import type { LimitedKey } from "./limit.ts";

export interface AuthenticateOptions {
  readonly keys: Pick<KeyStore, "findWithAccount">;
  readonly knownKeys: KnownKeys;
  readonly authenticateSession: AuthenticateSession;
  /** Returns the tiers, lowest first. */
  readonly settings: () => { readonly tiers: readonly Tier[] };
  /** Reports whether models without a price are free for an account. Default: for none. */
  readonly isFreeUnpriced?: (accountId: string) => MaybePromise<boolean>;
  /** The operator's credential; undefined where none is configured. */
  readonly operatorKey: string | undefined;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  /** Called now and then for a key that is in use. */
  readonly onUsed: (keyId: string, now: number) => void;
}

/** Counted is whose calls a rate limit counts, and how many it allows: an account's, a user's, or a network address's. */
export interface Counted {
  readonly id: string;
  readonly tier: Tier;
  /** byMethod is whether an RPC's own limit counts too. That of streaming RPCs, and of RPCs with a rate of their own, always does. */
  readonly byMethod: boolean;
  /** creditRemaining is what the key may still spend, in millionths of the unit; undefined where nothing limits it. */
  readonly creditRemaining: number | undefined;
  /** The key that calls, where it has limits of its own. */
  readonly key?: LimitedKey | undefined;
}

export interface Authenticated {
  readonly caller: Caller;
  /** Undefined for the operator key. */
  readonly counted: Counted | undefined;
}

/** Authenticate finds whose credential a call has. Throws a Refusal, now or later. A key that is known already is answered now. */
export type Authenticate = (arrival: Arrival) => MaybePromise<Authenticated>;

/** A key's last use is recorded at most this often, in milliseconds. */
const touchMs = 60_000;

export function createAuthenticate(options: AuthenticateOptions): Authenticate {
  const { knownKeys, clock, onUsed } = options;
  const credentialsIn = createCredentialsIn(options.operatorKey);

  function useKey(known: KnownKey, now: number, peer: Arrival["peer"]): Authenticated {
    const { key, caller, tier, allowed } = known;
    refuseInvalid(known, now);
    if (allowed && !allowed.has(peer.address)) throw refusedTo(caller, addressNotPermitted(peer.address));
    if (now - known.usedAt >= touchMs) {
      known.usedAt = now;
      onUsed(key.id, now);
    }
    const creditRemaining = knownKeys.creditRemaining(known);
    const limited = caller.limits && { id: key.id, limits: caller.limits };
    return { caller, counted: { id: key.account_id, tier, byMethod: true, creditRemaining, key: limited } };
  }

  const { bySession, anyone } = createSessionCallers(options, useKey);

  /** Uses the first of the credentials that is one. */
  function byCredentials(
    [first, ...others]: readonly Credential[],
    now: number,
    arrival: Arrival,
  ): MaybePromise<Authenticated> {
    if (!first)
      throw accessOf(arrival.method).caller === Least.OPERATOR
        ? operatorKeyRefused(options.operatorKey !== undefined)
        : invalidApiKey();
    if (first.isOperators) return operator;
    return andThen(knownKeys.find(first.secretHash, now), (known) =>
      known ? useKey(known, now, arrival.peer) : byCredentials(others, now, arrival),
    );
  }

  return (arrival) => {
    if (accessOf(arrival.method).caller === Least.ANYONE) return anyone(arrival);
    const credentials = credentialsIn(arrival);
    return credentials.length === 0 ? bySession(arrival) : byCredentials(credentials, clock(), arrival);
  };
}

/**
 * createSessionCallers returns functions that authenticate calls that have a session, or may have one. `useKey` checks a key, and returns
 * its holder.
 */
function createSessionCallers(
  { keys, knownKeys, authenticateSession, clock, settings, isFreeUnpriced = () => false }: AuthenticateOptions,
  useKey: (known: KnownKey, now: number, peer: Arrival["peer"]) => Authenticated,
) {
  return {
    async bySession({ header, peer }: Arrival): Promise<Authenticated> {
      const session = await authenticateSession({ header, peer });
      if (!session) throw missingApiKey();
      const keyId = header("x-gateway-key");
      const { user_id: userId, id: sessionId, account_id: accountId } = session;
      if (keyId === undefined) return signedIn(session, settings().tiers, await isFreeUnpriced(accountId));
      const key = await keys.findWithAccount(keyId);
      if (!key || key.revoked_at !== null || key.account_id !== accountId) throw sessionKeyNotFound(keyId);
      const { caller, counted } = useKey(await knownKeys.know(key), clock(), peer);
      return { caller: { ...caller, rights: "key", userId, sessionId }, counted };
    },
    /** Authenticates a call that needs no credential. A session that has ended counts as none. */
    async anyone({ header, peer }: Arrival): Promise<Authenticated> {
      if (isFromElsewhere(header)) throw crossSite();
      const counted = countedBy(`address ${networkOf(peer.address)}`, openTier);
      try {
        const session = await authenticateSession({ header, peer });
        if (!session) return { caller: nobody, counted };
        return {
          caller: signedIn(session, settings().tiers, await isFreeUnpriced(session.account_id)).caller,
          counted,
        };
      } catch {
        return { caller: nobody, counted };
      }
    },
  };
}

const operator: Authenticated = { caller: operatorCaller, counted: undefined };

/** The rate of one user's dashboard pages: more than a person needs. */
const sessionTier: Tier = { name: "session", recharge: 0, requestsPerMinute: 600, tokensPerMinute: undefined };

/** The rate of calls that need no credential, by network address. */
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

function refuseInvalid({ key, caller }: KnownKey, now: number): void {
  if (key.disabled === 1) throw refusedTo(caller, keyDisabled());
  if (key.expires_at !== null && key.expires_at <= now) throw refusedTo(caller, keyExpired());
  if (key.account_suspended_at !== null) throw refusedTo(caller, accountSuspended());
}
