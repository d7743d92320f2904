/**
 * A request for a response as its upstream gets it: without storage, and with reasoning in a form that the next turn
 * can send back.
 */
import type { CreateResponseRequestSchema } from "../../../../gen/modelgateway/v1/responses_pb.ts";
import { invalidValue } from "../../../call/refusals.ts";
import type { CooperativeTask } from "../../../runtime/cooperative.ts";
import { type JsonValue, listOrEmpty } from "../../../wire/json.ts";
import type { Wire } from "../../../wire/wire.ts";
import type { Dropped } from "../../paths/dropped.ts";
import type { IsUnpriced, ReasoningItems } from "../../translation.ts";
import { relayedInput } from "./conversation.ts";
import { changedTools } from "./tools.ts";

type CreateRequest = Wire<typeof CreateResponseRequestSchema>;

/** Members that the gateway serves itself. */
const own = ["previous_response_id", "background", "conversation"] as const;

const encrypted = "reasoning.encrypted_content";

/** relayedRequest throws a Refusal for what the gateway does not store. */
export function* relayedRequest(
  request: CreateRequest,
  items: ReasoningItems,
  isUnpriced: IsUnpriced,
  dropped: Dropped,
): CooperativeTask<CreateRequest> {
  const json = request.outline();
  if ((json.prompt ?? null) !== null) {
    throw invalidValue("prompt", "the gateway keeps no prompt templates; send the prompt itself");
  }
  const changes: Record<string, JsonValue | undefined> = { store: false };
  for (const key of own) if (Object.hasOwn(json, key)) changes[key] = undefined;
  // An outline may have fillers in place of long strings.
  const all = request.isLong ? request.json() : json;
  const { input, include: asked } = all;
  const include = includedIn(asked, json.store !== false, items);
  if (include !== asked) changes.include = include;
  const relayed = Array.isArray(input) ? yield* relayedInput(input, items, isUnpriced, dropped) : undefined;
  const tools = changedTools(all, isUnpriced, dropped);
  if (relayed) changes.input = relayed;
  Object.assign(changes, tools);
  return (relayed ?? tools.tools) === undefined ? request.with(changes) : request.changedBy(changes);
}

/** includedIn returns `include`. A stored response must have its reasoning, and a model that does not reason refuses to be asked for it. */
function includedIn(
  asked: JsonValue | undefined,
  isKept: boolean,
  { areAskedFor, taken }: ReasoningItems,
): JsonValue | undefined {
  const words = listOrEmpty(asked);
  const isNamed = words.includes(encrypted);
  if (areAskedFor && isKept && !isNamed) return [...words, encrypted];
  if (taken === "plain" || taken === "own" || areAskedFor || !isNamed) return asked;
  const others = words.filter((word) => word !== encrypted);
  return others.length > 0 ? others : undefined;
}
