/**
 * The official OpenAI SDK, unmodified, at the endpoints beside chat: completions, embeddings and models, in JSON and by
 * form, with the base URL that has a version and with the one that has none. And chat over an upstream of the other
 * family.
 */
import OpenAI, { APIError, AuthenticationError, BadRequestError, NotFoundError } from "openai";
import { zodFunction, zodResponseFormat } from "openai/helpers/zod";
import type { Completion } from "openai/resources/completions";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { ModelConfig } from "../../src/config/config.ts";
import { oneTry, sentence, thrownBy } from "../support/clients/sdk.ts";
import {
  anthropicUpstreamAt,
  behind,
  behindAnthropic,
  startTestGateway,
  type TestGateway,
  withEmbeddings,
} from "../support/gateway.ts";
import { startScriptedUpstream } from "../support/scripted-upstream.ts";

/** A model whose id has slashes, a colon and an at sign, as hubs name theirs. */
const slashed: ModelConfig = {
  ...{ id: "vendor/family/model:latest@2", aliases: [], family: "vendor", kind: "chat", created: "2026-01-01" },
  targets: [{ upstream: "embedded", model: "embedded-chat", priority: 0, weight: 1 }],
};

let near: TestGateway;
let overChat: TestGateway;
let overMessages: TestGateway;

beforeAll(async () => {
  near = await startTestGateway({ models: [slashed] });
  overChat = await startTestGateway(withEmbeddings(behind(near)));
  overMessages = await startTestGateway(behindAnthropic(near));
});

afterAll(async () => {
  await overChat.close();
  await overMessages.close();
  await near.close();
});

const asForm = { headers: { "content-type": "application/x-www-form-urlencoded" } };

/** Returns the error that the SDK throws. */
const thrown = (work: PromiseLike<unknown>) => thrownBy(work, (error): error is APIError => error instanceof APIError);

const textOf = (pieces: readonly Completion[], index = 0) =>
  pieces
    .flatMap(({ choices }) => choices)
    .filter((choice) => choice.index === index)
    .map(({ text }) => text)
    .join("");

