/** Files, sounds and videos in the words of frameworks and of other APIs, on each path: the path's own form, or a refusal that says what to send. */
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { modelAt } from "../../support/gateway.ts";
import { answerAsAny } from "../../support/upstreams/one-of-each.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const { upstream, gateway } = scriptedStage(
  (base_url) => ({
    upstreams: [
      { name: "far", kind: "openai", base_url },
      {
        ...{ name: "responding", kind: "openai", base_url },
        profile: { operations: { chat: "/chat/completions", responses: "/responses" }, responses: "always" },
      },
      { name: "claude", kind: "anthropic", base_url },
    ],
    models: [
      modelAt("far", "chat", "m"),
      modelAt("responding", "responses", "m"),
      modelAt("claude", "claude", "claude-sonnet-4-6"),
      modelAt("claude", "other", "glm-5"),
    ],
    embeddedModels: false,
  }),
  { script: answerAsAny },
);

const paths = ["/chat/completions", "/messages", "/responses"] as const;
const models = ["chat", "responses", "claude"] as const;

function asked(path: (typeof paths)[number], model: string, part: JsonObject) {
  const text = { type: path === "/responses" ? "input_text" : "text", text: "hi" };
  const turns = [{ role: "user", content: [text, part] }];
  const body = path === "/responses" ? { input: turns, store: false } : { messages: turns, max_tokens: 99 };
  return ask(gateway, `/v1${path}`, { model, ...body });
}

/** lastPart is the part that the server was sent behind the text. */
function lastPart(): JsonObject {
  const { messages, input } = upstream.lastAsked;
  return (messages ?? input).at(-1).content.at(-1);
}

const pdf = "JVBERi0xLjQK";
const png = "iVBORw0KGgo=";
const wav = "UklGRiQAAABXQVZFZm10IA==";
const filePart = { file_data: `data:application/pdf;base64,${pdf}` };
const document = {
  type: "document",
  source: { type: "base64", media_type: "application/pdf", data: pdf },
};
const address = "https://x.test/a.pdf";
const image = `data:image/png;base64,${png}`;

const sight = {
  chat: { type: "image_url", image_url: { url: image } },
  responses: { type: "input_image", image_url: image },
  claude: { type: "image", source: { type: "base64", media_type: "image/png", data: png } },
};
const file = {
  chat: { type: "file", file: filePart },
  responses: { type: "input_file", ...filePart },
  claude: document,
};

