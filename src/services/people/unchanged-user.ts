/** Says within a transaction whether a user, and the user's session, are still those that were verified before it. */
import type { Caller } from "../../call/call.ts";
import { sessionEnded } from "../../call/refusals.ts";
import type { UserRow } from "../../storage/people/users.ts";
import type { Stores } from "../../storage/storage.ts";

/**
 * unchangedUser resolves to the user as it is now, unless it was removed or has another password since. Nobody changes it, or
 * suspends its account, until the transaction ends: a session that begins meanwhile is ended by whoever does so.
 */
export async function unchangedUser(
  { accounts, users }: Pick<Stores, "accounts" | "users">,
  user: UserRow,
): Promise<UserRow | undefined> {
  await accounts.lock(user.account_id);
  await users.lock(user.id);
  const still = await users.find(user.id);
  return still?.password_hash === user.password_hash ? still : undefined;
}

/**
 * requireSession throws a Refusal where another password, or a change of the second factor by another session, has ended the caller's session
 * since: of two sessions that change how their user signs in, the first one decides.
 */
export async function requireSession(stores: Stores, user: UserRow, caller: Caller, now: number): Promise<void> {
  const still = await unchangedUser(stores, user);
  const sessions = still ? await stores.sessions.list(user.id, now) : [];
  if (!sessions.some(({ id }) => id === caller.sessionId)) throw sessionEnded();
}