for (const [place, gatewayAt] of [
  ["the embedded model", () => near],
  ["an upstream of its own family", () => overChat],
  ["an upstream of the other family", () => overMessages],
] as const) {
  for (const [address, baseUrlOf] of [
    ["a versioned base URL", ({ baseUrl }: TestGateway) => baseUrl],
    ["a base URL without a version", ({ rootUrl }: TestGateway) => rootUrl],
  ] as const) {
    describe(`completions of the OpenAI SDK over ${place}, at ${address}`, () => {
      let client: OpenAI;

      beforeAll(() => {
        const gateway = gatewayAt();
        client = new OpenAI({ baseURL: baseUrlOf(gateway), apiKey: gateway.apiKey });
      });

      const request = { model: "embedded-chat", prompt: `say: ${sentence}`, max_tokens: 100 };

      test("come whole, with every key that strict clients require", async () => {
        const answer = await client.completions.create(request);
        expect(answer).toMatchObject({
          id: expect.any(String),
          object: "text_completion",
          created: expect.any(Number),
          model: "embedded-chat",
          choices: [{ index: 0, text: sentence, finish_reason: "stop", logprobs: null }],
        });
        const { prompt_tokens, completion_tokens, total_tokens } = answer.usage ?? expect.fail("no usage");
        expect(prompt_tokens).toBeGreaterThan(8);
        expect(total_tokens).toBe(prompt_tokens + completion_tokens);
      });

      test("come in pieces, with the usage where it is asked for", async () => {
        const whole = await client.completions.create(request);
        const plain = await Array.fromAsync(await client.completions.create({ ...request, stream: true }));
        expect(textOf(plain)).toBe(sentence);
        for (const { usage } of plain) expect(usage ?? null).toBeNull();
        expect(plain.at(-1)?.choices[0]?.finish_reason).toBe("stop");
        const counted = await Array.fromAsync(
          await client.completions.create({ ...request, stream: true, stream_options: { include_usage: true } }),
        );
        expect(counted.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: whole.usage?.total_tokens } });
        expect(textOf(counted)).toBe(sentence);
      });

      test("are cut after 16 tokens where no bound is set, and stopped at a text", async () => {
        const { choices } = await client.completions.create({ ...request, prompt: `say: ${"tick ".repeat(50)}` });
        expect(choices[0]?.finish_reason).toBe("stop");
        const { max_tokens: _, ...unbound } = request;
        const cut = await client.completions.create({ ...unbound, prompt: `say: ${"tick ".repeat(50)}` });
        expect(cut.choices[0]?.finish_reason).toBe("length");
        expect(cut.usage?.completion_tokens).toBe(16);
        const stopped = await client.completions.create({ ...request, stop: [" fox"] });
        expect(stopped.choices[0]).toMatchObject({ text: "The quick brown", finish_reason: "stop" });
      });

      test("echo the prompt", async () => {
        const { choices } = await client.completions.create({ ...request, prompt: "say: on", echo: true });
        expect(choices[0]?.text).toMatch(/^say: on/);
        expect(choices[0]?.text).toMatch(/on$/);
      });

      test("are asked for by form, to the same answer", async () => {
        const { created: _, id: __, ...json } = await client.completions.create(request);
        const { created: ___, id: ____, ...form } = await client.completions.create(request, asForm);
        expect(form).toEqual(json);
        const bounded = { ...request, max_tokens: 3, temperature: 0.5, stop: [" nowhere", " dog"] };
        const cut = await client.completions.create(bounded, asForm);
        expect(cut.choices[0]).toMatchObject({ text: "The quick brown", finish_reason: "length" });
      });

      test("stream by form", async () => {
        const stream = await client.completions.create(
          { ...request, stream: true, stream_options: { include_usage: true } },
          asForm,
        );
        const pieces = await Array.fromAsync(stream);
        expect(textOf(pieces)).toBe(sentence);
        expect(pieces.at(-1)?.usage?.total_tokens).toBeGreaterThan(0);
      });

      test("tell what is wrong alike by JSON and by form", async () => {
        for (const options of [oneTry, { ...oneTry, ...asForm }]) {
          const tooMuch = await thrown(client.completions.create({ ...request, temperature: 3 }, options));
          expect(tooMuch).toBeInstanceOf(BadRequestError);
          expect(tooMuch).toMatchObject({ param: "temperature", code: "invalid_value" });
          const unknown = await thrown(client.completions.create({ ...request, model: "vendor/nothing" }, options));
          expect(unknown).toBeInstanceOf(NotFoundError);
          expect(unknown).toMatchObject({ param: "model", code: "model_not_found" });
        }
        const wrong = client.withOptions({ apiKey: "sk-wrong" }).completions.create(request, oneTry);
        expect(await thrown(wrong)).toBeInstanceOf(AuthenticationError);
      });
    });
  }
}

