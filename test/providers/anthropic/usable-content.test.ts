/** Content that Claude refuses, though it says the same otherwise, reaches it as it takes it: from callers of each family. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { anthropicUpstreamAt } from "../../support/gateway.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { answerAsAnthropic } from "../../support/vendors.ts";

const { upstream, gateway } = scriptedStage(
  (baseUrl) => anthropicUpstreamAt(baseUrl, "upstream-key", "claude-sonnet-4-6"),
  { script: answerAsAnthropic },
);

const [png, jpeg] = ["iVBORw0KGgoAAAANSUhEUg==", "/9j/4AAQSkZJRgABAQ=="];
const [gif, webp] = ["R0lGODlhAQABAIAAAAUEBA==", "UklGRiQAAABXRUJQVlA4IA=="];
const user = { role: "user", content: "hi" };
const words = { type: "text", text: "words" };
const blank = { type: "text", text: "" };
const mark = { type: "ephemeral" };
const use = { type: "tool_use", id: "t1", name: "f", input: {} };
const image = (media_type: string, data: string) => ({ type: "image", source: { type: "base64", media_type, data } });

async function sentFor(messages: JsonValue[], more: JsonObject = {}, path = "/v1/messages") {
  const body = { model: "embedded-chat", max_tokens: 4000, messages, ...more };
  const { status, headers } = await ask(gateway, path, body);
  expect([status, headers.get("x-gateway-dropped")]).toEqual([200, null]);
  return upstream.lastAsked;
}

const resultOf = (result: object) => [
  user,
  { role: "assistant", content: [use] },
  { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", ...result }] },
];

describe("a caller of messages", () => {
  test.each([
    ["an empty text beside others", [blank, words], [words]],
    ["a text of white space", [words, { type: "text", text: " \n" }], [words]],
    ["a marked one, whose mark moves", [words, { ...blank, cache_control: mark }], [{ ...words, cache_control: mark }]],
  ])("loses %s", async (_, content, expected) => {
    const { messages, system } = await sentFor([{ role: "user", content }, user], { system: content });
    expect([messages, system]).toEqual([[{ role: "user", content: expected }, user], expected]);
  });

  test.each([
    ["", []],
    ["an empty text", [blank]],
    ["white space", "\n"],
  ])("loses a turn of the model with %s", async (_, content) => {
    const { messages } = await sentFor([user, { role: "assistant", content }, user]);
    expect(messages).toEqual([user, user]);
  });

  test("keeps a call beside an empty text", async () => {
    const [asked, called, result] = resultOf({ content: "4" });
    const { messages } = await sentFor([asked, { role: "assistant", content: [blank, use] }, result] as JsonValue[]);
    expect(messages).toEqual([asked, called, result]);
  });

  test.each([
    ["an empty text", { content: [blank] }, {}],
    ["an empty text beside another", { content: [blank, words] }, { content: [words] }],
    ["a failure without a word", { content: "", is_error: true }, { content: "Error", is_error: true }],
    ["a failure with an empty text", { content: [blank], is_error: true }, { content: "Error", is_error: true }],
    ["an image of another type", { content: [image("image/png", jpeg)] }, { content: [image("image/jpeg", jpeg)] }],
  ])("has a result with %s", async (_, result, expected) => {
    expect((await sentFor(resultOf(result))).messages).toEqual(resultOf(expected));
  });

  test("keeps what says nothing and cannot say more", async () => {
    const said = [user, { role: "user", content: [blank] }];
    expect((await sentFor(said)).messages).toEqual(said);
  });

  test("has a long image by its own type", async () => {
    const long = jpeg.slice(0, 16).padEnd(400_000, "A");
    const { messages } = await sentFor([{ role: "user", content: [image("image/png", long), words] }]);
    expect(messages[0].content).toEqual([image("image/jpeg", long), words]);
  });
});

describe("an image has the type of its bytes", () => {
  test.each([
    ["image/png", png],
    ["image/jpeg", jpeg],
    ["image/gif", gif],
    ["image/webp", webp],
  ])("%s", async (type, data) => {
    const other = type === "image/png" ? "image/webp" : "image/png";
    const seen = async (url: string) => {
      const content = [{ type: "image_url", image_url: { url } }, words];
      const { messages } = await sentFor([{ role: "user", content }], {}, "/v1/chat/completions");
      return messages[0].content;
    };
    const expected = [image(type, data), words];
    expect((await sentFor([{ role: "user", content: [image(other, data), words] }])).messages[0].content).toEqual(
      expected,
    );
    for (const head of [`data:${other};base64,`, "data:;base64,", "data:application/octet-stream;base64,", ""])
      expect(await seen(head + data)).toEqual(expected);
  });
});
