/**
 * The RPCs of one-time links: the first user, invitations, new passwords; and registration without a link where that
 * is open.
 *
 * Using a link and doing its work are one transaction. The password is hashed before it, since hashing takes long.
 */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  DescribeLinkResponseSchema,
  LinkKind,
  RegisterResponseSchema,
  ResetPasswordResponseSchema,
  type SessionService,
  SetUpResponseSchema,
} from "../../../gen/modelgateway/v1/sessions_pb.ts";
import type { AnswerHeaders, Call, ServiceImplementation } from "../../call/call.ts";
import { internal, invalidValue, linkInvalid, registrationClosed, userSuspended } from "../../call/refusals.ts";
import { hashPassword, hashToken } from "../../runtime/secrets.ts";
import type { LinkRow } from "../../storage/people/links.ts";
import type { UserRow } from "../../storage/people/users.ts";
import type { Storage } from "../../storage/storage.ts";
import { whole } from "../whole.ts";
import { addUser } from "./add-user.ts";
import type { Attempts } from "./attempts.ts";
import { beginSession } from "./begin-session.ts";
import { userMessage } from "./user-message.ts";

export interface RegistrationParts {
  readonly storage: Pick<Storage, "accounts" | "users" | "sessions" | "links" | "transact">;
  readonly attempts: Attempts;
  /** registration is who may register. */
  readonly registration: "open" | "invitation" | "closed";
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

type Rpcs<M extends keyof ServiceImplementation<typeof SessionService>> = Pick<
  ServiceImplementation<typeof SessionService>,
  M
>;
type LinkRpcs = Rpcs<"describeLink" | "setUp" | "resetPassword">;
type RegisterRpc = Rpcs<"register">;

export function registrationRpcs(parts: RegistrationParts): LinkRpcs & RegisterRpc {
  const access = createLinkAccess(parts);
  return { ...linkRpcs(parts, access), ...registerRpc(parts, access) };
}

/** LinkAccess is what the RPCs do with links. */
interface LinkAccess {
  /**
   * find returns a valid link, of this kind if one is given. Throws a Refusal for an invalid one, before any work is
   * done.
   */
  find(token: string, kind?: LinkKind): LinkRow;
  /** use uses the link up and does the work, in one transaction. Throws a Refusal if the link was used meanwhile. */
  use<T>(token: string, kind: LinkKind, now: number, work: (link: LinkRow) => T): T;
  /** signInNew begins the session of a user who was just created. */
  signInNew(call: Pick<Call, "caller" | "peer" | "header">, userId: string, now: number): NewSession;
}

interface NewSession {
  readonly user: ReturnType<typeof userMessage>;
  readonly headers: AnswerHeaders;
}

function createLinkAccess({ storage: { users, sessions, links }, clock }: RegistrationParts): LinkAccess {
  return {
    find(token, kind) {
      const link = links.findByTokenHash(hashToken(token), clock());
      if (!link || (kind !== undefined && link.kind !== kind)) throw linkInvalid();
      return link;
    },
    use(token, kind, now, work) {
      const done = links.use(hashToken(token), kind, now, (link) => ({ result: work(link) }));
      if (!done) throw linkInvalid();
      return done.result;
    },
    signInNew(call, userId, now) {
      const headers = beginSession(sessions, call, userId, now);
      return { user: userMessage(requireUser(users.find(userId))), headers };
    },
  };
}

function linkRpcs({ storage, attempts, clock }: RegistrationParts, { find, use, signInNew }: LinkAccess): LinkRpcs {
  const { users, sessions, links } = storage;
  return {
    async describeLink({ request, peer }) {
      await attempts.countPeer(peer);
      const link = find(request.message().link ?? "");
      const email = link.email ?? link.user_email;
      return whole(DescribeLinkResponseSchema, {
        kind: link.kind as LinkKind,
        ...(email === null ? {} : { email }),
        ...(link.account_name === null ? {} : { accountName: link.account_name }),
        expiresAt: timestampFromMs(link.expires_at),
      });
    },
    async setUp(call) {
      const { link: token = "", email = "", password = "", accountName } = call.request.message();
      await attempts.countPeer(call.peer);
      find(token, LinkKind.SET_UP);
      const passwordHash = await hashPassword(password);
      const now = clock();
      const id = use(token, LinkKind.SET_UP, now, () => {
        // The command line may have made another user an operator since the link was printed.
        if (users.countOperators() > 0) throw linkInvalid();
        return addUser(storage, { email: lowerCased(email), passwordHash, accountName, operator: true, now });
      });
      const { user, headers } = signInNew(call, id, now);
      return { ...whole(SetUpResponseSchema, { user }), headers };
    },
    async resetPassword({ request, peer }) {
      const { link: token = "", password = "" } = request.message();
      await attempts.countPeer(peer);
      find(token, LinkKind.PASSWORD);
      const passwordHash = await hashPassword(password);
      const userId = use(token, LinkKind.PASSWORD, clock(), ({ user_id }) => {
        const user = requireUser(users.find(user_id ?? ""));
        users.setPassword(user.id, passwordHash);
        sessions.revokeAll(user.id);
        // Withdraws all other password links of this user.
        links.withdraw(LinkKind.PASSWORD, user.id);
        return user.id;
      });
      return whole(ResetPasswordResponseSchema, { userId });
    },
  };
}

function registerRpc(parts: RegistrationParts, { find, use, signInNew }: LinkAccess): RegisterRpc {
  const { storage, attempts, registration, clock } = parts;

  /** checkGuest throws a Refusal if the address may not use the invitation, or could not sign in to its account. */
  function checkGuest({ email, account_id }: LinkRow, asked: string): void {
    if (email !== null && email !== asked) throw invalidValue("email", "this invitation is for another e-mail address");
    if (account_id !== null && storage.accounts.find(account_id)?.suspended_at !== null) throw userSuspended();
  }

  return {
    async register(call) {
      const { link: token, email: written = "", password = "", accountName } = call.request.message();
      await attempts.countPeer(call.peer);
      if (registration === "closed") throw registrationClosed(false);
      if (!token && registration !== "open") throw registrationClosed(true);
      const email = lowerCased(written);
      if (token) checkGuest(find(token, LinkKind.INVITATION), email);
      const passwordHash = await hashPassword(password);
      const now = clock();
      const join = (accountId: string | null) =>
        addUser(storage, { email, passwordHash, accountId, accountName, operator: false, now });
      const id = token
        ? use(token, LinkKind.INVITATION, now, (link) => {
            checkGuest(link, email);
            return join(link.account_id);
          })
        : storage.transact(() => join(null));
      const { user, headers } = signInNew(call, id, now);
      return { ...whole(RegisterResponseSchema, { user }), headers };
    },
  };
}

function lowerCased(email: string): string {
  return email.toLowerCase();
}

function requireUser(user: UserRow | undefined): UserRow {
  if (!user) throw internal(new Error("a link leads to a user that there is not"));
  return user;
}