describe("completions of the OpenAI SDK over chat models", () => {
  test("give several choices where the model does", async () => {
    for (const gateway of [near, overChat]) {
      const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey });
      const request = { model: "embedded-chat", prompt: "say: pick", n: 2, max_tokens: 20 };
      const { choices } = await client.completions.create(request);
      expect(choices.map(({ index, text }) => [index, text])).toEqual([
        [0, "pick"],
        [1, "pick (choice 2)"],
      ]);
      const pieces = await Array.fromAsync(await client.completions.create({ ...request, stream: true }));
      expect([textOf(pieces, 0), textOf(pieces, 1)]).toEqual(["pick", "pick (choice 2)"]);
    }
  });

  test("go on with several prompts, each with as many choices as asked for", async () => {
    for (const gateway of [near, overChat]) {
      const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey });
      const prompt = ["say: one", "say: two", "say: three", "say: four", "say: five"];
      const request = { model: "embedded-chat", prompt, n: 2, max_tokens: 20 };
      const { choices, usage } = await client.completions.create(request);
      const texts = ["one", "two", "three", "four", "five"].flatMap((word) => [word, `${word} (choice 2)`]);
      expect(choices.map(({ index, text }) => [index, text])).toEqual([...texts.entries()]);
      const singles = await Promise.all(prompt.map((one) => client.completions.create({ ...request, prompt: one })));
      expect(usage?.total_tokens).toBe(singles.reduce((sum, one) => sum + (one.usage?.total_tokens ?? 0), 0));
      const pieces = await Array.fromAsync(
        await client.completions.create({ ...request, stream: true, stream_options: { include_usage: true } }),
      );
      expect(texts.map((_, index) => textOf(pieces, index))).toEqual(texts);
      expect(pieces.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: usage?.total_tokens } });
      expect(pieces.filter((piece) => piece.usage)).toHaveLength(1);
    }
  });

  test("go on with several prompts over an upstream of the other family", async () => {
    const client = new OpenAI({ baseURL: overMessages.baseUrl, apiKey: overMessages.apiKey });
    const request = { model: "embedded-chat", prompt: ["say: one", "say: two"], max_tokens: 20 };
    const { choices } = await client.completions.create(request);
    expect(choices.map(({ index, text }) => [index, text])).toEqual([
      [0, "one"],
      [1, "two"],
    ]);
    const pieces = await Array.fromAsync(await client.completions.create({ ...request, stream: true }));
    expect([textOf(pieces, 0), textOf(pieces, 1)]).toEqual(["one", "two"]);
    const several = await thrown(client.completions.create({ ...request, n: 2 }, oneTry));
    expect(several).toMatchObject({ status: 400, param: "n" });
  });

  test("take a list of one prompt, as LangChain sends it", async () => {
    const client = new OpenAI({ baseURL: near.baseUrl, apiKey: near.apiKey });
    const { choices } = await client.completions.create({ model: "embedded-chat", prompt: ["say: one"], n: 1 });
    expect(choices[0]?.text).toBe("one");
  });

  test("end in an error where the model breaks in the middle", async () => {
    const client = new OpenAI({ baseURL: near.baseUrl, apiKey: near.apiKey });
    const upstream = await startScriptedUpstream();
    const gateway = await startTestGateway(behind({ baseUrl: upstream.baseUrl, apiKey: "k" }));
    const broken = client.withOptions({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey });
    const reading = thrown(
      (async () => {
        const request = { model: "embedded-chat", prompt: "hi", stream: true } as const;
        for await (const _ of await broken.completions.create(request, oneTry));
      })(),
    );
    const exchange = await upstream.next();
    exchange.head(200, { "content-type": "text/event-stream" });
    await exchange.write(
      'data: {"id":"c","object":"text_completion","created":1,"model":"m","choices":[{"text":"a","index":0,"finish_reason":null,"logprobs":null}]}\n\n',
    );
    exchange.destroy();
    expect(await reading).toMatchObject({ status: undefined, type: "server_error", code: "502" });
    await gateway.close();
    await upstream.close();
  });
});

for (const [place, gatewayAt] of [
  ["the embedded model", () => near],
  ["another gateway as upstream", () => overChat],
] as const) {
  for (const [address, baseUrlOf] of [
    ["a versioned base URL", ({ baseUrl }: TestGateway) => baseUrl],
    ["a base URL without a version", ({ rootUrl }: TestGateway) => rootUrl],
  ] as const) {
    describe(`embeddings of the OpenAI SDK over ${place}, at ${address}`, () => {
      let client: OpenAI;

      beforeAll(() => {
        const gateway = gatewayAt();
        client = new OpenAI({ baseURL: baseUrlOf(gateway), apiKey: gateway.apiKey });
      });

      const model = "embedded-embedding";
      const input = ["The cat sat on the mat.", "Quarterly revenue grew.", "世界 👋"];

      test("come as the SDK asks by default, and as numbers, to the same vectors", async () => {
        const byDefault = await client.embeddings.create({ model, input });
        const numbers = await client.embeddings.create({ model, input, encoding_format: "float" });
        expect(byDefault).toMatchObject({ object: "list", model, usage: { prompt_tokens: expect.any(Number) } });
        expect(byDefault.data.map(({ index, object }) => [index, object])).toEqual([
          [0, "embedding"],
          [1, "embedding"],
          [2, "embedding"],
        ]);
        for (const [i, { embedding }] of byDefault.data.entries()) {
          const exact = numbers.data[i]?.embedding ?? [];
          expect(embedding.length).toBe(exact.length);
          expect(embedding).toEqual([...new Float32Array(exact)]);
          expect(Math.hypot(...embedding)).toBeCloseTo(1, 5);
        }
        expect(byDefault.usage).toEqual(numbers.usage);
      });

      test("come as base64 where it is asked for by name", async () => {
        const { data } = await client.embeddings.create({ model, input: "hello", encoding_format: "base64" });
        const text = data[0]?.embedding as unknown as string;
        const bytes = Buffer.from(text, "base64");
        const numbers = await client.embeddings.create({ model, input: "hello", encoding_format: "float" });
        expect(bytes.length).toBe(4 * (numbers.data[0]?.embedding.length ?? 0));
        expect(bytes.readFloatLE(0)).toBeCloseTo(numbers.data[0]?.embedding[0] ?? 2, 5);
      });

      test("have as many dimensions as asked for", async () => {
        const { data } = await client.embeddings.create({ model, input: "short", dimensions: 64 });
        expect(data[0]?.embedding.length).toBe(64);
      });

      test("are made of tokens, one list and several", async () => {
        const one = await client.embeddings.create({ model, input: [9906, 1917] });
        const several = await client.embeddings.create({ model, input: [[9906, 1917], [9906]] });
        expect(one.data.length).toBe(1);
        expect(several.data.length).toBe(2);
        expect(several.data[0]?.embedding).toEqual(one.data[0]?.embedding);
        expect(several.usage.prompt_tokens).toBe(3);
      });

      test("are asked for by form, to the same vectors", async () => {
        for (const given of [input, "007", "true", "1 + 1 = 2 & more", ["only one"]]) {
          const json = await client.embeddings.create({ model, input: given, dimensions: 64 });
          const form = await client.embeddings.create({ model, input: given, dimensions: 64 }, asForm);
          expect(form, String(given)).toEqual(json);
        }
      });

      test("tell what is wrong", async () => {
        const unknown = await thrown(client.embeddings.create({ model: "nothing", input: "a" }, oneTry));
        expect(unknown).toBeInstanceOf(NotFoundError);
        const chat = await thrown(client.embeddings.create({ model: "embedded-chat", input: "a" }, oneTry));
        expect(chat).toBeInstanceOf(NotFoundError);
        const none = await thrown(client.embeddings.create({ model, input: "a", dimensions: 0 }, oneTry));
        expect(none).toBeInstanceOf(BadRequestError);
        expect(none).toMatchObject({ param: "dimensions" });
      });
    });
  }
}

