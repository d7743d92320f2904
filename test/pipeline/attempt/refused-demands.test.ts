/** Servers of chat that refuse a demand for a call are asked again without it, with the tool alone that was demanded. */
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
      { name: "stated", kind: "openai", base_url, profile: { demanded_calls: "any" } },
    ],
    models: [modelAt("far", "m"), modelAt("stated", "stated", "m")],
    embeddedModels: false,
  }),
  { perTest: true },
);

const named = { type: "function", function: { name: "f" } };
const chat: JsonObject = {
  messages: [{ role: "user", content: "Where?" }],
  tools: ["f", "g"].map((name) => ({ type: "function", function: { name, parameters: { type: "object" } } })),
};
const message: JsonObject = {
  ...{ max_tokens: 99, messages: [{ role: "user", content: "Where?" }] },
  tools: ["f", "g"].map((name) => ({ name, input_schema: { type: "object" } })),
  tool_choice: { type: "any" },
};

/** refuse answers requests that demand a call by a refusal in these words. */
function refuse(message: string): void {
  upstream.script = (exchange) => {
    const { tool_choice: choice = "auto" } = exchange.asked;
    if (choice === "auto" || choice === "none") answerAsOpenAi(exchange);
    else exchange.json(400, { error: { message, type: "invalid_request_error" } });
  };
}

const offered = () => upstream.lastAsked.tools.map((tool: typeof named) => tool.function.name);

test.each([
  ["Z.ai", "Tool choice must be auto"],
  ["Moonshot", "tool_choice 'specified' is incompatible with thinking enabled"],
  ["DeepSeek", "deepseek-reasoner does not support this tool_choice"],
  ["a list", "tool_choice only supports 'auto' and 'none'"],
  ["another", "The parameter tool_choice is not supported with this model"],
])("in %s's words", async (_, words) => {
  refuse(words);
  const first = await ask(gateway, "/v1/chat/completions", { model: "m", ...chat, tool_choice: named });
  expect([first.status, first.dropped, offered()], first.text).toEqual([200, "tool_choice", ["f"]]);
  const second = await ask(gateway, "/v1/messages", { model: "m", ...message });
  expect([second.status, second.dropped, offered()], second.text).toEqual([200, "tool_choice", ["f", "g"]]);
  expect(upstream.lastAsked.tool_choice).toBeUndefined();
  // Once refused; the next call knows.
  expect(upstream.received).toHaveLength(3);
});

test.each<[string, JsonObject]>([
  [
    "among a list of tools",
    { tool_choice: { type: "allowed_tools", allowed_tools: { mode: "required", tools: [named] } } },
  ],
  ["of a function in the older form", { functions: [{ name: "f" }], function_call: { name: "f" } }],
])("a demand %s", async (_, demand) => {
  upstream.script = (exchange) => {
    const { tool_choice: choice, function_call: legacy } = exchange.asked;
    if (choice?.allowed_tools?.mode !== "required" && typeof legacy !== "object") return answerAsOpenAi(exchange);
    exchange.json(400, { error: { message: "Tool choice must be auto", type: "invalid_request_error" } });
  };
  const { status, dropped, text } = await ask(gateway, "/v1/chat/completions", { model: "m", ...chat, ...demand });
  expect([status, dropped], text).toEqual([200, "function_call" in demand ? "function_call" : "tool_choice"]);
});

test.each([
  ["of a tool that is not there", "m", "Invalid value for 'tool_choice': must be one of the tools in the request"],
  ["by a server whose profile says that it takes any", "stated", "Tool choice must be auto"],
])("a refusal %s is told as it came", async (_, model, words) => {
  refuse(words);
  const { status, text } = await ask(gateway, "/v1/chat/completions", { model, ...chat, tool_choice: named });
  expect([status, upstream.received.length]).toEqual([400, 1]);
  expect(text).toContain(words.slice(0, 20));
});

test("a demand that was not meant is asked for again, in the same call and in the next", async () => {
  upstream.script = (exchange) => {
    const { logit_bias: bias } = exchange.asked;
    if (bias === undefined) return answerAsOpenAi(exchange);
    exchange.json(400, { error: { message: "Unsupported parameter: 'logit_bias' is not supported with tool_choice" } });
  };
  const asked = { model: "m", ...chat, tool_choice: named };
  const first = await ask(gateway, "/v1/chat/completions", { ...asked, logit_bias: { 1: 2 } });
  expect([first.status, first.dropped, upstream.lastAsked.tool_choice]).toEqual([200, "logit_bias", named]);
  const second = await ask(gateway, "/v1/chat/completions", asked);
  expect([second.status, second.dropped, upstream.lastAsked.tool_choice]).toEqual([200, null, named]);
});
