/**
 * Doubles of the servers that the catalogue has a profile of: what each refuses of a chat request, by its public documentation,
 * its source, or what its users have met. Written apart from the profiles, so that each holds the other to it.
 */
import {
  deepseekResponses,
  groqResponses,
  openAiResponses,
  openRouterResponses,
  type ResponseRequest,
  type ResponseRule,
  refusedSchema,
  vllmResponses,
  xaiResponses,
} from "./strict-responders.ts";

type Json = Readonly<Record<string, unknown>>;

export interface ChatRequest extends Json {
  readonly model: string;
  readonly messages: readonly (Json & { readonly role: string; readonly content?: unknown })[];
}

/** Says what is wrong with a request; undefined where nothing is. */
type Rule = (request: ChatRequest) => string | undefined;

const has = (value: unknown) => value !== undefined && value !== null;

/** Refuses keys. */
const without =
  (...keys: readonly string[]): Rule =>
  (request) => {
    const found = keys.find((key) => has(request[key]));
    return found && `unsupported parameter: ${found}`;
  };

/** Refuses keys that it does not know, as pydantic's strict models do. */
const only =
  (...keys: readonly string[]): Rule =>
  (request) => {
    const found = Object.keys(request).find((key) => !keys.includes(key));
    return found && `Extra inputs are not permitted: ${found}`;
  };

/** Refuses members that stand anywhere in messages or tools, as servers do that know every key. */
const nowhere =
  (...keys: readonly string[]): Rule =>
  ({ messages, tools }) => {
    const written = JSON.stringify([messages, tools]);
    const found = keys.find((key) => written.includes(`"${key}":`));
    return found && `property '${found}' is unsupported`;
  };
/** Refuses what OpenAI's requests do not have in a message or a call, but for `more`, as servers do that check each key. */
const knownKeys =
  (...more: readonly string[]): Rule =>
  ({ messages }) => {
    const ofMessages = ["role", "content", "name", "tool_calls", "tool_call_id", ...more];
    const ofCalls = ["id", "type", "function", "custom", ...more];
    const calls = messages.flatMap(({ tool_calls: list }) => (Array.isArray(list) ? (list as Json[]) : []));
    const unknown = [
      ...messages.flatMap((message) => Object.keys(message).filter((key) => !ofMessages.includes(key))),
      ...calls.flatMap((one) => Object.keys(one).filter((key) => !ofCalls.includes(key))),
    ];
    return unknown[0] && `property '${unknown[0]}' is unsupported`;
  };
const noMarks = nowhere("cache_control", "prompt_cache_breakpoint");
const noClaudeMarks = nowhere("cache_control");

const noDeveloper: Rule = ({ messages }) =>
  messages.some(({ role }) => role === "developer") ? "unknown variant `developer`" : undefined;

/** As the templates of Qwen, Llama and Gemma have it. */
const systemFirst: Rule = ({ messages }) =>
  messages.some(({ role }, i) => i > 0 && role === "system") ? "System message must be at the beginning." : undefined;

const plainText =
  (...roles: readonly string[]): Rule =>
  ({ messages }) =>
    messages.some(({ role, content }) => roles.includes(role) && Array.isArray(content))
      ? "invalid type: sequence, expected a string"
      : undefined;

const noEmptyTools: Rule = ({ tools }) => (Array.isArray(tools) && tools.length === 0 ? "tools is empty" : undefined);

const onlyFunctions: Rule = ({ tools }) =>
  Array.isArray(tools) && tools.some(({ type }) => type !== "function") ? "unknown variant `custom`" : undefined;

const efforts =
  (...words: readonly string[]): Rule =>
  ({ reasoning_effort: effort }) =>
    has(effort) && !words.includes(effort as string) ? `unsupported reasoning_effort ${effort}` : undefined;

const noSchema: Rule = ({ response_format: format, messages }) => {
  const { type } = (format ?? {}) as Json;
  if (type === "json_schema") return "This response_format type is unavailable now";
  const said = messages.map(({ content }) => JSON.stringify(content ?? "")).join();
  return type === "json_object" && !/json/i.test(said)
    ? "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'."
    : undefined;
};

