/** Builds the API message of an audit event. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ActSchema } from "../../../gen/modelgateway/v1/operator_pb.ts";
import type { AuditEvent } from "../../storage/people/audit-events.ts";

export function auditEventMessage(event: AuditEvent): MessageInitShape<typeof ActSchema> {
  const { id, created_at, action, actor_kind, actor_id, actor_name, account_id, subject, details, refused } = event;
  return {
    id,
    action,
    accountId: account_id,
    subject,
    details,
    refused,
    address: event.address,
    createdAt: timestampFromMs(created_at),
    actor: { kind: actor_kind, id: actor_id, name: actor_name ?? "" },
  };
}
