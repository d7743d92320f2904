/** A server that only streams, or that does not, in the words of those that do so: it is asked for the other form of its answer. */
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { type CallFamily, call, type FamilyCall, familyNames, isTold } from "../../support/clients/families.ts";
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { paidModel } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { answerAsAnthropic, answerAsOpenAi } from "../../support/vendors.ts";

const { upstream, gateway } = scriptedStage(
  (base_url) => ({
    embeddedModels: false,
    upstreams: [
      { name: "far", kind: "openai", base_url, api_key: "k" },
      { name: "own", kind: "openai", base_url, api_key: "k", profile: { operations: { responses: "/responses" } } },
      { name: "ant", kind: "anthropic", base_url, api_key: "k" },
    ],
    models: [
      paidModel("chat", "far"),
      paidModel("text", "far", { completions: "native" }),
      paidModel("responses", "own"),
      paidModel("messages", "ant", { max_output_tokens: 4096 }),
    ],
  }),
  { perTest: true },
);

/** answer answers in the family of the path that is asked. */
function answer(exchange: ScriptedExchange): void {
  if (exchange.path.endsWith("/messages")) answerAsAnthropic(exchange);
  else answerAsOpenAi(exchange);
}

/** refusing refuses each request that asks for a stream, or each that does not, with these words; and stream options without a stream. */
function refusing(isStream: boolean, error: object) {
  return (exchange: ScriptedExchange) => {
    const { stream = false, stream_options: options } = exchange.asked;
    if (stream === isStream) exchange.json(400, error);
    else if (!stream && options !== undefined)
      exchange.json(400, { error: { message: "stream_options without stream" } });
    else answer(exchange);
  };
}

const said = (message: string, more: object = {}) => ({ error: { message, type: "invalid_request_error", ...more } });

const streamsOnly: Record<string, object> = {
  "Alibaba's": said("This model only support stream mode, please enable the stream parameter to access the model. "),
  "Qwen's": said("parameter.enable_thinking must be set to false for non-streaming calls"),
  "ModelScope's": said("enable thinking can not be support when `stream=False`."),
  "Codex's": { detail: "Stream must be set to true" },
  Chinese: said("parameter.enable_thinking必须设置为false才能进行非流式调用"),
};

const streamsNot: Record<string, object> = {
  "OpenAI's": said("Your organization must be verified to stream this model.", { param: "stream" }),
  "o1's": said("Unsupported value: 'stream' does not support true with this model.", { param: "stream" }),
  "Azure's": {
    message: "Streaming completion is not support yet, please remove 'stream' key value in the request payload.",
  },
  "Bedrock's": { message: "This model doesn't support tool use in streaming mode." },
  "llama.cpp's": said("logprobs is not supported with tools + stream"),
};

const models = ["chat", "text", "responses", "messages"];

/** askWhole asks a server that only streams for a whole answer, and expects that of its stream. */
async function askWhole(family: CallFamily, model: string, error: object): Promise<void> {
  upstream.script = refusing(false, error);
  const { text, headers } = await call(gateway, { family, model, stream: false, apiKey: gateway.apiKey });
  expect(text).toContain("Hello");
  expect(headers["x-gateway-usage"]).toMatch(/^input=(?:9, output=2|5, cache_read=4, output=5, reasoning=3)$/);
  expect(headers["x-gateway-dropped"]).toBeUndefined();
}

describe("whole answers of a server that only streams are made of its stream", () => {
  test.each(familyNames)("for callers of %s", async (family) => {
    for (const model of models) await askWhole(family, model, streamsOnly["Alibaba's"] as object);
  });

  test.each(Object.entries(streamsOnly))("in %s words", (_, error) => askWhole("chat", "chat", error));
});

test.each(familyNames)(
  "streams of a server that has none are made of its whole answer for callers of %s",
  async (family) => {
    const more = family === "chat" || family === "completions" ? { stream_options: { include_usage: true } } : {};
    for (const error of Object.values(streamsNot)) {
      upstream.script = refusing(true, error);
      for (const model of models) {
        const told = await call(gateway, { family, model, stream: true, apiKey: gateway.apiKey, more });
        expect(isTold(told, family, true), told.text).toBe(true);
        expect(told.text).toContain("Hello");
      }
    }
  },
);

test("a server that only streams is asked for streams at once, one that does not stream is not", async () => {
  const asks = async (stream: boolean) => {
    const before = upstream.received.length;
    await call(gateway, { family: "chat", model: "chat", stream, apiKey: gateway.apiKey });
    return upstream.received.slice(before).map(({ asked }) => asked.stream ?? false);
  };
  upstream.script = refusing(true, streamsNot["o1's"] as object);
  expect([await asks(true), await asks(true)]).toEqual([
    [true, false],
    [true, false],
  ]);
  upstream.script = refusing(false, streamsOnly["Codex's"] as object);
  expect([await asks(false), await asks(false), await asks(true)]).toEqual([[false, true], [true], [true]]);
});

