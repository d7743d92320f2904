/**
 * What is asked and what upstreams answer. The model's name tells the upstream's stub how to answer, and reaches it
 * through every target alike.
 */

/** The models, by what their upstream does. Those served by the stub have times in their names, in milliseconds. */
export const models = {
  /** Answers 1 kB at once. */
  chat: "chat",
  embeddings: "embed",
  /** The same answer as `chat`, from the stub, which takes requests of any size. */
  long: "long",
  /** Answers after 50 ms. */
  late: "late-50",
  /** Streams 300 chunks as fast as they are taken. */
  flat: "flat",
  /** Streams one chunk at once, and its end 5 ms later. */
  brief: "brief-5",
  /** Stream a chunk each so many milliseconds until they are told to end. */
  paced: (ms: number) => `paced-${ms}`,
} as const;

export const pacings = [20, 200, 10_000];
export const chunksPerStream = 300;
export const dimensions = 1536;

/** A chat request whose text has so many bytes. */
export function chatRequest(model: string, bytes: number, more: object = {}): string {
  const messages = [{ role: "user", content: textOf(bytes - 120) }];
  return JSON.stringify({ model, messages, max_tokens: 200, temperature: 0.5, ...more });
}

/** The same in the Messages API's words. */
export function messagesRequest(model: string, bytes: number, more: object = {}): string {
  return chatRequest(model, bytes, more);
}

/** Chat requests of 1 kB as `wrk` sends them: one by each of these keys. */
export function chatRequestsBy(secrets: readonly string[]) {
  const body = chatRequest(models.chat, 1000);
  return secrets.map((secret) => ({ headers: { authorization: `Bearer ${secret}` }, body }));
}

export function embeddingsRequest(): string {
  return JSON.stringify({ model: models.embeddings, input: textOf(900) });
}

const words = "The quick brown fox jumps over the lazy dog, and a gateway should not be felt in between. ";

function textOf(bytes: number): string {
  return words.repeat(Math.ceil(bytes / words.length)).slice(0, Math.max(0, bytes));
}

const usage = { prompt_tokens: 210, completion_tokens: 170, total_tokens: 380 };

export const chatAnswer = JSON.stringify({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "bench",
  choices: [{ index: 0, message: { role: "assistant", content: textOf(760) }, finish_reason: "stop" }],
  usage,
});

export const embeddingsAnswer = JSON.stringify({
  object: "list",
  data: [{ object: "embedding", index: 0, embedding: Array.from({ length: dimensions }, vectorPart) }],
  model: "bench",
  usage: { prompt_tokens: 210, total_tokens: 210 },
});

function vectorPart(_: unknown, i: number): number {
  return Number((Math.sin(i + 1) / 20).toFixed(9));
}

/** The moment of sending stands in a chunk's text between these, in so many digits of nanoseconds. */
export const stampMark = "@";
export const stampDigits = 16;

/** Writes a moment of `process.hrtime`, which is the same clock in all processes. */
export function stamp(): string {
  return String(process.hrtime.bigint()).padStart(stampDigits, "0");
}

/** A chunk of some 290 bytes, as a frame; with the nulls that announce usage where it was asked for. */
export function chunkFrame(content: string, withUsage: boolean, finish: string | null = null): string {
  const choice = { index: 0, delta: { content }, logprobs: null, finish_reason: finish };
  const chunk = {
    id: "chatcmpl-123456789012345678901234",
    object: "chat.completion.chunk",
    created: 1_767_323_045,
    model: "bench",
    service_tier: "default",
    system_fingerprint: "fp_0123456789",
    choices: [choice],
    ...(withUsage ? { usage: null } : {}),
  };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

export function stampedFrame(withUsage: boolean): string {
  return chunkFrame(`${stampMark}${stamp()}${stampMark} and a few words more `, withUsage);
}

/** What ends a stream: the finish, the usage where it was asked for, and the word for the end. */
export function lastFrames(withUsage: boolean): string {
  const { choices, ...rest } = JSON.parse(chunkFrame("", false, "stop").slice("data: ".length));
  const finish = { ...rest, choices: [{ ...choices[0], delta: {} }], ...(withUsage ? { usage: null } : {}) };
  const told = withUsage ? `data: ${JSON.stringify({ ...rest, choices: [], usage })}\n\n` : "";
  return `data: ${JSON.stringify(finish)}\n\n${told}data: [DONE]\n\n`;
}
