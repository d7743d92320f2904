/** What the operator sees of upstreams and models over time, and of all models with their vendors' prices. */
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newId } from "../../../src/runtime/ids.ts";
import { askRpc, bearer } from "../../support/dashboard/session.ts";
import { now, startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { directMoney } from "../../support/money/direct.ts";

const operatorKey = "operator-key-of-the-test-of-measures";
const hourMs = 3_600_000;
const begins = now - (now % hourMs) - 6 * hourMs;
let gateway: TestGateway;

beforeAll(async () => {
  const price = { input: 2_000_000, output: 16_000_000 };
  const served = { family: "gpt", kind: "chat" as const, aliases: [] };
  gateway = await startTestGateway(
    {
      operatorKey,
      upstreams: [
        { name: "near", kind: "openai", base_url: "http://127.0.0.1:9/v1" },
        { name: "far", kind: "openai", base_url: "http://127.0.0.1:9/v1" },
      ],
      models: [
        {
          ...served,
          id: "gpt-4.1",
          price,
          targets: [
            { upstream: "near", model: "gpt-4.1", priority: 0, weight: 3 },
            { upstream: "far", model: "gpt-4.1-eu", priority: 1, weight: 1 },
          ],
        },
        { ...served, id: "ours", targets: [{ upstream: "far", model: "ours", priority: 0, weight: 1 }] },
      ],
    },
    { clock: () => now },
  );
});
afterAll(() => gateway.close());

async function ask(name: string, request: JsonObject = {}): Promise<JsonObject> {
  const { status, json } = await askRpc(gateway, name, request, bearer(operatorKey));
  expect(status, JSON.stringify(json)).toBe(200);
  return json;
}

/** Records a call of an hour, as the gateway does. */
async function write(hour: number, more: object): Promise<void> {
  const at = begins + hour * hourMs + 60_000;
  const names = { account_id: gateway.accountId, key_id: gateway.keyId, operation: "chat", model: "gpt-4.1" };
  const used = { input: 9, cache_read: 0, cache_write: 0, output: 0, reasoning: 0, characters: 0, estimated: 0 };
  const times = { created_at: at, duration_ms: 1000, first_byte_ms: 200 };
  const call = {
    id: newId("req", at),
    ...names,
    upstream: "near",
    outcome: 1,
    ...used,
    cost: 0,
    ...times,
    tried: null,
  };
  await directMoney(gateway.storage).capture({ ...call, ...more });
}

const span = { bucket: "BUCKET_HOUR", from: new Date(begins).toISOString(), to: new Date(now).toISOString() };
const failedAt = (upstream: string, more: object = {}) => ({
  upstream,
  at: begins,
  ms: 5,
  failure: "no answer",
  ...more,
});

describe("attempts over time", () => {
  beforeAll(async () => {
    await write(0, { output: 500, duration_ms: 2000 });
    await write(0, { outcome: 2, first_byte_ms: null });
    await write(0, { upstream: "far", tried: JSON.stringify([failedAt("near")]) });
    // What a faster attempt replaced, what the cache answered, and what a dead gateway left behind tell nothing of an upstream.
    await write(1, { upstream: "far", tried: JSON.stringify([failedAt("near", { lost: 4 })]) });
    await write(1, { upstream: "", cached: 1 });
    await write(1, { outcome: 5 });
    // A request that is rejected is the caller's fault.
    await write(3, { outcome: 6, first_byte_ms: null });
    // Who disconnects says nothing against the upstream.
    await write(2, { outcome: 4 });
    await write(2, { model: "ours", upstream: "far", tried: JSON.stringify([failedAt("near", { model: "gpt-4.1" })]) });
  });

  test("count what failed at an upstream, also where another answered then", async () => {
    const { total, sums, completeFrom } = await ask("OperatorService/MeasureAttempts", { ...span, upstream: "near" });
    expect(total).toMatchObject({ attempts: "6", failures: "3" });
    expect(
      (sums as JsonObject[]).map(({ beginsAt, attempts, failures }) => [beginsAt, attempts, failures ?? "0"]),
    ).toEqual([
      [new Date(begins).toISOString().replace(".000", ""), "3", "2"],
      [new Date(begins + 2 * hourMs).toISOString().replace(".000", ""), "2", "1"],
      [new Date(begins + 3 * hourMs).toISOString().replace(".000", ""), "1", "0"],
    ]);
    expect(completeFrom).toBeUndefined();
  });

  test("tell how fast answers were, to within 4 %", async () => {
    const { total } = await ask("OperatorService/MeasureAttempts", { ...span, upstream: "near" });
    const { firstByteP50Ms, tokensPerSecondP50, durationP50Ms } = total as Record<string, number>;
    expect(firstByteP50Ms).toBeGreaterThan(200 * 0.96);
    expect(firstByteP50Ms).toBeLessThan(200 * 1.04);
    expect(durationP50Ms).toBeGreaterThan(2000 * 0.96);
    expect(durationP50Ms).toBeLessThan(2000 * 1.04);
    expect(tokensPerSecondP50).toBeGreaterThan(250 * 0.96);
    expect(tokensPerSecondP50).toBeLessThan(250 * 1.04);
  });

  test("are grouped by upstream and by model, the most attempts first", async () => {
    const by = async (groupBy: string, more: object = {}) => {
      const { groups } = await ask("OperatorService/MeasureAttempts", { ...span, groupBy, ...more });
      return (groups as JsonObject[]).map(({ group, attempts, failures }) => [group, attempts, failures ?? "0"]);
    };
    expect(await by("ATTEMPT_GROUP_UPSTREAM")).toEqual([
      ["near", "6", "3"],
      ["far", "3", "0"],
    ]);
    expect(await by("ATTEMPT_GROUP_UPSTREAM", { model: "ours" })).toEqual([["far", "1", "0"]]);
    expect(await by("ATTEMPT_GROUP_MODEL")).toEqual([
      ["gpt-4.1", "8", "3"],
      ["ours", "1", "0"],
    ]);
  });

  test("are refused for a time that ends before it begins", async () => {
    const request = { from: span.to, to: span.from };
    const { reason } = await askRpc(gateway, "OperatorService/MeasureAttempts", request, bearer(operatorKey));
    expect(reason).toBe("INVALID_VALUE");
  });
});

test("models are told with their targets, our price and the vendor's, served or not", async () => {
  const { models, dollar, markup } = await ask("OperatorService/DescribeModels");
  const find = (id: string) => (models as JsonObject[]).find(({ model }) => (model as JsonObject).id === id);
  expect(find("gpt-4.1")).toMatchObject({
    served: true,
    model: { price: { input: "2000000", output: "16000000" } },
    vendorPrice: { input: "2000000", output: "8000000" },
    cataloguePrice: { output: String((8_000_000n * BigInt(dollar as string)) / 1_000_000n) },
    targets: [
      { upstream: "near", model: "gpt-4.1", weight: 3 },
      { upstream: "far", model: "gpt-4.1-eu", priority: 1, weight: 1 },
    ],
  });
  expect(markup).toBe("1000000");
  expect(find("ours")).toMatchObject({ served: true });
  expect(find("ours")).not.toHaveProperty("vendorPrice");
  expect(find("gpt-4.1-mini")).toMatchObject({ vendorPrice: { input: expect.any(String) } });
  expect(find("gpt-4.1-mini")).not.toHaveProperty("served");
});
