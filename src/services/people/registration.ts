/**
 * What one-time links are good for: the first user, a user who was invited, a new password. And registration without a
 * link, where the operator lets everybody.
 *
 * A link and what it is used for are one transaction. What takes long, the hash of the password, is made before.
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
  /** Who may register. */
  readonly registration: "open" | "invitation" | "closed";
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

type RegistrationRpcs = Pick<
  ServiceImplementation<typeof SessionService>,
  "describeLink" | "setUp" | "register" | "resetPassword"
>;

export function registrationRpcs({ storage, attempts, registration, clock }: RegistrationParts): RegistrationRpcs {
  const { accounts, users, sessions, links } = storage;

  /** Refuses a link that is not good before anything is done for it. */
  function find(token: string, kind?: LinkKind): LinkRow {
    const link = links.findByTokenHash(hashToken(token), clock());
    if (!link || (kind !== undefined && link.kind !== kind)) throw linkInvalid();
    return link;
  }

  /** Uses the link for the work, unless somebody else did meanwhile. */
  function use<T>(token: string, kind: LinkKind, now: number, work: (link: LinkRow) => T): T {
    const done = links.use(hashToken(token), kind, now, (link) => ({ result: work(link) }));
    if (!done) throw linkInvalid();
    return done.result;
  }

  /** Refuses who may not use an invitation, or would be refused every sign-in after it. */
  function checkGuest({ email, account_id }: LinkRow, asked: string): void {
    if (email !== null && email !== asked) throw invalidValue("email", "this invitation is for another e-mail address");
    if (account_id !== null && accounts.find(account_id)?.suspended_at !== null) throw userSuspended();
  }

  /** Begins the session of a user who was just made. */
  function welcome(call: Pick<Call, "caller" | "peer" | "header">, userId: string, now: number) {
    const headers: AnswerHeaders = beginSession(sessions, call, userId, now);
    return { user: userMessage(made(users.find(userId))), headers };
  }

  return {
    async describeLink({ request, peer }) {
      await attempts.from(peer);
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
      await attempts.from(call.peer);
      find(token, LinkKind.SET_UP);
      const passwordHash = await hashPassword(password);
      const now = clock();
      const id = use(token, LinkKind.SET_UP, now, () => {
        // The command line may have made an operator of another user since the link was printed.
        if (users.countOperators() > 0) throw linkInvalid();
        return addUser(storage, { email: lower(email), passwordHash, accountName, operator: true, now });
      });
      const { user, headers } = welcome(call, id, now);
      return { ...whole(SetUpResponseSchema, { user }), headers };
    },
    async register(call) {
      const { link: token, email: written = "", password = "", accountName } = call.request.message();
      await attempts.from(call.peer);
      if (registration === "closed") throw registrationClosed(false);
      if (!token && registration !== "open") throw registrationClosed(true);
      const email = lower(written);
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
      const { user, headers } = welcome(call, id, now);
      return { ...whole(RegisterResponseSchema, { user }), headers };
    },
    async resetPassword({ request, peer }) {
      const { link: token = "", password = "" } = request.message();
      await attempts.from(peer);
      find(token, LinkKind.PASSWORD);
      const passwordHash = await hashPassword(password);
      const userId = use(token, LinkKind.PASSWORD, clock(), ({ user_id }) => {
        const user = made(users.find(user_id ?? ""));
        users.setPassword(user.id, passwordHash);
        sessions.revokeAll(user.id);
        // Whoever else holds a link for this user is too late.
        links.withdraw(LinkKind.PASSWORD, user.id);
        return user.id;
      });
      return whole(ResetPasswordResponseSchema, { userId });
    },
  };
}

function lower(email: string): string {
  return email.toLowerCase();
}

function made(user: UserRow | undefined): UserRow {
  if (!user) throw internal(new Error("a link leads to a user that there is not"));
  return user;
}
