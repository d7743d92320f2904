/** Upstreams with the model of the agents' test: OpenAI's, Anthropic's, and a strict server of an open model. */
import {
  type ScriptedExchange,
  type ScriptedUpstream,
  startScriptedUpstream,
} from "../../support/scripted-upstream.ts";
import { type StrictServer, strictServers } from "../../support/upstreams/strict-servers.ts";
import { chatOf } from "./chat.ts";
import { messages } from "./messages.ts";
import { type Asked, play, type Reply } from "./plan.ts";
import { responsesOf } from "./responses.ts";
import type { Body, Spoken } from "./spoken.ts";

export const upstreamNames = ["openai", "anthropic", "strict"] as const;
export type UpstreamName = (typeof upstreamNames)[number];

/** The model that each of them serves, by which agents ask for it. */
export const modelAt: Readonly<Record<UpstreamName, string>> = {
  openai: "gpt-6-sol",
  anthropic: "claude-sonnet-4-6",
  strict: "open-model",
};

/** What a strict server of an open model knows: of everything else it says that it is not permitted. */
const plainKeys = [
  ...["model", "messages", "stream", "stream_options", "max_tokens", "temperature", "top_p", "stop", "seed", "n"],
  ...[
    "presence_penalty",
    "frequency_penalty",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "user",
  ],
];

const serverOf = (vendor: string, model?: string) =>
  strictServers.find((server) => server.vendor === vendor && (model ?? server.model) === server.model) as StrictServer;

/** The paths that each has; any other is 404. */
const served: Readonly<Record<UpstreamName, Readonly<Record<string, Spoken>>>> = {
  openai: {
    "/v1/chat/completions": chatOf(serverOf("openai", modelAt.openai)),
    "/v1/responses": responsesOf(serverOf("openai", modelAt.openai)),
  },
  anthropic: { "/v1/messages": messages },
  strict: { "/v1/chat/completions": chatOf(serverOf("nobody's"), plainKeys) },
};

/** A request that the model was asked, and what it said. */
export interface Played {
  readonly path: string;
  /** When it came, by `performance.now()`. */
  readonly at: number;
  readonly body: Body;
  readonly asked: Asked;
  readonly reply: Reply;
}

export interface ModelServer {
  readonly upstream: ScriptedUpstream;
  readonly played: Played[];
  /** What it refused, and why. */
  readonly refused: string[];
}

export async function startModelServer(name: UpstreamName): Promise<ModelServer> {
  const [played, refused]: [Played[], string[]] = [[], []];
  function script(exchange: ScriptedExchange): void {
    const path = exchange.path.replace(/\?.*/, "");
    const spoken = served[name][path];
    if (path === "/v1/messages/count_tokens") exchange.json(200, { input_tokens: 1000 });
    else if (spoken) speak(exchange, path, spoken);
    else refuse(exchange, 404, { error: { message: `there is no ${path}`, type: "not_found" } });
  }
  function speak(exchange: ScriptedExchange, path: string, spoken: Spoken): void {
    const at = performance.now();
    const body = exchange.asked as Body;
    const fault = spoken.refuses(body);
    if (fault) {
      refuse(exchange, 400, fault);
      return;
    }
    const asked = spoken.read(body);
    const reply = play(asked);
    played.push({ path, at, body, asked, reply });
    spoken.answer(exchange, body, reply, `${name}${played.length}`);
  }
  function refuse(exchange: ScriptedExchange, status: number, fault: object): void {
    refused.push(`${status} ${JSON.stringify(fault)}`);
    exchange.json(status, fault);
  }
  return { upstream: await startScriptedUpstream(script), played, refused };
}
