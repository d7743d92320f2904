/**
 * Translates a request to the dialect of its upstream. A translated request may be longer than the one that was sent; its bytes
 * are counted as the caller's.
 */
import type { Call } from "../../call/call.ts";
import type { Form, Input, Operation } from "../../call/operations.ts";
import { usableCalls } from "../../families/chat-to-chat/usable-calls.ts";
import { withTexts } from "../../families/completions-to-chat/text-choices.ts";
import { vectorsAsAsked } from "../../families/embeddings-encoding.ts";
import { mapInSlices, translateAll } from "../../families/index.ts";
import type { Translated, Translation } from "../../families/translation.ts";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { estimatePromptTokens } from "../../tokens/prompt.ts";
import { isObject } from "../../wire/json.ts";
import { jsonLength } from "../../wire/scan/json-length.ts";
import { Wire } from "../../wire/wire.ts";
import { unpricedToolsOf } from "../charge/estimate.ts";
import type { Candidate } from "../complete/candidates.ts";

/** The most that a translation lengthens a request: base64 that becomes JSON text, each byte of which may be escaped. */
const maxGrowth = 6;

export interface TranslateOptions {
  readonly form: Form;
  /** Milliseconds since 1970. */
  readonly arrivedAt: number;
}

type TranslatedCandidate = Pick<Candidate, "path" | "model" | "target" | "operation" | "fitting">;

/** translate translates a call for a candidate, and fits it to what the upstream accepts. Throws a Refusal. */
export function* translate(
  candidate: TranslatedCandidate,
  part: Call,
  options: TranslateOptions,
): CooperativeTask<Translated<Operation, Operation>> {
  const translated = yield* translateAlongPath(candidate, part, options);
  const fit = yield* fitted(candidate, translated);
  return fit.request === translated.request ? fit : { ...fit, request: yield* counted(fit.request, part) };
}

/** Fits a translated request to what its upstream accepts. */
export function* fitted(
  { path, operation, fitting }: Pick<Candidate, "path" | "operation" | "fitting">,
  translated: Translated<Operation, Operation>,
): CooperativeTask<Translated<Operation, Operation>> {
  if (!fitting) return translated;
  const { request, dropped } = yield* fitting.fit(operation, translated.request, path.every(isRelay));
  if (request === translated.request && dropped.length === 0) return translated;
  const further = yield* mapInSlices(dropped, (path) => translated.callersPath(path) ?? []);
  return { ...translated, request, dropped: [...translated.dropped, ...further] };
}

/** isRelay reports whether a translation leaves a request in its own dialect. */
export function isRelay({ from, to }: Translation): boolean {
  return from === to;
}

/** translateAlongPath translates a call along a candidate's path. Throws a Refusal. */
export function* translateAlongPath(
  { path, model, target, operation, fitting }: TranslatedCandidate,
  part: Call,
  { form, arrivedAt }: TranslateOptions,
): CooperativeTask<Translated<Operation, Operation>> {
  // The fallback models concern the gateway, not the upstream.
  const isNamed = "models" in part.request.desc.field && part.request.outline().models !== undefined;
  const asked = (isNamed ? part.request.with({ models: undefined }) : part.request) as TranslatedRequest;
  if (path.length === 0)
    return { request: asked, dropped: [], callersPath: asItCame, answer: relayed(operation, asked, part) };
  const translated = yield* translateAll(path, asked, {
    form,
    maxOutputTokens: model.maxOutputTokens,
    customTools: fitting?.customTools,
    marksCache: fitting?.cacheMarks !== undefined && fitting.cacheMarks !== "none",
    reasoningItems:
      operation === "responses" && fitting ? { upstream: target.upstream, ...fitting.reasoningItems } : undefined,
    isUnpriced: operation === "responses" ? unpricedToolsOf(model) : undefined,
    target,
    reasons: model.reasons,
    answerId: part.id.replace(/^req_/, ""),
    now: Math.floor(arrivedAt / 1000),
    estimateTokens: estimatePromptTokens,
  });
  return { ...translated, request: yield* counted(translated.request, part) };
}

/**
 * relayed returns what makes the answer to a relayed request the caller's. Clients choose the encoding of vectors, and not all servers know
 * both; some answer completions as chats, and not all write calls of tools in all pieces as clients read them.
 */
function relayed(operation: Operation, request: TranslatedRequest, { id }: Call): Answering {
  if (operation === "embeddings") return vectorsAsAsked(request as Wire<Input<"embeddings">>) as Answering;
  if (operation === "completions") return withTexts as Answering;
  const { tools = null, tool_choice: choice } = operation === "chat" ? request.outline() : {};
  if (tools === null) return asItCame as Answering;
  return usableCalls(id.replace(/^req_/, ""), isObject(choice)) as Answering;
}

type Answering = Translated<Operation, Operation>["answer"];

const asItCame = <T>(value: T) => value;

/** counted counts the bytes of a request that may have become too long. A long one is written for that, and sent as written. */
function* counted(request: TranslatedRequest, { body, request: { isLong } }: Call): CooperativeTask<TranslatedRequest> {
  const mayBeTooLong = body.bytes * maxGrowth > body.maxBytes;
  if (isLong) {
    return yield* Wire.ofLong(request.desc, request.json(), (length) => mayBeTooLong && body.growTo(length));
  }
  if (mayBeTooLong) body.growTo(jsonLength(request.json(), body.maxBytes));
  return request;
}

type TranslatedRequest = Translated<Operation, Operation>["request"];
