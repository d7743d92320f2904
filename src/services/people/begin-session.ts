/**
 * How a session begins and ends: its row, and the cookie that the answer sets.
 *
 * Source: RFC 6265bis. No script reads the cookie, no other site's page has it sent, and where the gateway is reached by
 * https it goes by nothing else.
 */
import type { AnswerHeaders, Call, Peer } from "../../call/call.ts";
import { sessionCookie } from "../../pipeline/admit/authenticate-session.ts";
import { newId } from "../../runtime/ids.ts";
import { hashToken, newToken } from "../../runtime/secrets.ts";
import type { SessionStore } from "../../storage/people/sessions.ts";

/** How long a session lasts at most, in milliseconds. */
const lifeMs = 30 * 86_400_000;

const maxUserAgent = 300;

/** How many a user has at most: the oldest make room. */
const mostSessions = 50;

/** Begins a session in place of the one that the call came with, if any. Returns the header that sets its cookie. */
export function beginSession(
  sessions: SessionStore,
  { caller, peer, header }: Pick<Call, "caller" | "peer" | "header">,
  userId: string,
  now: number,
): AnswerHeaders {
  const token = newToken();
  // No timer forgets what has ended: each that begins does.
  sessions.sweep(now);
  if (caller.sessionId !== "") sessions.revoke(caller.userId, caller.sessionId);
  sessions.insert({
    id: newId("ses", now),
    user_id: userId,
    token_hash: hashToken(token),
    address: peer.address,
    user_agent: (header("user-agent") ?? "").slice(0, maxUserAgent),
    created_at: now,
    last_seen_at: now,
    expires_at: now + lifeMs,
  });
  sessions.keepNewest(userId, mostSessions);
  return cookie(peer, token, lifeMs / 1000);
}

/** Returns the header that has the browser forget the cookie. */
export function clearCookie(peer: Peer): AnswerHeaders {
  return cookie(peer, "", 0);
}

function cookie(peer: Peer, value: string, maxAge: number): AnswerHeaders {
  const secure = peer.rootUrl.startsWith("https:") ? "; Secure" : "";
  return {
    "set-cookie": `${sessionCookie(peer)}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAge}${secure}`,
  };
}
