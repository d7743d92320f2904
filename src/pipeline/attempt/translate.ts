/** A call in the words that its upstream speaks, which may be longer ones: they are counted as what was sent. */
import type { Call } from "../../call/call.ts";
import type { Form, Operation } from "../../call/operations.ts";
import { callersPath, translateAll } from "../../families/index.ts";
import type { Translated, Translation } from "../../families/translation.ts";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { estimatePromptTokens } from "../../tokens/prompt.ts";
import { jsonLength } from "../../wire/scan/json-length.ts";
import { Wire } from "../../wire/wire.ts";
import { unpricedToolsOf } from "../charge/estimate.ts";
import type { Candidate } from "../complete/candidates.ts";

/** How many times as long as its base64 a text may be as JSON, at most; nothing else grows so in a translation. */
const mostLonger = 6;

export interface TranslateOptions {
  readonly form: Form;
  /** When the call came, in milliseconds since 1970. */
  readonly arrivedAt: number;
}

/** Puts a call into the words that the upstream of a lead speaks, as it takes them. Throws a Refusal. */
export function* translate(
  lead: Pick<Candidate, "way" | "model" | "target" | "operation" | "fitting">,
  part: Call,
  options: TranslateOptions,
): CooperativeTask<Translated<Operation, Operation>> {
  const translated = yield* inWordsOf(lead, part, options);
  const said = fitted(lead, translated);
  return said.request === translated.request ? said : { ...said, request: yield* counted(said.request, part) };
}

/** Fits what is said in an upstream's words to what it takes. */
export function fitted(
  { way, operation, fitting }: Pick<Candidate, "way" | "operation" | "fitting">,
  translated: Translated<Operation, Operation>,
): Translated<Operation, Operation> {
  if (!fitting) return translated;
  const { request, dropped } = fitting.fit(operation, translated.request, way.every(isRelay));
  if (request === translated.request && dropped.length === 0) return translated;
  const further = dropped.map((path) => callersPath(path, way)).filter((path) => path !== undefined);
  return { ...translated, request, dropped: [...translated.dropped, ...further] };
}

/** Whether it leaves a request in its caller's own words. */
function isRelay({ from, to }: Translation): boolean {
  return from === to;
}

/** Puts a call into the words that the upstream of a lead speaks. Throws a Refusal. */
export function* inWordsOf(
  { way, model, target, operation, fitting }: Pick<Candidate, "way" | "model" | "target" | "operation" | "fitting">,
  part: Call,
  { form, arrivedAt }: TranslateOptions,
): CooperativeTask<Translated<Operation, Operation>> {
  // The models to fall back to are the gateway's business.
  const isNamed = "models" in part.request.desc.field && part.request.outline().models !== undefined;
  const asked = (isNamed ? part.request.with({ models: undefined }) : part.request) as TranslatedRequest;
  if (way.length === 0) return { request: asked, dropped: [], answer: (answer) => answer };
  const translated = yield* translateAll(way, asked, {
    form,
    maxOutputTokens: model.maxOutputTokens,
    customTools: fitting?.customTools,
    reasoningItems:
      operation === "responses" && fitting ? { upstream: target.upstream, ...fitting.reasoningItems } : undefined,
    isUnpriced: operation === "responses" ? unpricedToolsOf(model) : undefined,
    target: target.model,
    reasons: model.reasons,
    answerId: part.id.replace(/^req_/, ""),
    now: Math.floor(arrivedAt / 1000),
    estimateTokens: estimatePromptTokens,
  });
  return { ...translated, request: yield* counted(translated.request, part) };
}

/** Counts what it has become where it may be too much. What was long is written for it, and sent as it is then. */
function* counted(request: TranslatedRequest, { body, request: { isLong } }: Call): CooperativeTask<TranslatedRequest> {
  const mayBeTooMuch = body.bytes * mostLonger > body.maxBytes;
  if (isLong) {
    return yield* Wire.ofLong(request.desc, request.json(), (length) => mayBeTooMuch && body.growTo(length));
  }
  if (mayBeTooMuch) body.growTo(jsonLength(request.json(), body.maxBytes));
  return request;
}

type TranslatedRequest = Translated<Operation, Operation>["request"];
