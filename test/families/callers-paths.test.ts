/**
 * Whatever is refused or dropped of a call, by whichever of its translations, is named by a path of the caller's own request:
 * in the error's `param`, in its words, and in `x-gateway-dropped`.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ask } from "../support/ask.ts";
import { modelAt } from "../support/gateway.ts";
import { scriptedStage } from "../support/upstreams/scripted-stage.ts";
import { answerAsAnthropic, answerAsOpenAi } from "../support/vendors.ts";

type Json = Readonly<Record<string, unknown>>;

const { upstream, gateway } = scriptedStage((base_url) => ({
  embeddedModels: false,
  upstreams: [
    { name: "chat", kind: "openai", base_url },
    { name: "responses", kind: "openai", base_url, profile: { operations: { responses: "/responses" } } },
    { name: "claude", kind: "anthropic", base_url },
  ],
  models: [
    modelAt("chat", "chat-model"),
    modelAt("responses", "responses-model"),
    modelAt("claude", "claude-sonnet-4-5"),
  ],
}));

const models = ["chat-model", "responses-model", "claude-sonnet-4-5"];

const png = "data:image/png;base64,iVBORw0KGgo=";
const sound = { data: "AAAA", format: "mp3" };
const oddSchema = { type: "object", properties: { a: { type: "string", format: "odd", not: { const: "x" } } } };
const odd = { schema: oddSchema, name: "x", strict: true };
const said = { role: "user", content: "hi" };

const responses: Readonly<Record<string, Json>> = {
  "log probabilities, by their number": { top_logprobs: 3 },
  "log probabilities, by what is included": {
    include: ["reasoning.encrypted_content", "message.output_text.logprobs"],
  },
  "audio behind instructions": {
    instructions: "Be brief.",
    input: [
      said,
      {
        role: "user",
        content: [
          { type: "input_text", text: "a" },
          { type: "input_audio", input_audio: sound },
        ],
      },
    ],
  },
  "a file that only its vendor has": { input: [{ role: "user", content: [{ type: "input_file", file_id: "f" }] }] },
  "an image that is none": { input: [said, { role: "user", content: [{ type: "input_image", image_url: "nope" }] }] },
  "an image of no kind that is read": {
    input: [{ role: "user", content: [{ type: "input_image", image_url: "data:image/tiff;base64,AAAA" }] }],
  },
  "broken arguments of the second call": {
    input: [
      said,
      { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      { type: "function_call", call_id: "d", name: "f", arguments: "{" },
      { type: "function_call_output", call_id: "c", output: "x" },
      {
        type: "function_call_output",
        call_id: "d",
        output: [{ type: "input_image", image_url: "data:image/tiff;base64,AAAA" }],
      },
    ],
  },
  "broken arguments, and nothing else": {
    input: [said, { type: "function_call", call_id: "c", name: "f", arguments: "{" }],
  },
  "an agent's call of a vendor's tool, and what it showed": {
    input: [
      { type: "reasoning", summary: [{ type: "summary_text", text: "a" }], encrypted_content: "x" },
      { type: "computer_call", call_id: "c", action: { type: "screenshot" } },
      { type: "computer_call_output", call_id: "c", output: { type: "computer_screenshot", image_url: "nope" } },
      { role: "developer", content: [{ type: "input_image", image_url: png }] },
    ],
  },
  "a result without a call": {
    input: [said, { type: "function_call_output", call_id: "d", output: [{ type: "input_image", image_url: "nope" }] }],
  },
  "a tool that is chosen and not there": { tool_choice: { type: "function", name: "nope" } },
  "a call that is demanded without tools": { tool_choice: "required" },
  "tools that may be called and are not there": {
    tools: [{ type: "function", name: "f", parameters: {} }],
    tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "g" }] },
  },
  "a schema behind a vendor's tool": {
    tools: [{ type: "image_generation" }, { type: "function", name: "f", parameters: oddSchema, strict: true }],
  },
  "a schema in a namespace": {
    tools: [{ type: "namespace", name: "n", tools: [{ type: "function", name: "f", parameters: oddSchema }] }],
  },
  "a schema of the output": { text: { format: { type: "json_schema", ...odd } } },
  "sampling, effort and words": {
    temperature: 0.5,
    top_p: 0.5,
    reasoning: { effort: "high" },
    text: { verbosity: "low" },
  },
  "the rest": {
    service_tier: "flex",
    prompt_cache_key: "k",
    user: "a@b.co",
    truncation: "auto",
    max_tool_calls: 3,
    seed: 3,
  },
  "vendors' keys": { seed: 3, stop: ["a", " "], logit_bias: { 1: 1 }, n: 2, frequency_penalty: 1 },
};

const messages: Readonly<Record<string, Json>> = {
  "five stop texts": { stop_sequences: ["a", "b", "c", "d", "e"] },
  "a budget of thinking": { max_tokens: 3000, thinking: { type: "enabled", budget_tokens: 2000 } },
  "an effort": { output_config: { effort: "max" } },
  "an effort beside a budget": {
    max_tokens: 3000,
    thinking: { type: "enabled", budget_tokens: 2000 },
    output_config: { effort: "low" },
  },
  "a schema of the output": { output_config: { format: { type: "json_schema", schema: oddSchema } } },
  "a schema of the output by its older name": { output_format: { type: "json_schema", schema: oddSchema } },
  "a schema behind a search": {
    tools: [
      { type: "web_search_20250305", name: "web_search", max_uses: 3 },
      { name: "f", input_schema: oddSchema, strict: true },
    ],
  },
  "an image of no kind that is read": {
    system: "Be brief.",
    messages: [
      said,
      { role: "assistant", content: [{ type: "tool_use", id: "t", name: "f", input: {} }] },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "t",
            content: [{ type: "image", source: { type: "base64", media_type: "image/tiff", data: "AAAA" } }],
          },
          { type: "document", source: { type: "file", file_id: "f" } },
        ],
      },
    ],
  },
  "marks of the cache": {
    system: [{ type: "text", text: "a", cache_control: { type: "ephemeral" } }],
    messages: [
      { role: "user", content: [{ type: "text", text: "a", cache_control: { type: "ephemeral", ttl: "1h" } }] },
    ],
    tools: [{ name: "f", input_schema: { type: "object" }, cache_control: { type: "ephemeral" } }],
  },
  "one call at a time, of tools that are not there": { tool_choice: { type: "any", disable_parallel_tool_use: true } },
  "sampling and the rest": {
    temperature: 0.5,
    top_p: 0.5,
    top_k: 3,
    service_tier: "auto",
    metadata: { user_id: "a@b.co" },
  },
};

const chats: Readonly<Record<string, Json>> = {
  "an effort and a bound": { reasoning_effort: "high", max_completion_tokens: 100 },
  "words of the Messages API": {
    thinking: { type: "enabled", budget_tokens: 2000 },
    output_config: { effort: "max" },
    top_k: 3,
  },
  "a schema of the output": { response_format: { type: "json_schema", json_schema: odd } },
  "a schema of a tool": {
    tools: [
      { type: "function", function: { name: "f", parameters: { anyOf: [oddSchema], type: "object", enum: [1] } } },
    ],
  },
  "a schema of a function": { functions: [{ name: "f", parameters: { ...oddSchema, not: {} } }] },
  "log probabilities": { logprobs: true, top_logprobs: 2 },
  "the rest": {
    seed: 3,
    stop: ["a", " "],
    user: "a@b.co",
    store: true,
    stream_options: { include_usage: true },
    modalities: ["text"],
  },
  "an answer in sound": { modalities: ["text", "audio"], audio: { voice: "alloy", format: "mp3" } },
  audio: { messages: [said, { role: "user", content: [{ type: "input_audio", input_audio: sound }] }] },
  "an image": {
    messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: png, detail: "low" } }] }],
  },
};

const completions: Readonly<Record<string, Json>> = {
  "log probabilities": { logprobs: 3 },
  "the rest": { suffix: "x", best_of: 3, seed: 3, stop: ["a", " "], logit_bias: { 1: 1 }, n: 2 },
  tokens: { prompt: [1, 2] },
};

const families = [
  { path: "/v1/responses", usual: { input: "hi", store: false }, bodies: responses },
  { path: "/v1/messages", usual: { max_tokens: 100, messages: [said] }, bodies: messages },
  { path: "/v1/chat/completions", usual: { messages: [said] }, bodies: chats },
  { path: "/v1/chat/completions", usual: { input: "hi" }, bodies: responses },
  { path: "/v1/completions", usual: { prompt: "hi" }, bodies: completions },
];

/** isIn reports whether a path leads to something in a request. */
function isIn(request: unknown, path: string): boolean {
  let part = request;
  for (const [step] of path.matchAll(/[^.[\]]+/g)) {
    if (typeof part !== "object" || part === null || !Object.hasOwn(part, step)) return false;
    part = (part as Json)[step];
  }
  return true;
}