/** As Mistral's API has it: nine letters and digits. */
const nineSigns: Rule = ({ messages }) => {
  const ids = messages.flatMap(({ tool_calls: calls, tool_call_id: id }) => [
    ...(Array.isArray(calls) ? calls.map((call) => (call as Json).id) : []),
    ...(has(id) ? [id] : []),
  ]);
  const wrong = ids.map((id) => `${id}`).find((id) => !/^[a-zA-Z0-9]{9}$/.test(id));
  return wrong && `Tool call id was ${wrong} but must be a-z, A-Z, 0-9, with a length of 9.`;
};

/** As OpenAI's own checks have it. */
const rooted: Rule = ({ tools }) =>
  (Array.isArray(tools) ? tools : [])
    .map((tool) => ((tool as Json).function ?? {}) as Json)
    .map(({ parameters, strict }) => refusedSchema(parameters, strict))
    .find(has);

const shortIds: Rule = ({ messages }) =>
  messages
    .flatMap(({ tool_calls: calls, tool_call_id: id }) => [id, ...(Array.isArray(calls) ? calls.map(idOf) : [])])
    .some((id) => `${id ?? ""}`.length > 40)
    ? "string too long. Expected a string with maximum length 40"
    : undefined;

const idOf = (call: unknown) => (call as Json).id;

/** As the templates of Mistral's models have it, wherever they are served. */
const noUserAfterTool: Rule = ({ messages }) =>
  messages.some(({ role }, i) => role === "user" && messages[i - 1]?.role === "tool")
    ? "Unexpected role 'user' after role 'tool'"
    : undefined;

/** As Mistral's API and templates have it. */
const noLastAssistant: Rule = ({ messages }) =>
  messages.at(-1)?.role === "assistant" && messages.at(-1)?.prefix !== true
    ? "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"
    : undefined;

/** As DeepSeek's and Moonshot's models want it while they think. */
const thoughtful: Rule = (request) =>
  !isThinkingDisabled(request) &&
  request.messages.some(({ role, reasoning_content: thought }) => role === "assistant" && !thought)
    ? "The `reasoning_content` in the thinking mode must be passed back to the API."
    : undefined;

/** As the models of DeepSeek, Moonshot and Alibaba have it: `isOff` says whether a request switches their thinking off. */
const noDemandWhileThinking =
  (isOff: (request: ChatRequest) => boolean): Rule =>
  (request) => {
    const { tool_choice: choice = null } = request;
    const isDemanded = choice !== null && choice !== "auto" && choice !== "none";
    return isDemanded && !isOff(request) ? "Thinking mode does not support this tool_choice" : undefined;
  };
/** As Kimi K3 has it, which always thinks. */
/** As of a server that passes over a choice: it would call whatever it likes. */
const noChoice: Rule = ({ tool_choice: choice }) => (has(choice) ? "tool_choice is not heeded" : undefined);

const noNamedDemand: Rule = ({ tool_choice: choice }) =>
  typeof choice === "object" && choice !== null
    ? "tool_choice 'specified' is incompatible with thinking enabled"
    : undefined;
const isThinkingDisabled = ({ thinking }: ChatRequest) => (thinking as Json | undefined)?.type === "disabled";

/** Finds a schema of the tools that breaks a rule. */
const schemas =
  (breaks: (schema: Json) => string | undefined): Rule =>
  ({ tools }) => {
    const walk = (value: unknown): string | undefined => {
      if (Array.isArray(value)) return value.map(walk).find(has);
      if (typeof value !== "object" || value === null) return undefined;
      return breaks(value as Json) ?? Object.values(value).map(walk).find(has);
    };
    return walk(Array.isArray(tools) ? tools.map((tool) => ((tool as Json).function as Json)?.parameters) : []);
  };

