/**
 * Authenticates a dashboard session by its cookie.
 *
 * A browser sends the cookie with requests of any site's pages. The header `x-gateway-session` can only be sent by the dashboard's
 * own pages: another site would need permission for it (Fetch standard, "CORS protocol"), which the gateway never gives to requests
 * with cookies. Where the browser reports the site of a request, that must be the dashboard's own too.
 */
import type { Arrival, Peer } from "../../call/call.ts";
import { crossSite, sessionEnded, userSuspended } from "../../call/refusals.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import { hashToken } from "../../runtime/secrets.ts";
import type { SessionStore, SessionWithUser } from "../../storage/people/sessions.ts";

/**
 * sessionCookie returns the name of the cookie. Browsers accept a cookie with the prefix `__Host-` only over https and only from this very
 * host, so that no other host of the same domain can replace it. Source: RFC 6265bis, section 4.1.3.2.
 */
export function sessionCookie({ rootUrl }: Peer): string {
  return rootUrl.startsWith("https:") ? "__Host-gateway_session" : "gateway_session";
}

/** A session's last use is recorded at most this often, in milliseconds. */
const touchMs = 60_000;

export interface AuthenticateSessionOptions {
  readonly sessions: Pick<SessionStore, "findByTokenHash" | "touch">;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  /** Called where a session's last use cannot be recorded. */
  readonly onError: (error: unknown) => void;
}

/** AuthenticateSession finds the session of a call; undefined without a cookie. Throws a Refusal where the session is not valid, now or later. */
export type AuthenticateSession = (
  arrival: Pick<Arrival, "header" | "peer">,
) => MaybePromise<SessionWithUser | undefined>;

export function createAuthenticateSession({
  sessions,
  clock,
  onError,
}: AuthenticateSessionOptions): AuthenticateSession {
  async function find(token: string): Promise<SessionWithUser> {
    const now = clock();
    const session = await sessions.findByTokenHash(hashToken(token), now);
    if (!session) throw sessionEnded("session");
    if (session.account_suspended_at !== null) throw userSuspended();
    if (now - session.last_seen_at >= touchMs) void sessions.touch(session.id, now).catch(onError);
    return session;
  }

  return ({ header, peer }) => {
    const cookies = header("cookie");
    const token = cookies === undefined ? undefined : cookieOf(sessionCookie(peer), cookies);
    if (token === undefined) {
      if (isFromDashboard(header)) throw sessionEnded();
      return undefined;
    }
    if (!isFromDashboard(header) || isFromElsewhere(header)) throw crossSite();
    return find(token);
  };
}

function isFromDashboard(header: Arrival["header"]): boolean {
  return header("x-gateway-session") !== undefined;
}

/**
 * isFromElsewhere reports whether the browser says that another site's page made the call. No script can set this header (W3C Fetch
 * Metadata).
 */
export function isFromElsewhere(header: Arrival["header"]): boolean {
  const site = header("sec-fetch-site");
  return site === "cross-site" || site === "same-site";
}

/** cookieOf returns the whole value, in which `=` may stand, too. Source: RFC 6265, section 4.2. */
function cookieOf(cookie: string, cookies: string): string | undefined {
  const begin = `${cookie}=`;
  for (const pair of cookies.split(";")) {
    const value = pair.trim();
    if (value.startsWith(begin) && value.length > begin.length) return value.slice(begin.length);
  }
  return undefined;
}
