/**
 * Responses: answered by the pipeline like any model call, with what is kept put in before and kept after.
 *
 * An answer is kept when it is complete, before its caller has the last of it, so that a request that goes on from it
 * finds it; one that fails or breaks off is not kept. An answer larger than the bound is given and not kept, and says so
 * in its `store`. Where keeping fails, the call does: its caller would go on from what is not there.
 */

import type { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import type { CreateResponseRequestSchema, ResponseStreamEventSchema } from "../../gen/modelgateway/v1/responses_pb.ts";
import {
  CompactedResponseSchema,
  DeletedResponseSchema,
  ModelResponseSchema,
} from "../../gen/modelgateway/v1/responses_pb.ts";
import type { Answer, Call, Frames, ServiceImplementation } from "../call.ts";
import { invalidValue, responseNotFound } from "../errors.ts";
import type { Complete } from "../pipeline/complete.ts";
import type { ResponseStore } from "../storage/responses.ts";
import type { JsonObject } from "../wire/json.ts";
import { Wire } from "../wire/wire.ts";
import { doInTurns } from "../work.ts";
import { compactedJson, compactionOf } from "./compacted-responses.ts";
import { type Resolved, resolve } from "./responses-input.ts";

export interface ResponsesParts {
  readonly complete: Complete;
  readonly store: ResponseStore;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly limits: ResponseLimits;
}

export interface ResponseLimits {
  readonly keepMs: number;
  readonly maxPerAccount: number;
  /** The largest response, and the largest input, in bytes of JSON. */
  readonly maxBytes: number;
}

type Implemented = "createResponseCompaction" | "createResponse" | "streamResponse" | "getResponse" | "deleteResponse";
type CreateCall = Call<typeof CreateResponseRequestSchema>;

export function responseMethods(
  parts: ResponsesParts,
): Pick<ServiceImplementation<typeof InferenceService>, Implemented> {
  const { complete, store, clock } = parts;
  return {
    async createResponse(call) {
      const resolved = await prepared(call, parts);
      const keep = keeperOf(call, resolved, parts);
      const answer = await complete("responses", "whole", { ...call, request: resolved.request });
      if (answer.kind !== "whole") return answer;
      const json = answer.body.json();
      const told = await keep(json);
      const body = told === json ? answer.body : Wire.ofJson(ModelResponseSchema, told);
      return { ...answer, body: answer.body.isLong ? await body.written() : body };
    },
    async streamResponse(call) {
      const resolved = await prepared(call, parts);
      const keep = keeperOf(call, resolved, parts);
      const answer = await complete("responses", "stream", { ...call, request: resolved.request });
      if (answer.kind !== "stream") return answer;
      return { ...answer, frames: keeping(answer.frames, keep) };
    },
    createResponseCompaction: (call) => compacted(call, parts),
    async getResponse({ request, caller }) {
      const { id = "", stream } = request.message();
      if (stream) throw invalidValue("stream", "a kept response is told whole");
      const [kept] = await store.find(caller.accountId, [id], clock());
      if (!kept) throw responseNotFound(id);
      return { kind: "whole", body: Wire.ofBytes(ModelResponseSchema, Buffer.from(kept.response)) };
    },
    async deleteResponse({ request, caller }) {
      const { id = "" } = request.message();
      if (!(await store.delete(caller.accountId, id, clock()))) throw responseNotFound(id);
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

/** Refuses what the gateway does not do, and resolves what refers to kept responses. */
async function prepared(
  { request, caller, body }: CreateCall,
  { store, clock }: Pick<ResponsesParts, "store" | "clock">,
): Promise<Resolved> {
  if (request.isLong) await doInTurns(request.understand());
  const { conversation, background } = request.message();
  if (conversation.case !== undefined) {
    throw invalidValue("conversation", "the gateway keeps no conversations; use previous_response_id");
  }
  if (background) throw invalidValue("background", "every response is answered in the foreground");
  return resolve(request, { store, accountId: caller.accountId, now: clock() }, body);
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

/** Returns what keeps the response to a call. It holds no more of the call's items than are kept: streams last for hours. */
function keeperOf(
  { request, caller: { accountId } }: CreateCall,
  { items, previousId }: Resolved,
  { store, clock, limits }: ResponsesParts,
): Keep {
  if (request.message().store === false) return async (response) => response;
  const input = textWithin(items, limits.maxBytes);
  return async (response) => {
    const text = JSON.stringify(response);
    if (Buffer.byteLength(text) > limits.maxBytes) return { ...response, store: false };
    const now = clock();
    const row = {
      id: response.id as string,
      account_id: accountId,
      previous_id: previousId,
      created_at: now,
      expires_at: now + limits.keepMs,
      input,
      response: text,
    };
    await store.insert(row, limits.maxPerAccount);
    return response;
  };
}

/** Writes a list as JSON; null where that has more bytes. */
function textWithin(items: readonly JsonObject[], maxBytes: number): string | null {
  const texts: string[] = [];
  let bytes = 1;
  for (const item of items) {
    const text = JSON.stringify(item);
    bytes += 1 + Buffer.byteLength(text);
    if (bytes > maxBytes) return null;
    texts.push(text);
  }
  return `[${texts.join(",")}]`;
}
