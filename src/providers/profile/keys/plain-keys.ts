/** Fits requests to servers that turn out to know the keys of OpenAI's API alone. */
import type { PlainFitters, RequestFitter } from "../../contract.ts";
import type { Capabilities, ModelProfile } from "../profile.ts";

/** settings are the keys of a chat request besides those of every call. Source: https://platform.openai.com/docs/api-reference/chat/create */
const settings = [
  ...["audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "metadata", "modalities"],
  ...["n", "parallel_tool_calls", "prediction", "presence_penalty", "prompt_cache_key", "prompt_cache_retention"],
  ...[
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "temperature",
  ],
  ...["tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity", "web_search_options"],
];

/** media are parts of content that OpenAI's API does not have, and many servers do: no refusal of another key says that they are refused. */
const media = ["audio_url", "video_url", "document_url", "document"];

const ofMessages = { cache_marks: "none" as const, thoughts: "none" as const, message_keys: media };

/** plainFittersOf returns fitters for a model's server by what it refuses; undefined where its profile says which keys it takes. */
export function plainFittersOf(
  { stated, conservative }: ModelProfile,
  fitterOf: (profile: ModelProfile) => RequestFitter,
): PlainFitters | undefined {
  if (stated.message_keys !== undefined) return undefined;
  const withCapabilities = (further: typeof ofMessages & Pick<Capabilities, "request_keys">) =>
    fitterOf({ stated: { ...stated, ...further }, conservative: { ...conservative, ...further } });
  return {
    messages: withCapabilities(ofMessages),
    request: withCapabilities({ ...ofMessages, request_keys: settings }),
  };
}
