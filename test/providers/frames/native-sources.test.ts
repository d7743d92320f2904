/** Images, plans and sources in answers of Gemini's and Cohere's own APIs reach callers of every family. */
import { describe, expect, test } from "vitest";
import { GroundedText } from "../../../src/providers/frames/native/grounded-text.ts";
import { ask } from "../../support/ask.ts";
import { modelAt } from "../../support/gateway.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

type Json = Record<string, unknown>;

const { upstream, gateway } = scriptedStage((base_url) => ({
  upstreams: [{ name: "far", kind: "openai", base_url }],
  models: [modelAt("far", "m")],
  embeddedModels: false,
}));

const [uri, text] = ["https://a.example", "Olé: 12 °C"];
const page = { start_index: 5, end_index: 10, title: "A", url: uri };
const place = { startIndex: 6, endIndex: 12, text: "12 °C" };
const groundingMetadata = {
  groundingChunks: [{ web: { uri, title: "A" } }, { retrievedContext: { text: "no page" } }],
  groundingSupports: [{ segment: place, groundingChunkIndices: [0, 1, 7] }],
};
const usageMetadata = { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 };
const gemini = (parts: readonly Json[], more: Json = {}) => ({
  candidates: [{ content: { role: "model", parts }, finishReason: "STOP", ...more }],
  usageMetadata,
});

const documents = [
  { type: "document", id: "d", document: { id: "d", title: "A", url: uri } },
  { type: "document", id: "e", document: { id: "e", title: "no page" } },
];
const citation = { start: 5, end: 10, text: "12 °C", sources: documents, type: "TEXT_CONTENT" };
const tokens = { tokens: { input_tokens: 7, output_tokens: 3 } };
const cohere = {
  ...{ id: "c", finish_reason: "COMPLETE", usage: tokens },
  message: { role: "assistant", tool_plan: "I look.", content: [{ type: "text", text }], citations: [citation] },
};
const said = (type: string, message: Json) => ({ type, index: 0, delta: { message } });
const cohereEnd = { type: "message-end", delta: { finish_reason: "COMPLETE", usage: tokens } };
const cohereEvents = [
  { type: "message-start", id: "c", delta: { message: { role: "assistant" } } },
  { type: "tool-plan-delta", delta: { message: { tool_plan: "I look." } } },
  said("content-start", { content: { type: "text", text: "" } }),
  said("content-delta", { content: { text } }),
  said("citation-start", { citations: citation }),
  { type: "citation-end", index: 0 },
  cohereEnd,
];

/** tell has the upstream answer. */
function tell(whole: Json, pieces: readonly Json[]): void {
  upstream.script = (exchange) => (exchange.asked.stream ? exchange.stream(...pieces) : exchange.json(200, whole));
}

async function told(family: "chat/completions" | "messages" | "responses", stream: boolean): Promise<string> {
  const messages = [{ role: "user", content: "hi" }];
  const asked = family === "responses" ? { input: "hi", store: false } : { messages, max_tokens: 9 };
  const { status, text } = await ask(gateway, `/v1/${family}`, { model: "m", stream, ...asked });
  expect(status, text).toBe(200);
  return text;
}

const placed = JSON.stringify(page);
const found = JSON.stringify({ type: "web_search_result_location", url: uri, title: "A" }).slice(0, -1);