for (const [address, baseUrlOf] of [
  ["a versioned base URL", ({ baseUrl }: TestGateway) => baseUrl],
  ["a base URL without a version", ({ rootUrl }: TestGateway) => rootUrl],
] as const) {
  describe(`models of the OpenAI SDK, at ${address}`, () => {
    let client: OpenAI;

    beforeAll(() => {
      client = new OpenAI({ baseURL: baseUrlOf(near), apiKey: near.apiKey });
    });

    test("are listed, with every key that strict clients require", async () => {
      const models = await Array.fromAsync(client.models.list());
      const ids = models.map(({ id }) => id);
      expect(ids).toEqual(expect.arrayContaining(["embedded-chat", "embedded-embedding", slashed.id]));
      for (const model of models) {
        expect(model).toMatchObject({ object: "model", created: expect.any(Number), owned_by: expect.any(String) });
      }
    });

    test("are told of one by one, also where the id has slashes", async () => {
      for (const id of ["embedded-chat", slashed.id]) {
        expect(await client.models.retrieve(id)).toMatchObject({ id, object: "model" });
      }
      const created = Date.UTC(2026, 0, 1) / 1000;
      expect(await client.models.retrieve(slashed.id)).toMatchObject({ created, owned_by: "vendor" });
      const bySlashes = await client.get(`/models/${slashed.id}`);
      expect(bySlashes).toMatchObject({ id: slashed.id });
    });

    test("are called by an id with slashes", async () => {
      const messages = [{ role: "user" as const, content: "say: here" }];
      const { choices } = await client.chat.completions.create({ model: slashed.id, messages });
      expect(choices[0]?.message.content).toBe("here");
    });

    test("are not found where there is none, and not told of without a key", async () => {
      const error = await thrown(client.models.retrieve("vendor/nothing:latest", oneTry));
      expect(error).toBeInstanceOf(NotFoundError);
      expect(error).toMatchObject({ code: "model_not_found", type: "invalid_request_error", param: "model" });
      expect(error.message).toContain("The model `vendor/nothing:latest` does not exist");
      const wrong = await thrown(client.withOptions({ apiKey: "sk-wrong" }).models.list(oneTry));
      expect(wrong).toBeInstanceOf(AuthenticationError);
    });

    test("stay, for they cannot be deleted here", async () => {
      expect(await thrown(client.models.delete("embedded-chat", oneTry))).toMatchObject({ status: 405 });
    });
  });
}

