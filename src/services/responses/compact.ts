/**
 * `/responses/compact`: turns the request into one that asks for a compaction item, and that request's answer into the
 * conversation that a client continues from.
 */
import type { CreateResponseRequestSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import { isObject, type JsonObject, type JsonValue, listOrEmpty, textOrEmpty } from "../../wire/json.ts";
import type { Wire } from "../../wire/wire.ts";
import { listedItem } from "./input-items.ts";

type CreateRequest = Wire<typeof CreateResponseRequestSchema>;

const trigger = { type: "compaction_trigger" };

export async function compactionOf(request: CreateRequest): Promise<CreateRequest> {
  const items = itemsOf(request.json().input);
  const last = items.at(-1);
  const input = isObject(last) && last.type === trigger.type ? [...items] : [...items, trigger];
  const changes = { input, previous_response_id: undefined, stream: undefined, background: undefined };
  return request.rewrittenBy(changes);
}

/** compactedJson keeps the user's messages, as lists have them. */
export function compactedJson({ id, created_at, output, usage }: JsonObject, input: JsonValue | undefined): JsonObject {
  const items = listOrEmpty(output);
  const answerId = textOrEmpty(id).replace(/^resp_/, "");
  const userItems = itemsOf(input)
    .filter(isObject)
    .filter(({ role }) => role === "user")
    .map((item, i) => ({ id: `msg_${answerId}_in${i}`, ...listedItem(item) }));
  const head = { id: id ?? null, object: "response.compaction", created_at: created_at ?? null };
  return { ...head, output: [...userItems, ...items], usage: usage ?? null };
}

function itemsOf(input: JsonValue | undefined): readonly JsonValue[] {
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  return listOrEmpty(input);
}
