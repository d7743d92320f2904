/**
 * Every endpoint is the same through every door, and answers alike wherever its model runs: in the gateway itself, at
 * an upstream of OpenAI's family, and at one of Anthropic's.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Config } from "../../src/config/config.ts";
import { doorsOf, type EndpointCall, type EndpointName, endpoints } from "../support/clients/endpoints.ts";
import { behind, behindAnthropic, startTestGateway, type TestGateway, withEmbeddings } from "../support/gateway.ts";

let near: TestGateway;
let openai: TestGateway;
let anthropic: TestGateway;

/** The id of a model as routers of many vendors write them. */
const longId = "vendor/family/m:x@1";

/** The same upstream, serving `embedded-chat` under such an id besides. */
function withLongId(config: Partial<Config>): Partial<Config> {
  const models = config.models ?? [];
  const chat = models.filter(({ kind }) => kind === "chat").map((model) => ({ ...model, id: longId }));
  return { ...config, models: [...models, ...chat] };
}

beforeAll(async () => {
  near = await startTestGateway();
  openai = await startTestGateway(withLongId(withEmbeddings(behind(near))));
  anthropic = await startTestGateway(withLongId(withEmbeddings(behindAnthropic(near))));
});

afterAll(async () => {
  await openai.close();
  await anthropic.close();
  await near.close();
});

const places = {
  "the embedded model": () => near,
  "an upstream of OpenAI's family": () => openai,
  "an upstream of Anthropic's family": () => anthropic,
} as const;

type Place = keyof typeof places;

const everywhere = Object.keys(places) as Place[];
/** Anthropic's API has no embeddings, and no message without text; it counts more kinds of input. */
const elsewhere = everywhere.slice(0, 2);

interface Answered {
  readonly request: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
  /** Where the answers are the very same; elsewhere only the doors agree. */
  readonly alikeIn?: readonly Place[];
}

const model = "embedded-chat";
const user = (content: string | JsonObject[]) => ({ role: "user", content });
const hello = "Hello, 世界! 👋";
const hi: JsonObject = { model, max_tokens: 100, messages: [user(hello)] };
const weather: JsonObject = {
  name: "get_weather",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const answerSchema: JsonObject = {
  type: "object",
  properties: { n: { type: "integer" } },
  required: ["n"],
  additionalProperties: false,
};

const answered: Readonly<Partial<Record<EndpointName, Record<string, Answered>>>> = {
  chat: {
    "plain text": { request: hi },
    "a stop text": { request: { ...hi, messages: [user("say one two three")], stop: ["two"] } },
    "an answer cut at its bound": { request: { ...hi, max_tokens: 3 } },
    "a tool that must be called": {
      request: {
        ...hi,
        tools: [
          {
            type: "function",
            function: { name: "get_weather", parameters: weather.input_schema as JsonObject },
          },
        ],
        tool_choice: "required",
      },
    },
    "usage on the stream": { request: { ...hi, stream_options: { include_usage: true } } },
    "what an upstream may not know": { request: { ...hi, seed: 7 } },
  },
  responses: {
    "plain text": { request: { model, input: hello, store: false }, alikeIn: elsewhere },
    "items, under instructions": {
      request: { model, instructions: "Be brief.", input: [{ role: "user", content: "say one two" }], store: false },
      alikeIn: elsewhere,
    },
    "an answer cut at its bound": {
      request: { model, input: hello, max_output_tokens: 16, store: false },
      alikeIn: elsewhere,
    },
    "a tool that must be called": {
      request: {
        model,
        input: "What is it like in Oslo?",
        tools: [
          { type: "function", name: "get_weather", parameters: weather.input_schema as JsonObject, strict: false },
        ],
        tool_choice: "required",
        store: false,
      },
      alikeIn: elsewhere,
    },
  },
  messages: {
    "plain text": { request: hi },
    "text as blocks, under instructions": {
      request: { ...hi, system: "Be brief.", messages: [user([{ type: "text", text: hello }])] },
    },
    "several turns": {
      request: { ...hi, messages: [user("one"), { role: "assistant", content: "two" }, user("say three")] },
    },
    "an image": {
      request: {
        ...hi,
        messages: [
          user([
            { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
            { type: "text", text: "What is this?" },
          ]),
        ],
      },
    },
    "a tool that must be called": { request: { ...hi, tools: [weather], tool_choice: { type: "any" } } },
    "a tool's result": {
      request: {
        ...hi,
        messages: [
          user("How is the weather in Oslo?"),
          {
            role: "assistant",
            content: [{ type: "tool_use", id: "toolu_1", name: "get_weather", input: { city: "Oslo" } }],
          },
          user([{ type: "tool_result", tool_use_id: "toolu_1", content: "4 degrees" }]),
        ],
        tools: [weather],
      },
    },
    "an answer cut at its bound": { request: { ...hi, max_tokens: 3 } },
    "a stop text": { request: { ...hi, messages: [user("say one two three")], stop_sequences: ["two"] } },
    "a filled schema": { request: { ...hi, output_config: { format: { type: "json_schema", schema: answerSchema } } } },
    "what an upstream may not know": {
      request: { ...hi, system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }] },
    },
  },
  count_tokens: {
    "plain text": { request: { model, messages: [user(hello)] } },
    "tools and instructions": { request: { model, system: "Be brief.", messages: [user(hello)], tools: [weather] } },
  },
  completions: {
    "a text": { request: { model, prompt: "say Once upon a time" } },
    "a text that looks like something else": { request: { model, prompt: "007 true null +1%20 {" } },
    "a list of one text": { request: { model, prompt: ["say hello"] } },
    "no prompt": { request: { model }, alikeIn: elsewhere },
    "an empty prompt": { request: { model, prompt: "" }, alikeIn: elsewhere },
    "a bound": { request: { model, prompt: "say one two three four", max_tokens: 2 } },
    "a bound of nothing": { request: { model, prompt: "say one two three four", max_tokens: 0 } },
    "the prompt before the answer": { request: { model, prompt: "say again", echo: true } },
    "a stop text": { request: { model, prompt: "say one two three", stop: "two" } },
    "stop texts": { request: { model, prompt: "say one two three", stop: ["x", "three"] } },
    "usage on the stream": { request: { model, prompt: "say hi", stream_options: { include_usage: true } } },
    "settings of the sampling": { request: { model, prompt: "say hi", temperature: 0.5, top_p: 1 } },
    "what a chat model cannot be told": { request: { model, prompt: "say hi", suffix: "!" } },
  },
  embeddings: {
    "a text": { request: { model: "embedded-embedding", input: hello } },
    "no input": { request: { model: "embedded-embedding" } },
    "no model": { request: { input: "007" } },
    "nothing at all": { request: {} },
    "two texts": { request: { model: "embedded-embedding", input: ["one", "two"] } },
    "a list of one text": { request: { model: "embedded-embedding", input: ["one"] } },
    "tokens of two texts": {
      request: {
        model: "embedded-embedding",
        input: [
          [1, 2],
          [3, 4],
        ],
      },
    },
    "shorter vectors": { request: { model: "embedded-embedding", input: "one", dimensions: 3 } },
  },
  models: {
    "all models": { request: {}, alikeIn: [] },
    "a page of them": { request: { limit: 1 }, alikeIn: [] },
    "those after one": { request: { after_id: model }, alikeIn: [] },
    "those before one": { request: { before_id: "embedded-embedding" }, alikeIn: [] },
  },
  model: { "a model": { request: { id: model }, alikeIn: [] } },
};

