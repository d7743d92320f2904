/**
 * Responses: answered by the pipeline like any model call, with what is kept put in before and kept after, while their caller
 * waits or in the background.
 *
 * An answer is kept when it is complete, before its caller has the last of it, so that a request that goes on from it
 * finds it; one that fails or breaks off is not kept. An answer larger than the bound is given and not kept, and says so
 * in its `store`. Where keeping fails, the call does: its caller would go on from what is not there.
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
import { cancelled, deleted, followed, found } from "./by-id.ts";
import { compactedJson, compactionOf } from "./compact.ts";
import { type Resolved, resolve } from "./input.ts";
import { listInputItems } from "./input-items.ts";
import { rowsOf } from "./kept-row.ts";
import type { CreateCall, ResponsesParts } from "./parts.ts";
import { toldResponse } from "./response-ends.ts";
import { isWarmup, warmedUp } from "./warmup.ts";

type Implemented =
  | ("createResponseCompaction" | "createResponse" | "streamResponse" | "getResponse" | "deleteResponse")
  | ("followResponse" | "cancelResponse" | "countResponseTokens" | "listResponseInputItems");

export function responseMethods(
  parts: ResponsesParts,
): Pick<ServiceImplementation<typeof InferenceService>, Implemented> {
  const { complete } = parts;
  return {
    async createResponse(call) {
      const resolved = await prepared(call, parts);
      if (isBackground(call)) return toldResponse((await beginInBackground(call, resolved, parts, false)).response);
      const keep = keeperOf(call, resolved, parts);
      const answer = await complete("responses", "whole", { ...call, request: resolved.request });
      if (answer.kind !== "whole") return answer;
      const json = answer.body.json();
      const told = await keep(json);
      const body = told === json ? answer.body : Wire.ofJson(ModelResponseSchema, told);
      return { ...answer, body: answer.body.isLong ? await body.writeInSlices() : body };
    },
    async streamResponse(call) {
      const resolved = await prepared(call, parts);
      if (isBackground(call)) return followed(await beginInBackground(call, resolved, parts, true), 0, call.signal);
      if (isWarmup(call)) return warmedUp(call, resolved, parts);
      const keep = remembering(call, resolved, keeperOf(call, resolved, parts));
      const request = call.remembered ? resolved.request.with({ generate: undefined }) : resolved.request;
      const answer = await complete("responses", "stream", { ...call, request });
      if (answer.kind !== "stream") return answer;
      return { ...answer, frames: keeping(answer.frames, keep) };
    },
    createResponseCompaction: (call) => compacted(call, parts),
    countResponseTokens: (call) => countedTokens(call, parts),
    getResponse: ({ request, caller }) => found(caller, request.message().id ?? "", parts),
    async followResponse({ request, caller, signal }) {
      const { id = "", startingAfter } = request.message();
      const run = parts.background.find(caller.accountId, id) ?? (await found(caller, id, parts));
      return followed(run, startingAfter === undefined ? 0 : startingAfter + 1, signal, id);
    },
    listResponseInputItems: (call) => listInputItems(call, parts),
    cancelResponse: ({ request, caller }) => cancelled(caller, request.message().id ?? "", parts),
    async deleteResponse({ request, caller }) {
      const { id = "" } = request.message();
      await deleted(caller, id, parts);
      return { kind: "whole", body: Wire.ofJson(DeletedResponseSchema, { id, object: "response", deleted: true }) };
    },
  };
}

/** Sums a conversation up, and keeps nothing. */
async function compacted(call: CreateCall, parts: ResponsesParts): Promise<Answer<typeof CompactedResponseSchema>> {
  const { request } = await prepared(call, parts);
  const asked = await compactionOf(request);
  const answer = await parts.complete("responses", "whole", { ...call, request: asked });
  if (answer.kind !== "whole") return answer as never;
  const body = Wire.ofJson(CompactedResponseSchema, compactedJson(answer.body.json(), asked.json().input));
  return { ...answer, body };
}

function isBackground({ request }: CreateCall): boolean {
  return request.message().background === true;
}

/** Counts what a request would have as input. No model is asked. */
async function countedTokens(
  call: Call<typeof CountResponseTokensRequestSchema>,
  parts: ResponsesParts,
): Promise<Answer<typeof ResponseTokenCountSchema>> {
  const { caller, body, signal } = call;
  // Which fields it has is no matter: it is read as the request that would be sent.
  const asked = await Wire.ofBytes(CreateResponseRequestSchema, call.request.bytes()).parseInSlices();
  if (asked.outline().model !== undefined) modelsOf("responses", { caller, request: asked }, parts.catalog);
  const { request } = await prepared({ ...call, request: asked, body }, parts);
  const input_tokens = await countResponseTokens(request, signal);
  const counted = { object: "response.input_tokens", input_tokens };
  return { kind: "whole", body: Wire.ofJson(ResponseTokenCountSchema, counted) };
}

/** Refuses what the gateway does not do, and resolves what refers to kept responses. */
async function prepared(
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

/** Returns a call for a response as it goes to the model: it refers to nothing any more. Throws a Refusal. */
export async function prepareResponse(call: Call, parts: Pick<ResponsesParts, "store" | "clock">): Promise<Call> {
  const { request } = await prepared(call as unknown as CreateCall, parts);
  return { ...call, request: request as unknown as Call["request"] };
}

/** Passes a stream on, and keeps the response that it ends in before its end is told. */
async function* keeping(
  frames: Frames<typeof ResponseStreamEventSchema>,
  keep: Keep,
): Frames<typeof ResponseStreamEventSchema> {
  for await (const batch of frames) {
    const last = batch.at(-1);
    const type = last?.json().type;
    if (!last || (type !== "response.completed" && type !== "response.incomplete")) {
      yield batch;
      continue;
    }
    const response = await keep(last.json().response as JsonObject);
    yield [...batch.slice(0, -1), last.with({ response })];
  }
}

/** Keeps a response if its caller wants it. Returns it as it is answered. */
type Keep = (response: JsonObject) => Promise<JsonObject>;

/** Has the connection remember the conversation with what is answered, however it is kept. */
function remembering({ remembered }: CreateCall, { conversation }: Resolved, keep: Keep): Keep {
  if (!remembered) return keep;
  return async (response) => {
    const told = await keep(response);
    const pieces = [...conversation, JSON.stringify(response.output ?? [])];
    remembered.keep(response.id as string, { pieces, isKept: told.store !== false });
    return told;
  };
}

/** Returns what keeps the response to a call. It holds no more of the call's items than are kept: streams last for hours. */
function keeperOf(call: CreateCall, resolved: Resolved, parts: ResponsesParts): Keep {
  if (call.request.message().store === false) return async (response) => response;
  const rowOf = rowsOf(call, resolved, parts);
  const { store, limits } = parts;
  return async (response) => {
    const text = JSON.stringify(response);
    if (Buffer.byteLength(text) > limits.maxBytes) return { ...response, store: false };
    await store.insert(rowOf(response.id as string, text), limits.maxPerAccount);
    return response;
  };
}
