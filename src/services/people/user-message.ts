/** Builds the API message of a user. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { UserSchema } from "../../../gen/modelgateway/v1/operator_pb.ts";
import type { UserRow } from "../../storage/people/users.ts";

export function userMessage(user: UserRow): MessageInitShape<typeof UserSchema> {
  return {
    id: user.id,
    email: user.email,
    accountId: user.account_id,
    accountName: user.account_name,
    operator: user.is_operator === 1,
    secondFactor: user.totp_secret !== null,
    createdAt: timestampFromMs(user.created_at),
    ...(user.last_seen_at === null ? {} : { lastSeenAt: timestampFromMs(user.last_seen_at) }),
  };
}