interface Refused extends Omit<EndpointCall, "stream"> {
  readonly status: number;
  readonly param: string | null;
  readonly places?: readonly Place[];
}

const simulated = (status: number): JsonObject => ({ ...hi, metadata: { simulate_status: String(status) } });
const strict = { "x-gateway-strict": "true" };
const noKey = { apiKey: "", status: 401, param: null };
const unknown = (param: string | null) => ({ status: 404, param });

const refused: Readonly<Partial<Record<EndpointName, Record<string, Refused>>>> = {
  chat: {
    "an unknown model": { request: { ...hi, model: "nobody/knows:it" }, ...unknown("model") },
    "a conversation without messages": { request: { ...hi, messages: [] }, status: 400, param: "messages" },
    "no key": { request: hi, ...noKey },
    "several answers": {
      request: { ...hi, n: 2 },
      status: 400,
      param: "n",
      places: ["an upstream of Anthropic's family"],
    },
    "what would be dropped, where nothing may be": {
      request: { ...hi, seed: 7 },
      headers: strict,
      status: 400,
      param: "seed",
      places: ["an upstream of Anthropic's family"],
    },
  },
  messages: {
    "an unknown model": { request: { ...hi, model: "nobody/knows:it" }, ...unknown(null) },
    "a model of another kind": { request: { ...hi, model: "embedded-embedding" }, ...unknown(null) },
    "a request without a model": { request: { max_tokens: 9, messages: [user("hi")] }, status: 400, param: null },
    "a conversation without messages": { request: { ...hi, messages: [] }, status: 400, param: null },
    "a temperature out of bounds": { request: { ...hi, temperature: 1.5 }, status: 400, param: null },
    "no key": { request: hi, ...noKey },
    "an unknown key": { request: hi, ...noKey, apiKey: "sk-unknown" },
    "an upstream that is busy": { request: simulated(429), status: 429, param: null },
    "an upstream that is overloaded": { request: simulated(503), status: 503, param: null },
    "an upstream that fails": { request: simulated(502), status: 502, param: null },
    "what the upstream refuses": { request: simulated(400), status: 400, param: null },
    "what would be dropped, where nothing may be": {
      request: { ...hi, top_k: 5 },
      headers: strict,
      status: 400,
      param: null,
      places: elsewhere,
    },
  },
  count_tokens: {
    "an unknown model": { request: { model: "nobody/knows:it", messages: [user("hi")] }, ...unknown(null) },
    "a conversation without messages": { request: { model }, status: 400, param: null },
    "no key": { request: { model, messages: [user("hi")] }, ...noKey },
  },
  completions: {
    "an unknown model": { request: { model: "nobody/knows:it" }, ...unknown("model") },
    "a model of another kind": { request: { model: "embedded-embedding" }, ...unknown("model") },
    "tokens to a chat model": { request: { model, prompt: [[1, 2], [3]] }, status: 400, param: "prompt" },
    "a temperature out of bounds": { request: { model, temperature: 2.5 }, status: 400, param: "temperature" },
    "no texts": { request: { model, n: 0 }, status: 400, param: "n" },
    "no key": { request: { model }, ...noKey },
    "an unknown key": { request: { model }, ...noKey, apiKey: "sk-unknown" },
    "what would be dropped, where nothing may be": {
      request: { model, prompt: "hi", suffix: "!" },
      headers: strict,
      status: 400,
      param: "suffix",
      places: everywhere.filter((place) => place !== "an upstream of OpenAI's family"),
    },
  },
  responses: {
    "an unknown model": { request: { model: "nobody/knows:it", input: "hi" }, ...unknown("model") },
    "a response to go on from that is not kept": {
      request: { model, input: "hi", previous_response_id: "resp_none" },
      status: 400,
      param: "previous_response_id",
    },
    "no key": { request: { model, input: "hi" }, ...noKey },
  },
  embeddings: {
    "an unknown model": { request: { model: "nobody/knows:it" }, ...unknown("model") },
    "a model of another kind": { request: { model }, ...unknown("model") },
    "vectors of no numbers": {
      request: { model: "embedded-embedding", dimensions: 0 },
      status: 400,
      param: "dimensions",
    },
    "vectors longer than the model's": {
      request: { model: "embedded-embedding", dimensions: 1_000_000 },
      status: 400,
      param: "dimensions",
      places: elsewhere,
    },
    "a model whose upstream has no embeddings": {
      request: { model: "embedded-embedding" },
      ...unknown("model"),
      places: ["an upstream of Anthropic's family"],
    },
    "no key": { request: {}, ...noKey },
  },
  models: {
    "a page of nothing": { request: { limit: 0 }, status: 400, param: "limit" },
    "a page too large": { request: { limit: 1001 }, status: 400, param: "limit" },
    "no key": { request: {}, ...noKey },
  },
  model: {
    "an unknown model": { request: { id: "nobody/knows:it" }, ...unknown("model") },
    "no key": { request: { id: model }, ...noKey },
  },
};

