/**
 * Calls with fallback models: these are tried in turn where the one before fails by its upstream's fault, each only if the key may use
 * it and can pay for it. The call is charged at the price of the model that answered.
 */

import { afterEach, expect, test } from "vitest";
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Config } from "../../../src/config/config.ts";
import { eventually } from "../../support/eventually.ts";
import type { AccountInit } from "../../support/gateway.ts";
import { amountsHeld } from "../../support/payer.ts";
import { answerWell, at, openStage, type Stage, served } from "../../support/upstreams/two-upstreams.ts";

let stage: Stage;

afterEach(() => stage.close());

const dear = { input: 10_000_000, output: 20_000_000 };

/** `m` at the first upstream, `n` at the second for ten times its price; `e` is no chat model. */
async function open(account: AccountInit = {}, overrides: Partial<Config> = {}): Promise<void> {
  const embedding = served([at("second")], { id: "e", kind: "embedding", family: "vectors" });
  const n = served([at("second")], { id: "n", aliases: ["n-latest"], family: "other", price: dear });
  stage = await openStage([served([at("first")]), n, embedding], overrides, account);
}

const fail: Stage["first"]["script"] = (exchange) => exchange.json(500, { error: { message: "broken" } });

const told = ({ status, headers }: Response) => [
  status,
  headers.get("x-gateway-model"),
  headers.get("x-gateway-upstream"),
  headers.get("x-gateway-attempts"),
];

const holds = () => stage.gateway.storage.holds.list(stage.gateway.accountId, Date.UTC(2026, 0, 2), 10);

async function refusal(response: Response) {
  const { error } = (await response.json()) as { error: { message: string; param: string | null; code: string } };
  return { status: response.status, param: error.param, code: error.code };
}

test("the first model answers where it can, and no upstream is told of the others", async () => {
  await open();
  expect(told(await stage.ask({ models: ["n"] }))).toEqual([200, "m", "first", "1"]);
  expect(JSON.parse(stage.first.received[0]?.body.toString() ?? "")).not.toHaveProperty("models");
  expect(stage.second.received).toHaveLength(0);
});

test("the next model answers at once where the first fails, charged and held at its own price", async () => {
  await open();
  stage.first.script = fail;
  let held: readonly number[] = [];
  stage.second.script = async (exchange) => {
    // What was held for the first is released meanwhile.
    await eventually(async () => {
      held = await amountsHeld(stage.gateway, Date.UTC(2026, 0, 2));
      expect(held.length === 1 && (held[0] ?? 0) > 2000).toBe(true);
    });
    answerWell(exchange);
  };
  const response = await stage.ask({ models: ["n-latest"], max_tokens: 100 });
  expect(told(response)).toEqual([200, "n", "second", "2"]);
  expect(response.headers.get("x-gateway-cost")).toBe("0.00015");
  expect(await stage.latest()).toMatchObject({ model: "n", upstream: "second", outcome: Outcome.ANSWERED, cost: 150 });
  expect(JSON.parse((await stage.latest())?.tried ?? "null")).toMatchObject([{ upstream: "first", model: "m" }]);
  // One hold, at the price of the model that was asked then: its output alone costs 2,000 millionths.
  expect(held).toHaveLength(1);
  expect(held[0]).toBeGreaterThan(2000);
  expect((await stage.gateway.storage.reconcile()).findings).toEqual([]);
});

test("so does it for streams that fail before their first content, in either family and over responses", async () => {
  await open();
  stage.first.script = (exchange) => {
    exchange.head(200, { "content-type": "text/event-stream" });
    exchange.end('data: {"error":{"message":"overloaded","code":503}}\n\n');
  };
  for (const [path, body] of [
    ["/chat/completions", {}],
    ["/messages", { max_tokens: 50 }],
    ["/responses", { input: "Hi", messages: undefined }],
    ["/completions", { prompt: "Hi", messages: undefined }],
  ] as const) {
    const response = await stage.ask({ ...body, models: ["n"], stream: true }, {}, path);
    expect([path, ...told(response)]).toEqual([path, 200, "n", "second", "2"]);
    expect(await response.text()).toContain("lo!");
    expect(await stage.latest()).toMatchObject({ model: "n", cost: 150 });
  }
});

test("what the key may not use is refused at once, by its place, and nothing is sent", async () => {
  await open({ models: ["m"] });
  expect(await refusal(await stage.ask({ models: ["m", "n"] }))).toMatchObject({ status: 403, param: "models[1]" });
  expect(await refusal(await stage.ask({ models: ["nowhere"] }))).toMatchObject({ status: 404, param: "models[0]" });
  expect(await refusal(await stage.ask({ models: ["e"] }))).toMatchObject({ status: 403, param: "models[0]" });
  expect(await refusal(await stage.ask({ models: Array(9).fill("m") }))).toMatchObject({ status: 400 });
  expect(await refusal(await stage.ask({ models: "m" }))).toMatchObject({ status: 400, param: "models" });
  expect([stage.first.received.length, stage.second.received.length]).toEqual([0, 0]);
});

test("a further model of another kind is refused by its place, and nothing is sent", async () => {
  await open();
  expect(await refusal(await stage.ask({ models: ["n", "e"] }))).toMatchObject({ status: 404, param: "models[1]" });
  expect([stage.first.received.length, stage.second.received.length]).toEqual([0, 0]);
});

test("a model that the credit does not cover is passed over, and the failure told is that of the one before", async () => {
  // Enough for the first model's output, and not for the second's.
  await open({ recharge: 400 });
  stage.first.script = fail;
  const response = await stage.ask({ models: ["n"], max_tokens: 100 });
  expect(response.status).toBe(502);
  expect(stage.second.received).toHaveLength(0);
  expect(await stage.latest()).toMatchObject({ model: "m", outcome: Outcome.FAILED, cost: 0 });
  expect(await holds()).toEqual([]);
  expect((await stage.gateway.storage.reconcile()).findings).toEqual([]);
});

test("what the caller did wrong is told at once, and no other model is asked", async () => {
  await open();
  stage.first.script = (exchange) =>
    exchange.json(400, { error: { message: "too long", code: "context_length_exceeded" } });
  expect((await stage.ask({ models: ["n"] })).status).toBe(400);
  expect(stage.second.received).toHaveLength(0);
});

test("several prompts are asked of one model, so that further ones are refused", async () => {
  await open();
  const request = { prompt: ["a", "b"], messages: undefined, models: ["n"] };
  expect(await refusal(await stage.ask(request, {}, "/completions"))).toMatchObject({ status: 400, param: "models" });
});

test("what a further model answered is not kept for who asks next: the first may be well again", async () => {
  await open({}, { cache: { maxBytes: 1_000_000, keepMs: 60_000, priceShare: 0 } });
  const good = stage.first.script;
  stage.first.script = fail;
  expect(told(await stage.ask({ models: ["n"] }))).toEqual([200, "n", "second", "2"]);
  stage.first.script = good;
  expect(told(await stage.ask({ models: ["n"] }))).toEqual([200, "m", "first", "1"]);
  const kept = await stage.ask({ models: ["n"] });
  expect([kept.headers.get("x-gateway-cache"), kept.headers.get("x-gateway-model")]).toEqual(["hit", "m"]);
});
