/** Servers of messages that take tools with a schema alone get the vendor's as such, or without those that nobody would run there. */
import type { JsonObject } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { modelAt } from "../../support/gateway.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const { upstream, gateway } = scriptedStage(
  (base_url) => ({
    upstreams: [{ name: "far", kind: "anthropic", base_url }],
    models: [modelAt("far", "open", "qwen3-coder")],
    embeddedModels: false,
  }),
  { perTest: true },
);

const refusals: Readonly<Record<string, (place: number) => JsonObject>> = {
  "vLLM's": (place) => ({
    error: {
      message: `1 validation error:\n  {'type': 'missing', 'loc': 'body.tools.${place}.input_schema', 'msg': 'Field required', 'input': '<dict of 2 items>'}`,
      ...{ type: "Bad Request", param: `body.tools.${place}.input_schema`, code: 400 },
    },
  }),
  "older vLLM's": (place) => ({
    error: {
      message: `[{'type': 'missing', 'loc': ('body', 'tools', ${place}, 'input_schema'), 'msg': 'Field required', 'input': {}}]`,
    },
  }),
  "Xinference's": () => ({ detail: "Anthropic tools require 'name' and object 'input_schema'" }),
  "MiniMax's": () => ({
    type: "error",
    error: { type: "invalid_request_error", message: "invalid params, function name or parameters is empty (2013)" },
  }),
  "SGLang's": (place) => ({
    type: "error",
    error: { type: "invalid_request_error", message: `tools.${place}.custom.input_schema: Field required` },
  }),
};

function refuse(say: (place: number) => JsonObject): void {
  upstream.script = (exchange) => {
    const tools = (exchange.asked.tools ?? []) as JsonObject[];
    const place = tools.findIndex((tool) => tool.input_schema === undefined);
    if (place >= 0) return exchange.json(400, say(place));
    const content = [{ type: "text", text: "Yes." }];
    exchange.json(200, { type: "message", role: "assistant", content, stop_reason: "end_turn" });
  };
}

async function send(more: JsonObject) {
  const before = upstream.received.length;
  const body = { model: "open", max_tokens: 99, messages: [{ role: "user", content: "Hi" }], ...more };
  const { status, dropped, text } = await ask(gateway, "/v1/messages", body);
  const { tools, tool_choice: choice } = upstream.lastAsked;
  return { status, dropped, text, times: upstream.received.length - before, tools, choice };
}

const own = { name: "own", input_schema: { type: "object" } };
const fetching = { type: "web_fetch_20250910", name: "web_fetch" };

test.each(Object.entries(refusals))("in %s words", async (_, say) => {
  refuse(say);
  const mark = { cache_control: { type: "ephemeral" } };
  const asked = {
    tools: [
      fetching,
      own,
      { type: "bash_20250124", name: "bash", ...mark },
      { type: "memory_20250818", name: "memory" },
    ],
  };
  const first = await send(asked);
  expect([first.status, first.dropped, first.times], first.text).toEqual([200, "tools[0]", 2]);
  expect(first.tools).toMatchObject([
    own,
    { name: "bash", input_schema: { properties: { command: {} } }, ...mark },
    { name: "memory", input_schema: { required: ["command"] } },
  ]);
  expect(first.tools.some((tool: JsonObject) => "type" in tool)).toBe(false);
  expect((await send(asked)).times).toBe(1);
});

test.each<[string, JsonObject, JsonObject | undefined, string]>([
  ["of the vendor's tool", { type: "tool", name: "web_fetch" }, undefined, "tools[0], tool_choice"],
  ["of a described tool", { type: "tool", name: "bash" }, { type: "tool", name: "bash" }, "tools[0]"],
  ["of any", { type: "any" }, { type: "any" }, "tools[0]"],
])("a choice %s", async (_, choice, left, dropped) => {
  refuse(refusals["SGLang's"] as (place: number) => JsonObject);
  const tools = [fetching, { type: "bash_20250124", name: "bash" }];
  expect(await send({ tools, tool_choice: choice })).toMatchObject({ status: 200, dropped, choice: left });
});

test("no tools are left without a choice among them", async () => {
  refuse(refusals["vLLM's"] as (place: number) => JsonObject);
  const { status, dropped, tools, choice } = await send({ tools: [fetching], tool_choice: { type: "auto" } });
  expect([status, dropped, tools, choice]).toEqual([200, "tools[0]", undefined, undefined]);
});

test("a tool of the caller's own without a schema is refused as its server refuses it", async () => {
  refuse(refusals["SGLang's"] as (place: number) => JsonObject);
  upstream.script = (exchange) => exchange.json(400, refusals["SGLang's"]?.(0) ?? {});
  const { status, times } = await send({ tools: [{ ...own, description: "Mine." }] });
  expect([status, times]).toEqual([400, 1]);
});
