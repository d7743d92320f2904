/**
 * Hedging: where an answer takes long, a second attempt is made. The first answer is taken and charged, the other attempt is aborted
 * and recorded, and only a share of all calls is hedged.
 */
import { afterEach, beforeEach, expect, test } from "vitest";
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { createHedge } from "../../../src/pipeline/complete/hedge.ts";
import type { Signal } from "../../../src/runtime/caller-abort.ts";
import { eventually } from "../../support/eventually.ts";
import { scrape } from "../../support/telemetry/scrape.ts";
import {
  answerWell,
  at,
  openStage,
  type Stage,
  served,
  told,
  wholeAnswer,
} from "../../support/upstreams/two-upstreams.ts";

let stage: Stage;

const hedging = { afterMs: 150, share: 1 };

beforeEach(async () => {
  stage = await openStage([served([at("first", 0), at("second", 1)])], { hedging });
});
afterEach(() => stage.close());

test("an answer that comes in time is the only one that is asked for", async () => {
  await stage.close();
  stage = await openStage([served([at("first", 0), at("second", 1)])], { hedging: { afterMs: 15_000, share: 1 } });
  expect(told(await stage.ask())).toEqual([200, "first", "1"]);
  expect(stage.second.received).toHaveLength(0);
  expect((await stage.latest())?.tried).toBeNull();
});

test("one that takes long is overtaken: the other's is taken and charged, the first is left, and its cost told", async () => {
  stage.first.script = undefined;
  const asking = stage.ask();
  const slow = await stage.first.next();
  expect(told(await asking)).toEqual([200, "second", "2"]);
  await slow.left;
  expect(await stage.latest()).toMatchObject({
    upstream: "second",
    outcome: Outcome.ANSWERED,
    input: 9,
    output: 3,
    cost: 15,
  });
  expect(JSON.parse((await stage.latest())?.tried ?? "null")).toMatchObject([
    { upstream: "first", failure: "another attempt was quicker", lost: 15 },
  ]);
});

test("one that has come and waits for memory is not overtaken", async () => {
  await stage.close();
  const state = { isRoomy: false, looks: 0 };
  const memory = { hasRoom: () => ++state.looks > 0 && state.isRoomy };
  stage = await openStage([served([at("first", 0), at("second", 1)])], { hedging }, { memory });
  stage.first.script = (exchange) => exchange.json(200, { ...wholeAnswer, padding: "x".repeat(100_000) });
  const asking = stage.ask();
  // There is a look four times a second.
  await eventually(() => expect(state.looks).toBeGreaterThan(4));
  state.isRoomy = true;
  expect(told(await asking)).toEqual([200, "first", "1"]);
  expect(stage.second.received).toHaveLength(0);
});

test("where the first answers after all it wins, and the second is left", async () => {
  stage.first.script = undefined;
  stage.second.script = undefined;
  const asking = stage.ask();
  const slow = await stage.first.next();
  const other = await stage.second.next();
  answerWell(slow);
  expect(told(await asking)).toEqual([200, "first", "2"]);
  await other.left;
  expect(await stage.latest()).toMatchObject({ upstream: "first", cost: 15 });
});

test("where one fails the other is waited for, and where both do the caller is told once", async () => {
  stage.first.script = undefined;
  stage.second.script = (exchange) => exchange.json(500, {});
  const asking = stage.ask();
  const slow = await stage.first.next();
  while (stage.second.received.length === 0) await new Promise(setImmediate);
  answerWell(slow);
  expect(told(await asking)).toEqual([200, "first", "2"]);
  expect(await stage.latest()).toMatchObject({ upstream: "first", cost: 15 });
});

test("one that failed before the other answered is told as failed, and not as overtaken", async () => {
  stage.first.script = undefined;
  stage.second.script = undefined;
  const asking = stage.ask();
  const slow = await stage.first.next();
  const other = await stage.second.next();
  slow.json(500, {});
  await eventually(async () => {
    const { value } = await scrape(stage.gateway.metricsPort);
    expect(value("model_gateway_upstream_running", { upstream: "first" })).toBe(0);
  });
  answerWell(other);
  expect(told(await asking)).toEqual([200, "second", "2"]);
  const [tried] = JSON.parse((await stage.latest())?.tried ?? "[]") as object[];
  expect(tried).toMatchObject({ upstream: "first", failure: "it answered with status 500" });
  expect(tried).not.toHaveProperty("lost");
});

test("a stream is never made twice, nor a call whose caller has left", async () => {
  stage.first.script = undefined;
  const streaming = stage.ask({ stream: true });
  const slow = await stage.first.next();
  await new Promise((resolve) => setTimeout(resolve, hedging.afterMs * 3));
  answerWell(slow);
  expect(told(await streaming)).toEqual([200, "first", "1"]);
  expect(stage.second.received).toHaveLength(0);
});

test("where both answer at the same moment the one that is taken is not given up", async () => {
  const hedge = createHedge(() => 1);
  const { promise: both, resolve } = Promise.withResolvers<void>();
  const signals: Signal[] = [];
  const ask = async (lead: string, signal: Signal, isHedge: boolean) => {
    if (signals.push(signal) === 2) setTimeout(resolve, 1);
    await both;
    return `${lead} ${isHedge}`;
  };
  const { signal } = new AbortController();
  const hedging = { afterMs: 1, candidate: "first", other: () => "second", signal, mayAskAgain: () => true };
  expect(await hedge.ask(ask, hedging)).toBe("first false");
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
});

test("only a part of calls is made twice", async () => {
  await stage.close();
  stage = await openStage([served([at("first", 0), at("second", 1)])], { hedging: { afterMs: 500, share: 0.25 } });
  stage.first.script = undefined;
  const asked = Array.from({ length: 40 }, () => stage.ask());
  const slow = await Promise.all(Array.from({ length: 40 }, () => stage.first.next()));
  // All have come by the time at which the first may be made twice. Those that may be are: five at first, and one for every four calls.
  while (stage.second.received.length < 15) await new Promise(setImmediate);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(stage.second.received).toHaveLength(15);
  for (const exchange of slow) answerWell(exchange);
  expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([200]));
});

test("a call that still waits for a place at its upstream is not made twice", async () => {
  await stage.close();
  const queue = { max_concurrent: 1, max_queued: 10, max_wait_seconds: 60 };
  const models = [served([at("first", 0), at("second", 1)])];
  // Long enough that the first call has its place by then.
  stage = await openStage(models, { hedging: { afterMs: 250, share: 1 } }, {}, { queue });
  stage.first.script = undefined;
  stage.second.script = undefined;
  const one = stage.ask();
  const slow = await stage.first.next();
  await stage.second.next();
  const two = stage.ask();
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(stage.second.received).toHaveLength(1);
  answerWell(slow);
  expect(told(await one)).toEqual([200, "first", "2"]);
  answerWell(await stage.first.next());
  expect((await two).headers.get("x-gateway-upstream")).toBe("first");
});
