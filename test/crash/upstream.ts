/**
 * The upstream behind the gateway that is killed: it speaks both families, answers each call with its own number as the
 * input's tokens, in pieces, and takes its time. So every charge says which call it is of.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { eventStream, type ScriptedExchange, startScriptedUpstream } from "../support/scripted-upstream.ts";

export interface CountingUpstream {
  readonly baseUrl: string;
  /** The numbers of the calls whose answer has left the upstream, all of it. */
  readonly answered: ReadonlySet<number>;
  /** Lets every stream stop after its first word from now on, and every whole answer before. */
  hang(): void;
  /** Resolves when this many answers have stopped so. */
  hanging(count: number): Promise<void>;
  close(): Promise<void>;
}

export const models = ["over-chat", "over-messages"] as const;
/** Each is one token to any tokenizer, so that none counts more than is told. */
const words = [" red", " green", " blue", " gold"];
export const firstWord = words[0] as string;
const outputTokens = words.length;
/** What a call may put out at most. */
export const mostOutput = 64;

/** In units per million tokens: an input token is a millionth, and no number of a call reaches what is held for it. */
export const price = { input: "1", output: "1000" };
export const costOfCall = (number: number) => number + outputTokens * 1000;

const longestPauseMs = 10;

export async function startCountingUpstream(): Promise<CountingUpstream> {
  const answered = new Set<number>();
  let hangs = false;
  let hung = 0;
  let onHung = () => {};
  const upstream = await startScriptedUpstream((exchange) => void answer(exchange));

  async function answer(exchange: ScriptedExchange): Promise<void> {
    const number = Number(/call (\d+)\./.exec(exchange.body.toString())?.[1]);
    const isMessages = exchange.path.endsWith("/messages");
    const { stream } = exchange.asked as JsonObject;
    await pause();
    if (stream === true) exchange.head(200, eventStream);
    for (const piece of stream === true ? (isMessages ? messageEvents(number) : chunks(number)) : []) {
      if (!(await exchange.write(piece))) return;
      if (hangs && piece.includes(firstWord)) return stop();
      await pause();
    }
    if (hangs) return stop();
    answered.add(number);
    if (stream === true) exchange.end();
    else exchange.json(200, isMessages ? message(number) : completion(number));
  }

  function stop(): void {
    hung++;
    onHung();
  }

  return {
    baseUrl: upstream.baseUrl,
    answered,
    hang() {
      hangs = true;
    },
    hanging: (count) =>
      new Promise((resolve) => {
        onHung = () => hung >= count && resolve();
        onHung();
      }),
    close: () => upstream.close(),
  };
}

function pause(): Promise<void> {
  return delay(Math.random() * longestPauseMs);
}

function completion(number: number): JsonObject {
  const choice = { index: 0, message: { role: "assistant", content: words.join("") }, finish_reason: "stop" };
  return { ...head(number, "chat.completion"), choices: [choice], usage: chatUsage(number) };
}

function chunks(number: number): string[] {
  const chunk = (delta: JsonObject, finish_reason: string | null) =>
    data({ ...head(number, "chat.completion.chunk"), choices: [{ index: 0, delta, finish_reason }] });
  const usage = data({ ...head(number, "chat.completion.chunk"), choices: [], usage: chatUsage(number) });
  return [...words.map((content) => chunk({ content }, null)), chunk({}, "stop"), usage, "data: [DONE]\n\n"];
}

function head(number: number, object: string): JsonObject {
  return { id: `chatcmpl-${number}`, object, created: 1, model: "m" };
}

function chatUsage(number: number): JsonObject {
  return { prompt_tokens: number, completion_tokens: outputTokens, total_tokens: number + outputTokens };
}

function message(number: number): JsonObject {
  const content = [{ type: "text", text: words.join("") }];
  const usage = { input_tokens: number, output_tokens: outputTokens };
  return { ...messageHead(number), content, stop_reason: "end_turn", stop_sequence: null, usage };
}

function messageEvents(number: number): string[] {
  const usage = { input_tokens: number, output_tokens: 1 };
  const start = { ...messageHead(number), content: [], stop_reason: null, stop_sequence: null, usage };
  const delta = { stop_reason: "end_turn", stop_sequence: null };
  return [
    { type: "message_start", message: start },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    ...words.map((text) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })),
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta, usage: { output_tokens: outputTokens } },
    { type: "message_stop" },
  ].map((event) => `event: ${event.type}\n${data(event)}`);
}

function messageHead(number: number): JsonObject {
  return { id: `msg_${number}`, type: "message", role: "assistant", model: "m" };
}

function data(value: JsonObject): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
