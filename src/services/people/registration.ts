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
import type { Storage, Stores } from "../../storage/storage.ts";
import { whole } from "../whole.ts";
import { addUser } from "./add-user.ts";
import type { Attempts } from "./attempts.ts";
import { beginSession } from "./begin-session.ts";
import { userMessage } from "./user-message.ts";

export interface RegistrationParts {
  readonly storage: Pick<Storage, "accounts" | "links" | "transact">;
  readonly attempts: Attempts;
  /** settings returns who may register. */
  readonly settings: () => { readonly registration: "open" | "invitation" | "closed" };
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
   * find resolves to a valid link, of this kind if one is given. Throws a Refusal for an invalid one, before any work
   * is done.
   */
  find(token: string, kind?: LinkKind): Promise<LinkRow>;
  /** use uses the link up and does the work, in one transaction. Throws a Refusal if the link was used meanwhile. */
  use<T>(token: string, kind: LinkKind, now: number, work: (link: LinkRow, stores: Stores) => Promise<T>): Promise<T>;
}

interface NewSession {
  readonly user: ReturnType<typeof userMessage>;
  readonly headers: AnswerHeaders;
}

function createLinkAccess({ storage: { links, transact }, clock }: RegistrationParts): LinkAccess {
  return {
    async find(token, kind) {
      const link = await links.findByTokenHash(hashToken(token), clock());
      if (!link || (kind !== undefined && link.kind !== kind)) throw linkInvalid();
      return link;
    },
    use: (token, kind, now, work) =>
      transact(async (stores) => {
        const link = await stores.links.use(hashToken(token), kind, now);
        if (!link) throw linkInvalid();
        return work(link, stores);
      }),
  };
}

/** signInNew begins the session of a user who was just created, in the transaction that created it. */
async function signInNew(
  { users, sessions }: Stores,
  call: Pick<Call, "caller" | "peer" | "header">,
  userId: string,
  now: number,
): Promise<NewSession> {
  const headers = await beginSession(sessions, call, userId, now);
  return { user: userMessage(requireUser(await users.find(userId))), headers };
}

function linkRpcs({ attempts, clock }: RegistrationParts, { find, use }: LinkAccess): LinkRpcs {
  return {
    async describeLink({ request, peer }) {
      await attempts.countPeer(peer);
      const link = await find(request.message().link ?? "");
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
      await find(token, LinkKind.SET_UP);
      const passwordHash = await hashPassword(password);
      const now = clock();
      const { user, headers } = await use(token, LinkKind.SET_UP, now, async (_, stores) => {
        // The command line may have made another user an operator since the link was printed.
        if ((await stores.users.countOperators()) > 0) throw linkInvalid();
        const init = { email: lowerCased(email), passwordHash, accountName, operator: true, now };
        return signInNew(stores, call, await addUser(stores, init), now);
      });
      return { ...whole(SetUpResponseSchema, { user }), headers };
    },
    async resetPassword({ request, peer }) {
      const { link: token = "", password = "" } = request.message();
      await attempts.countPeer(peer);
      await find(token, LinkKind.PASSWORD);
      const passwordHash = await hashPassword(password);
      const userId = await use(token, LinkKind.PASSWORD, clock(), async ({ user_id }, { users, sessions, links }) => {
        const { id } = requireUser(await users.find(user_id ?? ""));
        await users.setPassword(id, passwordHash);
        await sessions.revokeAll(id);
        // Withdraws all other password links of this user.
        await links.withdraw(LinkKind.PASSWORD, id);
        return id;
      });
      return whole(ResetPasswordResponseSchema, { userId });
    },
  };
}

function registerRpc(parts: RegistrationParts, { find, use }: LinkAccess): RegisterRpc {
  const { storage, attempts, settings, clock } = parts;
  return {
    async register(call) {
      const { link: token, email: written = "", password = "", accountName } = call.request.message();
      await attempts.countPeer(call.peer);
      const { registration } = settings();
      if (registration === "closed") throw registrationClosed(false);
      if (!token && registration !== "open") throw registrationClosed(true);
      const email = lowerCased(written);
      if (token) await checkGuest(storage, await find(token, LinkKind.INVITATION), email);
      const passwordHash = await hashPassword(password);
      const now = clock();
      const join = async (stores: Stores, accountId: string | null) => {
        const init = { email, passwordHash, accountId, accountName, operator: false, now };
        return signInNew(stores, call, await addUser(stores, init), now);
      };
      const { user, headers } = await (token
        ? use(token, LinkKind.INVITATION, now, async (link, stores) => {
            if (link.account_id !== null) await stores.accounts.lock(link.account_id);
            await checkGuest(stores, link, email);
            return join(stores, link.account_id);
          })
        : storage.transact((stores) => join(stores, null)));
      return { ...whole(RegisterResponseSchema, { user }), headers };
    },
  };
}

/** checkGuest throws a Refusal if the address may not use the invitation, or could not sign in to its account. */
async function checkGuest(
  { accounts }: Pick<Stores, "accounts">,
  { email, account_id }: LinkRow,
  asked: string,
): Promise<void> {
  if (email !== null && email !== asked) throw invalidValue("email", "this invitation is for another e-mail address");
  if (account_id !== null && (await accounts.find(account_id))?.suspended_at !== null) throw userSuspended();
}

function lowerCased(email: string): string {
  return email.toLowerCase();
}

function requireUser(user: UserRow | undefined): UserRow {
  if (!user) throw internal(new Error("a link leads to a user that there is not"));
  return user;
}
