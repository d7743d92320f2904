/** Fits requests to servers that turn out to know the keys of OpenAI's API alone, or the usual roles or texts alone. */
import type { RefusedForms } from "../../../call/request/refused-members.ts";
import type { PlainFitters, RequestFitter } from "../../contract.ts";
import type { AllCapabilities, Capabilities, ModelProfile } from "../profile.ts";

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

/** ofTemplates is what servers take whose templates know the usual roles alone, and instructions at the beginning. */
const ofTemplates = { developer: "system", system: "first" } as const;

/** ofUser is what servers take whose templates have no role for instructions. */
const ofUser = { developer: "system", system: "user" } as const;

/** ofTexts is what servers take whose messages are texts: such have no marks. */
const ofTexts = { plain_text: ["system", "user", "assistant", "tool"], cache_marks: "none" } satisfies Capabilities;

/** ofThinkers returns what servers take that want what a model thought before, by the name that is stated, or the usual one. */
function ofThinkers({ thoughts = "reasoning_content" }: Capabilities): Capabilities {
  return thoughts === "none" ? {} : { thoughts, thoughts_demanded: true };
}

/** plainFittersOf returns the fitters of a model for what its server refuses beyond its profile. */
export function plainFittersOf(
  { stated, conservative }: ModelProfile,
  fitterOf: (profile: ModelProfile) => RequestFitter,
): PlainFitters {
  const known = new Map<string, RequestFitter>();
  return (refused) => {
    const further = furtherOf(refused, stated);
    const name = JSON.stringify(further);
    if (name === "{}") return undefined;
    const fitter =
      known.get(name) ??
      fitterOf({ stated: { ...stated, ...further }, conservative: { ...conservative, ...further } as AllCapabilities });
    known.set(name, fitter);
    return fitter;
  };
}

/** furtherOf returns what a server takes that refuses these forms. A profile that states a form holds, whatever its server has refused. */
function furtherOf(refused: RefusedForms, stated: Capabilities): Capabilities {
  const { place, areInstructions, areParts, isPrefill, isSchema, isAnyJson, isDemand } = refused;
  const { isSystem, areTurns, areCalls, areReasonedTools, areEmptyTurns, areThoughtless, areNulls } = refused;
  const isKeys = place !== undefined && stated.message_keys === undefined;
  const isPlaced = (areInstructions || areTurns) && stated.developer === undefined && stated.system === undefined;
  return {
    ...(isKeys ? ofMessages : {}),
    ...(isKeys && place === "request" ? { request_keys: settings } : {}),
    ...(isPlaced ? ofTemplates : {}),
    ...(areParts && stated.plain_text === undefined ? ofTexts : {}),
    ...(isPrefill && stated.last_turn === undefined ? { last_turn: "user" } : {}),
    ...(isSchema && stated.response_formats === undefined ? { response_formats: ["json_object"] } : {}),
    ...(isAnyJson && stated.response_formats === undefined ? { response_formats: ["json_schema"] } : {}),
    ...(isDemand && stated.demanded_calls === undefined ? { demanded_calls: "none" } : {}),
    // A server's profile says where instructions stand; whether the template of each model has a role for them, only a refusal says.
    ...(isSystem && stated.system !== "user" ? ofUser : {}),
    ...(areTurns && stated.turns === undefined ? { turns: "alternating" } : {}),
    ...(areCalls && stated.turn_calls === undefined ? { turn_calls: "one" } : {}),
    ...(areNulls && stated.null_content === undefined ? { null_content: "text" } : {}),
    ...(areEmptyTurns && stated.empty_turns === undefined ? { empty_turns: "none" } : {}),
    ...(areThoughtless && stated.thoughts_demanded === undefined ? ofThinkers(stated) : {}),
    ...(areReasonedTools && stated.reasoned_tools === undefined ? { reasoned_tools: false } : {}),
  };
}
