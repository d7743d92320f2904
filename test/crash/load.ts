/**
 * Clients of a gateway that may die at any moment: whole and streamed calls of both families at once, over bare HTTP,
 * some of which leave in the middle of their answer. Each remembers what it got.
 */
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { firstWord, models, mostOutput } from "./upstream.ts";

/** What became of a call, as its client sees it. */
export interface ClientCall {
  readonly number: number;
  /** Where the head of an answer arrived. */
  id?: string;
  status?: number;
  /** All of it; as much as the client wanted; or not all that it wanted. */
  end: "whole" | "left" | "broken";
  /** The end of what arrived of an answer that is not whole. */
  rest?: string;
}

export interface Load {
  /** Every call so far that is over. */
  readonly calls: readonly ClientCall[];
  /** Resolves when this many clients have got all of their answer. */
  answers(count: number): Promise<void>;
  /** Resolves when the gateway takes no more calls. */
  readonly ended: Promise<void>;
}

export interface LoadOptions {
  readonly rootUrl: string;
  /** Every other call is made with the first. */
  readonly apiKeys: readonly string[];
  /** How many calls run at a time. */
  readonly clients: number;
  /** Numbers no two calls alike. */
  readonly nextNumber: () => number;
}

const paths = { chat: "/v1/chat/completions", messages: "/v1/messages" } as const;

const restChars = 500;

/** One call in this many is left by its client after its first content. */
const leftOneIn = 10;

export function startLoad(options: LoadOptions): Load {
  const calls: ClientCall[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  const over = (call: ClientCall) => {
    calls.push(call);
    const whole = calls.filter(({ end }) => end === "whole").length;
    for (const { count, resolve } of waiting) if (whole >= count) resolve();
  };
  const clients = Array.from({ length: options.clients }, async () => {
    const agent = new Agent({ keepAlive: true });
    // What a client meets of a dead gateway is that it cannot connect.
    for (let alive = true; alive; ) {
      const call: ClientCall = { number: options.nextNumber(), end: "broken" };
      alive = await make(call, agent, options);
      over(call);
    }
    agent.destroy();
  });
  return {
    calls,
    answers: (count) => new Promise((resolve) => waiting.push({ count, resolve })),
    ended: Promise.all(clients).then(() => {}),
  };
}

const keyOf = (number: number, [first, ...others]: readonly string[]) =>
  number % 2 === 0 ? first : others[((number - 1) / 2) % others.length];

/** Makes a call to its end. Returns false where there is no gateway. */
async function make(call: ClientCall, agent: Agent, { rootUrl, apiKeys }: LoadOptions): Promise<boolean> {
  const { number } = call;
  const family = number % 2 === 0 ? "chat" : "messages";
  const stream = number % 3 !== 0;
  const leaves = stream && Math.floor(number / 6) % leftOneIn === 0;
  const headers = { authorization: `Bearer ${keyOf(number, apiKeys)}`, "content-type": "application/json" };
  const sent = request(rootUrl + paths[family], { method: "POST", agent, headers });
  const messages = [{ role: "user", content: `This is call ${number}.` }];
  const model = models[Math.floor(number / 12) % models.length];
  sent.end(JSON.stringify({ model, max_tokens: mostOutput, messages, stream }));
  try {
    const [res] = (await once(sent, "response")) as [IncomingMessage];
    call.id = String(res.headers["x-request-id"]);
    call.status = res.statusCode ?? 0;
    let text = "";
    for await (const piece of res.setEncoding("utf8")) {
      text += piece;
      if (!leaves || !text.includes(firstWord)) continue;
      call.end = "left";
      return true;
    }
    if (isWhole(text, stream, family)) call.end = "whole";
    else call.rest = text.slice(-restChars);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ECONNREFUSED";
  }
}

function isWhole(text: string, stream: boolean, family: keyof typeof paths): boolean {
  if (stream) return text.includes(family === "chat" ? "data: [DONE]\n\n" : "event: message_stop\n");
  return (JSON.parse(text) as { usage?: unknown }).usage !== undefined;
}
