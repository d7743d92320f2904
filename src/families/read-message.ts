/** Reads JSON as the message that it has to fit: an upstream's answer, or the chat request that a translation has made. */
import { CreateChatCompletionRequestSchema } from "../../gen/modelgateway/v1/chat_pb.ts";
import { asRefusal, upstreamFailed } from "../call/refusals.ts";
import type { CooperativeTask } from "../runtime/cooperative.ts";
import { WireFault } from "../wire/fault.ts";
import type { JsonObject } from "../wire/json.ts";
import { Wire } from "../wire/wire.ts";

/** readAnswer returns the message. Throws a Refusal where the upstream sent something else: that is no fault of the caller's. */
export function readAnswer<M>(answer: { message(): M }): M {
  try {
    return answer.message();
  } catch (error) {
    throw error instanceof WireFault ? upstreamFailed("its answer cannot be read", error) : error;
  }
}

/**
 * readChatRequest reads the chat request that a caller's request was translated to. Throws a Refusal where it does not fit: a key that the
 * caller's own schema does not know may be one of chat's, with a wrong value.
 */
export function* readChatRequest(chat: JsonObject): CooperativeTask<Wire<typeof CreateChatCompletionRequestSchema>> {
  const wire = Wire.ofJson(CreateChatCompletionRequestSchema, chat);
  yield* wire.readLongMessage();
  try {
    wire.message();
  } catch (fault) {
    throw asRefusal(fault);
  }
  return wire;
}