test("a server that refuses both forms is asked once more, and told as it says", async () => {
  upstream.script = (exchange) => exchange.json(400, streamsOnly["Codex's"]);
  const { status, text } = await call(gateway, {
    family: "chat",
    model: "chat",
    stream: false,
    apiKey: gateway.apiKey,
  });
  expect([status, upstream.received.length]).toEqual([400, 2]);
  expect(text).toContain("Stream must be set to true");
});

describe("a server that refuses to be asked for the usage of its streams", () => {
  const refusals: Record<string, (key: string) => object> = {
    "Databricks'": (key) => ({ error_code: "BAD_REQUEST", message: `Bad request: json: unknown field "${key}"\n` }),
    "Fireworks'": (key) => said(`Extra inputs are not permitted, field: '${key}', value: {'include_usage': True}`),
    "OpenAI's": (key) => said(`Unrecognized request argument supplied: ${key}`),
    "Pydantic's": (key) => ({
      detail: [{ type: "extra_forbidden", loc: ["body", key], msg: "Extra inputs are not permitted" }],
    }),
  };
  const strictly = (error: object) => (exchange: ScriptedExchange) =>
    exchange.asked.stream_options === undefined ? answer(exchange) : exchange.json(400, error);
  const ask = (of: Partial<FamilyCall> = {}) =>
    call(gateway, { ...{ family: "chat", model: "chat", stream: true, apiKey: gateway.apiKey }, ...of });
  const usage = '"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}';

  test.each(Object.entries(refusals))("is not asked, in %s words", async (_, refused) => {
    upstream.script = strictly(refused("stream_options"));
    const plain = await ask();
    expect([plain.status, plain.text.includes('"usage"')]).toEqual([200, false]);
    const told = await ask({ more: { stream_options: { include_usage: true } } });
    expect(told.text).toContain(usage);
    expect(told.headers["x-gateway-dropped"]).toBeUndefined();
    expect(upstream.received.map(({ asked }) => [asked.stream, asked.stream_options !== undefined])).toEqual([
      [true, true],
      [true, false],
      [true, false],
    ]);
  });

  test.each(Object.entries(refusals))("is asked without another of its options, in %s words", async (_, refused) => {
    const key = "stream_options.include_obfuscation";
    upstream.script = (exchange) =>
      exchange.asked.stream_options?.include_obfuscation === undefined
        ? answer(exchange)
        : exchange.json(400, refused(key));
    const more = { stream_options: { include_usage: true, include_obfuscation: false } };
    const told = await ask({ more });
    expect([told.status, told.headers["x-gateway-dropped"]]).toEqual([200, key]);
    expect(upstream.lastAsked.stream_options).toEqual({ include_usage: true });
  });

  test("is asked where it refuses what the caller adds to that, and what else the caller adds goes", async () => {
    upstream.script = (exchange) => {
      const { include_usage: _, ...others } = (exchange.asked.stream_options ?? {}) as JsonObject;
      const [key] = Object.keys(others);
      if (key === undefined) answer(exchange);
      else exchange.json(400, said(`Unknown parameter: 'stream_options.${key}'.`));
    };
    const asking = async (options: object) => {
      const { status, headers } = await ask({ more: { stream_options: options } });
      return [status, headers["x-gateway-dropped"], upstream.lastAsked.stream_options];
    };
    expect(await asking({ odd: 1 })).toEqual([200, "stream_options.odd", { include_usage: true }]);
    expect(await asking({ type: "odd" })).toEqual([400, undefined, { type: "odd", include_usage: true }]);
    upstream.script = strictly(refusals["OpenAI's"]?.("stream_options") ?? {});
    expect(await asking({ include_obfuscation: false })).toEqual([200, "stream_options", undefined]);
  });

  test("gets no options of a response", async () => {
    upstream.script = strictly(refusals["OpenAI's"]?.("stream_options") ?? {});
    const more = { stream_options: { include_obfuscation: false } };
    const { status, headers } = await ask({ family: "responses", model: "responses", more });
    expect([status, headers["x-gateway-dropped"]]).toEqual([200, "stream_options"]);
  });

  test.each(familyNames)("answers callers of %s", async (family) => {
    upstream.script = strictly(refusals["Databricks'"]?.("stream_options") ?? {});
    for (const model of ["chat", "text"]) {
      const told = await call(gateway, { family, model, stream: true, apiKey: gateway.apiKey });
      expect(isTold(told, family, true), told.text).toBe(true);
    }
  });
});
