/**
 * The RPCs of responses. The pipeline answers them like any model call; before it, references to stored responses are
 * resolved, and after it the answer is stored.
 *
 * An answer is stored when it is complete, before the caller has the end of it, so that a request that continues from
 * it finds it. A failed or broken answer is not stored. An answer that is larger than the limit, or that the storage
 * does not take, is returned with `store: false`: it is charged by then, and its caller has it, and knows that nothing
 * can continue from it.
 */

import type { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import {
  CompactedResponseSchema,
  type CountResponseTokensRequestSchema,
  CreateResponseRequestSchema,
  DeletedResponseSchema,
  ModelResponseSchema,
  type ResponseStreamEventSchema,
  ResponseTokenCountSchema,
} from "../../../gen/modelgateway/v1/responses_pb.ts";
import type { Answer, Call, Frames, ServiceImplementation } from "../../call/call.ts";
import { invalidValue } from "../../call/refusals.ts";
import { countResponseTokens } from "../../pipeline/charge/count-tokens.ts";
import { modelsOf } from "../../pipeline/complete/candidates.ts";
import { runInSlices } from "../../runtime/cooperative.ts";
import type { JsonObject } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";
import { beginInBackground } from "./begin-background.ts";
import { cancelResponse, deleteResponse, findResponse, followResponse } from "./by-id.ts";
import { compactedJson, compactionOf } from "./compact.ts";
import { type Resolved, resolve } from "./input.ts";
import { listInputItems } from "./input-items.ts";
import { storedRowBuilder } from "./kept-row.ts";
import type { CreateCall, ResponsesParts } from "./parts.ts";
import { responseAnswer } from "./response-ends.ts";
import { answerWarmup, isWarmup } from "./warmup.ts";

type Implemented =
  | ("createResponseCompaction" | "createResponse" | "streamResponse" | "getResponse" | "deleteResponse")
  | ("followResponse" | "cancelResponse" | "countResponseTokens" | "listResponseInputItems");

export function responseMethods(
  parts: ResponsesParts,
): Pick<ServiceImplementation<typeof InferenceService>, Implemented> {
  const { complete } = parts;
  return {
    async createResponse(call) {
      const resolved = await resolveRequest(call, parts);
      if (isBackground(call)) {
        const { run, headers } = await beginInBackground(call, resolved, parts, false);
        return { ...responseAnswer(run.response), headers };
      }
      const storeResponse = createStoreResponse(call, resolved, parts);
      const answer = await complete("responses", "whole", { ...call, request: resolved.request });
      if (answer.kind !== "whole") return answer;
      const json = answer.body.json();
      const stored = await storeResponse(json);
      const body = stored === json ? answer.body : Wire.ofJson(ModelResponseSchema, stored);
      return { ...answer, body: answer.body.isLong ? await body.writeInSlices() : body };
    },
    async streamResponse(call) {
      const resolved = await resolveRequest(call, parts);
      if (isBackground(call)) {
        const { run, headers } = await beginInBackground(call, resolved, parts, true);
        return { ...followResponse(run, 0, call.signal), headers };
      }
      if (isWarmup(call)) return answerWarmup(call, resolved, parts);
      const storeResponse = withMemory(call, resolved, createStoreResponse(call, resolved, parts));
      const request = call.remembered ? resolved.request.with({ generate: undefined }) : resolved.request;
      const answer = await complete("responses", "stream", { ...call, request });
      if (answer.kind !== "stream") return answer;
      return { ...answer, frames: storeAtEnd(answer.frames, storeResponse) };
    },
    createResponseCompaction: (call) => compactConversation(call, parts),
    countResponseTokens: (call) => countInputTokens(call, parts),
    getResponse: (call) => findResponse(call, call.request.message().id ?? "", parts),
    async followResponse(call) {
      const { request, caller, signal } = call;
      const { id = "", startingAfter } = request.message();
      const run = parts.background.find(caller.accountId, id) ?? (await findResponse(call, id, parts));
      return followResponse(run, startingAfter === undefined ? 0 : startingAfter + 1, signal, id);
    },
    listResponseInputItems: (call) => listInputItems(call, parts),
    cancelResponse: (call) => cancelResponse(call, call.request.message().id ?? "", parts),
    async deleteResponse({ request, caller }) {
      const { id = "" } = request.message();
      await deleteResponse(caller, id, parts);
      return { kind: "whole", body: Wire.ofJson(DeletedResponseSchema, { id, object: "response", deleted: true }) };
    },
  };
}

/** compactConversation compacts a conversation and stores nothing. */
async function compactConversation(
  call: CreateCall,
  parts: ResponsesParts,
): Promise<Answer<typeof CompactedResponseSchema>> {
  const { request } = await resolveRequest(call, parts);
  const asked = await compactionOf(request);
  const answer = await parts.complete("responses", "whole", { ...call, request: asked });
  if (answer.kind !== "whole") return answer as never;
  const body = Wire.ofJson(CompactedResponseSchema, compactedJson(answer.body.json(), asked.json().input));
  return { ...answer, body };
}

function isBackground({ request }: CreateCall): boolean {
  return request.message().background === true;
}

/** countInputTokens counts the tokens of a request's input without calling a model. */
async function countInputTokens(
  call: Call<typeof CountResponseTokensRequestSchema>,
  parts: ResponsesParts,
): Promise<Answer<typeof ResponseTokenCountSchema>> {
  const { caller, body, signal } = call;
  // Parses the bytes as the request that would be sent, whatever fields the count request has.
  const asked = await Wire.ofBytes(CreateResponseRequestSchema, call.request.bytes()).parseInSlices();
  if (asked.outline().model !== undefined) modelsOf("responses", { caller, request: asked }, parts.catalog);
  const { request } = await resolveRequest({ ...call, request: asked, body }, parts);
  const input_tokens = await countResponseTokens(request, signal);
  const counted = { object: "response.input_tokens", input_tokens };
  return { kind: "whole", body: Wire.ofJson(ResponseTokenCountSchema, counted) };
}

/** resolveRequest refuses what the gateway does not support and resolves references to stored responses. */
async function resolveRequest(
  { request, caller, body, remembered }: CreateCall,
  { store, clock }: Pick<ResponsesParts, "store" | "clock">,
): Promise<Resolved> {
  if (request.isLong) await runInSlices(request.readLongMessage());
  const { conversation } = request.message();
  if (conversation.case !== undefined) {
    throw invalidValue("conversation", "the gateway keeps no conversations; use previous_response_id");
  }
  return resolve(request, { store, accountId: caller.accountId, now: clock() }, body, remembered);
}

/** prepareResponse returns a call with all references resolved, as the model gets it. Throws a Refusal. */
export async function prepareResponse(call: Call, parts: Pick<ResponsesParts, "store" | "clock">): Promise<Call> {
  const { request } = await resolveRequest(call as unknown as CreateCall, parts);
  return { ...call, request: request as unknown as Call["request"] };
}

/** storeAtEnd passes a stream on and stores the final response before it sends the last event. */
async function* storeAtEnd(
  frames: Frames<typeof ResponseStreamEventSchema>,
  storeResponse: StoreResponse,
): Frames<typeof ResponseStreamEventSchema> {
  for await (const batch of frames) {
    const last = batch.at(-1);
    const type = last?.json().type;
    if (!last || (type !== "response.completed" && type !== "response.incomplete")) {
      yield batch;
      continue;
    }
    const response = await storeResponse(last.json().response as JsonObject);
    yield [...batch.slice(0, -1), last.with({ response })];
  }
}

/** StoreResponse stores a response if its caller wants that. Resolves to the response as the caller gets it. */
type StoreResponse = (response: JsonObject) => Promise<JsonObject>;

/** withMemory makes the connection remember the conversation and the answer, stored or not. */
function withMemory(
  { remembered }: CreateCall,
  { conversation }: Resolved,
  storeResponse: StoreResponse,
): StoreResponse {
  if (!remembered) return storeResponse;
  return async (response) => {
    const stored = await storeResponse(response);
    const pieces = [...conversation, JSON.stringify(response.output ?? [])];
    remembered.keep(response.id as string, { pieces, isKept: stored.store !== false });
    return stored;
  };
}

/**
 * createStoreResponse returns the function that stores the response to a call. It retains only the items that are
 * stored: streams last for hours.
 */
function createStoreResponse(call: CreateCall, resolved: Resolved, parts: ResponsesParts): StoreResponse {
  if (call.request.message().store === false) return async (response) => response;
  const rowOf = storedRowBuilder(call, resolved, parts);
  const { store, settings, onError } = parts;
  return async (response) => {
    const { responses: limits } = settings();
    const text = JSON.stringify(response);
    if (Buffer.byteLength(text) > limits.maxBytes) return { ...response, store: false };
    try {
      await store.insert(rowOf(response.id as string, text), limits.maxPerAccount);
      return response;
    } catch (error) {
      onError(error);
      return { ...response, store: false };
    }
  };
}
