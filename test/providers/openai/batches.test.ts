/** Servers that take fewer texts at once than a client sends are asked in batches, and answer as if they were asked once. */
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { cost, paidModel, paidModels } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const boundSeconds = 2;
const targetAt = (upstream: string, priority: number) => ({ upstream, model: "v", priority, weight: 1 });

const { upstream, gateway } = scriptedStage((base_url) => ({
  ...paidModels(base_url),
  retries: { attempts: 2, share: 1 },
  upstreams: [
    { name: "openai", kind: "openai", base_url },
    { name: "bounded", kind: "openai", base_url, timeouts: { total_seconds: boundSeconds } },
    { name: "other", kind: "openai", base_url },
  ],
  models: [
    paidModel("vectors", "openai", { kind: "embedding" }),
    paidModel("bounded", "bounded", { kind: "embedding" }),
    paidModel("twice", "openai", { kind: "embedding", targets: [targetAt("openai", 0), targetAt("other", 1)] }),
  ],
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
  ...Object.fromEntries(
    Object.entries({
      "Voyage, with a number in the model's name":
        "Request to model voyage-3 failed. The batch size limit is 10. Your batch size is 25.",
      OpenAI:
        "Invalid 'input': array too long. Expected an array with maximum length 10, but got an array with length 25 instead.",
      Azure:
        "Too many inputs. The max number of inputs is 10. We hope to increase the number of inputs per request soon.",
      Cohere: "invalid request: total number of texts must be at most 10 - received 25",
      Pydantic: "List should have at most 10 items after validation, not 25",
      Gemini: "BatchEmbedContentsRequest.requests: at most 10 requests can be in one batch",
    }).map(([server, message]): [string, Refuse] => [server, (exchange) => exchange.json(400, { error: { message } })]),
  ),
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

const countsOf = (batches: readonly ScriptedExchange[]) => batches.map(({ asked }) => asked.input.length);

async function ask(
  count: number,
  script: (exchange: ScriptedExchange) => void,
  more: object = {},
  headers: Readonly<Record<string, string>> = {},
) {
  upstream.script = script;
  const before = upstream.received.length;
  const response = await fetch(`${gateway.baseUrl}/embeddings`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json", ...headers },
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

test.each(Object.entries(told).filter(([server]) => !server.includes("no number")))(
  "%s names the bound, is refused once, and asked for as many",
  async (_, refuse) => {
    const { batches } = await ask(25, bounded(refuse));
    expect(countsOf(batches)).toEqual([25, 10, 10, 5]);
  },
);

const unnumbered = told["a server that names no number"] as Refuse;

test("what a server took last is what later batches begin with", async () => {
  const { status, json, batches } = await ask(45, bounded(unnumbered));
  expect([status, countsOf(batches)]).toEqual([200, [45, 23, 12, 6, 6, 6, 6, 6, 6, 6, 3]]);
  expect(json.data).toHaveLength(45);
});

test("one call makes at most 256 requests, in all", async () => {
  const script = (exchange: ScriptedExchange) => {
    const { length } = exchange.asked.input;
    const data = [{ index: 0, embedding: [1] }];
    return length > 1 ? unnumbered(exchange, length) : exchange.json(200, { data, usage: { prompt_tokens: 1 } });
  };
  const most = await ask(248, script);
  expect([most.status, most.batches.length]).toEqual([200, 256]);
  const more = await ask(249, script);
  expect([more.status, countsOf(more.batches)]).toEqual([400, [249, 125, 63, 32, 16, 8, 4, 2]]);
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

test("what the batches before one that is refused have used is charged to nobody", async () => {
  const tooLong = { error: { message: "input 1 of the batch is longer than 512 tokens", code: 400 } };
  const { status, row, batches } = await ask(63, (exchange) => {
    const isRefused = exchange.asked.input.includes("text 61");
    if (isRefused && exchange.asked.input.length <= 10) exchange.json(400, tooLong);
    else bounded(told.Alibaba as Refuse)(exchange);
  });
  expect([status, row]).toMatchObject([400, { cost: 0, input: 0 }]);
  expect(countsOf(batches)).toEqual([63, 10, 10, 10, 10, 10, 10, 3]);
});

test("what they have used is kept with the attempt that failed, where another answers", async () => {
  let failures = 0;
  const script = bounded(told.Alibaba as Refuse, {
    isBroken: (texts) => texts.includes("text 11") && failures++ === 0,
  });
  const { status, row } = await ask(12, script, { model: "twice" });
  expect([status, row]).toMatchObject([200, { input: 12, cost: 12 * cost.input }]);
  expect(JSON.parse(row?.tried ?? "null")).toMatchObject([{ upstream: "openai", told: { input: 10 } }]);
});

const callers = { "x-gateway-timeout": `${boundSeconds}` };

test.each<[string, object, Record<string, string>, string, number]>([
  ["the caller's", {}, callers, "no end of its answer within `x-gateway-timeout`", 1],
  ["the operator's", { model: "bounded" }, {}, `no end of its answer in ${boundSeconds} s`, 2],
])("%s bound for the whole answer is that of all batches together", async (_, more, headers, words, attempts) => {
  // Each batch alone comes within the bound, the first by far; both together do not.
  const slow = async (exchange: ScriptedExchange) => {
    const { input } = exchange.asked;
    if (input.length <= 10) await setTimeout((input.includes("text 11") ? 0.95 : 0.1) * boundSeconds * 1000);
    bounded(told.Alibaba as Refuse)(exchange);
  };
  const { status, json, batches } = await ask(25, (exchange) => void slow(exchange), more, headers);
  expect([status, json.error.message, batches.length]).toEqual([504, expect.stringContaining(words), 3 * attempts]);
});

test("all answers together are no longer than one may be", async () => {
  const embedding = "A".repeat(23 * 2 ** 20);
  const data = JSON.stringify({ data: [{ index: 0, embedding }], usage: { prompt_tokens: 1 } });
  const { status, row, batches } = await ask(3, (exchange) => {
    if (exchange.asked.input.length > 1) return exchange.json(400, { error: { message: "maximum batch size is 1" } });
    exchange.head(200, { "content-type": "application/json" });
    exchange.end(data);
  });
  // It was tried twice.
  expect([status, row, batches.length]).toMatchObject([502, { cost: 0 }, 2 * 4]);
});

test("a text in tokens is no list", async () => {
  const message = "batch size 12 > maximum allowed batch size 10";
  const input = Array.from({ length: 12 }, (_, i) => 1000 + i);
  const { status, batches } = await ask(12, (exchange) => exchange.json(422, { message }), { input });
  expect([status, countsOf(batches)]).toEqual([422, [12]]);
});

test.each<[string, number, object]>([
  [
    "a text that is too long for a batch",
    64,
    { error: { message: "input 63 of the batch is longer than 512 tokens" } },
  ],
  [
    "what a server computes at once",
    600,
    {
      error: {
        message:
          "input (600 tokens) is too large to process. increase the physical batch size (current batch size: 512)",
        type: "server_error",
        code: 500,
      },
    },
  ],
  ["the length of a text", 25, { error: { message: "input length should be at most 20" } }],
  ["the tokens of all texts", 25, { error: { message: "Too many tokens overall, split into more batches." } }],
  ["something else, of a model with a number", 25, { error: { message: "voyage-3 takes no batch of this type" } }],
  ["a text that is too long", 25, { error: { message: "Input 3 has more than 8192 tokens", code: 400 } }],
  ["one text", 1, { error: { message: "batch size 1 > maximum allowed batch size 0" } }],
  ["a list that would take too many batches", 2000, { error: { message: "maximum allowed batch size 1" } }],
])("a refusal for %s is told", async (_, count, body) => {
  const { status, batches } = await ask(count, (exchange) => exchange.json(400, body));
  expect([status, batches.length]).toEqual([400, 1]);
});
