/** Answers whose transfer is odd, or ends badly: what is complete is told and charged, and asked for once. */
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { call } from "../../support/clients/families.ts";
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { chatAnswer } from "../../support/vendors.ts";

const { upstream, gateway } = scriptedStage();

const json = { "content-type": "application/json" };
const whole = JSON.stringify(chatAnswer({ content: "Hello" }));

function breaking(status: number, body: string, headers: Readonly<Record<string, string>> = {}) {
  return async (exchange: ScriptedExchange) => {
    exchange.head(status, { ...json, ...headers });
    await exchange.write(body);
    await delay(20);
    exchange.destroy();
  };
}

const asked = { family: "chat", model: "gpt", stream: false } as const;

test.each([
  ["that lacks its last chunk", breaking(200, whole)],
  ["that is shorter than its length", breaking(200, whole, { "content-length": `${whole.length + 9}` })],
  ["that a proxy has changed", (exchange: ScriptedExchange) => exchange.json(203, JSON.parse(whole))],
])("an answer %s is told, and asked for once", async (_, script) => {
  upstream.script = script;
  const before = upstream.received.length;
  const { status, text } = await call(gateway, { ...asked, apiKey: gateway.apiKey });
  expect([status, text]).toEqual([200, expect.stringContaining("Hello")]);
  expect(upstream.received.length).toBe(before + 1);
});

test("an error that breaks off is the error that it is", async () => {
  const error = { error: { message: "temperature must be below 2", type: "invalid_request_error" } };
  const told = async (script: typeof upstream.script) => {
    upstream.script = script;
    const before = upstream.received.length;
    const { status, text } = await call(gateway, { ...asked, apiKey: gateway.apiKey });
    return [status, JSON.parse(text).error.message, upstream.received.length - before];
  };
  expect(await told(breaking(400, JSON.stringify(error)))).toEqual([400, error.error.message, 1]);
  const ours = "The upstream of this model answered with status 400.";
  expect(await told(breaking(400, '{"error":{"mess'))).toEqual([400, ours, 1]);
});

test("an error that never ends is told nevertheless", async () => {
  upstream.script = (exchange) => {
    exchange.head(429, { ...json, "retry-after": "30" });
    void exchange.write('{"error":{"message":"slow down"}}');
  };
  const { status, text } = await call(gateway, { ...asked, apiKey: gateway.apiKey });
  expect([status, text]).toEqual([429, expect.stringContaining("slow down")]);
});