describe.each(families)("$path of $usual", ({ path, usual, bodies }) => {
  describe.each(models)("over %s", (model) => {
    test.each(Object.entries(bodies))("%s", async (_, more) => {
      upstream.script = (exchange) =>
        exchange.path.includes("messages") ? answerAsAnthropic(exchange) : answerAsOpenAi(exchange);
      const body = { model, ...usual, ...more } as JsonObject;
      const lenient = await ask(gateway, path, body);
      const strict = await ask(gateway, path, body, { headers: { "x-gateway-strict": "true" } });
      const dropped = lenient.dropped?.split(", ") ?? [];
      expect(strict.status, "a strict caller is refused what is dropped").toBe(
        dropped.length > 0 ? 400 : lenient.status,
      );
      const errors = [lenient, strict].flatMap(({ json }) => json.error ?? []);
      const quoted = errors.flatMap(({ message }) => [...message.matchAll(/'([^']+)'/g)].map(([, word]) => word));
      // The Messages API tells no `param`.
      const params = errors.flatMap(({ param }) => param ?? []);
      expect(quoted, "the words name the field at fault").toEqual(expect.arrayContaining(params));
      expect([...dropped, ...params, ...quoted].filter((named) => !isIn(body, named))).toEqual([]);
    });
  });
});
