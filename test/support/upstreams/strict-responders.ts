/**
 * Doubles of the servers that are asked for responses: what each refuses, by its public documentation, its source, or what its users
 * have met. Written apart from the profiles, so that each holds the other to it.
 */
type Json = Readonly<Record<string, unknown>>;

export interface ResponseRequest extends Json {
  readonly model: string;
  readonly input: string | readonly Json[];
}

/** Says what is wrong with a request; undefined where nothing is. */
export type ResponseRule = (request: ResponseRequest) => string | undefined;

const has = (value: unknown) => value !== undefined && value !== null;

function itemsOf({ input }: ResponseRequest): readonly Json[] {
  return typeof input === "string" ? [{ type: "message", role: "user", content: input }] : input;
}

/** The keys that every server of responses has. */
const usual = [
  ...["model", "input", "instructions", "max_output_tokens"],
  ...["tools", "tool_choice", "parallel_tool_calls", "reasoning"],
];

/** The keys of OpenAI's reference, and those that its own agents send. */
const known = new Set([
  ...usual,
  ...["text", "include", "store", "stream", "stream_options", "temperature", "top_p", "top_logprobs", "truncation"],
  ...["metadata", "user", "safety_identifier", "service_tier", "prompt_cache_key", "prompt_cache_retention"],
  ...["max_tool_calls", "context_management", "client_metadata", "moderation"],
]);

const onlyKnown: ResponseRule = (request) => {
  const odd = Object.keys(request).find((key) => !known.has(key));
  return odd && `Unknown parameter: '${odd}'.`;
};

/** The gateway keeps what is kept. */
const keepsNothing: ResponseRule = ({ store, previous_response_id: previous }) =>
  store !== false || has(previous) ? "Responses must not be kept here." : undefined;

/** A result belongs to a call that stands before it. */
const noOrphans: ResponseRule = (request) => {
  const called = new Set<unknown>();
  for (const { type, call_id: id } of itemsOf(request)) {
    if (type === "function_call" || type === "custom_tool_call") called.add(id);
    if ((type === "function_call_output" || type === "custom_tool_call_output") && !called.has(id)) {
      return `No tool call found for function call output with call_id ${id}.`;
    }
  }
  return undefined;
};

const shortIds: ResponseRule = (request) =>
  itemsOf(request).some(({ call_id: id }) => `${id ?? ""}`.length > 64)
    ? "string too long. Expected a string with maximum length 64"
    : undefined;

/** Refuses reasoning that was not kept there and does not come back whole, and followed by what it led to. */
const reasoningWhole: ResponseRule = (request) => {
  const items = itemsOf(request);
  for (const [i, item] of items.entries()) {
    if (item.type !== "reasoning") continue;
    if (!has(item.encrypted_content)) return `Item with id '${item.id}' not found. Items are not persisted.`;
    if (!`${item.encrypted_content}`.startsWith("gAAA")) return "The encrypted content could not be verified.";
    // Its content is held to its id, where that is sent.
    if (has(item.id) && `${item.encrypted_content}` !== `gAAA-${item.id}`)
      return "Encrypted content item_id did not match.";
    const next = items.slice(i + 1).find(({ type }) => type !== "reasoning");
    const follows = next && (next.role === "assistant" || /_call$/.test(`${next.type}`));
    if (!follows) return `Item '${item.id}' of type 'reasoning' was provided without its required following item.`;
  }
  return undefined;
};

