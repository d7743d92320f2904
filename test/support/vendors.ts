/**
 * Writes what upstreams of either family say, for scripted ones: answers, streams and errors in their vendors' form.
 *
 *   upstream.script = answerAsOpenAi;      // or answerAsAnthropic: a short answer to whatever is asked
 */
import { eventStream, type ScriptedExchange } from "./scripted-upstream.ts";

type Json = Readonly<Record<string, unknown>>;

/** Writes events as Anthropic does. */
export function anthropicFrames(...events: readonly Json[]): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

/** Writes chunks as OpenAI does; the word that ends them is the caller's to add. */
export function openaiFrames(...chunks: readonly Json[]): string {
  return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
}

export const done = "data: [DONE]\n\n";

export function anthropicError(type: string, message: string): Json {
  return { type: "error", error: { type, message }, request_id: "req_of_the_vendor" };
}

export function openaiError(type: string, message: string, code: string | null = null): Json {
  return { error: { message, type, param: null, code } };
}

// OpenAI.

export const chatUsage = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 };

export function chatAnswer(message: Json, finish_reason: string | null = "stop", more: Json = {}): Json {
  const choices = [{ index: 0, message: { role: "assistant", ...message }, logprobs: null, finish_reason }];
  return {
    id: "chatcmpl-v1",
    object: "chat.completion",
    created: 1,
    model: "v-chat",
    choices,
    usage: chatUsage,
    ...more,
  };
}

export function chatChunk(delta: Json, finish_reason: string | null = null, more: Json = {}): Json {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason }];
  return { id: "chatcmpl-v1", object: "chat.completion.chunk", created: 1, model: "v-chat", choices, ...more };
}

export function usageChunk(): Json {
  return { ...chatChunk({}), choices: [], usage: chatUsage };
}

export const helloChunks: readonly Json[] = [
  chatChunk({ role: "assistant", content: "" }),
  chatChunk({ content: "Hel" }),
  chatChunk({ content: "lo" }),
  chatChunk({}, "stop"),
];

/** The same in as few chunks as there can be, the last with its usage. */
export const briefHello: readonly Json[] = [
  chatChunk({ role: "assistant", content: "Hel" }),
  chatChunk({ content: "lo" }),
  chatChunk({}, "stop", { usage: chatUsage }),
];

export function completionPiece(text: string, finish_reason: string | null = null, more: Json = {}): Json {
  const choices = [{ text, index: 0, logprobs: null, finish_reason }];
  return { id: "cmpl-v1", object: "text_completion", created: 1, model: "v-text", choices, ...more };
}

/** vectorsOf returns a vector for each text of an input. */
function vectorsOf(input: unknown): Json {
  const data = [input].flat().map((_, index) => ({ object: "embedding", index, embedding: [0.5, -0.5] }));
  return { object: "list", model: "v-embedding", data, usage: { prompt_tokens: 1, total_tokens: 1 } };
}

// OpenAI's responses.

const responseUsage = {
  input_tokens: 9,
  input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 3 },
  total_tokens: 14,
};

export function responseAnswer(output: readonly Json[], more: Json = {}): Json {
  return {
    ...{ id: "resp_v1", object: "response", created_at: 1, status: "completed", background: false, error: null },
    ...{ incomplete_details: null, instructions: null, max_output_tokens: null, model: "v-response", output },
    ...{ parallel_tool_calls: true, previous_response_id: null, reasoning: { effort: null, summary: null } },
    ...{ service_tier: "default", store: false, temperature: 1, text: { format: { type: "text" } } },
    ...{ tool_choice: "auto", tools: [], top_p: 1, truncation: "disabled", usage: responseUsage, metadata: {} },
    ...more,
  };
}

export function outputMessage(text: string, more: Json = {}): Json {
  const content = [{ type: "output_text", text, annotations: [], logprobs: [] }];
  return { id: "msg_v1", type: "message", status: "completed", role: "assistant", content, ...more };
}

/** The events of a response of these items, each told in two pieces where it is told in pieces. */
export function responseEvents(response: Json): Json[] {
  const { output, status } = response as { output: readonly Json[]; status: string };
  const begun = { ...response, status: "in_progress", output: [], usage: null };
  const events = [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    ...output.flatMap(itemEvents),
    { type: `response.${status}`, response },
  ];
  return events.map((event, sequence_number) => ({ ...event, sequence_number }));
}

function itemEvents(item: Json, output_index: number): Json[] {
  const at = { item_id: item.id, output_index };
  return [
    { type: "response.output_item.added", output_index, item: emptied(item) },
    ...pieceEvents(item, at),
    { type: "response.output_item.done", output_index, item },
  ];
}

function emptied(item: Json): Json {
  if (item.type === "message") return { ...item, status: "in_progress", content: [] };
  if (item.type === "function_call") return { ...item, status: "in_progress", arguments: "" };
  if (item.type === "custom_tool_call") return { ...item, status: "in_progress", input: "" };
  return item.type === "reasoning" ? { ...item, summary: [] } : item;
}

