/** Servers that refuse members of requests for vectors, text completions and speech get them without those, in the same call and in the next. */
import type { JsonObject } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { modelAt } from "../../support/gateway.ts";
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const { upstream, gateway } = scriptedStage(
  (base_url) => ({
    upstreams: [{ name: "far", kind: "openai", base_url }],
    models: [
      modelAt("far", "vectors", "vectors", { kind: "embedding" }),
      modelAt("far", "voice", "voice", { kind: "speech" }),
      modelAt("far", "text", "text", { completions: "native" }),
    ],
  }),
  { perTest: true },
);

const vector = [0.25, -1.5];
const base64 = Buffer.from(new Float32Array(vector).buffer).toString("base64");
const choices = [{ index: 0, text: "Hello", finish_reason: "stop", logprobs: null }];

function answer(exchange: ScriptedExchange): void {
  if (exchange.path.endsWith("/embeddings"))
    exchange.json(200, { object: "list", data: [{ index: 0, embedding: vector }] });
  else if (exchange.path.endsWith("/completions")) exchange.json(200, { object: "text_completion", choices });
  else {
    exchange.head(200, { "content-type": "audio/mpeg" });
    exchange.end("ID3 and so on");
  }
}

function refusing(key: string, status: number, body: object): void {
  upstream.script = (exchange) => (key in exchange.asked ? exchange.json(status, body) : answer(exchange));
}

const asked = {
  "/v1/embeddings": { model: "vectors", input: "hi" },
  "/v1/completions": { model: "text", prompt: "hi" },
  "/v1/audio/speech": { model: "voice", input: "hi", voice: "alloy" },
} as const;

async function send(path: keyof typeof asked, more: JsonObject, headers: Record<string, string> = {}) {
  const before = upstream.received.length;
  const { status, text, headers: told } = await ask(gateway, path, { ...asked[path], ...more }, { headers });
  return { status, text, dropped: told.get("x-gateway-dropped"), times: upstream.received.length - before };
}

const refusedEncodings: readonly (readonly [string, number, object])[] = [
  ["OpenAI", 400, { error: { message: "Unrecognized request argument supplied: encoding_format" } }],
  [
    "Pydantic",
    422,
    { detail: [{ type: "literal_error", loc: ["body", "encoding_format"], msg: "Input should be 'float'" }] },
  ],
  [
    "Voyage",
    400,
    { detail: "Value 'base64' supplied for argument 'encoding_format' is not valid -- accepted values are 'x'." },
  ],
];

test.each(refusedEncodings)(
  "the encoding of vectors is no reason for a refusal, in the words of %s",
  async (_, status, body) => {
    refusing("encoding_format", status, body);
    for (const times of [2, 1]) {
      const strictly = { "x-gateway-strict": "true" };
      const told = await send("/v1/embeddings", { encoding_format: "base64" }, strictly);
      expect(told).toMatchObject({ status: 200, dropped: null, times });
      expect(JSON.parse(told.text).data).toMatchObject([{ embedding: base64 }]);
    }
  },
);

test.each<[keyof typeof asked, JsonObject]>([
  ["/v1/embeddings", { truncate: "END" }],
  ["/v1/embeddings", { user: "u" }],
  ["/v1/completions", { best_of: 1 }],
  ["/v1/completions", { logit_bias: { 5: 1 } }],
  ["/v1/audio/speech", { instructions: "Speak sadly." }],
  ["/v1/audio/speech", { lang_code: "a" }],
])("%s is asked again without what its server does not know, and names it: %j", async (path, more) => {
  const [key = ""] = Object.keys(more);
  refusing(key, 400, { error: { message: `Unknown parameter: '${key}'.`, param: key } });
  expect(await send(path, more)).toMatchObject({ status: 200, dropped: key, times: 2 });
  expect(await send(path, more)).toMatchObject({ status: 200, dropped: key, times: 1 });
});

test.each<[keyof typeof asked, JsonObject]>([
  ["/v1/embeddings", { dimensions: 2 }],
  ["/v1/embeddings", { output_dimension: 2 }],
  ["/v1/embeddings", { input_type: "query" }],
  ["/v1/completions", { suffix: "b" }],
  ["/v1/completions", { echo: true }],
  ["/v1/audio/speech", { response_format: "wav" }],
])("%s is refused where it would be another thing without a member: %j", async (path, more) => {
  const [key = ""] = Object.keys(more);
  refusing(key, 400, { error: { message: `Unknown parameter: '${key}'.`, param: key } });
  expect(await send(path, more)).toMatchObject({ status: 400, times: 1 });
});

test("a server that says the same without an encoding has not meant that", async () => {
  upstream.script = (exchange) =>
    exchange.json(400, { error: { message: "encoding_format or something else is wrong" } });
  expect(await send("/v1/embeddings", { encoding_format: "base64" })).toMatchObject({ status: 400, times: 2 });
});
