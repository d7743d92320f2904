/** Servers of chat that refuse a schema for the answer get any JSON, and the model is told the schema, in the same call and in the next. */
import type { JsonObject } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { modelAt } from "../../support/gateway.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { answerAsOpenAi } from "../../support/vendors.ts";

const { upstream, gateway } = scriptedStage(
  (base_url) => ({
    upstreams: [
      { name: "far", kind: "openai", base_url },
      { name: "stated", kind: "openai", base_url, profile: { response_formats: ["json_object", "json_schema"] } },
    ],
    models: [modelAt("far", "m"), modelAt("stated", "stated", "m")],
    embeddedModels: false,
  }),
  { perTest: true },
);

const schema = { type: "object", properties: { city: { type: "string" } }, additionalProperties: false };
const chat: JsonObject = {
  messages: [{ role: "user", content: "Where?" }],
  response_format: { type: "json_schema", json_schema: { name: "place", strict: true, schema } },
};
const response: JsonObject = {
  ...{ input: "Where?", store: false },
  text: { format: { type: "json_schema", name: "place", strict: true, schema } },
};
const message: JsonObject = {
  ...{ max_tokens: 99, messages: [{ role: "user", content: "Where?" }] },
  output_config: { format: { type: "json_schema", schema } },
};

/** refuse answers requests with a schema by a refusal. */
function refuse(status: number, error: JsonObject | string): void {
  upstream.script = (exchange) => {
    if (exchange.asked.response_format?.type !== "json_schema") return answerAsOpenAi(exchange);
    exchange.json(
      status,
      typeof error === "string" ? { error: { message: error, type: "invalid_request_error" } } : error,
    );
  };
}

const literal = {
  detail: [
    {
      ...{ type: "literal_error", loc: ["body", "response_format", "type"] },
      msg: "Input should be 'text' or 'json_object'",
      input: "json_schema",
    },
  ],
};

test.each<[string, number, JsonObject | string]>([
  ["DeepSeek", 400, "This response_format type is unavailable now"],
  ["Groq", 400, "This model does not support response format `json_schema`. See supported models at https://x.example"],
  [
    "OpenAI",
    400,
    "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model. Learn more at https://x.example",
  ],
  ["pydantic", 422, literal],
  ["a list", 400, "response_format.type must be one of: text, json_object"],
  ["another", 400, "Structured outputs are unsupported: response_format json_schema is not supported"],
])("in %s's words", async (_, status, error) => {
  refuse(status, error);
  for (const [path, body] of [
    ["/v1/chat/completions", chat],
    ["/v1/responses", response],
    ["/v1/messages", message],
  ] as const) {
    const asked = await ask(gateway, path, { model: "m", ...body });
    expect([asked.status, asked.dropped !== null], asked.text).toEqual([200, true]);
    const { response_format, messages } = upstream.lastAsked;
    expect(response_format).toEqual({ type: "json_object" });
    expect(messages[0]).toMatchObject({ role: "system", content: expect.stringContaining(JSON.stringify(schema)) });
  }
  // Once refused; the next calls know.
  expect(upstream.received).toHaveLength(4);
});

test.each([
  ["by a server whose profile says that it takes one", "stated", "This response_format type is unavailable now"],
  ["of another member", "m", "response_format.json_schema.name must be at most 64 characters"],
])("a refusal %s is told as it came", async (_, model, error) => {
  refuse(400, error);
  const { status, text } = await ask(gateway, "/v1/chat/completions", { model, ...chat });
  expect([status, upstream.received.length]).toEqual([400, 1]);
  expect(text).toContain(error.slice(0, 30));
});

const fields = "Unsupported JSON schema fields: {'minItems'}";

test.each<[string, JsonObject | string]>([
  ["OpenAI", "Invalid schema for response_format 'place': 'additionalProperties' is not supported"],
  ["Groq", "invalid JSON schema for response_format: 'place': /properties/city: keyword `pattern` not supported"],
  // https://github.com/musistudio/claude-code-router/issues/708
  ["Cerebras", { message: fields, type: "invalid_request_error", param: "response_format", code: "wrong_api_format" }],
  ["a relay", JSON.stringify({ message: fields, param: "response_format" })],
  ["vLLM", { message: "The grammar of it is not supported by xgrammar.", param: "response_format", code: 400 }],
  ["a path", "response_format.json_schema.schema: For 'integer' type, minimum is not supported"],
  ["a keyword", "Unsupported keyword 'oneOf' in response_format.json_schema"],
])("a refusal of what the schema has is told as it came: %s", async (_, error) => {
  refuse(400, error);
  const { status, dropped } = await ask(gateway, "/v1/chat/completions", { model: "m", ...chat });
  expect([status, dropped, upstream.received.length]).toEqual([400, null, 1]);
});

test("a caller who wants all or nothing gets the refusal", async () => {
  refuse(400, "This response_format type is unavailable now");
  const headers = { "x-gateway-strict": "true" };
  const { status } = await ask(gateway, "/v1/chat/completions", { model: "m", ...chat }, { headers });
  expect(status).toBe(400);
});
