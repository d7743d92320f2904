/** The requests as sent, for any target, with what their answers contain. */
import { type Asked, requestBytes } from "./clients/http.ts";
import { chatRequest, embeddingsRequest, messagesRequest, models } from "./payloads.ts";
import type { UpstreamPorts } from "./servers/gateway.ts";
import type { Target } from "./targets.ts";

/** Sent is a request as sent. */
export interface Sent {
  readonly path: string;
  readonly upstream: keyof UpstreamPorts;
  readonly body: string;
  /** expects is a text that the answer contains. */
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

/** askedOf returns a target's port and the request's bytes. */
export function askedOf(target: Pick<Target, "ports" | "headers">, { path, upstream, body }: Sent): Asked {
  return { port: target.ports[upstream], bytes: requestBytes(path, target.headers(upstream), body) };
}
