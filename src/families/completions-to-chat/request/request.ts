/**
 * A completion request → a chat request, and how the answer is then to be read.
 *
 * What both have goes on as it came, and so do keys that neither schema names. Keys that only chat knows and that would
 * change what is asked, or ask for what a text cannot hold, are left out.
 */
import { CreateChatCompletionRequestSchema } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import type {
  CreateCompletionRequest,
  CreateCompletionRequestSchema,
} from "../../../../gen/modelgateway/v1/completions_pb.ts";
import { asRefusal } from "../../../call/refusals.ts";
import type { CooperativeTask } from "../../../runtime/cooperative.ts";
import type { JsonObject } from "../../../wire/json.ts";
import { Wire } from "../../../wire/wire.ts";
import type { TranslationContext } from "../../translation.ts";
import { onlyPrompt } from "./prompt.ts";

/** How the chat answer is read as a completion. */
export interface AnswerContext {
  readonly id: string;
  /** The model asked for, in case the upstream does not say which one answers. */
  readonly model: string;
  /** In seconds since 1970, in case the upstream does not say when it answered. */
  readonly now: number;
  /** Comes before the text made: the prompt if the caller wants it there, else nothing. */
  readonly echo: string;
  /** Whether the text made is left out: the caller asked for no tokens, and chat models make at least one. */
  readonly muted: boolean;
  /** Whether a stream ends with the usage. */
  readonly includeUsage: boolean;
}

export interface ChatRequest {
  readonly chat: Wire<typeof CreateChatCompletionRequestSchema>;
  readonly dropped: readonly string[];
  readonly context: AnswerContext;
}

/** The default of the legacy API. */
const defaultMaxTokens = 16;

/** Written from the typed request below, or told by the form of the answer. */
const rewritten = new Set(["prompt", "echo", "max_tokens", "logprobs", "stream", "stream_options"]);

/** What no chat request can say, and whether this one says anything by it. */
const unsupported: ReadonlyMap<string, (request: CreateCompletionRequest) => boolean> = new Map([
  ["suffix", ({ suffix }) => suffix !== ""],
  ["best_of", ({ bestOf = 1, n = 1 }) => bestOf > n],
  ["logit_bias", ({ logitBias }) => Object.keys(logitBias).length > 0],
]);

/** No keys of a completion, but of chat. */
const chatOnly = new Set([
  ...["messages", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"],
  ...["modalities", "audio", "max_completion_tokens", "top_logprobs"],
]);

/** Throws a Refusal for a prompt that no chat call can serve. The prompt is one. */
export function* chatRequest(
  request: Wire<typeof CreateCompletionRequestSchema>,
  context: TranslationContext,
): CooperativeTask<ChatRequest> {
  const message = request.message();
  const prompt = onlyPrompt(message.prompt);
  const chat: JsonObject = {};
  const dropped: string[] = [];
  for (const [key, value] of Object.entries(request.json())) {
    if (value === null || rewritten.has(key)) continue;
    const isUnsaid = unsupported.get(key);
    if (isUnsaid?.(message) ?? chatOnly.has(key)) dropped.push(key);
    else if (!isUnsaid) chat[key] = value;
  }
  Object.assign(chat, typedKeys(message, prompt, context));
  // Upstreams refuse the options of a stream where none is asked for.
  const { stream_options } = request.json();
  if (context.form === "stream" && stream_options) chat.stream_options = stream_options;
  return { chat: yield* checked(chat), dropped, context: answerContextOf(message, prompt, context) };
}

function typedKeys({ maxTokens, logprobs }: CreateCompletionRequest, prompt: string, context: TranslationContext) {
  const bound = Math.min(maxTokens ?? defaultMaxTokens, context.maxOutputTokens ?? Number.POSITIVE_INFINITY);
  return {
    messages: [{ role: "user", content: prompt }],
    max_tokens: Math.max(bound, 1),
    ...(logprobs === undefined ? {} : { logprobs: true, top_logprobs: logprobs }),
  };
}

function answerContextOf(request: CreateCompletionRequest, prompt: string, context: TranslationContext): AnswerContext {
  return {
    id: `cmpl-${context.answerId}`,
    model: request.model ?? "",
    now: context.now,
    echo: request.echo ? prompt : "",
    muted: request.maxTokens === 0,
    includeUsage: request.streamOptions?.includeUsage ?? false,
  };
}

/** A key that the completion's schema does not name may be one of chat's, and wrong. */
function* checked(chat: JsonObject): CooperativeTask<ChatRequest["chat"]> {
  const wire = Wire.ofJson(CreateChatCompletionRequestSchema, chat);
  yield* wire.readLongMessage();
  try {
    wire.message();
  } catch (fault) {
    throw asRefusal(fault);
  }
  return wire;
}