describe("chat of the OpenAI SDK over an upstream of the other family", () => {
  let client: OpenAI;

  beforeAll(() => {
    client = new OpenAI({ baseURL: overMessages.baseUrl, apiKey: overMessages.apiKey });
  });

  const model = "embedded-chat";
  const say = (content: string) => ({ model, messages: [{ role: "user" as const, content: `say: ${content}` }] });
  const run = vi.fn(({ city }: { city: string }) => `4 degrees in ${city}`);
  const weather = zodFunction({ name: "get_weather", parameters: z.object({ city: z.string() }), function: run });
  const Recipe = z.object({ title: z.string(), steps: z.array(z.object({ text: z.string() })), vegan: z.boolean() });

  test("is answered whole and in pieces alike, with the same counts", async () => {
    const whole = await client.chat.completions.create(say(sentence));
    expect(whole.choices[0]).toMatchObject({
      ...{ index: 0, finish_reason: "stop", logprobs: null },
      message: { role: "assistant", content: sentence, refusal: null },
    });
    const stream = client.chat.completions.stream({ ...say(sentence), stream_options: { include_usage: true } });
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]?.message.content).toBe(sentence);
    expect(final.usage).toEqual(whole.usage);
    expect(whole.usage?.prompt_tokens).toBeGreaterThan(8);
    const plain = await Array.fromAsync(await client.chat.completions.create({ ...say(sentence), stream: true }));
    for (const chunk of plain) {
      expect(chunk).not.toHaveProperty("usage");
      expect(chunk.choices.length).toBe(1);
    }
  });

  for (const stream of [false, true]) {
    test(`runs tools by the SDK's runner, ${stream ? "streamed" : "whole"}`, async () => {
      const request = {
        ...{ model, tools: [weather] },
        messages: [{ role: "user" as const, content: "Use get_weather: how warm is it in Oslo?" }],
      };
      const runner = stream
        ? client.chat.completions.runTools({ ...request, stream: true })
        : client.chat.completions.runTools(request);
      expect(await runner.finalContent()).toContain("The tool get_weather returned: 4 degrees in Oslo");
      expect(runner.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    });
  }

  test("is parsed to the type of a zod schema, whole and streamed", async () => {
    const request = {
      ...{ model, response_format: zodResponseFormat(Recipe, "recipe") },
      messages: [{ role: "user" as const, content: 'A recipe for "Pancakes", please.' }],
    };
    const { choices } = await client.chat.completions.parse(request);
    expect(choices[0]).toMatchObject({ finish_reason: "stop", message: { parsed: { title: "Pancakes" } } });
    const final = await client.chat.completions.stream(request).finalChatCompletion();
    expect(final.choices[0]?.message.parsed).toEqual(choices[0]?.message.parsed);
  });

  test("tells what was left out, and refuses it where that is wished", async () => {
    const request = { ...say("hi"), seed: 7, logit_bias: { "50256": -100 } };
    const { response } = await client.chat.completions.create(request).withResponse();
    expect(response.headers.get("x-gateway-dropped")).toBe("seed, logit_bias");
    const strict = { ...oneTry, headers: { "x-gateway-strict": "true" } };
    expect(await thrown(client.chat.completions.create(request, strict))).toMatchObject({
      ...{ status: 400, code: "unsupported_parameter", param: "seed" },
    });
    expect(await thrown(client.chat.completions.create({ ...say("hi"), n: 2 }, oneTry))).toMatchObject({ param: "n" });
  });

  test("has the vendor's errors in its own family's words", async () => {
    const upstream = await startScriptedUpstream();
    const gateway = await startTestGateway(anthropicUpstreamAt(upstream.baseUrl));
    const troubled = client.withOptions({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey });
    for (const [status, type, seen, told] of [
      [400, "invalid_request_error", 400, { type: "invalid_request_error", code: null }],
      [404, "not_found_error", 404, { type: "invalid_request_error", code: "model_not_found" }],
      [413, "request_too_large", 413, { type: "invalid_request_error", code: "request_too_large" }],
      [429, "rate_limit_error", 429, { code: "rate_limit_exceeded" }],
      [529, "overloaded_error", 503, { type: "server_error" }],
      [500, "api_error", 502, { type: "server_error", code: "upstream_error" }],
    ] as const) {
      const failing = thrown(troubled.chat.completions.create(say("hi"), oneTry));
      (await upstream.next()).json(status, { type: "error", error: { type, message: `Words of ${type}` } });
      const error = await failing;
      expect(error).toMatchObject({ status: seen, ...told });
      expect(error.message).toContain(`Words of ${type}`);
    }
    await gateway.close();
    await upstream.close();
  });
});