/** Ids of items are its own, where there are any, or of agents: its makers' gives its items UUIDs, and Copilot makes them of those of calls. */
const ownIds: ResponseRule = (request) => {
  const own = /^((msg|rs|fc|ctc|cmp|ws|mcpr)_v\w*|fc_call_\w+|[a-z]+_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
  const odd = itemsOf(request).find(({ id }) => has(id) && !own.test(`${id}`));
  return odd && `Invalid 'input.id': '${odd.id}'.`;
};

const partsOf: ResponseRule = (request) => {
  for (const { role, content } of itemsOf(request)) {
    if (!Array.isArray(content)) continue;
    const taken = role === "assistant" ? /^(output_text|refusal)$/ : /^input_(text|image|file)$/;
    const odd = (content as readonly Json[]).find(({ type }) => !taken.test(`${type}`));
    if (odd) return `Invalid value: '${odd.type}'.`;
  }
  return undefined;
};

const flatTools: ResponseRule = ({ tools, tool_choice: choice }) => {
  if (!Array.isArray(tools)) return has(choice) && choice !== "auto" && choice !== "none" ? "no tools" : undefined;
  const odd = tools.find((tool) => ["function", "custom"].includes(tool.type) && typeof tool.name !== "string");
  return odd && "Missing required parameter: 'tools[0].name'.";
};

/**
 * A function that says so is held to its schema, which must be closed. Without a word OpenAI closes the schema itself: LangChain
 * never says it.
 * Source: https://developers.openai.com/api/docs/guides/function-calling#strict-mode
 */
const strictTools: ResponseRule = ({ tools = [] }) => {
  const loose = (tools as readonly Json[]).find(({ type, strict, parameters }) => {
    return type === "function" && strict === true && (parameters as Json).additionalProperties !== false;
  });
  return loose && "Invalid schema for function: 'additionalProperties' is required to be supplied and to be false.";
};

/** refusedSchema says what OpenAI refuses of a function's parameters. */
export function refusedSchema(parameters: unknown, strict: unknown): string | undefined {
  if (!has(parameters)) return undefined;
  const schema = parameters as Json;
  const isPlain = ["oneOf", "anyOf", "allOf", "enum", "not"].every((key) => !has(schema[key]));
  if (schema.type !== "object" || !isPlain)
    return "schema must have type 'object' and not have 'oneOf' at the top level.";
  if (/\\\\[pP]\{/.test(JSON.stringify(schema).replace(/"description":"(?:[^"\\]|\\.)*"/g, "")))
    return "is not a 'regex'.";
  const all = Object.keys((schema.properties ?? {}) as Json);
  const isLoose =
    schema.additionalProperties !== false || all.some((key) => !(schema.required as string[])?.includes(key));
  return strict === true && isLoose ? "'required' is required to include every key." : undefined;
}

const rootedTools: ResponseRule = ({ tools = [] }) =>
  (tools as readonly Json[]).map(({ parameters, strict }) => refusedSchema(parameters, strict)).find(has);

/** `unasked` is how much the model reasons unless it is told; undefined where it does not. */
const reasonsSo =
  (unasked: string | undefined, efforts: readonly string[]): ResponseRule =>
  ({ reasoning, include = [], temperature, top_p: topP, max_output_tokens: bound }) => {
    const { effort = null } = (reasoning ?? {}) as Json;
    if (unasked === undefined) {
      if (has(reasoning)) return "Unsupported parameter: 'reasoning.effort' is not supported with this model.";
      if ((include as readonly string[]).includes("reasoning.encrypted_content"))
        return "Encrypted content is not supported with this model.";
      return undefined;
    }
    if (effort !== null && !efforts.includes(effort as string)) return `Unsupported value: '${effort}'.`;
    if (has(bound) && (bound as number) < 16) return "Invalid 'max_output_tokens': integer below minimum value.";
    const isReasoning = (effort ?? unasked) !== "none";
    if (isReasoning && (include as readonly string[]).includes("message.output_text.logprobs"))
      return "logprobs are not supported with reasoning models.";
    if (isReasoning && [temperature, topP].some((value) => has(value) && value !== 1))
      return "Unsupported parameter: 'temperature' is not supported with this model.";
    return undefined;
  };

export function openAiResponses(unasked: string | undefined, efforts: readonly string[]): readonly ResponseRule[] {
  const items = [noOrphans, shortIds, reasoningWhole, ownIds, partsOf];
  return [onlyKnown, keepsNothing, ...items, flatTools, strictTools, rootedTools, reasonsSo(unasked, efforts)];
}

const onlyFunctions: ResponseRule = ({ tools = [] }) =>
  (tools as readonly Json[]).some(({ type }) => type !== "function") ? "only function tools are supported" : undefined;

const plainItems: ResponseRule = (request) => {
  const taken = /^(message|function_call|function_call_output|reasoning)$/;
  const odd = itemsOf(request).find(({ type = "message" }) => !taken.test(`${type}`));
  return odd && `unknown item ${odd.type}`;
};

const onlyWith =
  (...keys: readonly string[]): ResponseRule =>
  (request) => {
    const found = keys.find((key) => has(request[key]));
    return found && `'${found}' is not supported`;
  };

/** Templates of open models, behind vLLM's responses: instructions are one, and stand first. */
const instructionsFirst: ResponseRule = (request) => {
  const roles = itemsOf(request).map(({ role }) => role);
  if (roles.includes("developer")) return "Unexpected message role.";
  const isLate = roles.some((role, i) => role === "system" && (i > 0 || has(request.instructions)));
  return isLate ? "System message must be at the beginning." : undefined;
};

/** As DeepSeek's models want it: reasoning has its text, and a call cannot be demanded of it. `response_format` is not read here. */
const reasonsOpenly: ResponseRule = ({ reasoning, tool_choice: choice = null }) => {
  const { effort = "high" } = (reasoning ?? {}) as Json;
  if (!["none", "low", "high", "max"].includes(effort as string)) return `unsupported effort ${effort}`;
  const isDemanded = choice !== null && choice !== "auto" && choice !== "none";
  return effort !== "none" && isDemanded ? "Thinking mode does not support this tool_choice" : undefined;
};

/** As DeepSeek's models want it while they think: each turn of theirs has its reasoning. */
const thoughtfulTurns: ResponseRule = (request) => {
  const { effort } = (request.reasoning ?? {}) as Json;
  if (effort === "none") return undefined;
  let hasReasoning = false;
  for (const { type = "message", role, content } of itemsOf(request)) {
    if (type === "reasoning") hasReasoning = JSON.stringify(content ?? []).includes('"reasoning_text","text":"');
    else if (type === "function_call_output" || (type === "message" && role !== "assistant")) hasReasoning = false;
    else if (!hasReasoning) return "The `reasoning_text` in the thinking mode must be passed back to the API.";
  }
  return undefined;
};

const noEncrypted: ResponseRule = (request) =>
  itemsOf(request).some(({ type, content }) => type === "reasoning" && !Array.isArray(content))
    ? "reasoning without content"
    : undefined;

export const vllmResponses: readonly ResponseRule[] = [
  keepsNothing,
  onlyFunctions,
  plainItems,
  instructionsFirst,
  noEncrypted,
  noOrphans,
];

const grok = new Set([
  ...usual,
  ...[
    "text",
    "include",
    "store",
    "stream",
    "temperature",
    "top_p",
    "top_logprobs",
    "user",
    "prompt_cache_key",
    "logprobs",
  ],
]);

export const xaiResponses: readonly ResponseRule[] = [
  keepsNothing,
  onlyFunctions,
  plainItems,
  noOrphans,
  ({ include = [] }) =>
    (include as readonly string[]).some((word) => word !== "reasoning.encrypted_content") ? "include" : undefined,
  ({ reasoning }) => {
    const { effort = null } = (reasoning ?? {}) as Json;
    return effort === null || ["low", "medium", "high"].includes(effort as string) ? undefined : `effort ${effort}`;
  },
  (request) => (Object.keys(request).every((key) => grok.has(key)) ? undefined : "unknown key"),
];

/** As DeepSeek has it: a call of which the results do not follow at once has none. */
const resultsAtOnce: ResponseRule = (request) => {
  const open = new Set<unknown>();
  for (const { type = "message", role, call_id: id } of itemsOf(request)) {
    if (type === "function_call") open.add(id);
    else if (type === "function_call_output") open.delete(id);
    else if (open.size > 0 && type === "message" && role !== "assistant")
      return `No tool output found for tool call ${[...open][0]}`;
  }
  return undefined;
};

export const deepseekResponses: readonly ResponseRule[] = [
  resultsAtOnce,
  keepsNothing,
  onlyFunctions,
  plainItems,
  noEncrypted,
  noOrphans,
  reasonsOpenly,
  thoughtfulTurns,
  (request) => (itemsOf(request).some(({ role }) => role === "developer") ? "developer is a user here" : undefined),
];

export const groqResponses: readonly ResponseRule[] = [
  onlyWith("store", "include", "truncation", "safety_identifier", "prompt_cache_key", "previous_response_id"),
  onlyFunctions,
  plainItems,
  noOrphans,
  ({ reasoning }) => (has(reasoning) ? "reasoning is not supported with this model" : undefined),
];

export const openRouterResponses: readonly ResponseRule[] = [keepsNothing, plainItems, noOrphans];