describe.each([false, true])("stream: %s", (stream) => {
  test.each<[string, Json, readonly Json[]]>([
    ["Gemini's", gemini([{ text }], { groundingMetadata }), [gemini([{ text }], { groundingMetadata })]],
    ["Cohere's", cohere, cohereEvents],
  ])("%s sources are annotations and citations of the text", async (_, whole, pieces) => {
    tell(whole, pieces);
    expect(await told("chat/completions", stream)).toContain(`{"type":"url_citation","url_citation":${placed}}`);
    expect(await told("responses", stream)).toContain(`{"type":"url_citation",${placed.slice(1)}`);
    const message = await told("messages", stream);
    expect(message).toContain(found);
    expect(message).not.toContain("no page");
  });

  test("Gemini's sources behind the text, and without a place in it, are told", async () => {
    const { groundingChunks } = groundingMetadata;
    const last = { candidates: [{ finishReason: "STOP", groundingMetadata: { groundingChunks } }], usageMetadata };
    tell(gemini([{ text }], { groundingMetadata: { groundingChunks } }), [
      gemini([{ text }], { finishReason: null }),
      last,
    ]);
    expect(await told("chat/completions", stream)).toContain(`"title":"A","url":"${uri}"`);
    expect(await told("messages", stream)).toContain(found);
  });

  test("places that are none in the text are not known", async () => {
    for (const startIndex of ["x", 1.5, -3, 99, 12, {}, null]) {
      const support = { segment: { startIndex, endIndex: 9 }, groundingChunkIndices: [0] };
      const answer = gemini([{ text }], { groundingMetadata: { ...groundingMetadata, groundingSupports: [support] } });
      tell(answer, [answer]);
      expect(await told("chat/completions", stream)).toContain('"start_index":0,"end_index":0,');
    }
    for (const start of ["x", 1.5, -3, {}, null]) {
      const odd = { ...citation, start };
      const message = { ...cohere.message, citations: [odd] };
      tell({ ...cohere, message }, [
        ...cohereEvents.slice(0, 4),
        said("citation-start", { citations: odd }),
        cohereEnd,
      ]);
      expect(await told("chat/completions", stream)).toContain('"start_index":0,"end_index":10,');
    }
  });

  test("Gemini's images are images", async () => {
    const image = { inlineData: { mimeType: "image/png", data: "aW1n" } };
    const answer = gemini([{ text: "No.", thought: true }, { ...image, thought: true }, image]);
    tell(answer, [answer]);
    expect(await told("chat/completions", stream)).toContain(
      '"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aW1n"}}]',
    );
    expect(await told("responses", stream)).toContain('"result":"aW1n"');
    expect(await told("messages", stream)).toContain("[An image, which the Messages API cannot carry.]");
  });

  test("Cohere's plan is reasoning", async () => {
    tell(cohere, cohereEvents);
    expect(await told("chat/completions", stream)).toContain('"reasoning_content":"I look."');
    expect(await told("messages", stream)).toContain('"thinking":"I look."');
  });
});

test("Gemini's pages that each piece names again are told once, at their places in the whole text", async () => {
  const [first, second] = ["Olé: ", "12 °C"];
  const { groundingChunks } = groundingMetadata;
  const going = { finishReason: null };
  tell({}, [
    gemini([{ text: "So.", thought: true }, { text: first }], { ...going, groundingMetadata: { groundingChunks } }),
    gemini([{ text: second }], { ...going, groundingMetadata }),
    { candidates: [{ groundingMetadata }], usageMetadata },
    gemini([{ text: "." }], { groundingMetadata }),
    gemini([{ text: "" }], { groundingMetadata }),
  ]);
  for (const family of ["chat/completions", "responses"] as const) {
    const annotations = (await told(family, true)).match(/"annotations?":(?:\[\{|\{)"type":"url_citation".*?\}/g) ?? [];
    // A response tells an annotation by itself, and in its part, its item and all of itself.
    expect(annotations).toHaveLength(family === "responses" ? 4 : 1);
    for (const annotation of annotations) expect(annotation).toContain(placed.slice(1, -1));
  }
  expect((await told("messages", true)).split(found)).toHaveLength(2);
});

test("Gemini's places are those of a part", async () => {
  const segment = { ...place, partIndex: 2, startIndex: 0, endIndex: 6 };
  const parts = [{ text: "So.", thought: true }, { text: "Olé: " }, { text: "12 °C" }];
  const groundingSupports = [{ segment, groundingChunkIndices: [0] }];
  tell(gemini(parts, { groundingMetadata: { ...groundingMetadata, groundingSupports } }), []);
  expect(await told("chat/completions", false)).toContain(placed);
});

test("thousands of places in a long text are found at once", () => {
  const long = "Olé, wörld! ".repeat(100_000);
  const grounded = new GroundedText();
  const supports = Array.from({ length: 50_000 }, (_, i) => {
    const segment = { startIndex: 14 * i, endIndex: 14 * i + 4 };
    return { segment, groundingChunkIndices: [0] };
  });
  grounded.add([long], { ...groundingMetadata, groundingSupports: supports });
  const annotations = grounded.annotations();
  expect(annotations).toHaveLength(50_000);
  const last = { start_index: 12 * 49_999, end_index: 12 * 49_999 + 3, title: "A", url: uri };
  expect(annotations.at(-1)).toEqual({ type: "url_citation", url_citation: last });
}, 20_000);
