/** The operator's RPCs for users and one-time links. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  CreateLinkResponseSchema,
  ListUsersResponseSchema,
  type OperatorService,
  RemoveUserResponseSchema,
  UpdateUserResponseSchema,
} from "../../../gen/modelgateway/v1/operator_pb.ts";
import { LinkKind } from "../../../gen/modelgateway/v1/sessions_pb.ts";
import type { ServiceImplementation } from "../../call/call.ts";
import { conflict, invalidValue, resourceNotFound } from "../../call/refusals.ts";
import type { UserRow } from "../../storage/people/users.ts";
import type { Stores } from "../../storage/storage.ts";
import { createOnce } from "../idempotency.ts";
import { pageOf } from "../page.ts";
import { defaultValidMs, issueLink, linkUrl } from "../people/links.ts";
import { userMessage } from "../people/user-message.ts";
import { whole } from "../whole.ts";
import { findAccount } from "./operator-accounts.ts";
import type { OperatorParts } from "./parts.ts";

type Rpcs = Pick<
  ServiceImplementation<typeof OperatorService>,
  "listUsers" | "updateUser" | "removeUser" | "createLink"
>;

export function operatorUsers({ storage, clock }: OperatorParts): Rpcs {
  const { users } = storage;
  return {
    async listUsers({ request }) {
      const message = request.message();
      const search = message.search || undefined;
      const { items, next } = await pageOf(message, "usr", (after, limit) => users.page({ search, after, limit }));
      return whole(ListUsersResponseSchema, { users: items.map(userMessage), ...next });
    },
    async updateUser({ request, caller }) {
      const { userId = "", operator, secondFactor } = request.message();
      const { id } = await known(users, userId);
      await storage.transact(async ({ users, sessions }) => {
        if (operator !== undefined && (await users.setOperator(id, operator)) === "last") throw lastOperator();
        if (secondFactor !== false) return;
        await users.disableFactor(id);
        await sessions.revokeAll(id, caller.sessionId);
      });
      return whole(UpdateUserResponseSchema, { user: userMessage(await known(users, userId)) });
    },
    async removeUser({ request }) {
      const { userId = "" } = request.message();
      const removed = await users.remove(userId);
      if (removed === "absent") throw unknownUser(userId);
      if (removed === "last") throw lastOperator();
      return whole(RemoveUserResponseSchema, { userId });
    },
    async createLink(call) {
      const { userId, account, email, validSeconds } = call.request.message();
      if (userId !== undefined && (account ?? email) !== undefined) throw eitherPasswordOrInvitation();
      const kind = userId === undefined ? LinkKind.INVITATION : LinkKind.PASSWORD;
      const now = clock();
      const validMs = validSeconds === undefined ? defaultValidMs : validSeconds * 1000;
      const issue = async ({ links, users, accounts }: Stores) =>
        issueLink(links, {
          ...{ kind, email, now, validMs },
          userId: userId === undefined ? undefined : (await known(users, userId)).id,
          accountId: account === undefined ? undefined : (await findAccount(accounts, account)).id,
        });
      const { id, made, headers } = await createOnce(storage.transact, call, now, issue);
      const link = made && {
        url: linkUrl(call.peer.rootUrl, kind, made.token),
        expiresAt: timestampFromMs(made.expiresAt),
      };
      return whole(CreateLinkResponseSchema, { linkId: id, ...link }, headers);
    },
  };
}

/** known throws a Refusal if there is no such user. */
async function known(users: Stores["users"], id: string): Promise<UserRow> {
  const user = await users.find(id);
  if (!user) throw unknownUser(id);
  return user;
}

function unknownUser(id: string) {
  return resourceNotFound("user", id, "user_id");
}

function lastOperator() {
  return conflict("LAST_OPERATOR");
}

function eitherPasswordOrInvitation() {
  return invalidValue("user_id", "a link for a user's password invites nobody; leave out `account` and `email`");
}
