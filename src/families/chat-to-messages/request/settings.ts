/**
 * The scalar settings of a chat request: sampling, stop texts, the end user, the service tier.
 *
 * Default values are dropped silently. A temperature above 1 becomes 1, the maximum.
 */
import type { CreateChatCompletionRequest } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { CreateMessageRequestSchema } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import { invalidValue } from "../../../call/refusals.ts";
import type { JsonObject } from "../../../wire/json.ts";
import type { Dropped } from "../../paths/dropped.ts";
import { fitsSchema } from "../fits-schema.ts";

/** refuseImpossible throws a Refusal for what no answer of the Messages API could have. */
export function refuseImpossible({ n, logprobs }: CreateChatCompletionRequest): void {
  if (n !== undefined && n > 1) throw invalidValue("n", "this model gives one choice; leave it out, or send 1");
  if (logprobs === true) throw invalidValue("logprobs", "this model tells no log probabilities; leave it out");
}

/** Settings without a counterpart, each with a test for a value other than the default. */
const unsupported: Readonly<Record<string, (request: CreateChatCompletionRequest) => boolean>> = {
  audio: ({ audio }) => audio !== undefined,
  frequency_penalty: ({ frequencyPenalty = 0 }) => frequencyPenalty !== 0,
  logit_bias: ({ logitBias }) => Object.keys(logitBias).length > 0,
  metadata: ({ metadata }) => Object.keys(metadata).length > 0,
  modalities: ({ modalities }) => modalities.some((modality) => modality !== "text"),
  prediction: ({ prediction }) => prediction !== undefined,
  presence_penalty: ({ presencePenalty = 0 }) => presencePenalty !== 0,
  prompt_cache_key: ({ promptCacheKey = "" }) => promptCacheKey !== "",
  prompt_cache_retention: ({ promptCacheRetention = "" }) => promptCacheRetention !== "",
  seed: ({ seed }) => seed !== undefined,
  store: ({ store = false }) => store,
  "stream_options.include_obfuscation": ({ streamOptions }) => streamOptions?.includeObfuscation === true,
  top_logprobs: ({ topLogprobs = 0 }) => topLogprobs > 0,
  verbosity: ({ verbosity }) => verbosity !== undefined,
  web_search_options: ({ webSearchOptions }) => webSearchOptions !== undefined,
};

export function dropUnsupported(request: CreateChatCompletionRequest, dropped: Dropped): void {
  for (const [path, isSaid] of Object.entries(unsupported)) if (isSaid(request)) dropped.add(path);
  dropped.addExtra(request.streamOptions?.extra, "stream_options");
}

/**
 * Top-level members of the Messages API that chat does not have; `thinking`, `output_config` and `reasoning` are read elsewhere.
 */
const shared = [
  ...["cache_control", "container", "context_management", "diagnostics", "inference_geo", "mcp_servers", "speed"],
  "top_k",
];

/** sharedSettings returns the caller's members of the Messages API, and names all unknown ones. */
export function sharedSettings({ extra }: CreateChatCompletionRequest, dropped: Dropped): JsonObject {
  dropped.addExtra(extra, "", [...shared, "thinking", "output_config", "reasoning"]);
  const settings: JsonObject = {};
  for (const key of shared) {
    const value = extra?.[key] ?? null;
    if (value === null) continue;
    if (fitsSchema(CreateMessageRequestSchema, { [key]: value })) settings[key] = value;
    else dropped.add(key);
  }
  return settings;
}

/**
 * sampling returns temperature, top_p and top_k. A thinking model takes none of them. Models refuse temperature and top_p together: the
 * temperature stands.
 */
export function sampling(
  { temperature, topP }: CreateChatCompletionRequest,
  topK: JsonObject[string] | undefined,
  thinks: boolean,
  dropped: Dropped,
): JsonObject {
  if (thinks) {
    if (temperature !== undefined && temperature !== 1) dropped.add("temperature");
    if (topP !== undefined && topP !== 1) dropped.add("top_p");
    if (topK !== undefined) dropped.add("top_k");
    return {};
  }
  const both = temperature !== undefined && topP !== undefined;
  if (both && topP !== 1) dropped.add("top_p");
  return {
    ...(temperature === undefined ? {} : { temperature: Math.min(temperature, 1) }),
    ...(topP === undefined || both ? {} : { top_p: topP }),
    ...(topK === undefined ? {} : { top_k: topK }),
  };
}

/** stopSequences returns the stop texts. The API refuses blank ones. */
export function stopSequences({ stop }: CreateChatCompletionRequest, dropped: Dropped): string[] {
  const texts = stop.case === "stopText" ? [stop.value] : (stop.value?.texts ?? []);
  for (const [i, text] of texts.entries()) {
    if (text !== "" && text.trim() === "") dropped.add(stop.case === "stopText" ? "stop" : `stop[${i}]`);
  }
  return texts.filter((text) => text.trim() !== "");
}

const maxUserIdLength = 256;
const looksLikeEmail = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;
const looksLikePhone = /^\+?[\d\s().-]{7,}$/;

/** userId returns the end user's id. The API asks for ids that identify nobody. */
export function userId(request: CreateChatCompletionRequest, dropped: Dropped): string | undefined {
  let id: string | undefined;
  for (const [path, value] of [
    ["safety_identifier", request.safetyIdentifier],
    ["user", request.user],
  ] as const) {
    if (!value || value === id) continue;
    // Long values are not matched: the patterns may take quadratic time.
    const names = value.length > maxUserIdLength || looksLikeEmail.test(value) || looksLikePhone.test(value);
    if (names || id !== undefined) dropped.add(path);
    else id = value;
  }
  return id;
}

export function serviceTier({ serviceTier }: CreateChatCompletionRequest, dropped: Dropped): string | undefined {
  switch (serviceTier) {
    case undefined:
    case "":
      return undefined;
    case "auto":
    case "default":
      return "auto";
    case "standard_only":
      return serviceTier;
  }
  dropped.add("service_tier");
  return undefined;
}
