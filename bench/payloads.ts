/**
 * The requests and the upstreams' answers. The model's name selects the stub's answer, and reaches it through every
 * target alike.
 */

/**
 * models are the models by their upstream's behaviour. Those of the stub have times in their names, in milliseconds.
 */
export const models = {
  /** chat answers 1 kB at once. */
  chat: "chat",
  embeddings: "embed",
  /** long is the same answer from the stub, which accepts requests of any size. */
  long: "long",
  /** late answers after 50 ms. */
  late: "late-50",
  /** flat streams 300 chunks as fast as they are read. */
  flat: "flat",
  /** brief streams one chunk at once, and its end 5 ms later. */
  brief: "brief-5",
  /** paced streams a chunk every so many milliseconds until it is told to end. */
  paced: (ms: number) => `paced-${ms}`,
} as const;

export const pacings = [20, 200, 10_000];
export const chunksPerStream = 300;
export const dimensions = 1536;

/** chatRequest builds a chat request with a text of so many bytes. */
export function chatRequest(model: string, bytes: number, more: object = {}): string {
  const messages = [{ role: "user", content: textOf(bytes - 120) }];
  return JSON.stringify({ model, messages, max_tokens: 200, temperature: 0.5, ...more });
}

/** messagesRequest builds the same for the Messages API. */
export function messagesRequest(model: string, bytes: number, more: object = {}): string {
  return chatRequest(model, bytes, more);
}

/** chatRequestsBy builds chat requests of 1 kB for `wrk`: one for each key. */
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

/** stampMark encloses the time of sending in a chunk's text, in a fixed number of digits of nanoseconds. */
export const stampMark = "@";
export const stampDigits = 16;

/** stamp formats the time of `process.hrtime`, which is the same clock in all processes. */
export function stamp(): string {
  return String(process.hrtime.bigint()).padStart(stampDigits, "0");
}

/** chunkFrame builds a chunk of some 290 bytes as a frame; with the nulls that announce usage, if requested. */
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

/** lastFrames ends a stream: the finish reason, the usage if requested, and the final marker. */
export function lastFrames(withUsage: boolean): string {
  const { choices, ...rest } = JSON.parse(chunkFrame("", false, "stop").slice("data: ".length));
  const finish = { ...rest, choices: [{ ...choices[0], delta: {} }], ...(withUsage ? { usage: null } : {}) };
  const told = withUsage ? `data: ${JSON.stringify({ ...rest, choices: [], usage })}\n\n` : "";
  return `data: ${JSON.stringify(finish)}\n\n${told}data: [DONE]\n\n`;
}
