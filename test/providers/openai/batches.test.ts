/** Servers that take fewer texts at once than a client sends are asked in batches, and answer as if they were asked once. */
import { expect, test } from "vitest";
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { cost, paidModel, paidModels } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const { upstream, gateway } = scriptedStage((baseUrl) => ({
  ...paidModels(baseUrl),
  models: [paidModel("vectors", "openai", { kind: "embedding" })],
}));

type Refuse = (exchange: ScriptedExchange, count: number) => void;

/** told is how a server refuses more than 10 texts. */
const told: Readonly<Record<string, Refuse>> = {
  Alibaba: (exchange) => {
    const message =
      "<400> InternalError: Value error, batch size is invalid, it should not be larger than 10.: input.contents";
    exchange.json(400, { error: { message, type: "InvalidParameter", param: null, code: "InvalidParameter" } });
  },
  "text-embeddings-inference": (exchange, count) =>
    exchange.json(422, {
      message: `batch size ${count} > maximum allowed batch size 10`,
      type: "Validation",
      code: 422,
    }),
  SiliconFlow: (exchange, count) =>
    exchange.json(413, {
      code: 20042,
      message: `input batch size ${count} > maximum allowed batch size 10`,
      data: null,
    }),
  "a server that names no number": (exchange) =>
    exchange.json(400, { error: { message: "Too many inputs in request, split into more batches.", code: "3210" } }),
  Zhipu: (exchange) => exchange.json(400, { error: { code: "1214", message: "input数组最大不得超过10条" } }),
};

const textsOf = (count: number) => Array.from({ length: count }, (_, i) => `text ${i}`);
const vectorOf = (text: string) => [Number(text.replace("text ", "")), 0.5];

/** bounded answers up to 10 texts, in the reverse order. A batch whose texts `isBroken` holds for fails. */
function bounded(refuse: Refuse, { usage = true, isBroken = (_: readonly string[]): boolean => false } = {}) {
  return (exchange: ScriptedExchange) => {
    const texts = exchange.asked.input as string[];
    if (texts.length > 10) return refuse(exchange, texts.length);
    if (isBroken(texts)) return exchange.json(500, { error: { message: "out of memory" } });
    const data = texts.map((text, index) => ({ object: "embedding", index, embedding: vectorOf(text) })).reverse();
    const counts = { prompt_tokens: texts.length, total_tokens: texts.length };
    exchange.json(200, { object: "list", model: "v", data, ...(usage ? { usage: counts } : {}) });
  };
}

async function ask(count: number, script: (exchange: ScriptedExchange) => void, more: object = {}) {
  upstream.script = script;
  const before = upstream.received.length;
  const response = await fetch(`${gateway.baseUrl}/embeddings`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "vectors", input: textsOf(count), ...more }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: what an answer holds differs.
  const json = (await response.json()) as any;
  const [row] = await gateway.storage.requests.page({ accountId: gateway.accountId }, undefined, 1);
  return { status: response.status, json, row, batches: upstream.received.slice(before) };
}

test.each(Object.entries(told))("in the words of %s", async (_, refuse) => {
  const { status, json, row, batches } = await ask(25, bounded(refuse));
  expect(status).toBe(200);
  expect(json.data).toEqual(
    textsOf(25).map((text, index) => ({ object: "embedding", index, embedding: vectorOf(text) })),
  );
  expect(json.usage).toEqual({ prompt_tokens: 25, total_tokens: 25 });
  expect(row).toMatchObject({ input: 25, cost: 25 * cost.input });
  expect(batches.flatMap(({ asked }) => (asked.input.length > 10 ? [] : asked.input))).toEqual(textsOf(25));
});

test("one that names the bound is refused once, and asked for as many", async () => {
  const { batches } = await ask(25, bounded(told["text-embeddings-inference"] as Refuse));
  expect(batches.map(({ asked }) => asked.input.length)).toEqual([25, 10, 10, 5]);
});

test("vectors have the encoding that was asked for", async () => {
  const { json } = await ask(12, bounded(told.Alibaba as Refuse), { encoding_format: "base64" });
  const expected = textsOf(12).map((text) => Buffer.from(new Float32Array(vectorOf(text)).buffer).toString("base64"));
  expect(json.data.map(({ embedding }: { embedding: string }) => embedding)).toEqual(expected);
});

test("batches without usage are counted", async () => {
  const { status, row, json } = await ask(12, bounded(told.Alibaba as Refuse, { usage: false }));
  expect(status).toBe(200);
  expect(row?.input).toBeGreaterThan(12);
  expect(json.usage.prompt_tokens).toBe(row?.input);
});

test("one batch that fails is the failure of all, and nothing is charged", async () => {
  const script = bounded(told.Alibaba as Refuse, { isBroken: (texts) => texts.includes("text 11") });
  const { status, row } = await ask(12, script);
  expect([status, row]).toMatchObject([502, { cost: 0 }]);
});

test.each<[string, number, object]>([
  ["a text that is too long", 25, { error: { message: "Input 3 has more than 8192 tokens", code: 400 } }],
  ["one text", 1, { error: { message: "batch size 1 > maximum allowed batch size 0" } }],
  ["a list that would take too many batches", 2000, { error: { message: "maximum allowed batch size 1" } }],
])("a refusal for %s is told", async (_, count, body) => {
  const { status, batches } = await ask(count, (exchange) => exchange.json(400, body));
  expect([status, batches.length]).toEqual([400, 1]);
});
