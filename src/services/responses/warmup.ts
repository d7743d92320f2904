/**
 * Answers warm-up requests, `"generate": false` over a WebSocket: agents send the beginning of a conversation before
 * they have a question. No model is called, and nothing is charged or stored; the connection remembers the
 * conversation under the response's id.
 */
import { ResponseStreamEventSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import type { Answer, Frames } from "../../call/call.ts";
import { modelsOf } from "../../pipeline/complete/candidates.ts";
import type { JsonObject } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";
import { emptyResponse } from "./empty-response.ts";
import type { Resolved } from "./input.ts";
import type { CreateCall, ResponsesParts } from "./parts.ts";

/** isWarmup is true on connections that remember conversations only; elsewhere `generate` is a vendor's own key. */
export function isWarmup({ request, remembered }: CreateCall): boolean {
  return remembered !== undefined && request.outline().generate === false;
}

const noUsage: JsonObject = {
  input_tokens: 0,
  input_tokens_details: { cache_write_tokens: 0, cached_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
};

/** answerWarmup throws a Refusal for a model that the key may not call. */
export function answerWarmup(
  call: CreateCall,
  { request, conversation }: Resolved,
  { catalog, clock }: ResponsesParts,
): Answer<typeof ResponseStreamEventSchema> {
  modelsOf("responses", { caller: call.caller, request }, catalog);
  const response: JsonObject = { ...emptyResponse(call, clock()), store: false };
  call.remembered?.keep(response.id as string, { pieces: conversation, isKept: false });
  const whole: JsonObject = { ...response, status: "completed", usage: noUsage };
  return { kind: "stream", frames: warmupEvents(response, whole) };
}

async function* warmupEvents(response: JsonObject, whole: JsonObject): Frames<typeof ResponseStreamEventSchema> {
  const events: readonly JsonObject[] = [
    { type: "response.created", sequence_number: 0, response },
    { type: "response.completed", sequence_number: 1, response: whole },
  ];
  yield events.map((event) => Wire.ofJson(ResponseStreamEventSchema, event));
}