for (const endpoint of Object.values(endpoints)) {
  const { name } = endpoint;
  const doors = doorsOf(endpoint);
  const [measure] = doors;
  const forms = endpoint.stream ? [false, true] : [false];

  for (const place of everywhere) {
    const gateway = places[place];
    if (name === "embeddings" && !elsewhere.includes(place)) continue;

    describe(`${name} over ${place}`, () => {
      for (const [what, { request, headers = {}, alikeIn = everywhere }] of Object.entries(answered[name] ?? {})) {
        for (const stream of forms) {
          test(`answers ${what}, ${stream ? "streamed" : "whole"}, alike through every door`, async () => {
            const expected = await measure.call(gateway(), { request, headers, stream });
            expect(expected.refused).toBeUndefined();
            expect(expected.answers.length).toBeGreaterThan(0);
            for (const door of doors.slice(1)) {
              expect(await door.call(gateway(), { request, headers, stream }), door.name).toEqual(expected);
            }
            if (!alikeIn.includes(place)) return;
            const { answers } = await measure.call(near, { request, headers, stream });
            expect(said(expected.answers)).toEqual(said(answers));
          });
        }
      }
    });
  }

  for (const place of everywhere) {
    const gateway = places[place];

    describe(`${name} over ${place}`, () => {
      for (const [what, expectation] of Object.entries(refused[name] ?? {})) {
        const { status, param, places: there = everywhere, ...call } = expectation;
        if (!there.includes(place)) continue;
        for (const stream of forms) {
          test(`refuses ${what}, ${stream ? "streamed" : "whole"}, alike through every door`, async () => {
            const expected = await measure.call(gateway(), { ...call, stream });
            expect(expected).toMatchObject({ answers: [], refused: { status, param } });
            for (const door of doors.slice(1)) {
              expect(await door.call(gateway(), { ...call, stream }), door.name).toEqual(expected);
            }
          });
        }
      }
    });
  }
}