const flavored = schemas((schema) => {
  if (has(schema.$ref)) return "tools.function.parameters is not a valid moonshot flavored json schema: $ref";
  if (Array.isArray(schema.items)) return "tools.function.parameters is not valid: items is a list";
  if (schema.type === "null" || Array.isArray(schema.type) || has(schema.nullable))
    return "tools.function.parameters is not a valid moonshot flavored json schema: null";
  return has(schema.anyOf) && has(schema.type) ? "when using anyOf, type should be defined in anyOf items" : undefined;
});

const unknownToGoogle = schemas((schema) => {
  const names = ["$ref", "$schema", "$defs", "exclusiveMinimum", "const", "propertyNames", "oneOf", "allOf"];
  const name = names.find((key) => has(schema[key]));
  if (schema.type === "null" || Array.isArray(schema.type)) return "Proto field is not repeating, cannot start list.";
  return name && `Invalid JSON payload received. Unknown name "${name}": Cannot find field.`;
});

/** OpenAI's models that reason, so much unless they are told. */
const reasoner =
  (unasked: string): Rule =>
  (request) => {
    const effort = request.reasoning_effort ?? unasked;
    if (has(request.max_tokens)) return "Use 'max_completion_tokens' instead.";
    if ((request.max_completion_tokens as number) < 16) return "Could not finish the message";
    if (effort !== "none" && has(request.temperature) && request.temperature !== 1)
      return "Unsupported value: 'temperature'";
    return without("stop", "logit_bias", "presence_penalty", "frequency_penalty", "top_k", "client_metadata")(request);
  };

const mistralKeys = [
  "model",
  "messages",
  "max_tokens",
  "temperature",
  "top_p",
  "stop",
  "stream",
  "tools",
  "tool_choice",
];

export interface StrictServer {
  /** As in the catalogue. */
  readonly vendor: string;
  /** A model of its. */
  readonly model: string;
  /** Of chat requests; none is taken where there are none. */
  readonly rules?: readonly Rule[];
  /** takesNoDemand is whether it takes no demand for a call, whatever else is asked for. */
  readonly takesNoDemand?: boolean;
  /** Of requests for responses (`strict-responders.ts`); none is taken where there are none. */
  readonly responses?: readonly ResponseRule[];
}

/** OpenAI's models from gpt-5.4 on: no tools in chat while they reason, so much unless they are told. */
const noToolsWhileReasoning =
  (unasked: string): Rule =>
  ({ tools, reasoning_effort: effort = unasked, model }) =>
    Array.isArray(tools) && tools.length > 0 && effort !== "none"
      ? `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions.`
      : undefined;