describe.each(paths)("on %s", (path) => {
  test.each<[string, JsonObject, Readonly<Record<string, JsonObject>>]>([
    ["a file of the AI SDK", { type: "file", data: pdf, mediaType: "application/pdf", filename: "a.pdf" }, file],
    [
      "a file of its newest",
      { type: "file", data: { type: "data", data: pdf }, mediaType: "application/pdf", filename: "a.pdf" },
      file,
    ],
    [
      "a file of LangChain",
      { type: "file", source_type: "base64", data: pdf, mime_type: "application/pdf", filename: "a.pdf" },
      file,
    ],
    ["a file without a type", { type: "file", base64: pdf, name: "a.pdf" }, file],
    ["an image as a file", { type: "file", data: png, mediaType: "image/*" }, sight],
    ["an image of LangChain", { type: "image", base64: png, mime_type: "image/png" }, sight],
    [
      "a blob of MCP",
      { type: "resource", resource: { uri: "file:///a.pdf", mimeType: "application/pdf", blob: pdf } },
      file,
    ],
    ["an image of langchaingo", { type: "binary", binary: { mime_type: "image/png", data: png } }, sight],
    ["an image of Gemini's SDK", { inlineData: { mimeType: "image/png", data: png } }, sight],
    ["one of Gemini's API", { inline_data: { mime_type: "image/png", data: png } }, sight],
    ["an image of Genkit", { media: { url: image, contentType: "image/png" } }, sight],
    ["an image in an object of its type", { type: "image", image: { data: png, mime_type: "image/png" } }, sight],
    [
      "a document in one",
      { type: "document", document: { data: pdf, media_type: "application/pdf", name: "a.pdf" } },
      file,
    ],
  ])("%s is the server's own", async (_, part, expected) => {
    for (const model of models) {
      const { status, text } = await asked(path, model, part);
      expect(status, text).toBe(200);
      expect(lastPart(), model).toMatchObject(expected[model] as JsonObject);
    }
  });

  test.each([
    { type: "file", url: address, mediaType: "application/pdf" },
    { type: "file", source_type: "url", url: address },
    { type: "document_url", document_url: address },
    { type: "document_url", document_url: { url: address } },
    { fileData: { fileUri: address, mimeType: "application/pdf" } },
  ])("a document by its address is one: %j", async (part) => {
    for (const [model, expected] of [
      ["responses", { type: "input_file", file_url: address }],
      ["claude", { type: "document", source: { type: "url", url: address } }],
    ] as const) {
      const { status, text } = await asked(path, model, part);
      expect(status, text).toBe(200);
      expect(lastPart(), model).toMatchObject(expected);
    }
  });

  test.each([
    { type: "resource", resource: { uri: "file:///a.txt", mimeType: "text/plain", text: "Hm." } },
    { type: "file", source_type: "text", text: "Hm." },
  ])("a text of a resource is a text: %j", async (part) => {
    for (const model of models) {
      expect((await asked(path, model, part)).status).toBe(200);
      expect(lastPart()).toMatchObject({ text: "Hm." });
    }
  });

  test.each([
    { type: "audio", data: wav, mimeType: "audio/wav" },
    { type: "audio", source: { type: "base64", media_type: "audio/x-wav", data: wav } },
    { type: "audio", base64: wav },
    { type: "media", data: wav, mimeType: "audio/wav" },
    { type: "file", data: `data:audio/wav;base64,${wav}`, mediaType: "audio/wav" },
    { type: "input_audio", input_audio: { data: wav, format: "wav" } },
  ])("a sound is heard by servers of chat, and refused where nobody hears: %j", async (part) => {
    const { status, text, headers } = await asked(path, "chat", part);
    expect(status, text).toBe(200);
    expect(headers.get("x-gateway-dropped")).toBeNull();
    expect(lastPart()).toEqual({ type: "input_audio", input_audio: { data: wav, format: "wav" } });
    await expectRefused(path, "claude", part);
    if (path !== "/responses") await expectRefused(path, "responses", part);
  });

  test.each([
    { type: "audio_url", audio_url: { url: "https://x.test/a.wav" } },
    { type: "video_url", video_url: { url: "https://x.test/a.mp4" } },
  ])("what servers of open models play is theirs, and refused where nobody does: %j", async (part) => {
    const { status, text, headers } = await asked(path, "chat", part);
    expect(status, text).toBe(200);
    expect(headers.get("x-gateway-dropped")).toBeNull();
    expect(lastPart()).toEqual(part);
    await expectRefused(path, "claude", part);
    if (path !== "/responses") await expectRefused(path, "responses", part);
  });
});

/** expectRefused expects words of what may be sent instead, and no attempt. */
async function expectRefused(path: (typeof paths)[number], model: string, part: JsonObject): Promise<void> {
  const before = upstream.received.length;
  const { status, text } = await asked(path, model, part);
  expect(status, text).toBe(400);
  expect(text).toMatch(/(messages|input)\[0\]\.content\[1\].*send text, images or files/);
  expect(upstream.received.length).toBe(before);
}

test("a sound in a data URI is a response's own sound", async () => {
  await asked("/responses", "responses", { type: "audio_url", audio_url: { url: `data:audio/mpeg;base64,${wav}` } });
  expect(lastPart()).toEqual({ type: "input_audio", input_audio: { data: wav, format: "mp3" } });
});

test("another server of the Messages API decides itself what it hears", async () => {
  const part = { type: "input_audio", input_audio: { data: wav, format: "wav" } };
  expect((await asked("/messages", "other", part)).status).toBe(200);
  expect(lastPart()).toEqual(part);
});

test("a sound of a tool's result is heard behind it", async () => {
  const result = {
    type: "tool_result",
    tool_use_id: "t",
    content: [{ type: "audio", data: wav, mimeType: "audio/wav" }],
  };
  const messages = [
    { role: "user", content: "hi" },
    { role: "assistant", content: [{ type: "tool_use", id: "t", name: "hear", input: {} }] },
    { role: "user", content: [result] },
  ];
  const { status, text } = await ask(gateway, "/v1/messages", { model: "chat", max_tokens: 99, messages });
  expect(status, text).toBe(200);
  expect(lastPart()).toEqual({ type: "input_audio", input_audio: { data: wav, format: "wav" } });
});