/**
 * What every family can say: Anthropic's has no word for the backend's configuration, counts more kinds of input, and
 * does not know at the beginning of an answer that it will hold no text. The end of a message over another gateway tells what is charged: the
 * greater input, which may be the estimate of the beginning.
 */
function said(answers: readonly JsonObject[]): readonly JsonObject[] {
  return answers.map(({ system_fingerprint, ...answer }) => {
    if (answer.type === "message_delta") return { ...answer, usage: outputOf(answer.usage as JsonObject) };
    const { prompt_tokens_details, completion_tokens_details, ...counts } = (answer.usage ?? {}) as JsonObject;
    const choices = ((answer.choices ?? []) as JsonObject[]).map(({ delta, ...choice }) => {
      const { content, ...rest } = (delta ?? {}) as JsonObject;
      return { ...choice, ...rest, content: content ?? "" };
    });
    return { ...answer, ...(answer.usage ? { usage: counts } : {}), ...(answer.choices ? { choices } : {}) };
  });
}

function outputOf({ output_tokens }: JsonObject): JsonObject {
  return { output_tokens: output_tokens as number };
}

for (const [name, stream] of [
  ["messages", true],
  ["messages", false],
] as const) {
  for (const place of everywhere) {
    test(`${name} that break over ${place}, ${stream ? "streamed" : "whole"}, end alike through every door`, async () => {
      const doors = doorsOf(endpoints[name]);
      const request = { ...hi, metadata: { simulate_break_after: "3" } };
      const expected = await doors[0].call(places[place](), { request, stream });
      expect(expected.refused).toMatchObject({ status: 502 });
      if (stream) expect(expected.answers.length).toBeGreaterThan(3);
      for (const door of doors.slice(1)) {
        expect(await door.call(places[place](), { request, stream }), door.name).toEqual(expected);
      }
    });
  }
}

describe("other names of the same path", () => {
  const posts: Record<string, readonly [name: EndpointName, request: JsonObject]> = {
    "/chat/completions": ["chat", hi],
    "/messages": ["messages", hi],
    "/messages/count_tokens": ["count_tokens", { model, messages: [user(hello)] }],
    "/completions": ["completions", { model, prompt: "say hi" }],
    "/embeddings": ["embeddings", { input: "hi" }],
  };

  const send = (gateway: TestGateway, path: string, body?: JsonObject) =>
    fetch(`${gateway.rootUrl}${path}`, {
      method: body ? "POST" : "GET",
      headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
      ...(body ? { body: JSON.stringify(body) } : {}),
      redirect: "error",
    });

  const answerOf = async (gateway: TestGateway, path: string, body?: JsonObject) => {
    const response = await send(gateway, path, body);
    const text = (await response.text()).replace(/"(msg_|cmpl-)\w+"/g, '"$1…"');
    return { status: response.status, type: response.headers.get("content-type"), text };
  };

  for (const [path, [, request]] of Object.entries(posts)) {
    test(`${path} is served without the version and with an unknown query`, async () => {
      for (const body of [request, { ...request, stream: true }]) {
        const expected = await answerOf(near, `/v1${path}`, body);
        expect(expected.status).toBe(200);
        for (const alias of [path, `${path}?beta=true`, `/v1${path}?beta=true`]) {
          expect(await answerOf(near, alias, body), alias).toEqual(expected);
        }
      }
    });
  }

  test("the list of models is served without the version", async () => {
    expect(await answerOf(near, "/models")).toEqual(await answerOf(near, "/v1/models"));
    expect(await answerOf(near, "/models?limit=1&beta=true")).toEqual(await answerOf(near, "/v1/models?limit=1"));
  });

  for (const place of everywhere.slice(1)) {
    test(`a model whose id has slashes is found by it, encoded or not, over ${place}`, async () => {
      const gateway = places[place]();
      const [first = "", ...rest] = longId.split("/");
      const spellings = [encodeURIComponent(longId), longId, [first, encodeURIComponent(rest.join("/"))].join("/")];
      for (const root of ["/v1/models", "/models"]) {
        for (const spelling of spellings) {
          const { status, text } = await answerOf(gateway, `${root}/${spelling}`);
          expect({ status, id: JSON.parse(text).id }, spelling).toEqual({ status: 200, id: longId });
        }
      }
    });

    test(`a model whose id has slashes answers in every format over ${place}`, async () => {
      const gateway = places[place]();
      for (const path of ["/v1/chat/completions", "/v1/messages", "/v1/completions"]) {
        const [, request] = posts[path.slice(3)] as (typeof posts)[string];
        expect((await send(gateway, path, { ...request, model: longId })).status, path).toBe(200);
      }
    });
  }
});
