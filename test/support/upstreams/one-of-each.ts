/**
 * A request of every kind that costs, to the models of `paid-models.ts`, and an upstream's answer to each.
 */
import type { ScriptedExchange } from "../scripted-upstream.ts";
import { answerAsAnthropic, answerAsOpenAi } from "../vendors.ts";

export interface OneRequest {
  readonly path: string;
  readonly body: object;
}

const audio = Buffer.from([0xff, 0xf3, 0, 1, 2, 3, 0x80, 0xfe]);

/** Says hello in the words of whichever vendor is asked. */
export function answerAsAny(exchange: ScriptedExchange): void {
  if (exchange.path === "/v1/messages") answerAsAnthropic(exchange);
  else if (exchange.path !== "/v1/audio/speech") answerAsOpenAi(exchange);
  else {
    exchange.head(200, { "content-type": "audio/mpeg" });
    exchange.end(audio);
  }
}

const messages = [{ role: "user", content: "Say hello to the caller." }];
const vectors = { model: "embed", input: "Hello" };
const spoken = { model: "voice", input: "Hello", voice: "alloy" };

export const chat: OneRequest = { path: "/v1/chat/completions", body: { model: "gpt", messages } };

const streamable: Readonly<Record<string, OneRequest>> = {
  chat,
  "chat over the other family": { ...chat, body: { model: "claude", seed: 1, messages } },
  messages: { path: "/v1/messages", body: { model: "claude", max_tokens: 9, messages } },
  "messages over the other family": { path: "/v1/messages", body: { model: "gpt", max_tokens: 9, messages } },
  completions: { path: "/v1/completions", body: { model: "davinci", prompt: "Say hello." } },
  "completions over chat": { path: "/v1/completions", body: { model: "gpt", prompt: ["Say", "hello."] } },
};

export const responses: Readonly<Record<string, OneRequest>> = {
  responses: { path: "/v1/responses", body: { model: "gpt", input: "Hello" } },
  "responses, streamed": { path: "/v1/responses", body: { model: "claude", input: "Hello", stream: true } },
};

export const oneOfEach: Readonly<Record<string, OneRequest>> = {
  ...streamable,
  ...Object.fromEntries(Object.entries(streamable).map(([name, one]) => [`${name}, streamed`, streamed(one)])),
  embeddings: { path: "/v1/embeddings", body: vectors },
  "embeddings in base64": { path: "/v1/embeddings", body: { ...vectors, encoding_format: "base64" } },
  speech: { path: "/v1/audio/speech", body: spoken },
  "speech as events": { path: "/v1/audio/speech", body: { ...spoken, stream_format: "sse" } },
};

export function streamed({ path, body }: OneRequest): OneRequest {
  return { path, body: { ...body, stream: true } };
}
