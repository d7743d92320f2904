/**
 * Begins and ends sessions: their rows and the cookie that the answer sets.
 *
 * Source: RFC 6265bis. The cookie is hidden from scripts (HttpOnly), is not sent by other sites' pages
 * (SameSite=Strict), and is sent over https only if the gateway is reached by https (Secure).
 */
import type { AnswerHeaders, Call, Peer } from "../../call/call.ts";
import { sessionCookie } from "../../pipeline/admit/authenticate-session.ts";
import { newId } from "../../runtime/ids.ts";
import { hashToken, newToken } from "../../runtime/secrets.ts";
import { dayMs } from "../../runtime/time/durations.ts";
import type { SessionStore } from "../../storage/people/sessions.ts";

/** lifeMs is the longest life of a session, in milliseconds. */
const lifeMs = 30 * dayMs;

const maxUserAgent = 300;

/** maxSessions is the most sessions of a user. A new one replaces the oldest. */
const maxSessions = 50;

/**
 * beginSession begins a session in place of the call's own, if it has one, in the caller's transaction. Returns the
 * header that sets the cookie.
 */
export async function beginSession(
  sessions: SessionStore,
  { caller, peer, header }: Pick<Call, "caller" | "peer" | "header">,
  userId: string,
  now: number,
): Promise<AnswerHeaders> {
  const token = newToken();
  // Ended sessions are deleted here: there is no timer for it.
  await sessions.sweep(now);
  if (caller.sessionId !== "") await sessions.revoke(caller.userId, caller.sessionId);
  // Before there is the new one: by a clock that was ahead then, the others may all be newer.
  await sessions.keepNewest(userId, maxSessions - 1);
  await sessions.insert({
    id: newId("ses", now),
    user_id: userId,
    token_hash: hashToken(token),
    address: peer.address,
    user_agent: (header("user-agent") ?? "").slice(0, maxUserAgent),
    created_at: now,
    last_seen_at: now,
    expires_at: now + lifeMs,
  });
  return cookie(peer, token, lifeMs / 1000);
}

/** clearCookie returns the header that deletes the cookie. */
export function clearCookie(peer: Peer): AnswerHeaders {
  return cookie(peer, "", 0);
}

function cookie(peer: Peer, value: string, maxAge: number): AnswerHeaders {
  const secure = peer.rootUrl.startsWith("https:") ? "; Secure" : "";
  return {
    "set-cookie": `${sessionCookie(peer)}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAge}${secure}`,
  };
}