export const strictServers: readonly StrictServer[] = [
  {
    vendor: "alibaba",
    model: "qwen3.8-max",
    rules: [
      noDeveloper,
      systemFirst,
      without("frequency_penalty", "reasoning_effort"),
      noDemandWhileThinking(({ enable_thinking: isThinking }) => isThinking === false),
    ],
  },
  {
    vendor: "azure",
    model: "gpt-5.6-sol",
    rules: [
      knownKeys("refusal"),
      noClaudeMarks,
      shortIds,
      reasoner("medium"),
      efforts("none", "low", "medium", "high", "xhigh", "max"),
      noToolsWhileReasoning("medium"),
    ],
    responses: openAiResponses("medium", ["none", "low", "medium", "high", "xhigh", "max"]),
  },
  {
    vendor: "deepseek",
    model: "deepseek-v4",
    rules: [
      noMarks,
      noDeveloper,
      plainText("system", "assistant", "tool"),
      onlyFunctions,
      noSchema,
      efforts("low", "high", "max"),
      thoughtful,
      noDemandWhileThinking(isThinkingDisabled),
    ],
    responses: deepseekResponses,
  },
  {
    vendor: "google",
    model: "gemini-3-pro",
    rules: [
      knownKeys("extra_content"),
      noMarks,
      noDeveloper,
      systemFirst,
      without("prompt_cache_key", "web_search_options", "reasoning", "store", "metadata", "verbosity", "logit_bias"),
      efforts("low", "medium", "high"),
      unknownToGoogle,
    ],
  },
  {
    vendor: "groq",
    model: "llama-3.3-70b",
    rules: [
      knownKeys("reasoning"),
      noMarks,
      noDeveloper,
      without("logprobs", "top_logprobs", "logit_bias", "reasoning_effort", "store", "metadata", "top_k"),
    ],
    responses: groqResponses,
  },
  { vendor: "llamacpp", model: "any.gguf", rules: [noDeveloper, systemFirst] },
  { vendor: "lmstudio", model: "any", rules: [noDeveloper, systemFirst, without("reasoning_effort")] },
  {
    vendor: "mistral",
    model: "mistral-medium-3.5",
    rules: [
      knownKeys("prefix"),
      noMarks,
      only(
        ...mistralKeys,
        "presence_penalty",
        "frequency_penalty",
        "n",
        "response_format",
        "parallel_tool_calls",
        "reasoning_effort",
        "prompt_cache_key",
      ),
      noDeveloper,
      systemFirst,
      noEmptyTools,
      efforts("none", "high"),
      nineSigns,
      noUserAfterTool,
      noLastAssistant,
    ],
  },
  {
    vendor: "moonshot",
    model: "kimi-k2.6",
    rules: [
      noMarks,
      noDeveloper,
      without("temperature", "top_p", "presence_penalty", "frequency_penalty", "reasoning_effort"),
      thoughtful,
      flavored,
      noDemandWhileThinking(isThinkingDisabled),
    ],
  },
  {
    vendor: "moonshot",
    model: "kimi-k2.7-code",
    rules: [
      noMarks,
      noDeveloper,
      without("temperature", "top_p", "presence_penalty", "frequency_penalty", "reasoning_effort"),
      (request) => (isThinkingDisabled(request) ? "invalid thinking: only type=enabled is allowed" : undefined),
      thoughtful,
      flavored,
      noDemandWhileThinking(() => false),
    ],
    takesNoDemand: true,
  },
  {
    vendor: "moonshot",
    model: "kimi-k3",
    rules: [
      noMarks,
      noDeveloper,
      without("temperature", "top_p", "presence_penalty", "frequency_penalty"),
      efforts("low", "high", "max"),
      thoughtful,
      flavored,
      noNamedDemand,
    ],
  },
  {
    vendor: "ollama",
    model: "llama3",
    rules: [noDeveloper, without("max_completion_tokens"), efforts("none", "low", "medium", "high", "max"), noChoice],
    takesNoDemand: true,
  },
  {
    vendor: "openai",
    model: "gpt-5.1",
    rules: [
      knownKeys("refusal"),
      noMarks,
      shortIds,
      rooted,
      reasoner("none"),
      efforts("none", "low", "medium", "high"),
    ],
    responses: openAiResponses("none", ["none", "low", "medium", "high"]),
  },
  {
    vendor: "openai",
    model: "gpt-4.1",
    rules: [
      knownKeys("refusal"),
      noMarks,
      shortIds,
      rooted,
      noEmptyTools,
      without("reasoning_effort", "top_k", "client_metadata"),
    ],
    responses: openAiResponses(undefined, []),
  },
  {
    vendor: "openai",
    model: "o3",
    rules: [knownKeys("refusal"), noMarks, shortIds, rooted, reasoner("medium"), efforts("low", "medium", "high")],
    responses: openAiResponses("medium", ["low", "medium", "high"]),
  },
  {
    vendor: "openai",
    model: "gpt-5.4-mini",
    rules: [
      knownKeys("refusal"),
      noMarks,
      shortIds,
      reasoner("none"),
      efforts("none", "low", "medium", "high", "xhigh"),
      noToolsWhileReasoning("none"),
    ],
    responses: openAiResponses("none", ["none", "low", "medium", "high", "xhigh"]),
  },
  {
    vendor: "openai",
    model: "gpt-6-sol",
    rules: [
      knownKeys("refusal"),
      noClaudeMarks,
      shortIds,
      reasoner("medium"),
      efforts("none", "low", "medium", "high", "xhigh"),
      noToolsWhileReasoning("medium"),
    ],
    responses: openAiResponses("medium", ["none", "low", "medium", "high", "xhigh", "max"]),
  },
  {
    vendor: "openai",
    model: "gpt-6.2-astra",
    rules: [
      knownKeys("refusal"),
      noClaudeMarks,
      shortIds,
      reasoner("medium"),
      efforts("low", "medium", "high", "xhigh"),
      noToolsWhileReasoning("medium"),
    ],
    responses: openAiResponses("medium", ["low", "medium", "high", "xhigh", "max"]),
  },
  {
    vendor: "openai",
    model: "gpt-5.3-codex",
    responses: openAiResponses("none", ["none", "low", "medium", "high", "xhigh"]),
  },
  { vendor: "openai", model: "gpt-5-pro", responses: openAiResponses("medium", ["low", "medium", "high"]) },
  {
    vendor: "openrouter",
    model: "openai/gpt-5.6-sol",
    rules: [efforts("none", "minimal", "low", "medium", "high", "xhigh", "max")],
    responses: openRouterResponses,
  },
  {
    vendor: "sglang",
    model: "any",
    rules: [
      ...[noDeveloper, systemFirst, noEmptyTools],
      efforts("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    ],
  },
  {
    vendor: "sglang",
    model: "openai/gpt-oss-120b",
    rules: [noDeveloper, systemFirst, noEmptyTools, efforts("low", "medium", "high")],
  },
  {
    vendor: "together",
    model: "meta-llama/Llama-4",
    rules: [noMarks, noDeveloper, systemFirst, without("reasoning_effort")],
  },
  {
    vendor: "vllm",
    model: "openai/gpt-oss-120b",
    rules: [noDeveloper, systemFirst, efforts("low", "medium", "high")],
    responses: vllmResponses,
  },
  {
    vendor: "vllm",
    model: "mistralai/Mistral-Small-4",
    rules: [noDeveloper, systemFirst, noUserAfterTool, noLastAssistant],
    responses: vllmResponses,
  },
  { vendor: "vllm", model: "any", rules: [noDeveloper, systemFirst, noEmptyTools], responses: vllmResponses },
  {
    vendor: "xai",
    model: "grok-4.5",
    rules: [
      noMarks,
      noDeveloper,
      without("store", "logit_bias", "top_k", "presence_penalty", "frequency_penalty", "stop"),
      efforts("low", "medium", "high"),
    ],
    responses: xaiResponses,
  },
  {
    vendor: "zai",
    model: "glm-5.3-flash",
    rules: [
      ...[noMarks, noDeveloper, systemFirst, noSchema, without("store", "reasoning_effort")],
      noDemandWhileThinking(() => false),
    ],
    takesNoDemand: true,
  },
  {
    vendor: "nobody's",
    model: "open-model",
    rules: [
      noDeveloper,
      systemFirst,
      noEmptyTools,
      onlyFunctions,
      plainText("system", "assistant", "tool"),
      without("reasoning_effort", "max_completion_tokens", "store", "metadata", "client_metadata"),
      without("prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier", "verbosity"),
      without("web_search_options"),
    ],
  },
];

/** Returns what the server answers to what it refuses; undefined where it takes the request. */
export function refusedBy({ rules }: StrictServer, request: ChatRequest): Json | undefined {
  if (!rules) return refusal("This model is only supported in v1/responses and not in v1/chat/completions.");
  for (const rule of rules) {
    const message = rule(request);
    if (message) return refusal(message);
  }
  return undefined;
}

/** The same of a request for a response. */
export function refusesResponse({ responses }: StrictServer, request: ResponseRequest): Json | undefined {
  if (!responses) return refusal("Unknown request URL: POST /v1/responses.");
  for (const rule of responses) {
    const message = rule(request);
    if (message) return refusal(message);
  }
  return undefined;
}

function refusal(message: string): Json {
  return { error: { message, type: "invalid_request_error", param: null, code: null } };
}
