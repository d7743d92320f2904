/**
 * Says who is signed in, by the cookie of the dashboard.
 *
 * The browser sends the cookie along whoever's page asks for it; the header `x-gateway-session` can be sent by the
 * dashboard's own pages only, for another site's would need leave to (Fetch standard, "CORS protocol"), which the gateway
 * never gives to calls with cookies. Where the browser says from which site a call comes, it is believed besides.
 */
import type { Arrival, Peer } from "../../call/call.ts";
import { crossSite, sessionEnded, userSuspended } from "../../call/refusals.ts";
import { hashToken } from "../../runtime/secrets.ts";
import type { SessionStore, SessionWithUser } from "../../storage/people/sessions.ts";

/**
 * The name of the cookie. Browsers take one with the prefix from this very host alone, over https alone: no neighbour under
 * the same domain can put another in its place. Source: RFC 6265bis, section 4.1.3.2.
 */
export function sessionCookie({ rootUrl }: Peer): string {
  return rootUrl.startsWith("https:") ? "__Host-gateway_session" : "gateway_session";
}

/** How exactly it is known when a session was last used. */
const touchMs = 60_000;

export interface AuthenticateSessionOptions {
  readonly sessions: SessionStore;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** Returns undefined for a call without a cookie, and throws a Refusal for one whose session does not hold. */
export type AuthenticateSession = (arrival: Pick<Arrival, "header" | "peer">) => SessionWithUser | undefined;

export function createAuthenticateSession({ sessions, clock }: AuthenticateSessionOptions): AuthenticateSession {
  return ({ header, peer }) => {
    const cookies = header("cookie");
    const token = cookies === undefined ? undefined : cookieOf(sessionCookie(peer), cookies);
    if (token === undefined) {
      if (isAsDashboard(header)) throw sessionEnded();
      return undefined;
    }
    if (!isAsDashboard(header) || isFromElsewhere(header)) throw crossSite();
    const now = clock();
    const session = sessions.findByTokenHash(hashToken(token), now);
    if (!session) throw sessionEnded("session");
    if (session.account_suspended_at !== null) throw userSuspended();
    if (now - session.last_seen_at >= touchMs) sessions.touch(session.id, now);
    return session;
  };
}

function isAsDashboard(header: Arrival["header"]): boolean {
  return header("x-gateway-session") !== undefined;
}

/** Source: W3C Fetch Metadata. Browsers that know it set it, and no script can. */
export function isFromElsewhere(header: Arrival["header"]): boolean {
  const site = header("sec-fetch-site");
  return site === "cross-site" || site === "same-site";
}

/** Source: RFC 6265, section 4.2. */
function cookieOf(wanted: string, cookies: string): string | undefined {
  for (const pair of cookies.split(";")) {
    const [name, value] = pair.trim().split("=", 2);
    if (name === wanted && value) return value;
  }
  return undefined;
}
