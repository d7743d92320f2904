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
import { proofFailed, secondFactorNeeded, signInFailed, userSuspended } from "../../call/refusals.ts";
import { networkOf } from "../../runtime/net/networks.ts";
import { hashPassword, newPassword, verifyPassword } from "../../runtime/secrets.ts";
import type { UserRow } from "../../storage/people/users.ts";
import type { Storage, Stores } from "../../storage/storage.ts";
import { whole } from "../whole.ts";
import type { Attempts } from "./attempts.ts";
import { beginSession } from "./begin-session.ts";
import { verifySecondFactor } from "./second-factor.ts";
import { requireSession, unchangedUser } from "./unchanged-user.ts";
import { userMessage } from "./user-message.ts";

export interface SignInParts {
  readonly storage: Pick<Storage, "users" | "sessions" | "transact">;
  readonly attempts: Attempts;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

type SignInRpcs = Pick<ServiceImplementation<typeof SessionService>, "signIn" | "changePassword">;

export function signInRpcs({ storage, attempts, clock }: SignInParts): SignInRpcs {
  const { users, sessions, transact } = storage;
  let decoy: Promise<string> | undefined;

  /** Returns the current user if the password is right. It takes as long without a user. */
  async function proved(user: UserRow | undefined, password: string): Promise<UserRow | undefined> {
    decoy ??= hashPassword(newPassword());
    const noHash = await decoy;
    attempts.refuseBusy();
    const right = await verifyPassword(password, user?.password_hash ?? noHash);
    if (!right || !user) return undefined;
    // Meanwhile the user may have been removed or the password changed.
    const still = await users.find(user.id);
    return still?.password_hash === user.password_hash ? still : undefined;
  }

  async function isSignedInFrom(userId: string, { address }: Peer): Promise<boolean> {
    const list = await sessions.list(userId, clock());
    return list.some((session) => networkOf(session.address) === networkOf(address));
  }

  return {
    async signIn(call) {
      const { email: written = "", password = "", code } = call.request.message();
      const email = written.trim().toLowerCase();
      await attempts.countPeer(call.peer);
      const claimed = await users.findByEmail(email);
      // Looked for also where nobody has the address: that takes as long.
      const isKnown = await isSignedInFrom(claimed?.id ?? "", call.peer);
      await attempts.countSignIn(email, call.peer, isKnown);
      const user = await proved(claimed, password);
      if (!user) throw signInFailed(code ? anyOfThree : undefined);
      if (code && user.totp_secret !== null) await attempts.countCode(user.id);
      const now = clock();
      const { headers, signedIn } = await transact(async (stores) => {
        await admit(stores, user, code, now);
        const headers = await beginSession(stores.sessions, call, user.id, now);
        return { headers, signedIn: (await stores.users.find(user.id)) ?? user };
      });
      return { ...whole(SignInResponseSchema, { user: userMessage(signedIn) }), headers };
    },
    async changePassword({ request, caller }) {
      const { current = "", password = "" } = request.message();
      await attempts.countUser(caller.userId);
      const user = await proved(await users.find(caller.userId), current);
      if (!user) throw proofFailed("password");
      const passwordHash = await hashPassword(password);
      await transact(async (stores) => {
        await requireSession(stores, user, caller, clock());
        await stores.users.setPassword(user.id, passwordHash);
        await stores.sessions.revokeAll(user.id, caller.sessionId);
        await stores.links.withdraw(LinkKind.PASSWORD, user.id);
      });
      return whole(ChangePasswordResponseSchema, {});
    },
  };
}

/** admit uses up the code of a user whose password was right. Throws a Refusal if the user may not sign in. */
async function admit(stores: Stores, user: UserRow, code: string | undefined, now: number): Promise<void> {
  const still = await unchangedUser(stores, user);
  if (!still) throw signInFailed(code ? anyOfThree : undefined);
  if ((await stores.accounts.find(user.account_id))?.suspended_at !== null) throw userSuspended();
  if (still.totp_secret === null) return;
  if (!code) throw secondFactorNeeded();
  if (!(await verifySecondFactor(stores.users, still, code, now))) throw signInFailed(anyOfThree);
}

const anyOfThree = "the e-mail address, the password or the code is wrong";
