/** A call in the words that its upstream speaks, which may be longer ones: they are counted as what was sent. */
import type { Call } from "../call.ts";
import { translateAlong } from "../families/index.ts";
import type { Translated } from "../families/translation.ts";
import type { Form, Operation } from "../providers/operations.ts";
import { estimatePromptTokens } from "../tokens/prompt.ts";
import { jsonLength } from "../wire/json-length.ts";
import type { Lead } from "./leads.ts";

/** How many times as long as its base64 a text may be as JSON, at most; nothing else grows so in a translation. */
const mostLonger = 6;

export interface TranslateOptions {
  readonly form: Form;
  /** When the call came, in milliseconds since 1970. */
  readonly arrivedAt: number;
}

/** Puts a call into the words that the upstream of a lead speaks. Throws a Refusal. */
export function translate(
  { way, model, takes, target }: Pick<Lead, "way" | "model" | "takes" | "target">,
  part: Call,
  { form, arrivedAt }: TranslateOptions,
): Translated<Operation, Operation> {
  // The models to fall back to are the gateway's business.
  const isNamed = "models" in part.request.desc.field && part.request.outline().models !== undefined;
  const asked = (isNamed ? part.request.with({ models: undefined }) : part.request) as TranslatedRequest;
  if (way.length === 0) return { request: asked, dropped: [], answer: (answer) => answer };
  const translated = translateAlong(way, asked, {
    form,
    maxOutputTokens: model.maxOutputTokens,
    takes,
    target: target.model,
    reasons: model.reasons,
    answerId: part.id.replace(/^req_/, ""),
    now: Math.floor(arrivedAt / 1000),
    estimateTokens: estimatePromptTokens,
  });
  const { body } = part;
  if (body.bytes * mostLonger > body.maxBytes) body.growTo(jsonLength(translated.request.json(), body.maxBytes));
  return translated;
}

type TranslatedRequest = Translated<Operation, Operation>["request"];
