/** ExplainCall: describes how the gateway would handle a request, without sending it. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type ExplainCallRequestSchema,
  ExplainCallResponseSchema,
  type ExplainedLimitSchema,
  type ExplainedModelSchema,
  type ExplainedRefusalSchema,
  type ExplainedTargetSchema,
} from "../../../gen/modelgateway/v1/explain_pb.ts";
import type { Answer, Call, Caller } from "../../call/call.ts";
import { type Refusal, reasonWord, resourceNotFound } from "../../call/refusals.ts";
import type { AccountRate } from "../../pipeline/admit/limit.ts";
import { type LimitLeft, nearestLeft } from "../../pipeline/admit/limits-left.ts";
import { endpointAt } from "../../pipeline/complete/endpoints.ts";
import type {
  Explain,
  ExplainedHold,
  ExplainedModel,
  ExplainedTarget,
  Prepare,
} from "../../pipeline/complete/explain.ts";
import { valueText } from "../../wire/splice.ts";
import { Wire } from "../../wire/wire.ts";
import { whole } from "../whole.ts";
import { ratesMessage } from "./catalog-message.ts";

export interface ExplainParts {
  readonly explain: Explain;
  readonly accountRate: (caller: Caller) => Promise<AccountRate>;
  /** queued returns the number of calls queued for an upstream. */
  readonly queued: (upstream: string) => number;
}

const defaultPath = "/v1/chat/completions";

/**
 * explainMethod returns the RPC's handler. `prepare` does to a request what the service does before the model call, by
 * operation.
 */
export function explainMethod({ explain, accountRate, queued }: ExplainParts, prepare: Prepare) {
  return async (call: Call<typeof ExplainCallRequestSchema>): Promise<Answer<typeof ExplainCallResponseSchema>> => {
    const { path = defaultPath, strict } = call.request.message();
    const endpoint = endpointAt(path);
    if (!endpoint) throw resourceNotFound("model endpoint", path, "path");
    const { asked, method } = endpoint;
    const request = await Wire.ofBytes(method.input, textOf(call.request)).parseInSlices();
    const asIfSent = { ...call, method, request, header: headerWith(call.header, strict) };
    const explaining = { asked, form: endpoint.formOf(request.outline()) };
    const { models, cache, refusal, limits } = await explain(explaining, asIfSent, prepare);
    const nearest = nearestLeft(limits);
    const { tier, requestsRemaining } = await accountRate(call.caller);
    return whole(ExplainCallResponseSchema, {
      operation: asked,
      models: models.map((model) => modelMessage(model, queued)),
      rate: { tier: tier.name, requestsPerMinute: tier.requestsPerMinute, requestsRemaining },
      cache,
      limits: limits.map((limit) => limitMessage(limit, limit === nearest)),
      address: call.peer.address,
      allowedIps: [...(call.caller.allowedIps ?? [])],
      ...(refusal ? { refusal: refusalMessage(refusal) } : {}),
    });
  };
}

/** textOf returns the request's original bytes: its length and every byte can matter. */
function textOf(request: Wire<typeof ExplainCallRequestSchema>): Buffer {
  return valueText(request.bytes(), "request") ?? Buffer.from(JSON.stringify(request.json().request));
}

/**
 * headerWith overrides `x-gateway-strict` with the request's `strict`; if that is unset, the call's own header stands.
 */
function headerWith(header: Call["header"], strict: boolean | undefined): Call["header"] {
  if (strict === undefined) return header;
  return (name) => (name === "x-gateway-strict" ? (strict ? "true" : undefined) : header(name));
}

function modelMessage(
  { model, targets, hold }: ExplainedModel,
  queued: ExplainParts["queued"],
): MessageInitShape<typeof ExplainedModelSchema> {
  return {
    model: model.id,
    targets: targets.map((target) => targetMessage(target, queued(target.candidate.target.upstream))),
    ...(hold ? { hold: holdMessage(hold) } : {}),
  };
}

function targetMessage(
  { candidate, dropped, restMs, refusal }: ExplainedTarget,
  queued: number,
): MessageInitShape<typeof ExplainedTargetSchema> {
  const { upstream, model, priority, weight } = candidate.target;
  return {
    upstream,
    model,
    priority,
    weight,
    queued,
    operation: candidate.operation,
    dropped: [...dropped],
    ...(restMs > 0 ? { restingSeconds: restMs / 1000 } : {}),
    ...(refusal ? { refusal: refusalMessage(refusal) } : {}),
  };
}

function holdMessage({ max, min, available, outputBound, rates }: ExplainedHold) {
  return {
    wanted: BigInt(max),
    least: BigInt(min),
    ...(available === undefined ? {} : { available: BigInt(available) }),
    ...(outputBound === undefined ? {} : { outputBound }),
    rates: ratesMessage(rates),
  };
}

function limitMessage(
  { name, model, isMoney, limit, remaining, resetsAt }: LimitLeft,
  nearest: boolean,
): MessageInitShape<typeof ExplainedLimitSchema> {
  const counts = isMoney ? { amount: BigInt(limit), amountRemaining: BigInt(remaining) } : { limit, remaining };
  return {
    name,
    ...(model === undefined ? {} : { model }),
    ...counts,
    ...(resetsAt === undefined ? {} : { resetsAt: timestampFromMs(resetsAt) }),
    nearest,
  };
}

function refusalMessage({
  status,
  reason,
  message,
  param = "",
}: Refusal): MessageInitShape<typeof ExplainedRefusalSchema> {
  return { status, reason: reasonWord(reason), message, param };
}
