/**
 * SessionService: who is signed in to the dashboard, and the user's sessions. Signing in, the second factor and
 * one-time links have files of their own.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  GetSessionResponseSchema,
  ListSessionsResponseSchema,
  Registration,
  RevokeOtherSessionsResponseSchema,
  RevokeSessionResponseSchema,
  type SessionSchema,
  type SessionService,
  SignOutResponseSchema,
} from "../../../gen/modelgateway/v1/sessions_pb.ts";
import type { ServiceImplementation } from "../../call/call.ts";
import { resourceNotFound } from "../../call/refusals.ts";
import type { Limiter } from "../../limits/limiter.ts";
import type { Session } from "../../storage/people/sessions.ts";
import type { Storage } from "../../storage/storage.ts";
import { whole } from "../whole.ts";
import { createAttempts } from "./attempts.ts";
import { clearCookie } from "./begin-session.ts";
import { registrationRpcs } from "./registration.ts";
import { secondFactorRpcs } from "./second-factor.ts";
import { signInRpcs } from "./sign-in.ts";
import { userMessage } from "./user-message.ts";

export interface SessionParts {
  readonly storage: Pick<Storage, "accounts" | "users" | "sessions" | "links" | "transact">;
  /** limiter limits attempts to sign in. */
  readonly limiter: Limiter;
  readonly settings: () => SessionSettings;
  readonly unit: { readonly code: string; readonly symbol: string };
  /** docs is whether the documentation is served. */
  readonly docs: boolean;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

/** SessionSettings may change while the gateway serves. */
interface SessionSettings {
  /** registration is who may register. */
  readonly registration: "open" | "invitation" | "closed";
  /** publicUrls are the configured base URLs by region. */
  readonly publicUrls: { readonly [name in "direct" | "cdn" | "cn"]?: string | undefined };
}

const registrations = {
  open: Registration.OPEN,
  invitation: Registration.INVITATION,
  closed: Registration.CLOSED,
} as const;

export function sessionService(parts: SessionParts): ServiceImplementation<typeof SessionService> {
  const { storage, limiter, settings, unit, docs, clock } = parts;
  const { users, sessions } = storage;
  const attempts = createAttempts(limiter);
  return {
    ...signInRpcs({ storage, attempts, clock }),
    ...registrationRpcs({ storage, attempts, settings, clock }),
    ...secondFactorRpcs({ storage, attempts, clock }),
    async getSession({ caller, peer }) {
      const user = caller.userId === "" ? undefined : await users.find(caller.userId);
      const { registration, publicUrls } = settings();
      const { direct = "", cdn = "", cn = "" } = publicUrls;
      return whole(GetSessionResponseSchema, {
        ...(user ? { user: userMessage(user) } : {}),
        registration: registrations[registration],
        awaitsSetUp: (await users.countOperators()) === 0,
        unit,
        addresses: { root: peer.rootUrl, direct, cdn, cn },
        docs,
      });
    },
    async signOut({ caller, peer }) {
      await sessions.revoke(caller.userId, caller.sessionId);
      return { ...whole(SignOutResponseSchema, {}), headers: clearCookie(peer) };
    },
    async listSessions({ caller }) {
      const list = await sessions.list(caller.userId, clock());
      return whole(ListSessionsResponseSchema, {
        sessions: list.map((session) => sessionMessage(session, caller.sessionId)),
      });
    },
    async revokeSession({ request, caller, peer }) {
      const { id = "" } = request.message();
      // An id of the wrong form may be a secret in the wrong field: it is not repeated.
      if (!(await sessions.revoke(caller.userId, id)))
        throw resourceNotFound("session", id.startsWith("ses_") ? id : "…");
      const answer = whole(RevokeSessionResponseSchema, {});
      return id === caller.sessionId ? { ...answer, headers: clearCookie(peer) } : answer;
    },
    async revokeOtherSessions({ caller }) {
      const revoked = await sessions.revokeAll(caller.userId, caller.sessionId);
      return whole(RevokeOtherSessionsResponseSchema, { revoked });
    },
  };
}

function sessionMessage(session: Session, currentId: string): MessageInitShape<typeof SessionSchema> {
  const { id, address, user_agent, created_at, last_seen_at, expires_at } = session;
  return {
    id,
    current: id === currentId,
    address,
    userAgent: user_agent,
    createdAt: timestampFromMs(created_at),
    lastSeenAt: timestampFromMs(last_seen_at),
    expiresAt: timestampFromMs(expires_at),
  };
}
