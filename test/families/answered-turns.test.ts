/** What a model cannot be shown is refused in a new turn, and told of and named in one that has been answered, by whichever model. */
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ask } from "../support/ask.ts";
import { twoFamiliesStage } from "../support/upstreams/families-stage.ts";

const { upstream, gateway } = twoFamiliesStage();

const [asked, answer] = [
  { type: "text", text: "What is this?" },
  { role: "assistant", content: "A cat." },
];
const next = { role: "user", content: "Are you sure?" };

const blocks: Readonly<Record<string, JsonObject>> = {
  "a stored file": { type: "document", source: { type: "file", file_id: "file_1" } },
  "a stored image": { type: "image", source: { type: "file", file_id: "file_1" } },
  "an upload": { type: "container_upload", file_id: "file_1" },
  "a block that nobody knows": { type: "novel", value: 1 },
};

const parts: Readonly<Record<string, JsonObject>> = {
  "a stored image": { type: "input_image", file_id: "file_1" },
  "what its server has sealed": { type: "encrypted_content", encrypted_content: "sealed" },
};

describe.each(Object.entries(blocks))("%s in messages", (_, block) => {
  const shown = { role: "user", content: [asked, block] };
  const post = (messages: JsonObject[], strict = "false") =>
    ask(
      gateway,
      "/v1/messages",
      { model: "chat", max_tokens: 99, messages },
      { headers: { "x-gateway-strict": strict } },
    );

  test("is refused in the turn that is to be answered", async () => {
    expect((await post([shown])).status).toBe(400);
    expect((await post([next, answer, shown])).status).toBe(400);
  });

  test("is refused in a turn whose answer has only been begun", async () => {
    expect((await post([shown, answer])).status).toBe(400);
    expect((await post([next, answer, shown, answer])).status).toBe(400);
  });

  test("is told of and named in an earlier one", async () => {
    const { status, text, dropped } = await post([shown, answer, next]);
    expect([status, dropped], text).toEqual([200, "messages[0].content[1]"]);
    const [first, ...others] = upstream.lastAsked.messages as { content: unknown }[];
    expect(JSON.stringify(first?.content)).toMatch(/What is this\?.*cannot be shown/);
    expect(others).toEqual([answer, next]);
    expect((await post([shown, answer, next], "true")).status).toBe(400);
  });
});

describe.each(Object.entries(parts))("%s in responses", (_, part) => {
  describe.each(["chat", "claude"])("over %s", (model) => {
    const shown = { role: "user", content: [{ type: "input_text", text: "What is this?" }, part] };
    const post = (input: JsonObject[]) => ask(gateway, "/v1/responses", { model, input, store: false });

    test("is refused in the turn that is to be answered", async () => {
      expect((await post([shown])).status).toBe(400);
      expect((await post([next, answer, shown])).status).toBe(400);
    });

    test("is refused in a turn whose answer has only been begun", async () => {
      expect((await post([shown, answer])).status).toBe(400);
      expect((await post([next, answer, shown, { type: "reasoning", summary: [] }, answer])).status).toBe(400);
    });

    test("is told of and named in an earlier one", async () => {
      const { status, text, dropped } = await post([shown, answer, next]);
      expect([status, dropped], text).toEqual([200, "input[0].content[1]"]);
      expect(JSON.stringify(upstream.lastAsked.messages)).toMatch(/What is this\?.*cannot be shown/);
    });

    test("is told of and named in the result of a tool before the model's answer", async () => {
      const call = { type: "function_call", call_id: "c1", name: "look", arguments: "{}" };
      const result = { type: "function_call_output", call_id: "c1", output: [part] };
      const { status, text, dropped } = await post([next, call, result, answer, next]);
      expect([status, dropped], text).toEqual([200, "input[2].output[0]"]);
      expect((await post([next, call, result])).status).toBe(400);
    });
  });
});

test("a result of messages names the block that its model cannot be shown, and tells the others", async () => {
  const content = [asked, blocks["a stored image"] as JsonObject];
  const messages = [
    next,
    { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "look", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content }] },
    answer,
    next,
  ];
  const { status, text, dropped } = await ask(gateway, "/v1/messages", { model: "chat", max_tokens: 99, messages });
  expect([status, dropped], text).toEqual([200, "messages[2].content[0].content[1]"]);
  expect(JSON.stringify(upstream.lastAsked.messages)).toMatch(/What is this\?.*cannot be shown/);
});
