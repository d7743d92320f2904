/** An upstream with several keys, and with headers and a query of its own. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { UpstreamConfig } from "../../../src/config/config.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";
import {
  type ScriptedExchange,
  type ScriptedUpstream,
  startScriptedUpstream,
} from "../../support/scripted-upstream.ts";
import { answerAsAnthropic, answerAsOpenAi } from "../../support/vendors.ts";

let upstream: ScriptedUpstream;
let gateway: TestGateway;
let now = Date.UTC(2026, 0, 2);

beforeEach(async () => {
  upstream = await startScriptedUpstream();
});
afterEach(async () => {
  await gateway.close();
  await upstream.close();
});

async function start(more: Partial<UpstreamConfig>): Promise<void> {
  const targets = [{ upstream: "far", model: "far", priority: 0, weight: 1 }];
  gateway = await startTestGateway(
    {
      upstreams: [{ name: "far", kind: "openai", base_url: upstream.baseUrl, ...more }],
      models: [{ id: "m", aliases: [], family: "f", kind: "chat", targets }],
      embeddedModels: false,
    },
    { clock: () => now },
  );
}

async function ask(): Promise<number> {
  const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hi" }] }),
  });
  await response.text();
  return response.status;
}

const keyOf = ({ headers }: ScriptedExchange) => headers.authorization?.replace("Bearer ", "");
const keysSent = () => upstream.received.splice(0).map(keyOf);

test("callers use the keys in turn", async () => {
  upstream.script = answerAsOpenAi;
  await start({ api_keys: ["key-a", "key-b", "key-c"] });
  for (let i = 0; i < 4; i++) expect(await ask()).toBe(200);
  expect(keysSent()).toEqual(["key-a", "key-b", "key-c", "key-a"]);
});

test.each([
  ["is refused", 401, {}, 60_000],
  ["has used up its rate", 429, { "retry-after": "20" }, 20_000],
  ["has used up its rate, and says not for how long", 429, {}, 1_000],
] as const)("one that %s rests, and its call goes on with the next", async (_, status, headers, restMs) => {
  upstream.script = (exchange) =>
    keyOf(exchange) === "key-a"
      ? exchange.json(status, { error: { message: "no" } }, headers)
      : answerAsOpenAi(exchange);
  await start({ api_keys: ["key-a", "key-b"] });
  expect([await ask(), await ask(), await ask()]).toEqual([200, 200, 200]);
  expect(keysSent()).toEqual(["key-a", "key-b", "key-b", "key-b"]);
  now += restMs - 1;
  await ask();
  await ask();
  expect(keysSent()).toEqual(["key-b", "key-b"]);
  now += 1;
  await ask();
  await ask();
  expect(keysSent()).toContain("key-a");
});

test("with all keys at rest, callers get the upstream's own refusal", async () => {
  upstream.script = (exchange) => exchange.json(429, { error: { message: "slow down" } }, { "retry-after": "30" });
  await start({ api_keys: ["key-a", "key-b"] });
  expect(await ask()).toBe(429);
  expect(keysSent()).toEqual(["key-a", "key-b"]);
  expect(await ask()).toBe(429);
  expect(keysSent()).toHaveLength(1);
});

test("a caller's own mistake is reported at once, and rests no key", async () => {
  upstream.script = (exchange) => exchange.json(400, { error: { message: "too long" } });
  await start({ api_keys: ["key-a", "key-b"] });
  expect([await ask(), await ask()]).toEqual([400, 400]);
  expect(keysSent()).toEqual(["key-a", "key-b"]);
});

test("the key goes into the configured header, with further headers and a query", async () => {
  upstream.script = answerAsOpenAi;
  await start({ api_key: "k", credential: "Api-Key", headers: { "X-Title": "ours" }, query: { "api-version": "v 1" } });
  expect(await ask()).toBe(200);
  const { headers, path } = upstream.received[0] as ScriptedExchange;
  expect([headers["api-key"], headers.authorization, headers["x-title"]]).toEqual(["k", undefined, "ours"]);
  expect(path).toBe("/v1/chat/completions?api-version=v+1");
});

test("so it does for an upstream of Anthropic's API", async () => {
  upstream.script = answerAsAnthropic;
  await start({ kind: "anthropic", api_key: "k", headers: { "x-title": "ours" }, query: { beta: "true" } });
  expect(await ask()).toBe(200);
  const { headers, path } = upstream.received[0] as ScriptedExchange;
  expect([headers["x-api-key"], headers["x-title"], path]).toEqual(["k", "ours", "/v1/messages?beta=true"]);
});

test("a token goes to a server of Anthropic's API as a bearer's where that header is configured, and no key beside it", async () => {
  upstream.script = answerAsAnthropic;
  await start({ kind: "anthropic", api_key: "Bearer token", credential: "authorization" });
  expect(await ask()).toBe(200);
  const { headers } = upstream.received[0] as ScriptedExchange;
  expect([headers.authorization, headers["x-api-key"]]).toEqual(["Bearer token", undefined]);
});
