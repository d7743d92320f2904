/** An upstream fails: another is asked, for as long as nothing of an answer has come. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventStream } from "../support/scripted-upstream.ts";
import { at, openStage, type Stage, served } from "../support/upstreams/two-upstreams.ts";
import { chatChunk, openaiFrames } from "../support/vendors.ts";

let stage: Stage;
beforeEach(async () => {
  stage = await openStage([served([at("first"), at("second", 1)])]);
});
afterEach(() => stage.close());

const told = ({ status, headers }: Response) => [status, headers.get("x-gateway-upstream")];

test("one that fails is replaced, and the call is charged as it was answered", async () => {
  stage.first.script = (exchange) => exchange.json(500, { error: { message: "broken" } });
  expect(told(await stage.ask())).toEqual([200, "second"]);
  expect(await stage.latest()).toMatchObject({ upstream: "second", cost: 15 });
});

test("what the caller did wrong is told at once, and nobody else is asked", async () => {
  stage.first.script = (exchange) => exchange.json(400, { error: { message: "wrong" } });
  expect((await stage.ask()).status).toBe(400);
  expect(stage.second.received).toEqual([]);
});

test("one that keeps failing is left alone for a while", async () => {
  stage.first.script = (exchange) => exchange.json(500, { error: { message: "broken" } });
  for (let i = 0; i < 10; i++) await stage.ask();
  expect(stage.first.received.length).toBeLessThan(10);
  const asked = stage.first.received.length;
  stage.pass(6000);
  stage.first.script = (exchange) => exchange.json(200, {});
  await stage.ask();
  expect(stage.first.received.length).toBe(asked + 1);
});

test("once the caller has begun to read there is no going back", async () => {
  stage.first.script = async (exchange) => {
    exchange.head(200, eventStream);
    await exchange.write(openaiFrames(chatChunk({ role: "assistant", content: "Hel" })));
    exchange.destroy();
  };
  const text = await (await stage.ask({ stream: true })).text();
  expect(text).toContain('"error"');
  expect(text).not.toContain("[DONE]");
  expect(stage.second.received).toEqual([]);
});
