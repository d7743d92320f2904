/**
 * A short call in each family that a chat model answers, and how its answer reads: for tests of what upstreams say, whichever
 * family the caller is of.
 */
import type { HeardAnswer } from "./hear.ts";
import { hear } from "./hear.ts";

type Json = Readonly<Record<string, unknown>>;

export type CallFamily = "chat" | "messages" | "responses" | "completions";

interface Told {
  readonly path: string;
  readonly body: Json;
  /** end is what the end of a whole stream says, and nothing else. */
  readonly end: string;
}

export const families: Readonly<Record<CallFamily, Told>> = {
  chat: { path: "/v1/chat/completions", body: { messages: [{ role: "user", content: "hi" }] }, end: "[DONE]" },
  messages: {
    path: "/v1/messages",
    body: { max_tokens: 100, messages: [{ role: "user", content: "hi" }] },
    end: '"message_stop"',
  },
  responses: { path: "/v1/responses", body: { input: "hi", store: false }, end: '"response.completed"' },
  completions: { path: "/v1/completions", body: { prompt: "hi", max_tokens: 100 }, end: "[DONE]" },
};

export const familyNames = Object.keys(families) as CallFamily[];

export interface FamilyCall {
  readonly family: CallFamily;
  readonly model: string;
  readonly stream: boolean;
  readonly apiKey: string;
  readonly more?: Json;
}

export function call(gateway: { readonly port: number }, { family, model, stream, apiKey, more }: FamilyCall) {
  const { path, body } = families[family];
  return hear(gateway, { path, apiKey, body: { model, ...body, ...more, ...(stream ? { stream } : {}) } }).answer;
}

/** Reports whether it was told as a whole answer. */
export function isTold({ status, text }: HeardAnswer, family: CallFamily, stream: boolean): boolean {
  return status === 200 && (!stream || text.includes(families[family].end));
}
