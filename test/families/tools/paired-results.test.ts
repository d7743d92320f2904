/** A history with a call that lacks its result, or a result that lacks its call, is mended on the way to every family. */
import { expect, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { CreateMessageRequestSchema } from "../../../gen/modelgateway/v1/messages_pb.ts";
import { chatToMessages } from "../../../src/families/chat-to-messages/index.ts";
import { chatToResponses } from "../../../src/families/chat-to-responses/index.ts";
import { messagesToChat } from "../../../src/families/messages-to-chat/index.ts";
import { pairedResults } from "../../../src/families/tools/paired-results.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import type { JsonObject } from "../../../src/wire/json.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { context } from "../../support/translations/context.ts";

const user = { role: "user", content: "go on" };
const called = (...ids: string[]) => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "read", arguments: "{}" } })),
});
const result = (tool_call_id: string, content = `of ${tool_call_id}`) => ({ role: "tool", tool_call_id, content });
const interrupted = "The tool call was interrupted: there is no result.";
const withoutCall = "The result of a tool, for which no call is waiting:";

test("a complete history stays the same list", () => {
  const messages = [user, called("a", "b"), result("b"), result("a"), user, called("a"), result("a")];
  expect(runNow(pairedResults(messages))).toBe(messages);
});

test("each call gets its own result, whatever stands between", () => {
  const messages = [called("a", "b"), user, result("b"), called("a"), result("a"), result("a")];
  expect(runNow(pairedResults(messages))).toEqual([
    ...[called("a", "b"), result("a", interrupted), result("b"), user],
    ...[called("a"), result("a"), { role: "user", content: `${withoutCall}\n\nof a` }],
  ]);
});

test("Messages to chat", () => {
  const messages = [
    { role: "user", content: [{ type: "tool_result", tool_use_id: "old", content: "late" }] },
    { role: "assistant", content: [{ type: "tool_use", id: "a", name: "read", input: {} }] },
    { role: "user", content: "go on" },
  ];
  const wire = Wire.ofJson(CreateMessageRequestSchema, { model: "m", max_tokens: 9, messages } as JsonObject);
  expect(runNow(messagesToChat.translate(wire, context)).request.json().messages).toEqual([
    { role: "user", content: `${withoutCall}\n\nlate` },
    called("a"),
    result("a", interrupted),
    user,
  ]);
});

const chat = Wire.ofJson(CreateChatCompletionRequestSchema, {
  model: "m",
  messages: [user, result("old", "late"), called("a"), user],
} as JsonObject);

test("chat to responses", () => {
  const call = { type: "function_call", call_id: "a", name: "read", arguments: "{}" };
  expect(runNow(chatToResponses.translate(chat, context)).request.json().input).toEqual([
    { type: "message", ...user },
    { type: "message", role: "user", content: `${withoutCall}\n\nlate` },
    call,
    { type: "function_call_output", call_id: "a", output: interrupted },
    { type: "message", ...user },
  ]);
});

test("chat to responses, with an image", () => {
  const part = { type: "image_url", image_url: { url: "https://a.example/a.png" } };
  const messages = [user, { role: "tool", tool_call_id: "old", content: [part] }] as JsonObject[];
  const wire = Wire.ofJson(CreateChatCompletionRequestSchema, { model: "m", messages });
  const { input } = runNow(chatToResponses.translate(wire, context)).request.json() as { input: JsonObject[] };
  expect(input[1]).toMatchObject({
    content: [{ type: "input_text", text: withoutCall }, { type: "input_image" }],
  });
});

test("chat to Messages", () => {
  const { messages } = runNow(chatToMessages.translate(chat, context)).request.json() as { messages: JsonObject[] };
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
  expect(messages[0]?.content).toMatchObject([{ text: "go on" }, { text: withoutCall }, { text: "late" }]);
  expect(messages[2]?.content).toMatchObject([
    { type: "tool_result", tool_use_id: "a", content: interrupted, is_error: true },
    { type: "text", text: "go on" },
  ]);
});
