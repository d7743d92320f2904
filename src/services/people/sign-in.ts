/**
 * Signing in, and changing the password.
 *
 * Neither the message of a refusal nor its timing reveals which e-mail addresses exist. Suspension and the second
 * factor are revealed only to callers who know the password.
 */
import {
  ChangePasswordResponseSchema,
  LinkKind,
  type SessionService,
  SignInResponseSchema,
} from "../../../gen/modelgateway/v1/sessions_pb.ts";
import type { Peer, ServiceImplementation } from "../../call/call.ts";
import { proofFailed, secondFactorNeeded, sessionEnded, signInFailed, userSuspended } from "../../call/refusals.ts";
import { networkOf } from "../../limits/networks.ts";
import { hashPassword, newPassword, verifyPassword } from "../../runtime/secrets.ts";
import type { UserRow } from "../../storage/people/users.ts";
import type { Storage } from "../../storage/storage.ts";
import { whole } from "../whole.ts";
import type { Attempts } from "./attempts.ts";
import { beginSession } from "./begin-session.ts";
import { verifySecondFactor } from "./second-factor.ts";
import { userMessage } from "./user-message.ts";

export interface SignInParts {
  readonly storage: Pick<Storage, "accounts" | "users" | "sessions" | "links">;
  readonly attempts: Attempts;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

type SignInRpcs = Pick<ServiceImplementation<typeof SessionService>, "signIn" | "changePassword">;

export function signInRpcs({ storage, attempts, clock }: SignInParts): SignInRpcs {
  const { accounts, users, sessions, links } = storage;
  let decoy: Promise<string> | undefined;

  /** Returns the current user if the password is right. It takes as long without a user. */
  async function proved(user: UserRow | undefined, password: string): Promise<UserRow | undefined> {
    decoy ??= hashPassword(newPassword());
    const noHash = await decoy;
    const right = await verifyPassword(password, user?.password_hash ?? noHash);
    if (!right || !user) return undefined;
    // Meanwhile the user may have been removed or the password changed.
    const still = users.find(user.id);
    return still?.password_hash === user.password_hash ? still : undefined;
  }

  function isSignedInFrom(userId: string, { address }: Peer): boolean {
    return sessions.list(userId, clock()).some((session) => networkOf(session.address) === networkOf(address));
  }

  return {
    async signIn(call) {
      const { email: written = "", password = "", code } = call.request.message();
      const email = written.trim().toLowerCase();
      await attempts.countPeer(call.peer);
      const claimed = users.findByEmail(email);
      await attempts.countSignIn(email, call.peer, claimed !== undefined && isSignedInFrom(claimed.id, call.peer));
      const user = await proved(claimed, password);
      if (!user) throw signInFailed(code ? anyOfThree : undefined);
      const now = clock();
      if (accounts.find(user.account_id)?.suspended_at !== null) throw userSuspended();
      if (user.totp_secret !== null) {
        if (!code) throw secondFactorNeeded();
        if (!verifySecondFactor(users, user, code, now)) throw signInFailed(anyOfThree);
      }
      const headers = beginSession(sessions, call, user.id, now);
      return { ...whole(SignInResponseSchema, { user: userMessage(users.find(user.id) ?? user) }), headers };
    },
    async changePassword({ request, caller }) {
      const { current = "", password = "" } = request.message();
      await attempts.countUser(caller.userId);
      const user = await proved(users.find(caller.userId), current);
      if (!user) throw proofFailed("password");
      const passwordHash = await hashPassword(password);
      // A concurrent change of the password may have been made to end this session.
      if (users.find(user.id)?.password_hash !== user.password_hash) throw sessionEnded();
      users.setPassword(user.id, passwordHash);
      sessions.revokeAll(user.id, caller.sessionId);
      links.withdraw(LinkKind.PASSWORD, user.id);
      return whole(ChangePasswordResponseSchema, {});
    },
  };
}

const anyOfThree = "the e-mail address, the password or the code is wrong";
