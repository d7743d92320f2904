/**
 * A completion request → a chat request, and what the answer's translation needs.
 *
 * Keys that both have pass through, and so do keys unknown to both. Keys of chat that would change the question, or
 * ask for what a text cannot hold, are dropped.
 */
import type { CreateChatCompletionRequestSchema } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import type {
  CreateCompletionRequest,
  CreateCompletionRequestSchema,
} from "../../../../gen/modelgateway/v1/completions_pb.ts";
import type { CooperativeTask } from "../../../runtime/cooperative.ts";
import type { JsonObject } from "../../../wire/json.ts";
import type { Wire } from "../../../wire/wire.ts";
import { readChatRequest } from "../../read-message.ts";
import type { TranslationContext } from "../../translation.ts";
import { onlyPrompt } from "./prompt.ts";

/** AnswerContext is what the translation of the answer needs from the request. */
export interface AnswerContext {
  readonly id: string;
  /** The requested model: used where the upstream does not name the one that answered. */
  readonly model: string;
  /** Seconds since 1970: used where the upstream does not report its time. */
  readonly now: number;
  /** The text that comes before the model's: the prompt, or nothing. */
  readonly echo: string;
  /** muted is whether the model's text is left out: the caller asked for no tokens, and chat models make at least one. */
  readonly muted: boolean;
  /** includeUsage is whether a stream ends with the usage. */
  readonly includeUsage: boolean;
}

export interface ChatRequest {
  readonly chat: Wire<typeof CreateChatCompletionRequestSchema>;
  readonly dropped: readonly string[];
  readonly context: AnswerContext;
}

/** The default of the legacy API. */
const defaultMaxTokens = 16;

/** Keys written from the typed request, or implied by the form of the answer. */
const rewritten = new Set(["prompt", "echo", "max_tokens", "logprobs", "stream", "stream_options"]);

/** Keys without a counterpart in chat, each with a test for a value other than the default. */
const unsupported: ReadonlyMap<string, (request: CreateCompletionRequest) => boolean> = new Map([
  ["suffix", ({ suffix }) => suffix !== ""],
  ["best_of", ({ bestOf = 1, n = 1 }) => bestOf > n],
  ["logit_bias", ({ logitBias }) => Object.keys(logitBias).length > 0],
]);

/** Keys of chat that are none of a completion's. */
const chatOnly = new Set([
  ...["messages", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"],
  ...["modalities", "audio", "max_completion_tokens", "top_logprobs"],
]);

/** chatRequest takes a request with one prompt. Throws a Refusal for a prompt that no chat call can serve. */
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
  // Upstreams refuse stream options without a stream.
  const { stream_options } = request.json();
  if (context.form === "stream" && stream_options) chat.stream_options = stream_options;
  return { chat: yield* readChatRequest(chat), dropped, context: answerContextOf(message, prompt, context) };
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
