/** A call of a client, which writes down everything that it was told. */
import { once } from "node:events";
import { type Agent, type IncomingMessage, request } from "node:http";
import type { FleetAccount, FleetKey } from "./accounts.ts";
import type { FleetNode } from "./node.ts";
import { firstWord, mostOutput, promptOf } from "./upstream.ts";

export type Form = "chat" | "stream" | "embeddings";

/** What became of a call, as its client sees it. Times are milliseconds of `performance.now()`. */
export interface ClientCall {
  readonly number: number;
  readonly form: Form;
  readonly account: FleetAccount;
  readonly key: FleetKey;
  /** The node's number, and which of its processes that was when the call was sent. */
  readonly node: number;
  readonly start: number;
  readonly sentAt: number;
  endedAt: number;
  /** Where the head of an answer arrived. */
  id?: string;
  status?: number;
  /** What `x-gateway-cost` says, in millionths of the unit; unset where it says nothing. */
  cost?: number;
  retryAfter?: string;
  /** Says that a request was taken from the account's rate: the answer tells of it. */
  isCounted?: boolean;
  /** What the answer says is left of the rate, in requests. */
  remaining?: number;
  /** Says that nobody took the connection: nobody knows of the call. */
  isUnheard?: boolean;
  /** The text of a refusal, or of what is no whole answer. */
  text?: string;
  /** All of it; as much as the client wanted; or not all that it wanted. */
  end: "whole" | "left" | "broken";
}

export interface Making {
  readonly number: number;
  readonly form: Form;
  readonly account: FleetAccount;
  readonly node: FleetNode;
  readonly agent: Agent;
  /** How long the upstream takes for its answer. */
  readonly ms: number;
  /** Says that the client leaves after the first content. */
  readonly leaves: boolean;
}

/** How long a client waits for the next piece, beyond what the upstream takes. */
const patienceMs = 8000;

/** Makes a call to its end. It never rejects. */
export async function makeCall({ number, form, account, node, agent, ms, leaves }: Making): Promise<ClientCall> {
  const { key } = account;
  const sentAt = performance.now();
  const start = node.starts.length;
  const call: ClientCall = { number, form, account, key, node: node.number, start, sentAt, endedAt: 0, end: "broken" };
  const path = form === "embeddings" ? "/v1/embeddings" : "/v1/chat/completions";
  const headers = { authorization: `Bearer ${key.secret}`, "content-type": "application/json" };
  const sent = request(node.rootUrl + path, { method: "POST", agent, headers, timeout: patienceMs + ms });
  sent.on("timeout", () => sent.destroy());
  sent.end(JSON.stringify(bodyOf(number, form, ms)));
  try {
    const [res] = (await once(sent, "response")) as [IncomingMessage];
    await read(call, res, leaves);
  } catch (error) {
    call.isUnheard = (error as NodeJS.ErrnoException).code === "ECONNREFUSED";
  }
  call.endedAt = performance.now();
  return call;
}

function bodyOf(number: number, form: Form, ms: number): object {
  const text = promptOf(number, ms);
  if (form === "embeddings") return { model: "embeddings", input: text };
  const messages = [{ role: "user", content: text }];
  return { model: "chat", max_tokens: mostOutput, messages, ...(form === "stream" ? { stream: true } : {}) };
}

async function read(call: ClientCall, res: IncomingMessage, leaves: boolean): Promise<void> {
  call.id = String(res.headers["x-request-id"]);
  call.status = res.statusCode ?? 0;
  const cost = res.headers["x-gateway-cost"];
  if (cost !== undefined) call.cost = Math.round(Number(cost) * 1e6);
  call.remaining = Number(res.headers["x-ratelimit-remaining-requests"]);
  call.isCounted = res.headers["x-ratelimit-limit-requests"] !== undefined;
  const retryAfter = res.headers["retry-after"];
  if (retryAfter !== undefined) call.retryAfter = retryAfter;
  let text = "";
  for await (const piece of res.setEncoding("utf8")) {
    text += piece;
    if (!leaves || !text.includes(firstWord)) continue;
    call.end = "left";
    return;
  }
  const isWhole = call.form === "stream" ? text.includes("data: [DONE]\n\n") : isAnswer(text);
  if (call.status === 200 && isWhole) call.end = "whole";
  else call.text = text.slice(0, 500);
}

function isAnswer(text: string): boolean {
  try {
    return (JSON.parse(text) as { usage?: unknown }).usage !== undefined;
  } catch {
    return false;
  }
}
