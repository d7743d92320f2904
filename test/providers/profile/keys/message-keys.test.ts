/** What clients send back of earlier answers reaches servers that check every key without what they would refuse. */
import { describe, expect, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { fittingOf } from "../../../../src/providers/profile/fit.ts";
import { createProfile } from "../../../../src/providers/profile/profile.ts";
import { runNow } from "../../../../src/runtime/cooperative.ts";
import type { JsonObject } from "../../../../src/wire/json.ts";
import { Wire } from "../../../../src/wire/wire.ts";
import { vendors } from "../../../support/upstreams/vendor-profiles.ts";

function fitBy(vendor: string, model: string, messages: JsonObject[], settings: JsonObject = {}) {
  const profile = createProfile(vendors.find(({ name }) => name === vendor)?.profile ?? {});
  const request = Wire.ofJson(CreateChatCompletionRequestSchema, { model, messages, ...settings });
  const fitted = runNow(fittingOf(profile.of(model), undefined).fit("chat", request, true));
  const json = fitted.request.json() as JsonObject;
  return { json, messages: json.messages, dropped: fitted.dropped };
}

const call = { id: "abcdef123", type: "function", function: { name: "f", arguments: "{}" } };
const signature = { extra_content: { google: { thought_signature: "s" } } };
/** As SDKs keep an answer, and as aggregators and clients add to it. */
const answered = {
  ...{ role: "assistant", content: "I look.", refusal: null, annotations: [], audio: null, function_call: null },
  ...{ id: "msg_1", status: "done", reasoning_details: [{ type: "reasoning.text", text: "r" }] },
  tool_calls: [{ index: 0, ...call, ...signature }],
};
const history: JsonObject[] = [
  { role: "user", content: [{ type: "text", text: "hi", id: "p1" }], timestamp: 1 },
  answered,
  { role: "tool", tool_call_id: call.id, content: "seen", metadata: { ms: 3 } },
  { role: "assistant", content: "Done.", tool_calls: [] },
  { role: "user", content: "go on" },
];
const named = [
  ...["messages[0].timestamp", "messages[0].content[0].id"],
  ...["messages[1].id", "messages[1].status", "messages[1].reasoning_details"],
];
const signed = "messages[1].tool_calls[0].extra_content";

test.each([
  ["openai", "gpt-4o", [...named, signed], call],
  ["groq", "llama-4", [...named, signed], call],
  ["mistral", "mistral-large-latest", [...named, signed], call],
  ["google", "gemini-4-pro", named, { ...call, ...signature }],
])("%s", (vendor, model, paths, kept) => {
  const { messages, dropped } = fitBy(vendor, model, history);
  const [user, assistant, result, nothing] = messages as JsonObject[];
  expect(user).toEqual({ role: "user", content: [{ type: "text", text: "hi" }] });
  expect(assistant).toEqual({ role: "assistant", content: "I look.", tool_calls: [kept] });
  expect(result).toEqual({ role: "tool", tool_call_id: call.id, content: "seen" });
  expect(nothing).toMatchObject({ role: "assistant" });
  expect(dropped).toEqual([...paths, "messages[2].metadata"]);
});

test("what a server takes besides stays, as does what is not known of it", () => {
  const begun = { role: "assistant", content: "{", prefix: true };
  expect(fitBy("mistral", "m", [{ role: "user", content: "a" }, begun]).messages).toContainEqual(begun);
  const thought = { role: "assistant", content: "a", reasoning: "because" };
  expect(fitBy("groq", "openai/gpt-oss-120b", [{ role: "user", content: "a" }, thought]).messages).toContainEqual(
    thought,
  );
  const refused = { role: "assistant", content: null, refusal: "No." };
  expect(fitBy("openai", "gpt-4o", [{ role: "user", content: "a" }, refused]).messages).toContainEqual(refused);
  expect(fitBy("deepseek", "deepseek-chat", [{ role: "user", content: "a", timestamp: 1 }])).toMatchObject({
    messages: [{ role: "user", content: "a", timestamp: 1 }],
    dropped: [],
  });
});

test.each([
  ["groq", { reasoning_format: "parsed", seed: 1 }],
  ["mistral", { safe_prompt: true, random_seed: 1, prompt_cache_key: "k" }],
  ["google", { extra_body: { google: { thinking_config: { include_thoughts: true } } }, seed: 1 }],
])("%s gets the settings that it knows, its own too, and of the rest nothing", (vendor, own) => {
  const others = {
    provider: { order: ["a"] },
    chat_template_kwargs: {},
    min_p: 0.1,
    session_id: "s",
    min_tokens: null,
  };
  const usual = {
    temperature: 0.5,
    tools: [{ type: "function", function: { name: "f" } }],
    tool_choice: "auto",
    stop: ["x"],
  };
  const { json, dropped } = fitBy(vendor, "m", [{ role: "user", content: "a" }], {
    ...usual,
    ...own,
    ...others,
    stream: true,
  });
  expect(json).toMatchObject({ ...usual, ...own, stream: true });
  expect(Object.keys(others).filter((key) => key in json)).toEqual([]);
  expect(dropped).toEqual(["provider", "chat_template_kwargs", "min_p", "session_id"]);
});

describe("parts of content that a server does not know", () => {
  const saying = (...parts: JsonObject[]): JsonObject[] => [{ role: "user", content: parts }];
  const strict = ["openai", "groq", "mistral", "google"] as const;
  const sound = (url: string) => ({ type: "audio_url", audio_url: { url } });

  test.each(strict)("a sound in a data URI is one in OpenAI's words: %s", (vendor) => {
    for (const [type, format] of [
      ["wav", "wav"],
      ["x-wav", "wav"],
      ["mpeg", "mp3"],
      ["flac", "flac"],
    ]) {
      const { messages, dropped } = fitBy(vendor, "m", saying(sound(`data:audio/${type};base64,UklGRg==`)));
      expect(messages).toEqual(
        saying({ type: "input_audio", input_audio: { data: "UklGRg==", format } as JsonObject }),
      );
      expect(dropped).toEqual([]);
    }
  });

  test.each(strict)("what the user shows is refused by its place: %s", (vendor) => {
    for (const part of [
      sound("https://a.example/a.mp3"),
      { type: "video_url", video_url: { url: "https://a.example/a.mp4" } },
      { type: "novel", novel: 1 },
    ]) {
      const fit = () => fitBy(vendor, "m", saying({ type: "text", text: "what is it?" }, part));
      expect(fit).toThrow(/messages\[0\]\.content\[1\]\.type/);
    }
  });

  test.each(["openai", "groq", "google"])(
    "what the model thought has its key, or is left out and named: %s",
    (vendor) => {
      const thinking = { type: "thinking", thinking: "hm" };
      const history = (...content: JsonObject[]) => [
        { role: "user", content: "hi" },
        { role: "assistant", content },
        { role: "user", content: "go on" },
      ];
      const { messages, dropped } = fitBy(vendor, "m", history(thinking, { type: "text", text: "ok" }));
      expect((messages as JsonObject[])[1]?.content).toEqual(
        vendor === "openai" ? [{ type: "text", text: "ok" }] : expect.anything(),
      );
      expect(JSON.stringify(messages)).not.toContain("thinking");
      const isKept = vendor === "groq";
      expect((messages as JsonObject[])[1]?.reasoning).toBe(isKept ? "hm" : undefined);
      expect(dropped).toEqual(isKept ? [] : ["messages[1].content[0]"]);
    },
  );

  test("parts of a vendor's own reach it", () => {
    const file = { type: "document_url", document_url: "https://a.example/a.pdf", document_name: "a" };
    expect(fitBy("mistral", "m", saying(file)).messages).toEqual(saying(file));
    const document = { type: "document", document: { data: { a: 1 }, id: "d" } };
    expect(fitBy("groq", "m", saying(document)).messages).toEqual(saying(document));
  });
});
