/** Tools whose names a chat server would refuse are called by others there, and by the caller's own in answers. */
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ask } from "../support/ask.ts";
import { upstreamAt } from "../support/gateway.ts";
import type { ScriptedExchange } from "../support/scripted-upstream.ts";
import { scriptedStage } from "../support/upstreams/scripted-stage.ts";
import { chatAnswer, chatChunk } from "../support/vendors.ts";

const { upstream, gateway } = scriptedStage(upstreamAt, { script: callFirst });

/** Calls the first tool that is offered, by the name that it has there. */
function callFirst(exchange: ScriptedExchange): void {
  const { tools, stream } = exchange.asked;
  const calls = [{ index: 0, id: "c1", type: "function", function: { name: tools[0].function.name, arguments: "{}" } }];
  if (stream) exchange.stream(chatChunk({ role: "assistant", tool_calls: calls }), chatChunk({}, "tool_calls"));
  else exchange.json(200, chatAnswer({ content: null, tool_calls: calls }, "tool_calls"));
}

const parameters = { type: "object", properties: {} };
const names = ["mcp:files/read.text", "read text", "a.b", "a/b", `${"long/".repeat(20)}name`];

const bodies: Readonly<Record<string, (all: readonly string[]) => JsonObject>> = {
  "/v1/messages": (all) => ({
    max_tokens: 99,
    messages: [
      { role: "user", content: "hi" },
      { role: "assistant", content: [{ type: "tool_use", id: "c0", name: all[0] as string, input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c0", content: "seen" }] },
    ],
    tools: all.map((name) => ({ name, input_schema: parameters })),
    tool_choice: { type: "tool", name: all[0] as string },
  }),
  "/v1/responses": (all) => ({
    store: false,
    input: [
      { role: "user", content: "hi" },
      { type: "function_call", call_id: "c0", name: all[0] as string, arguments: "{}" },
      { type: "function_call_output", call_id: "c0", output: "seen" },
    ],
    tools: all.map((name) => ({ type: "function", name, parameters })),
    tool_choice: { type: "function", name: all[0] as string },
  }),
};

describe.each(Object.keys(bodies))("a caller of %s", (path) => {
  test.each([false, true])("has its own names back, streamed: %s", async (stream) => {
    for (const name of names) {
      const all = [name, ...names.filter((other) => other !== name)];
      const body = { model: "embedded-chat", stream, ...bodies[path]?.(all) };
      const { status, text } = await ask(gateway, path, body);
      expect(status, text).toBe(200);
      expect(text).toContain(`"name":"${name}"`);
      const { tools, messages, tool_choice: choice } = upstream.lastAsked;
      const seen = tools.map((tool: { function: { name: string } }) => tool.function.name);
      for (const one of seen) expect(one).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      expect(new Set(seen).size).toBe(names.length);
      expect([messages[1].tool_calls[0].function.name, choice.function.name]).toEqual([seen[0], seen[0]]);
    }
  });

  test("keeps letters of all scripts in them", async () => {
    await ask(gateway, path, { model: "embedded-chat", ...bodies[path]?.(["读取文件", "читать"]) });
    expect(upstream.lastAsked.tools.map((tool: { function: JsonObject }) => tool.function.name)).toEqual([
      "读取文件",
      "читать",
    ]);
  });
});
