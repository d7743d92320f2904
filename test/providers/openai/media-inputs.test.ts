/** Images and other media among the inputs of embeddings, in the forms of their servers: they reach the model as they came, and are held for. */
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { modelAt } from "../../support/gateway.ts";
import { openAccount } from "../../support/payer.ts";
import { cost, paidModels } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const { upstream, gateway, books } = scriptedStage(
  (baseUrl) => {
    const config = paidModels(baseUrl);
    return { ...config, embeddedModels: true, models: [...config.models, modelAt("openai", "chat", "gpt-4o")] };
  },
  { perTest: true },
);

const url = "https://pictures.example/1.png";
const data = "data:image/png;base64,iVBORw0KGgo=";

/** A request, and how many vectors it asks for. */
const forms: readonly (readonly [string, JsonObject, number])[] = [
  ["Jina's", { input: [{ image: url }, { text: "a cat" }, { image: data }] }, 3],
  ["OpenRouter's", { input: [{ content: [{ type: "image_url", image_url: { url } }] }] }, 1],
  ["one beside texts", { input: ["a cat", { image_url: url }] }, 2],
  ["one alone", { input: { image: url } }, 1],
  ["a video", { input: [{ content: [{ type: "video_url", video_url: { url } }] }] }, 1],
  ["Voyage's", { input: [{ content: [{ type: "image_base64", image_base64: data }] }] }, 1],
  ["vLLM's", { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }] }, 1],
];

const vectors = (count: number) => Array.from({ length: count }, (_, index) => ({ index, embedding: [index, 1] }));
const answer = (count: number) => ({ object: "list", model: "v", data: vectors(count), usage: { prompt_tokens: 900 } });

describe.each(forms)("inputs of embeddings with media: %s", (_, body, count) => {
  test("reach the server as they came, and are charged as it counts them", async () => {
    const payer = await openAccount(gateway);
    upstream.script = (exchange) => exchange.json(200, answer(count));
    const { status, json } = await ask(gateway, "/v1/embeddings", { model: "embed", ...body }, payer);
    expect([status, json.data?.length]).toEqual([200, count]);
    expect(upstream.lastAsked).toEqual({ ...body, model: "v-embed" });
    expect((await books.of(payer)).requests).toMatchObject([{ input: 900, cost: 900 * cost.input, implausible: 0 }]);
  });

  test("are held for as more than the letters of their addresses", async () => {
    const payer = await openAccount(gateway);
    const asking = ask(gateway, "/v1/embeddings", { model: "embed", ...body }, payer);
    const exchange = await upstream.next();
    const { held } = await books.of(payer);
    exchange.json(200, answer(count));
    expect((await asking).status).toBe(200);
    const letters = JSON.parse(JSON.stringify(body).replaceAll(/"(?:https|data):[^"]*"/g, '"a cat"'));
    const texts = await openAccount(gateway);
    const compared = ask(gateway, "/v1/embeddings", { model: "embed", input: JSON.stringify(letters) }, texts);
    const second = await upstream.next();
    const heldForText = (await books.of(texts)).held;
    second.json(200, answer(1));
    expect((await compared).status).toBe(200);
    expect(held).toBeGreaterThan(10 * heldForText);
  });
});

test("an answer that lacks the vector of one is no answer", async () => {
  upstream.script = (exchange) => exchange.json(200, answer(1));
  const { status } = await ask(gateway, "/v1/embeddings", { model: "embed", input: ["a cat", { image: url }] });
  expect(status).toBe(502);
});

test("the simulator counts one with media as its JSON", async () => {
  const asked = { model: "embedded-embedding", input: ["a cat", { image: url }] };
  const { status, json } = await ask(gateway, "/v1/embeddings", asked);
  expect([status, json.data?.length]).toEqual([200, 2]);
});

test("a prompt that is an object is none for a chat model", async () => {
  const { status, json } = await ask(gateway, "/v1/completions", { model: "chat", prompt: [{ image: url }] });
  expect([status, json.error.param]).toEqual([400, "prompt[0]"]);
});

const odd: readonly (readonly [string, JsonObject, string])[] = [
  ["embeddings", { input: { a: "b" } }, "input"],
  ["embeddings", { input: ["a cat", { toString: 1 }] }, "input[1]"],
  ["completions", { prompt: [{ image: url }] }, "prompt[0]"],
  ["completions", { prompt: ["a cat", { text: "a dog" }] }, "prompt[1]"],
];

test.each(odd)("an object that is no input is refused: /%s %j", async (path, body, param) => {
  const model = path === "embeddings" ? "embed" : "base";
  const { status, json } = await ask(gateway, `/v1/${path}`, { model, ...body });
  expect([status, json.error?.param]).toEqual([400, param]);
});
