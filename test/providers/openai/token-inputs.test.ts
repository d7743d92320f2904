/** Inputs as tokens, as LangChain writes them, at servers that take texts alone. */
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { cost, paidModel, paidModels } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const { upstream, gateway } = scriptedStage((baseUrl) => ({
  ...paidModels(baseUrl),
  models: [paidModel("vectors", "openai", { kind: "embedding" })],
}));

/** hello is a text in tokens of cl100k_base. */
const hello = [9906, 289, 9603, 509, 28584];
const text = "Hello wörld 🙂";
const invalid = { type: "string_type", loc: ["body", "input", "str"], msg: "Input should be a valid string" };

/** refusals are how servers say that they take no tokens. */
const refusals: Readonly<Record<string, (exchange: ScriptedExchange) => void>> = {
  "LM Studio": (exchange) => exchange.json(400, { error: "'input' field must be a string or an array of strings" }),
  Pydantic: (exchange) => exchange.json(422, { detail: [{ ...invalid, input: [hello] }] }),
  Ollama: (exchange) => exchange.json(400, { error: { message: "invalid input type", type: "invalid_request_error" } }),
  "OpenRouter, without vectors": (exchange) => exchange.json(200, { object: "list", data: [] }),
};

async function ask(
  input: unknown,
  script: (exchange: ScriptedExchange) => void,
  headers: Readonly<Record<string, string>> = {},
) {
  upstream.script = script;
  const before = upstream.received.length;
  const response = await fetch(`${gateway.baseUrl}/embeddings`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "vectors", input }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: what an answer holds differs.
  const json = (await response.json()) as any;
  const [row] = await gateway.storage.requests.page({ accountId: gateway.accountId }, undefined, 1);
  const asked = upstream.received.slice(before).map((exchange) => exchange.asked.input);
  return { status: response.status, json, row, asked };
}

/** ofTexts answers texts with a vector each, and refuses tokens. */
function ofTexts(refuse: (exchange: ScriptedExchange) => void) {
  return (exchange: ScriptedExchange) => {
    const texts = [exchange.asked.input].flat() as unknown[];
    if (texts.some((one) => typeof one !== "string")) return refuse(exchange);
    const data = texts.map((_, index) => ({ object: "embedding", index, embedding: [index + 0.5] }));
    exchange.json(200, { object: "list", data, usage: { prompt_tokens: 7, total_tokens: 7 } });
  };
}

test.each(Object.entries(refusals))("are asked again as texts, of %s", async (_, refuse) => {
  const { status, json, row, asked } = await ask([hello, [9906]], ofTexts(refuse));
  expect([status, asked]).toEqual([
    200,
    [
      [hello, [9906]],
      [text, "Hello"],
    ],
  ]);
  expect(json.data).toMatchObject([{ embedding: [0.5] }, { embedding: [1.5] }]);
  expect(row).toMatchObject({ input: 7, cost: 7 * cost.input });
});

test("of one text are one text", async () => {
  const { status, asked } = await ask(hello, ofTexts(refusals.Pydantic as (exchange: ScriptedExchange) => void));
  expect([status, asked]).toEqual([200, [hello, text]]);
});

test("of a text that ends in the midst of a character leave nothing to the next", async () => {
  const half = 9468;
  const { asked } = await ask(
    [[9906, half], [9906]],
    ofTexts(refusals.Pydantic as (exchange: ScriptedExchange) => void),
  );
  expect(asked[1]).toEqual(["Hello\ufffd", "Hello"]);
});

test("of more texts than a server takes at once are asked for in batches of texts", async () => {
  const tooMany = { message: "batch size 25 > maximum allowed batch size 10" };
  const { status, json, asked } = await ask(Array(25).fill(hello), (exchange) => {
    if ((exchange.asked.input as unknown[]).length > 10) exchange.json(422, tooMany);
    else ofTexts(refusals.Pydantic as (exchange: ScriptedExchange) => void)(exchange);
  });
  expect([status, json.data.length]).toEqual([200, 25]);
  expect(asked.slice(3)).toEqual([10, 10, 5].map((count) => Array(count).fill(text)));
});

test("are asked again within the time that is left", async () => {
  const slow = async (exchange: ScriptedExchange) => {
    await setTimeout(1200);
    ofTexts(refusals.Pydantic as (exchange: ScriptedExchange) => void)(exchange);
  };
  const { status, asked } = await ask(hello, (exchange) => void slow(exchange), { "x-gateway-timeout": "2" });
  expect([status, asked]).toEqual([504, [hello, text]]);
});

test("go as they came to a server that takes them", async () => {
  const { asked } = await ask(hello, (exchange) => exchange.json(200, { data: [{ index: 0, embedding: [1] }] }));
  expect(asked).toEqual([hello]);
});

test.each<[string, unknown, number, object]>([
  ["texts", ["a", "b"], 400, { error: { message: "'input' is too long" } }],
  ["tokens of no known text", [[200_000]], 400, { error: { message: "'input' must be a string" } }],
  ["few tokens of a very long text", Array(20).fill(58_040), 400, { error: { message: "'input' must be a string" } }],
  ["tokens, for their number", [hello, hello], 400, { error: { message: "Too many inputs, at most 0 texts" } }],
  ["tokens that are too many", [hello], 400, { error: { message: "the input is too long: 5 tokens > 4 maximum" } }],
  ["tokens, for something else", [hello], 400, { error: { message: "dimensions are out of range" } }],
  ["tokens, for the rate", [hello], 429, { error: { message: "Rate limit reached for inputs" } }],
])("a refusal of %s is told", async (_, input, refusal, body) => {
  const { status, asked } = await ask(input, (exchange) => exchange.json(refusal, body));
  expect([status, asked.length]).toEqual([refusal, 1]);
});
