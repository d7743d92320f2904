/**
 * Reads JSON as the message that it has to fit: an upstream's answer, the chat request that a translation has made, or a part of a request
 * that its schema leaves open.
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { CreateChatCompletionRequestSchema } from "../../gen/modelgateway/v1/chat_pb.ts";
import { asRefusal, invalidType, invalidValue, upstreamFailed } from "../call/refusals.ts";
import type { CooperativeTask } from "../runtime/cooperative.ts";
import { WireFault } from "../wire/fault.ts";
import { isObject, type JsonObject, type JsonValue } from "../wire/json.ts";
import { readMessage } from "../wire/read.ts";
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

/** readPart returns the message. Throws a Refusal with the path of what does not fit; `path` is the part's. */
export function readPart<D extends DescMessage>(desc: D, json: JsonValue, path: string): MessageShape<D> {
  if (!isObject(json)) throw invalidType(path, "expected an object");
  try {
    return readMessage(desc, json, { lenient: false });
  } catch (fault) {
    if (!(fault instanceof WireFault)) throw fault;
    const at = fault.path === "" ? path : `${path}.${fault.path}`;
    throw fault.kind === "type" ? invalidType(at, fault.message) : invalidValue(at, fault.message);
  }
}
