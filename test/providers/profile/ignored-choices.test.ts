/** A server that passes over every choice among tools is offered those alone that may be called, as Ollama's documentation says of it. */
import type { JsonObject } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { modelAt } from "../../support/gateway.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { vendors } from "../../support/upstreams/vendor-profiles.ts";
import { answerAsOpenAi } from "../../support/vendors.ts";

const profile = vendors.find(({ name }) => name === "ollama")?.profile;
const { upstream, gateway } = scriptedStage(
  (base_url) => ({
    upstreams: [
      { name: "ollama", kind: "openai", base_url, profile },
      {
        ...{ name: "fitted", kind: "openai", base_url },
        profile: { ...profile, schemas: "rooted", operations: { chat: "/chat/completions", responses: "/responses" } },
      },
    ],
    models: [modelAt("ollama", "m", "qwen3"), modelAt("fitted", "fitted", "qwen3")],
    embeddedModels: false,
  }),
  { script: answerAsOpenAi },
);

const named = (name: string) => ({ type: "function", function: { name } });
const chat = {
  model: "m",
  messages: [{ role: "user", content: "hi" }],
  tools: ["f", "g"].map((name) => ({ type: "function", function: { name, parameters: { type: "object" } } })),
};
const message = {
  ...{ model: "m", max_tokens: 99, messages: chat.messages },
  tools: ["f", "g"].map((name) => ({ name, input_schema: { type: "object" } })),
};

test.each<[string, JsonObject, string[], string | null]>([
  ["/v1/chat/completions", { ...chat, tool_choice: "none" }, [], null],
  ["/v1/chat/completions", { ...chat, tool_choice: named("g") }, ["g"], "tool_choice"],
  ["/v1/chat/completions", { ...chat, tool_choice: "required" }, ["f", "g"], "tool_choice"],
  ["/v1/chat/completions", { ...chat, tool_choice: "auto" }, ["f", "g"], null],
  ["/v1/messages", { ...message, tool_choice: { type: "none" } }, [], null],
  ["/v1/messages", { ...message, tool_choice: { type: "tool", name: "f" } }, ["f"], "tool_choice"],
])("over %s, %j", async (path, body, offered, left) => {
  const { status, dropped, text } = await ask(gateway, path, body);
  const { tools = [] } = upstream.lastAsked;
  expect([status, tools.map((tool: ReturnType<typeof named>) => tool.function.name), dropped], text).toEqual([
    200,
    offered,
    left,
  ]);
});

const either = { anyOf: ["a", "b"].map((key) => ({ type: "object", properties: { [key]: { type: "string" } } })) };

test.each<[string, JsonObject]>([
  [
    "/v1/chat/completions",
    { messages: chat.messages, tools: [{ type: "function", function: { name: "f", parameters: either } }] },
  ],
  ["/v1/responses", { input: "hi", tools: [{ type: "function", name: "f", parameters: either }] }],
])("no tools with schemas that were fitted, either, over %s", async (path, body) => {
  await ask(gateway, path, { ...body, model: "fitted", tool_choice: "auto" });
  expect(upstream.lastAsked.tools).toHaveLength(1);
  expect(upstream.lastAsked.tools).not.toEqual(body.tools);
  await ask(gateway, path, { ...body, model: "fitted", tool_choice: "none" });
  expect(upstream.lastAsked.tools).toBe(undefined);
});
