/**
 * The upstream behind the fleet. It answers each call by the call's number, so that every charge says which call it is of, and writes
 * down what it was asked and what it has answered to the end.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

export interface FleetUpstream {
  readonly baseUrl: string;
  /** How often it was asked for a call's number. */
  readonly asked: ReadonlyMap<number, number>;
  /** The calls whose answer has left it, all of it. */
  readonly answered: ReadonlySet<number>;
  close(): Promise<void>;
}

/** Each is one token to any tokenizer, so that none counts more than is told. */
const words = [" red", " green", " blue", " gold"];
export const firstWord = words[0] as string;

/** In units for a million tokens: a token of input is a millionth. */
export const prices = { chat: { input: "1", output: "1000" }, embeddings: { input: "1" } } as const;
/** What a chat may put out at most. */
export const mostOutput = 128;

/** More numbers than this would use more than is held. */
const inputs = 40_000;

/** What a call uses: no two chats alike, and always less than is held for them. */
function usageOf(number: number, kind: "chat" | "embeddings"): { readonly input: number; readonly output: number } {
  if (kind === "embeddings") return { input: 20 + (number % 100), output: 0 };
  return { input: 1000 + (number % inputs), output: words.length + Math.floor(number / inputs) };
}

/** Returns what a call costs, in millionths of the unit. */
export function costOf(number: number, kind: "chat" | "embeddings"): number {
  const { input, output } = usageOf(number, kind);
  return input + output * 1000;
}

/** Returns what a chat used that costs so much, and a bound above what any chat holds. */
export function chatOf(input: number, output: number): number {
  return input - 1000 + (output - words.length) * inputs;
}
export const mostHeld = { chat: mostOutput * 1000 + 2000, embeddings: 200 } as const;

/** How a prompt names its call, and how long its answer takes. */
export function promptOf(number: number, ms: number): string {
  return `This is call ${number}, of ${ms} ms.`;
}

export async function startFleetUpstream(): Promise<FleetUpstream> {
  const asked = new Map<number, number>();
  const answered = new Set<number>();

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = Buffer.concat(await req.toArray()).toString();
    const [, text, time] = /This is call (\d+), of (\d+) ms\./.exec(body) ?? [];
    const [number, ms] = [Number(text), Number(time)];
    asked.set(number, (asked.get(number) ?? 0) + 1);
    const finish = (last: string) => {
      if (res.destroyed) return;
      answered.add(number);
      res.end(last);
    };
    if (req.url?.endsWith("/embeddings")) {
      await delay(ms);
      res.writeHead(200, { "content-type": "application/json" });
      finish(JSON.stringify(embedding(number)));
      return;
    }
    if (!/"stream":\s*true/.test(body)) {
      await delay(ms);
      res.writeHead(200, { "content-type": "application/json" });
      finish(JSON.stringify(completion(number)));
      return;
    }
    res.writeHead(200, { "content-type": "text/event-stream" });
    for (const word of words) {
      if (res.destroyed) return;
      res.write(data(number, { choices: [{ index: 0, delta: { content: word }, finish_reason: null }] }));
      await delay(ms / words.length);
    }
    const end = data(number, { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
    finish(`${end}${data(number, { choices: [], usage: chatUsage(number) })}data: [DONE]\n\n`);
  }

  const server = createServer({ keepAliveTimeout: 60_000 }, (req, res) => {
    res.on("error", () => {});
    answer(req, res).catch(() => res.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    answered,
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function head(number: number, object: string) {
  return { id: `chatcmpl-${number}`, object, created: 1, model: "m" };
}

function chatUsage(number: number) {
  const { input, output } = usageOf(number, "chat");
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

function completion(number: number) {
  const message = { role: "assistant", content: words.join("") };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  return { ...head(number, "chat.completion"), choices, usage: chatUsage(number) };
}

function data(number: number, more: object): string {
  return `data: ${JSON.stringify({ ...head(number, "chat.completion.chunk"), ...more })}\n\n`;
}

function embedding(number: number) {
  const { input } = usageOf(number, "embeddings");
  const one = { object: "embedding", index: 0, embedding: [0.25, 0.5] };
  return { object: "list", data: [one], model: "m", usage: { prompt_tokens: input, total_tokens: input } };
}
