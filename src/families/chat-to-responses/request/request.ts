/**
 * A chat request → the request for a response.
 *
 * Every part of the request is translated, or equals the default, or is named in `dropped`. The upstream stores
 * nothing: each turn sends the whole conversation, with the reasoning that the vendor wants back.
 */

import { besideEffort, effortIn } from "../../../providers/profile/reasoning-object.ts";
import type { CooperativeTask } from "../../../runtime/cooperative.ts";
import { definedFields, isObject, type JsonObject } from "../../../wire/json.ts";
import type { Dropped } from "../../paths/dropped.ts";
import { describedSchema } from "../../tools/described-schema.ts";
import type { TranslationContext } from "../../translation.ts";
import { itemsOf } from "./conversation.ts";
import { dropUnsupported, refuseImpossible } from "./settings.ts";
import { choiceOf, toolsOf } from "./tools.ts";

/** Keys with the same name and meaning in both. */
const sharedKeys = [
  ...["temperature", "top_p", "top_logprobs", "parallel_tool_calls", "user", "safety_identifier", "service_tier"],
  ...["prompt_cache_key", "prompt_cache_retention", "prompt_cache_options"],
] as const;

/** responseRequest throws a Refusal for what no response can have. */
export function* responseRequest(
  chat: JsonObject,
  context: TranslationContext,
  dropped: Dropped,
): CooperativeTask<JsonObject> {
  refuseImpossible(chat);
  dropUnsupported(chat, dropped);
  const input = yield* itemsOf(chat.messages, context, dropped);
  yield;
  const tools = yield* toolsOf(chat, context, dropped);
  const shared = Object.fromEntries(sharedKeys.map((key) => [key, chat[key] ?? undefined]));
  return definedFields({
    model: chat.model,
    input,
    ...shared,
    ...(tools.length > 0
      ? { tools, tool_choice: choiceOf(chat, context, dropped) }
      : { parallel_tool_calls: undefined }),
    max_output_tokens: boundOf(chat, context),
    reasoning: reasoningOf(chat, dropped),
    text: textOf(chat, dropped),
    metadata: chat.metadata ?? undefined,
    include: includedIn(chat, context),
    store: false,
    stream: context.form === "stream" ? true : undefined,
  });
}

function boundOf(chat: JsonObject, { maxOutputTokens }: TranslationContext): number | undefined {
  const asked = chat.max_completion_tokens ?? chat.max_tokens;
  return typeof asked === "number" ? Math.min(asked, maxOutputTokens ?? asked) : undefined;
}

/** reasoningOf reads reasoning settings, also those that other servers of chat have under `reasoning`. */
function reasoningOf(
  { reasoning_effort: own = null, reasoning }: JsonObject,
  dropped: Dropped,
): JsonObject | undefined {
  for (const path of besideEffort(reasoning)) if (path !== "reasoning.summary") dropped.add(path);
  const other = effortIn(reasoning);
  const effort = own ?? other;
  if (isObject(reasoning) && other !== undefined && effort !== other)
    for (const key of ["effort", "enabled", "max_tokens"])
      if ((reasoning[key] ?? null) !== null) dropped.add(`reasoning.${key}`);
  const summary = isObject(reasoning) ? (reasoning.summary ?? undefined) : undefined;
  return effort === undefined && summary === undefined ? undefined : definedFields({ effort, summary });
}

function textOf({ response_format: asked, verbosity = null }: JsonObject, dropped: Dropped): JsonObject | undefined {
  const format = isObject(asked) ? formatOf(asked, dropped) : undefined;
  const text = definedFields({ format, verbosity: verbosity ?? undefined });
  return Object.keys(text).length > 0 ? text : undefined;
}

function formatOf(asked: JsonObject, dropped: Dropped): JsonObject | undefined {
  const { type = "text" } = asked;
  const described = describedSchema(asked);
  if (type === "json_object" && !described) return { type };
  if (type !== "json_schema" && type !== "json_object") {
    if (type !== "text") dropped.add("response_format");
    return undefined;
  }
  const { name, description, schema, strict, ...more } = described ?? {};
  dropped.addExtra(more, described === asked.json_schema ? "response_format.json_schema" : "response_format");
  return definedFields({
    type: "json_schema",
    name: name ?? "answer",
    description,
    schema: schema ?? {},
    strict: strict ?? undefined,
  });
}

function includedIn({ logprobs }: JsonObject, { reasoningItems }: TranslationContext): string[] | undefined {
  const words = [
    ...(reasoningItems?.areAskedFor ? ["reasoning.encrypted_content"] : []),
    ...(logprobs === true ? ["message.output_text.logprobs"] : []),
  ];
  return words.length > 0 ? words : undefined;
}
