/** Images that a chat model makes, and sources that its server lists beside the answer, reach callers of other families. */
import { describe, expect, test } from "vitest";
import { ask } from "../support/ask.ts";
import { modelAt } from "../support/gateway.ts";
import { scriptedStage } from "../support/upstreams/scripted-stage.ts";
import { chatAnswer, chatChunk, usageChunk } from "../support/vendors.ts";

type Json = Record<string, unknown>;

const { upstream, gateway } = scriptedStage((base_url) => ({
  upstreams: [{ name: "far", kind: "openai", base_url }],
  models: [modelAt("far", "m")],
  embeddedModels: false,
}));

const pixel = "iVBORw0KGgo=";
const picture = { type: "image_url", image_url: { url: `data:image/png;base64,${pixel}` } };
const linked = { type: "image_url", image_url: { url: "https://pictures.example/1.png" } };

/** said answers with a message and with what stands beside the choices, in the form that is asked for. */
function said(message: Json, beside: Json = {}): void {
  upstream.script = (exchange) => {
    if (!exchange.asked.stream) return exchange.json(200, chatAnswer({ content: null, ...message }, "stop", beside));
    const { content = null, ...more } = message;
    const chunks = [chatChunk({ role: "assistant", content }), chatChunk(more), chatChunk({}, "stop")];
    exchange.stream(...chunks.map((chunk) => ({ ...chunk, ...beside })), usageChunk());
  };
}

async function outputOf(stream: boolean): Promise<Json[]> {
  const { text } = await ask(gateway, "/v1/responses", { model: "m", input: "hi", store: false, stream });
  if (!stream) return JSON.parse(text).output;
  const events = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json as string));
  const ended = events.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item);
  expect(events.at(-1).response.output).toEqual(ended);
  return ended;
}

async function textOf(stream: boolean): Promise<string> {
  const body = { model: "m", max_tokens: 9, messages: [{ role: "user", content: "hi" }], stream };
  const { text } = await ask(gateway, "/v1/messages", body);
  if (!stream) return JSON.parse(text).content[0]?.text;
  return [...text.matchAll(/"text_delta","text":("(?:[^"\\]|\\.)*")/g)]
    .map(([, json]) => JSON.parse(json as string))
    .join("");
}

describe.each([false, true])("stream: %s", (stream) => {
  test.each<[string, Json]>([
    ["beside the content", { images: [picture] }],
    ["beside an empty content", { content: "", images: [picture] }],
    ["in a part of the content", { content: [picture] }],
  ])("an image %s is an item of the response", async (_, message) => {
    said(message);
    const image = { type: "image_generation_call", status: "completed", result: pixel, output_format: "png" };
    expect(await outputOf(stream)).toMatchObject([image]);
    // A message has no place for it, and says so.
    expect(await textOf(stream)).toBe("[An image, which the Messages API cannot carry.]");
  });

  test("an image behind a text is an item behind the message", async () => {
    said({ content: "Here it is.", images: [picture] });
    expect(await outputOf(stream)).toMatchObject([
      { type: "message", content: [{ text: "Here it is." }] },
      { type: "image_generation_call", result: pixel },
    ]);
  });

  test("an image of the web is told by its address", async () => {
    said({ images: [linked] });
    const address = "![image](https://pictures.example/1.png)";
    expect(await outputOf(stream)).toMatchObject([{ type: "message", content: [{ text: address }] }]);
    expect(await textOf(stream)).toBe(address);
  });

  const cited = (start_index: number, end_index: number, title: string, url: string) => {
    return { type: "url_citation", start_index, end_index, title, url };
  };
  const [a, b] = ["https://a.example", "https://b.example"] as const;

  test.each<[string, Json, Json[]]>([
    ["citations", { citations: [a, b] }, [cited(4, 7, a, a), cited(0, 7, b, b)]],
    [
      "search results",
      { citations: [a], search_results: [{ title: "A", url: a, date: null }, { title: "no address" }] },
      [cited(4, 7, "A", a)],
    ],
    ["none", { citations: [], search_results: null }, []],
    ["what is no list", { citations: "none", search_results: { url: a } }, []],
  ])("sources beside the choices are those of the text: %s", async (_, beside, annotations) => {
    said({ content: "See [1]" }, beside);
    expect(await outputOf(stream)).toMatchObject([{ type: "message", content: [{ text: "See [1]", annotations }] }]);
  });

  test("sources of the text itself stand alone", async () => {
    const url_citation = { start_index: 0, end_index: 3, title: "B", url: b };
    said({ content: "See [1]", annotations: [{ type: "url_citation", url_citation }] }, { citations: [a] });
    expect(await outputOf(stream)).toMatchObject([{ content: [{ annotations: [cited(0, 3, "B", b)] }] }]);
  });
});
