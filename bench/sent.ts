/** What is asked, whoever is asked: requests as they are sent, with what their answers have in them. */
import { type Asked, requestBytes } from "./clients/http.ts";
import { chatRequest, embeddingsRequest, messagesRequest, models } from "./payloads.ts";
import type { UpstreamPorts } from "./servers/gateway.ts";
import type { Target } from "./targets.ts";

/** A request as it is sent. */
export interface Sent {
  readonly path: string;
  readonly upstream: keyof UpstreamPorts;
  readonly body: string;
  /** What the answer has in it. */
  readonly expects: string;
}

export const chat = (bytes: number, model: string = models.chat, more = {}): Sent => ({
  path: "/v1/chat/completions",
  upstream: model === models.chat ? "whole" : "stub",
  body: chatRequest(model, bytes, more),
  expects: "stream" in more ? "data: [DONE]" : '"finish_reason":"stop"',
});
export const messages = (model: string, more = {}): Sent => ({
  path: "/v1/messages",
  upstream: model === models.chat ? "whole" : "stub",
  body: messagesRequest(model, 1000, more),
  expects: "stream" in more ? "message_stop" : '"stop_reason":"end_turn"',
});
export const embeddings: Sent = {
  path: "/v1/embeddings",
  upstream: "whole",
  body: embeddingsRequest(),
  expects: '"embedding":[',
};

/** Returns where a target is asked, and the bytes that ask it. */
export function askedOf(target: Pick<Target, "ports" | "headers">, { path, upstream, body }: Sent): Asked {
  return { port: target.ports[upstream], bytes: requestBytes(path, target.headers(upstream), body) };
}
