/**
 * A request on a connection that says `"generate": false`: agents send what they will go on from before there is anything to ask.
 * No model is asked, and nothing is charged or kept; the connection remembers it under the id of the response.
 */
import { ResponseStreamEventSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import type { Answer, Frames } from "../../call/call.ts";
import { modelsOf } from "../../pipeline/complete/candidates.ts";
import type { JsonObject } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";
import { emptyResponse } from "./empty-response.ts";
import type { Resolved } from "./input.ts";
import type { CreateCall, ResponsesParts } from "./parts.ts";

/** Elsewhere the key is a vendor's own. */
export function isWarmup({ request, remembered }: CreateCall): boolean {
  return remembered !== undefined && request.outline().generate === false;
}

const noUsage: JsonObject = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
};

/** Throws a Refusal for a model that the key may not call. */
export function warmedUp(
  call: CreateCall,
  { request, conversation }: Resolved,
  { catalog, clock }: ResponsesParts,
): Answer<typeof ResponseStreamEventSchema> {
  modelsOf("responses", { caller: call.caller, request }, catalog);
  const response: JsonObject = { ...emptyResponse(call, clock()), store: false };
  call.remembered?.keep(response.id as string, { pieces: conversation, isKept: false });
  const whole: JsonObject = { ...response, status: "completed", usage: noUsage };
  return { kind: "stream", frames: told(response, whole) };
}

async function* told(response: JsonObject, whole: JsonObject): Frames<typeof ResponseStreamEventSchema> {
  const events: readonly JsonObject[] = [
    { type: "response.created", sequence_number: 0, response },
    { type: "response.completed", sequence_number: 1, response: whole },
  ];
  yield events.map((event) => Wire.ofJson(ResponseStreamEventSchema, event));
}