function pieceEvents(item: Json, at: Json): Json[] {
  const parts = (item.content ?? []) as readonly Json[];
  const summary = (item.summary ?? []) as readonly Json[];
  if (item.type === "function_call") return halves("response.function_call_arguments", "arguments", item, at);
  if (item.type === "custom_tool_call") return halves("response.custom_tool_call_input", "input", item, at);
  if (item.type === "reasoning")
    return summary.flatMap((part, summary_index) => [
      { type: "response.reasoning_summary_part.added", ...at, summary_index, part: { ...part, text: "" } },
      ...halves("response.reasoning_summary_text", "text", part, { ...at, summary_index }),
      { type: "response.reasoning_summary_part.done", ...at, summary_index, part },
    ]);
  if (item.type !== "message") return [];
  return parts.flatMap((part, content_index) => {
    const isRefusal = part.type === "refusal";
    const about = isRefusal ? "response.refusal" : "response.output_text";
    const [key, begun] = isRefusal ? ["refusal", { refusal: "" }] : ["text", { text: "" }];
    const here = { ...at, content_index };
    return [
      { type: "response.content_part.added", ...here, part: { ...part, ...begun } },
      ...halves(about, key, part, isRefusal ? here : { ...here, logprobs: [] }),
      { type: "response.content_part.done", ...here, part },
    ];
  });
}

function halves(about: string, key: string, of: Json, at: Json): Json[] {
  const whole = of[key] as string;
  const middle = Math.ceil(whole.length / 2);
  return [
    { type: `${about}.delta`, ...at, delta: whole.slice(0, middle) },
    { type: `${about}.delta`, ...at, delta: whole.slice(middle) },
    { type: `${about}.done`, ...at, [key]: whole },
  ];
}

/** Answers with a response, whole or as a stream without any other end. */
export function respond(exchange: ScriptedExchange, response: Json): void {
  const { stream = false } = exchange.asked;
  if (!stream) {
    exchange.json(200, response);
    return;
  }
  exchange.head(200, eventStream);
  exchange.end(anthropicFrames(...responseEvents(response)));
}

/** Says hello to whatever is asked. */
export function answerAsOpenAi(exchange: ScriptedExchange): void {
  const { stream = false, input } = exchange.asked as { stream?: boolean; input?: unknown };
  if (exchange.path === "/v1/responses") {
    respond(exchange, responseAnswer([outputMessage("Hello")]));
    return;
  }
  const isCompletion = exchange.path === "/v1/completions";
  if (exchange.path === "/v1/embeddings") exchange.json(200, vectorsOf(input));
  else if (!stream && isCompletion) exchange.json(200, completionPiece("Hello", "stop", { usage: chatUsage }));
  else if (!stream) exchange.json(200, chatAnswer({ content: "Hello" }));
  else if (isCompletion) exchange.stream(completionPiece("Hel"), completionPiece("lo", "stop"), { ...usageOfText });
  else exchange.stream(...helloChunks, usageChunk());
}

const usageOfText = { ...completionPiece(""), choices: [], usage: chatUsage };

// Anthropic.

export function messageAnswer(
  content: readonly Json[],
  stop_reason: string | null = "end_turn",
  more: Json = {},
): Json {
  const head = { id: "msg_v1", type: "message", role: "assistant", model: "v-messages" };
  return { ...head, content, stop_reason, stop_sequence: null, usage: { input_tokens: 9, output_tokens: 2 }, ...more };
}

export function messageStart(): Json {
  const message = messageAnswer([], null, { usage: { input_tokens: 9, output_tokens: 0 } });
  return { type: "message_start", message };
}

/** The events of one block: its head, its pieces, its end. */
export function blockEvents(index: number, content_block: Json, ...deltas: readonly Json[]): Json[] {
  return [
    { type: "content_block_start", index, content_block },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
}

export function messageEnd(stop_reason = "end_turn"): Json[] {
  return [
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 2 } },
    { type: "message_stop" },
  ];
}

export const helloEvents: readonly Json[] = [
  messageStart(),
  ...blockEvents(
    0,
    { type: "text", text: "" },
    { type: "text_delta", text: "Hel" },
    { type: "text_delta", text: "lo" },
  ),
  ...messageEnd(),
];

/** Says hello to whatever is asked. */
export function answerAsAnthropic(exchange: ScriptedExchange): void {
  const { stream = false } = exchange.asked;
  if (exchange.path === "/v1/messages/count_tokens") exchange.json(200, { input_tokens: 9 });
  else if (!stream) exchange.json(200, messageAnswer([{ type: "text", text: "Hello" }]));
  else {
    exchange.head(200, eventStream);
    exchange.end(anthropicFrames(...helloEvents));
  }
}
