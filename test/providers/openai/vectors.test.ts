/** Embeddings of servers that leave out, repeat or mislabel what clients rely on: the vectors stand in the order of the inputs. */
import { expect, test } from "vitest";
import { paidModel, paidModels } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const { upstream, gateway } = scriptedStage((baseUrl) => {
  const config = paidModels(baseUrl);
  const kind = { kind: "embedding" as const };
  const targets = (["openai", "well"] as const).map((at, priority) => ({
    upstream: at,
    model: "v",
    priority,
    weight: 1,
  }));
  return {
    ...config,
    upstreams: [
      ...config.upstreams,
      { name: "well", kind: "openai" as const, base_url: `${baseUrl}/well`, api_key: "k" },
    ],
    models: [paidModel("vectors", "openai", kind), paidModel("vectors-or-well", "openai", { ...kind, targets })],
    retries: { attempts: 2, share: 1 },
    breaker: { failures: 1000, openMs: 1 },
  };
});

async function ask(data: readonly object[], input: unknown, more: object = {}) {
  return askAny({ object: "list", model: "v", data, usage: { prompt_tokens: 3, total_tokens: 3 } }, input, more);
}

async function askAny(answer: unknown, input: unknown, more: object = {}) {
  upstream.script = (exchange) => {
    if (exchange.path.includes("/well/")) exchange.json(200, { object: "list", data: [{ index: 0, embedding: two }] });
    else exchange.json(200, answer);
  };
  const response = await fetch(`${gateway.baseUrl}/embeddings`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "vectors", input, ...more }),
  });
  return { status: response.status, json: (await response.json()) as { readonly data: readonly object[] } };
}

const [one, two] = [
  [0.25, -1.5],
  [3, 4],
];

const labelled: Readonly<Record<string, readonly object[]>> = {
  "no index": [{ embedding: one }, { embedding: two }],
  "the same index": [
    { index: 0, embedding: one },
    { index: 0, embedding: two },
  ],
  "indexes in another order": [
    { index: 1, embedding: two },
    { index: 0, embedding: one },
  ],
  "indexes that are texts": [
    { index: "1", embedding: two },
    { index: "0", embedding: one },
  ],
  "indexes that begin at 1": [
    { index: 1, embedding: one },
    { index: 2, embedding: two },
  ],
};

test.each(Object.entries(labelled))("vectors with %s are in the order of the inputs, and say so", async (_, data) => {
  const { status, json } = await ask(data, ["a", "b"]);
  expect(status).toBe(200);
  expect(json.data).toMatchObject([
    { index: 0, embedding: one },
    { index: 1, embedding: two },
  ]);
});

const lacking: Readonly<Record<string, readonly [data: readonly object[], input: unknown]>> = {
  "a vector fewer than texts": [[{ index: 0, embedding: one }], ["a", "b"]],
  "a vector fewer than lists of tokens": [[{ index: 0, embedding: one }], [[1, 2], [3]]],
  "no vector at all": [[], "a"],
  "an item without its vector": [
    [
      { index: 0, embedding: one },
      { index: 1, embedding: null },
    ],
    ["a", "b"],
  ],
};

test.each(Object.entries(lacking))("%s is no answer, and is not charged", async (_, [data, input]) => {
  const { status, json } = await ask(data, input);
  expect([status, json]).toMatchObject([502, { error: { message: expect.stringContaining("lacks vectors") } }]);
  const [request] = await gateway.storage.requests.page({ accountId: gateway.accountId }, undefined, 1);
  expect(request).toMatchObject({ cost: 0 });
});

test("a list of tokens is one text", async () => {
  expect(await ask([{ index: 0, embedding: one }], [1, 2, 3])).toMatchObject({ status: 200 });
});

test("base64 of other numbers stays as it came for who asked for them, and is the upstream's failure else", async () => {
  // Of these bytes the last four are no number as a float.
  const bytes = Buffer.from([1, 2, 3, 4, 0, 0, 128, 127]);
  for (const embedding of [bytes, bytes.subarray(0, 4), bytes.subarray(0, 3)].map((some) => some.toString("base64"))) {
    for (const output_dtype of ["int8", "ubinary"]) {
      for (const more of [{}, { encoding_format: "base64" }]) {
        const { status, json } = await ask([{ index: 0, embedding }], "a", { output_dtype, ...more });
        expect([status, json.data]).toEqual([200, [{ object: "embedding", index: 0, embedding }]]);
      }
    }
  }
  for (const output_dtype of [undefined, null, "float"]) {
    const unreadable = [{ index: 0, embedding: bytes.toString("base64") }];
    expect((await ask(unreadable, "a", { output_dtype, encoding_format: "base64" })).status).toBe(502);
  }
});

test("signed bytes that nobody asked for are not read as floats", async () => {
  // As floats these are finite: 1.7e38 and a denormal number.
  const embedding = Buffer.from([1, 2, 255, 126, 1, 2, 3, 0]).toString("base64");
  for (const more of [{}, { encoding_format: "float" }, { encoding_format: "base64" }])
    expect((await ask([{ index: 0, embedding }], "a", more)).status).toBe(502);
});

const base64 = Buffer.from(new Float32Array(one).buffer).toString("base64");
const unreadable: Readonly<Record<string, unknown>> = {
  "a vector without numbers": [],
  "a base64 of nothing": "",
  "a vector with null for a number": [null, 1],
  "numbers that are texts": ["0.25"],
  "a vector for each token": [one, two],
  "a base64 that is cut off": base64.slice(0, -5),
};

