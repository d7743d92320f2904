/**
 * `/responses/compact`: turns the request into one that asks for a compaction item, and that request's answer into the
 * conversation that a client continues from.
 */
import type { CreateResponseRequestSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import { isObject, type JsonObject, type JsonValue } from "../../wire/json.ts";
import type { Wire } from "../../wire/wire.ts";

type CreateRequest = Wire<typeof CreateResponseRequestSchema>;

const trigger = { type: "compaction_trigger" };

export async function compactionOf(request: CreateRequest): Promise<CreateRequest> {
  const items = itemsOf(request.json().input);
  const last = items.at(-1);
  const input = isObject(last) && last.type === trigger.type ? [...items] : [...items, trigger];
  const changes = { input, previous_response_id: undefined, stream: undefined, background: undefined };
  return request.isLong ? request.rebuiltWith(changes).writeInSlices() : request.with(changes);
}

/** compactedJson keeps the user's messages unchanged. */
export function compactedJson({ id, created_at, output, usage }: JsonObject, input: JsonValue | undefined): JsonObject {
  const userItems = itemsOf(input).filter((item) => isObject(item) && item.role === "user");
  const items = Array.isArray(output) ? output : [];
  const head = { id: id ?? null, object: "response.compaction", created_at: created_at ?? null };
  return { ...head, output: [...userItems, ...items], usage: usage ?? null };
}

function itemsOf(input: JsonValue | undefined): readonly JsonValue[] {
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  return Array.isArray(input) ? input : [];
}
