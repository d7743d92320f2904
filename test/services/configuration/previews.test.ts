/**
 * What an operator tries before it holds: an upstream is asked for its models and for a small call, and what failed is told in words
 * without a secret; tiers show whose would change; the catalogue tells what vendors need and what their models cost here.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { beforeEach, describe, expect, test } from "vitest";
import { askRpc, bearer } from "../../support/dashboard/session.ts";
import { openAccount } from "../../support/payer.ts";
import { type ScriptedExchange, startScriptedUpstream } from "../../support/scripted-upstream.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { answerAsOpenAi } from "../../support/vendors.ts";

const operatorKey = "operator-key-of-the-test-for-previews";
const [good, bad] = ["sk-good-credential-0001", "sk-wrong-credential-0002"];
let time = Date.UTC(2026, 0, 2, 3, 4, 5);
const told: string[] = [];

const { upstream, gateway } = scriptedStage(() => ({ operatorKey }), { clock: () => (time += 10) });
beforeEach(() => {
  upstream.received.length = 0;
  upstream.script = answer;
});

function isGood({ headers }: ScriptedExchange): boolean {
  return headers.authorization === `Bearer ${good}`;
}

function answer(exchange: ScriptedExchange): void {
  const refusal = {
    error: { message: `Incorrect API key provided: ${exchange.headers.authorization}.`, code: "invalid_api_key" },
  };
  if (!isGood(exchange)) exchange.json(401, refusal);
  else if (exchange.path.endsWith("/models")) exchange.json(200, { data: [{ id: "text-embed-1" }, { id: "chat-1" }] });
  else answerAsOpenAi(exchange);
}

async function ask(name: string, request: JsonObject = {}): Promise<JsonObject> {
  const { status, json } = await askRpc(gateway, `OperatorService.${name}`, request, bearer(operatorKey));
  told.push(JSON.stringify(json));
  expect(status, JSON.stringify(json)).toBe(200);
  return json;
}

const entry = (more: JsonObject = {}): JsonObject => ({
  ...{ name: "fresh", kind: "openai", base_url: upstream.baseUrl, api_key: good },
  ...more,
});

async function steps(request: JsonObject): Promise<readonly JsonObject[]> {
  return (await ask("TestUpstream", request)).steps as JsonObject[];
}

describe("an upstream that is tested", () => {
  test("lists its models, and answers a small call of one of them", async () => {
    const answered = await ask("TestUpstream", { upstream: entry() });
    expect(answered).toMatchObject({
      ok: true,
      steps: [
        {
          kind: "TEST_STEP_KIND_LIST_MODELS",
          outcome: "TEST_OUTCOME_OK",
          modelCount: 2,
          models: ["text-embed-1", "chat-1"],
        },
        {
          kind: "TEST_STEP_KIND_CALL",
          outcome: "TEST_OUTCOME_OK",
          model: "chat-1",
          outputTokens: expect.any(Number) as number,
        },
      ],
    });
    const sent = JSON.parse(String(upstream.received.at(-1)?.body)) as JsonObject;
    expect(sent).toMatchObject({ model: "chat-1", max_tokens: 32 });
  });

  test("shows a step at a time where it is asked to", async () => {
    expect(await steps({ upstream: entry(), skipCall: true })).toMatchObject([{ kind: "TEST_STEP_KIND_LIST_MODELS" }]);
    expect(await steps({ upstream: entry(), skipList: true, model: "chat-9" })).toMatchObject([
      { kind: "TEST_STEP_KIND_CALL", outcome: "TEST_OUTCOME_OK", model: "chat-9" },
    ]);
  });

  test("is told in the audit log, stored or not, without its secrets", async () => {
    const secrets = { headers: { "x-secret": "sesame" } };
    const answered = await ask("TestUpstream", { upstream: entry(secrets), model: "chat-1" });
    const tested = { name: "fresh", kind: "openai", baseUrl: upstream.baseUrl, models: ["chat-1"] };
    expect(answered.tested).toEqual(tested);
    const { acts } = await ask("ListAudit", { action: "OperatorService.TestUpstream", pageSize: 1 });
    const [act] = acts as { details: string }[];
    const { baseUrl, ...others } = tested;
    expect(JSON.parse(act?.details ?? "")).toEqual({ model: "chat-1", ...others, base_url: baseUrl });
    expect(JSON.stringify([answered, acts])).not.toMatch(/sesame|sk-good/);
  });

  test("with a credential that fails says so, and calls no model", async () => {
    expect(await steps({ upstream: entry({ api_key: bad }) })).toEqual([
      expect.objectContaining({
        outcome: "TEST_OUTCOME_FAILED",
        message: "It refused the credential: it answered with status 401. Check the key.",
      }),
      expect.objectContaining({
        outcome: "TEST_OUTCOME_SKIPPED",
        message: "No model was called: the step before failed.",
      }),
    ]);
    expect(upstream.received).toHaveLength(1);
  });

  test("names the one of several keys that fails", async () => {
    const { api_key: _, ...keyless } = entry();
    expect((await steps({ upstream: { ...keyless, api_keys: [good, bad] } }))[0]?.message).toBe(
      "It refused the credential (the key …0002): it answered with status 401. Check the key.",
    );
  });

  test("whose model is refused tells the upstream's message", async () => {
    upstream.script = (exchange) =>
      exchange.path.endsWith("/models")
        ? exchange.json(404, {})
        : exchange.json(404, { error: { message: "The model `nope` does not exist", code: "model_not_found" } });
    const told = await steps({ upstream: entry(), model: "nope" });
    expect(told[0]).toMatchObject({ outcome: "TEST_OUTCOME_UNKNOWN" });
    expect(told[1]).toMatchObject({
      outcome: "TEST_OUTCOME_FAILED",
      model: "nope",
      message: expect.stringContaining("nope") as string,
    });
  });

  test("that is not there says what to look at", async () => {
    const closed = await startScriptedUpstream();
    await closed.close();
    const [first, second] = await steps({ upstream: entry({ base_url: closed.baseUrl }) });
    expect(first?.message).toMatch(/^It cannot be asked: nothing listens at 127\.0\.0\.1:\d+\. See that it runs/);
    expect(second).toMatchObject({ outcome: "TEST_OUTCOME_SKIPPED" });
  });

  test("that speaks no TLS says so", async () => {
    const baseUrl = upstream.baseUrl.replace("http:", "https:");
    const [first] = await steps({ upstream: entry({ base_url: baseUrl }) });
    expect(first?.message).toMatch(/^It cannot be asked: 127\.0\.0\.1:\d+ does not speak TLS there\. Write http:\/\//);
  });

  test("that is stored is tried with its own secret, also where its mask is sent", async () => {
    await ask("ChangeConfiguration", { baseVersion: 0, changes: [{ upstream: entry() }] });
    expect(await ask("TestUpstream", { name: "fresh" })).toMatchObject({ ok: true });
    expect(await ask("TestUpstream", { upstream: entry({ api_key: "…0001" }) })).toMatchObject({ ok: true });
    const thief = await startScriptedUpstream((exchange) => exchange.json(200, { data: [] }));
    const { status, reason } = await askRpc(
      gateway,
      "OperatorService.TestUpstream",
      { upstream: entry({ api_key: "…0001", base_url: thief.baseUrl }) },
      bearer(operatorKey),
    );
    expect([status, reason, thief.received.length]).toEqual([400, "INVALID_VALUE", 0]);
    await thief.close();
  });

  test("is not one that nobody has named, or that is wrong", async () => {
    for (const request of [
      {},
      { name: "a", upstream: entry() },
      { name: "far" },
      { upstream: entry({ base_url: "x" }) },
    ]) {
      const { status } = await askRpc(gateway, "OperatorService.TestUpstream", request, bearer(operatorKey));
      expect([400, 404], JSON.stringify(request)).toContain(status);
    }
  });
});

test("tiers show whose would change, and whose would not", async () => {
  const open = async (units: number) => (await openAccount(gateway, { recharge: units * 1_000_000 })).accountId;
  const ids = await Promise.all([0, 25, 400].map(open));
  const tiers = [
    { name: "Free", recharge: "0", requests_per_minute: 60 },
    { name: "VIP", recharge: "30", requests_per_minute: 1200 },
    { name: "Premium", recharge: "300", requests_per_minute: 20_000, tokens_per_minute: 5000 },
  ];
  const { total, accounts, changes } = await ask("PreviewTiers", { settings: { tiers } });
  expect([total, accounts]).toEqual([3, 4]);
  expect((changes as JsonObject[]).filter(({ accountId }) => ids.includes(accountId as string))).toEqual([
    expect.objectContaining({
      before: "Premium",
      after: "Premium",
      requestsPerMinuteAfter: 20_000,
      tokensPerMinuteAfter: 5000,
    }),
    expect.objectContaining({ before: "VIP", after: "Free", recharged: "25000000" }),
  ]);
  expect(await ask("PreviewTiers")).toEqual({ accounts: 4 });
  const { reason } = await askRpc(
    gateway,
    "OperatorService.PreviewTiers",
    { settings: { tiers: [] } },
    bearer(operatorKey),
  );
  expect(reason).toBe("INVALID_VALUE");
});

test("vendors say what an upstream of theirs needs, and models what they cost in the unit", async () => {
  const { vendors } = await ask("ListVendors");
  expect((vendors as JsonObject[]).find(({ name }) => name === "openai")).toMatchObject({
    ...{
      title: "OpenAI",
      kind: "openai",
      baseUrl: "https://api.openai.com/v1",
      needsKey: true,
      keyVariable: "OPENAI_API_KEY",
    },
  });
  expect((vendors as JsonObject[]).find(({ name }) => name === "ollama")).not.toHaveProperty("needsKey", true);
  const settings = { catalogue_prices: { dollar: "100", markup: "1.10" } };
  const { configuration } = await ask("GetConfiguration");
  await ask("ChangeConfiguration", {
    baseVersion: (configuration as JsonObject).version as number,
    changes: [{ settings }],
  });
  const { models } = await ask("ListBuiltInModels", { vendor: "openai" });
  expect((models as JsonObject[]).find(({ id }) => id === "gpt-4.1")).toMatchObject({
    model: { price: { input: "220.00", output: "880.00" } },
  });
});

test("no secret came out", () => {
  const all = told.join("\n");
  expect(all).toContain("…0002");
  for (const secret of [good, bad]) expect(all).not.toContain(secret);
});
