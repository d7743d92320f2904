/**
 * Callers who come at a steady rate, whatever becomes of those before them: of both families, every other one for a stream.
 */

import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

export interface OfferOptions {
  readonly rootUrl: string;
  readonly apiKey: string;
  readonly model: string;
  readonly perSecond: number;
  readonly seconds: number;
}

/** What became of a call. */
export interface Fate {
  readonly stream: boolean;
  /**
   * Answered in full; `broken` off after its first content; or `failed` before anything of an answer, which is what no caller
   * should see.
   */
  readonly end: "answered" | "broken" | "failed";
  /** 0 where the connection broke. */
  readonly status: number;
  readonly ms: number;
  /** How much later it was made than it should have been: the machine is too busy, and its figures mean nothing. */
  readonly lateMs: number;
}

/** Resolves when the last of them has been answered. */
export async function offer(options: OfferOptions): Promise<readonly Fate[]> {
  const { perSecond, seconds } = options;
  const agent = new Agent({ keepAlive: true });
  const fates: Promise<Fate>[] = [];
  const begunAt = performance.now();
  for (let due = 0; fates.length < perSecond * seconds; due = ((performance.now() - begunAt) / 1000) * perSecond) {
    while (fates.length < Math.min(due, perSecond * seconds)) {
      const lateMs = performance.now() - begunAt - (fates.length / perSecond) * 1000;
      fates.push(call(fates.length, agent, options).then((fate) => ({ ...fate, lateMs })));
    }
    await delay(2);
  }
  const all = await Promise.all(fates);
  agent.destroy();
  return all;
}

type Called = Omit<Fate, "lateMs">;

async function call(number: number, agent: Agent, { rootUrl, apiKey, model }: OfferOptions): Promise<Called> {
  const stream = number % 2 === 0;
  const isChat = number % 4 < 2;
  const begunAt = performance.now();
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const path = isChat ? "/v1/chat/completions" : "/v1/messages";
  const sent = request(rootUrl + path, { method: "POST", agent, headers });
  // Conversations stay with a target: of those that begin alike all would go to one.
  const messages = [{ role: "user", content: `Name some colours, but not number ${number}.` }];
  sent.end(JSON.stringify({ model, max_tokens: 64, messages, stream }));
  let [status, said] = [0, ""];
  try {
    const [res] = (await once(sent, "response")) as [IncomingMessage];
    status = res.statusCode ?? 0;
    for await (const piece of res.setEncoding("utf8")) said += piece;
  } catch {
    status = 0;
  }
  return { stream, end: endOf(status, said, stream), status, ms: performance.now() - begunAt };
}

function endOf(status: number, said: string, stream: boolean): Fate["end"] {
  const isWhole = stream ? /data: \[DONE\]\n\n$|"message_stop"\}\n\n$/.test(said) : status === 200;
  if (status === 200 && isWhole) return "answered";
  return stream && said.includes(" red") ? "broken" : "failed";
}
