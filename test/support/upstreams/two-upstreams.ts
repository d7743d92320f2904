/**
 * A gateway with two scripted upstreams, `first` and `second`, that fails over as operators run it, on a clock that the test
 * moves; prices are a unit for a million tokens of input, and two of output.
 *
 *   const stage = await openStage([at("first"), at("second", 1)]);
 *   stage.first.script = (exchange) => exchange.json(500, {});
 *   const response = await stage.ask({ stream: true });
 */
import type { Config, ModelConfig } from "../../../src/config/config.ts";
import type { CallRow } from "../../../src/storage/columns.ts";
import { type AccountInit, startTestGateway, type TestGateway } from "../gateway.ts";
import { type ScriptedExchange, type ScriptedUpstream, startScriptedUpstream } from "../scripted-upstream.ts";

export interface Stage {
  readonly first: ScriptedUpstream;
  readonly second: ScriptedUpstream;
  readonly gateway: TestGateway;
  /** Moves the gateway's clock. */
  pass(ms: number): void;
  /** Asks the model `m` as a chat client does, unless the body or the path says otherwise. */
  ask(body?: object, headers?: Readonly<Record<string, string>>, path?: string): Promise<Response>;
  /** The last call that was written down. */
  latest(): Promise<CallRow | undefined>;
  /** Closes the gateway, as `TestGateway.close` does, and the upstreams. */
  close(what?: "running"): Promise<void>;
}

export const price = { input: 1_000_000, output: 2_000_000 };

/** A target of a model: `far` at one of the upstreams. */
export const at = (upstream: string, priority = 0) => ({ upstream, model: "far", priority, weight: 1 });

export function served(targets: ModelConfig["targets"], more: Partial<ModelConfig> = {}): ModelConfig {
  return { id: "m", aliases: [], family: "f", kind: "chat", completions: "chat", price, targets, ...more };
}

/** A whole answer of nine tokens in and three out, as OpenAI's API gives it: 15 millionths. */
export const wholeAnswer = {
  ...{ id: "chatcmpl_1", object: "chat.completion", created: 1, model: "far" },
  choices: [{ index: 0, message: { role: "assistant", content: "Hello!" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
};

/** A chunk of an answer's stream, as OpenAI's API gives it. */
export const chunk = (delta: object, finish_reason: string | null = null) => ({
  ...{ id: "chatcmpl_1", object: "chat.completion.chunk", created: 1, model: "far" },
  choices: [{ index: 0, delta, finish_reason }],
});

/** Returns what an answer says of itself: its status, the upstream that gave it, and how many attempts there were. */
export const told = ({ status, headers }: Response) => [
  status,
  headers.get("x-gateway-upstream"),
  headers.get("x-gateway-attempts"),
];

/** Answers well, in the form that is asked for. */
export function answerWell(exchange: ScriptedExchange): void {
  const { stream } = exchange.asked;
  if (!stream) {
    exchange.json(200, wholeAnswer);
    return;
  }
  const last = { ...chunk({}), choices: [], usage: wholeAnswer.usage };
  exchange.stream(chunk({ role: "assistant", content: "Hel" }), chunk({ content: "lo!" }, "stop"), last);
}

export async function openStage(
  models: readonly ModelConfig[],
  overrides: Partial<Config> = {},
  account: AccountInit = {},
  upstream: Partial<Config["upstreams"][number]> = {},
): Promise<Stage> {
  let now = Date.UTC(2026, 0, 2);
  const [first, second] = [await startScriptedUpstream(answerWell), await startScriptedUpstream(answerWell)];
  const upstreams: Config["upstreams"] = [
    { name: "first", kind: "openai", base_url: first.baseUrl, api_key: "k", ...upstream },
    { name: "second", kind: "openai", base_url: second.baseUrl, api_key: "k", ...upstream },
  ];
  const retries = { attempts: 3, share: 0.15 };
  const breaker = { failures: 5, openMs: 5000 };
  const config = { upstreams, models, embeddedModels: false, retries, breaker, ...overrides };
  const gateway = await startTestGateway(config, { clock: () => now, postpaid: false, ...account });
  return {
    ...{ first, second, gateway },
    pass(ms) {
      now += ms;
    },
    ask: (body = {}, headers = {}, path = "/chat/completions") =>
      fetch(`${gateway.baseUrl}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json", ...headers },
        body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hi" }], ...body }),
      }),
    latest: async () => (await gateway.storage.requests.page({ accountId: gateway.accountId }, undefined, 1))[0],
    async close(what) {
      await gateway.close(what);
      await Promise.all([first.close(), second.close()]);
    },
  };
}
