/** A caller leaves: before the first word for nothing, after it for what was said. */
import { expect, test } from "vitest";
import { Outcome } from "../../gen/modelgateway/v1/usage_pb.ts";
import { hear } from "../support/clients/hear.ts";
import { eventually } from "../support/eventually.ts";
import { openAccount, type Payer } from "../support/payer.ts";
import { eventStream } from "../support/scripted-upstream.ts";
import { cost, paidModels } from "../support/upstreams/paid-models.ts";
import { scriptedStage } from "../support/upstreams/scripted-stage.ts";
import { done, helloChunks, openaiFrames, usageChunk } from "../support/vendors.ts";

const { upstream, gateway, books } = scriptedStage((baseUrl) => ({
  ...paidModels(baseUrl),
  disconnectDrainMs: 10_000,
}));

function begin({ apiKey }: Payer) {
  const body = { model: "gpt", messages: [{ role: "user", content: "Hello" }], stream: true };
  return hear(gateway, { path: "/v1/chat/completions", apiKey, body });
}

test("before the first word: the upstream is let go at once, and nothing is charged", async () => {
  const payer = await openAccount(gateway);
  const heard = begin(payer);
  const exchange = await upstream.next();
  const leftAt = performance.now();
  await heard.leave();
  expect((await exchange.left) - leftAt).toBeLessThan(9_000);
  await eventually(async () => expect((await books.of(payer)).holds).toBe(0));
  expect(await books.of(payer)).toMatchObject({ spent: 0, requests: [{ outcome: Outcome.LEFT, cost: 0 }] });
});

test("after it: the upstream is read on to its usage, and that is charged", async () => {
  const payer = await openAccount(gateway);
  const heard = begin(payer);
  const exchange = await upstream.next();
  exchange.head(200, eventStream);
  await exchange.write(openaiFrames(...helloChunks.slice(0, 2)));
  await heard.begun;
  await heard.leave();
  await eventually(() => expect(gateway.counts().drains).toBe(1));
  await exchange.write(openaiFrames(...helloChunks.slice(2), usageChunk()));
  exchange.end(done);
  await eventually(async () => expect((await books.of(payer)).holds).toBe(0));
  expect(await books.of(payer)).toMatchObject({
    spent: 9 * cost.input + 2 * cost.output,
    requests: [{ outcome: Outcome.LEFT, estimated: 0 }],
  });
});