test.each(Object.entries(unreadable))(
  "%s is no answer: it is not charged, and another target is asked",
  async (_, embedding) => {
    for (const more of [{}, { encoding_format: "base64" }]) {
      expect(await ask([{ index: 0, embedding }], "a", more)).toMatchObject({ status: 502 });
      const [request] = await gateway.storage.requests.page({ accountId: gateway.accountId }, undefined, 1);
      expect(request).toMatchObject({ cost: 0 });
      const { status } = await ask([{ index: 0, embedding }], "a", { ...more, model: "vectors-or-well" });
      expect(status).toBe(200);
    }
  },
);

test("an unreadable vector of a long answer is seen, too", async () => {
  const data = Array.from({ length: 2000 }, (_, index) => ({
    index,
    embedding: Array.from({ length: 20 }, () => 0.123_456),
  }));
  const inputs = data.map(() => "a");
  expect(await ask(data, inputs)).toMatchObject({ status: 200 });
  const broken = data.map((item, i) => (i === 1999 ? { ...item, embedding: [0.5, null] } : item));
  expect(await ask(broken, inputs)).toMatchObject({ status: 502 });
});

const otherForms: Readonly<Record<string, unknown>> = {
  "llama.cpp's list": [
    { index: 0, embedding: [one] },
    { index: 1, embedding: [two] },
  ],
  "a list of vectors": [one, two],
  "Ollama's object": { model: "v", embeddings: [one, two] },
  "Cohere's object": { id: "x", embeddings: { float: [one, two] } },
  "vectors alone in the data": { object: "list", data: [one, two] },
  "base64 alone": {
    embeddings: [one, two].map((v) => Buffer.from(new Float32Array(v).buffer).toString("base64")),
  },
  "data by their places": { data: { 0: { index: 0, embedding: one }, 1: { index: 1, embedding: two } } },
  "vectors by their numbers": { data: [{ embedding: { float: one } }, { embedding: { float: two } }] },
  "vectors of one kind of several": { data: [{ embedding: { dense: one } }, { embedding: { dense: two } }] },
  "vectors by another name": { data: [{ embeddings: one }, { embeddings: [two] }] },
  "Google's object": { embeddings: [{ values: one }, { values: two }] },
  "Cloudflare's object": { result: { shape: [2, 2], data: [one, two] }, success: true, errors: [], messages: [] },
  "Alibaba's object": { output: { embeddings: [{ embedding: one }, { embedding: two }] }, usage: { total_tokens: 3 } },
};

test.each(Object.entries(otherForms))("%s is told as a list of vectors", async (_, answer) => {
  const { status, json } = await askAny(answer, ["a", "b"]);
  expect([status, json.data]).toMatchObject([
    200,
    [
      { index: 0, embedding: one },
      { index: 1, embedding: two },
    ],
  ]);
  expect((await askAny(answer, ["a", "b", "c"])).status).toBe(502);
});

const ofOne: Readonly<Record<string, object>> = {
  "Ollama's vector": { embedding: one },
  "Ollama's vectors": { embeddings: [one], prompt_eval_count: 11 },
  "Cohere's": { embeddings: { float: [one] }, meta: { billed_units: { input_tokens: 11 } } },
  "the only entry": { data: { object: "embedding", index: 0, embedding: one } },
  "the only vector": { data: one, usage: { prompt_tokens: 11, total_tokens: 11 } },
  "Google's": { embedding: { values: one }, usage: { total_tokens: 11 } },
  "Titan's": { embedding: one, inputTextTokenCount: 11 },
};

test.each(Object.entries(ofOne))("%s, and the counts beside it, are told as OpenAI's", async (_, answer) => {
  const { status, json } = await askAny({ model: "v", ...answer }, "a");
  expect([status, json]).toMatchObject([200, { data: [{ index: 0, embedding: one }] }]);
  if (Object.keys(answer).length > 1) expect(json).toMatchObject({ usage: { prompt_tokens: 11, total_tokens: 11 } });
  const [request] = await gateway.storage.requests.page({ accountId: gateway.accountId }, undefined, 1);
  if (Object.keys(answer).length > 1) expect(request).toMatchObject({ input: 11, cost: 33 });
});

test.each([{ result: ["maintenance"] }, { data: ["maintenance"] }, ["maintenance"]])(
  "a text in %j is no vector",
  async (answer) => {
    expect((await askAny(answer, ["a"])).status).toBe(502);
  },
);

test("a conversation whose vectors come without a usage is charged by its length", async () => {
  const messages = [{ role: "user", content: "word ".repeat(800) }];
  expect((await askAny({ data: [{ index: 0, embedding: one }] }, undefined, { messages })).status).toBe(200);
  const [request] = await gateway.storage.requests.page({ accountId: gateway.accountId }, undefined, 1);
  expect(request?.input).toBeGreaterThan(900);
  expect(request?.cost).toBe(3 * (request?.input ?? 0));
});

test("a conversation is what vectors are asked of, without an empty text beside it", async () => {
  const messages = [
    { role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }] },
  ];
  expect(await ask([{ index: 0, embedding: one }], undefined, { messages })).toMatchObject({ status: 200 });
  expect(upstream.lastAsked).toEqual({ model: "v-vectors", messages });
  expect(await ask([{ index: 0, embedding: one }], undefined)).toMatchObject({ status: 200 });
  expect(upstream.lastAsked).toEqual({ model: "v-vectors", input: "" });
});

test("MiniMax's status of success is not told as the error of an answer without vectors", async () => {
  const answer = { vectors: null, base_resp: { status_code: 0, status_msg: "success" } };
  const { json } = await askAny(answer, "a");
  expect(json).toMatchObject({ error: { message: expect.stringContaining("its answer is empty") } });
});
