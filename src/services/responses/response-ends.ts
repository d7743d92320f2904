/** Builds the JSON of failed and cancelled responses, and unary answers from the JSON of responses. */
import { ModelResponseSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import type { Answer } from "../../call/call.ts";
import type { Refusal } from "../../call/refusals.ts";
import type { JsonObject } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";

/** failedJson returns the response as failed, with the refusal as its error. */
export function failedJson(response: JsonObject, { status, message }: Refusal): JsonObject {
  const code = status >= 500 ? "server_error" : status === 429 ? "rate_limit_exceeded" : "invalid_prompt";
  return { ...response, status: "failed", error: { code, message } };
}

export function cancelledJson(response: JsonObject): JsonObject {
  return { ...response, status: "cancelled" };
}

export function responseAnswer(json: JsonObject): Answer<typeof ModelResponseSchema> {
  return { kind: "whole", body: Wire.ofJson(ModelResponseSchema, json) };
}
