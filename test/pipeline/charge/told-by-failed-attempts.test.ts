/** What the upstream of an attempt reports that failed or was overtaken is kept with the attempt, and charged to nobody. */
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { afterEach, expect, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { UsageService } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { failedAttemptsOf } from "../../../src/pipeline/attempt/failed-attempts.ts";
import { MeteredAttempt } from "../../../src/pipeline/charge/metered-attempt.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { attemptFacts } from "../../support/meter.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { at, openStage, type Stage, served } from "../../support/upstreams/two-upstreams.ts";
import { chatChunk, openaiFrames } from "../../support/vendors.ts";

let stage: Stage;

afterEach(() => stage.close());

const usage = {
  ...{ prompt_tokens: 700, completion_tokens: 40, total_tokens: 740 },
  prompt_tokens_details: { cached_tokens: 600 },
  completion_tokens_details: { reasoning_tokens: 30 },
};
const told = { input: 100, cache_read: 600, output: 40, reasoning: 30 };
const fault = { error: { message: "overloaded", type: "server_error", code: 500 } };

async function latest() {
  const row = await stage.latest();
  return { cost: row?.cost, waived: row?.waived, tried: JSON.parse(row?.tried ?? "null") };
}

/** Asks for the call as its account sees it. */
async function shown() {
  const { gateway } = stage;
  const interceptor = (next: (request: never) => Promise<never>) => (request: { header: Headers }) => {
    request.header.set("authorization", `Bearer ${gateway.apiKey}`);
    return next(request as never);
  };
  const transport = createConnectTransport({
    baseUrl: gateway.rootUrl,
    httpVersion: "1.1",
    interceptors: [interceptor as never],
  });
  const { requests } = await createClient(UsageService, transport).listRequests({});
  return requests[0]?.tried.map(({ told }) => told);
}

const targets = [served([at("first", 0), at("second", 1)])];

test("of an attempt that failed", async () => {
  stage = await openStage(targets, {}, { admin: true });
  stage.first.script = (exchange) => {
    exchange.head(200, eventStream);
    const begin = chatChunk({ role: "assistant" }, null, { usage });
    return exchange.end(openaiFrames(begin, fault));
  };
  const answer = await stage.ask({ stream: true });
  expect([answer.status, answer.headers.get("x-gateway-upstream")]).toEqual([200, "second"]);
  await answer.text();
  // Nine tokens in and three out of the attempt that answered.
  expect(await latest()).toMatchObject({ cost: 15, waived: 0, tried: [{ upstream: "first", told }] });
  expect(await shown()).toMatchObject([
    { inputTokens: 100n, cacheReadTokens: 600n, outputTokens: 40n, reasoningTokens: 30n },
  ]);
});

test("of an attempt that another overtook, once for what it reported", async () => {
  stage = await openStage(targets);
  const request = Wire.ofJson(CreateChatCompletionRequestSchema, { messages: [{ role: "user", content: "Hi" }] });
  const meter = new MeteredAttempt("chat", request);
  expect(meter.drop()).toBeUndefined();
  meter.reportUsage({ input: 100, cacheRead: 600, cacheWriteHour: 5, output: 40, reasoning: 30 });
  const told = meter.drop();
  expect(told).toEqual({ input: 100, cacheRead: 600, cacheWrite: 0, cacheWriteHour: 5, output: 40, reasoning: 30 });
  const attempt = { ...attemptFacts(), modelId: "m", endedAt: 9, isOvertaken: true, ...(told && { told }) };
  expect(JSON.parse(failedAttemptsOf({ attempts: [attempt] }, { model: "m", cost: 15 }) ?? "")).toMatchObject([
    {
      lost: 15,
      told: { input: 100, cache_read: 600, cache_write: 5, cache_write_hour: 5, output: 40, reasoning: 30 },
    },
  ]);
});

test("and nothing is said of one that reported nothing", async () => {
  stage = await openStage(targets, {}, { admin: true });
  stage.first.script = (exchange) => exchange.json(500, fault);
  await (await stage.ask()).text();
  expect((await latest()).tried[0]).not.toHaveProperty("told");
  expect(await shown()).toEqual([undefined]);
});
