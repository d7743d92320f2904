/** Images that a chat model makes, and sources that its server lists beside the answer, reach callers of other families. */
import Anthropic from "@anthropic-ai/sdk";
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

/** textBlockOf returns the one text of a message as Anthropic's SDK reads it. */
async function textBlockOf(stream: boolean): Promise<Anthropic.TextBlock> {
  const client = new Anthropic({ baseURL: gateway.rootUrl, apiKey: gateway.apiKey, maxRetries: 0 });
  const body = { model: "m", max_tokens: 9, messages: [{ role: "user" as const, content: "hi" }] };
  const { content } = stream
    ? await client.messages.stream(body).finalMessage()
    : await client.messages.create({ ...body, stream: false });
  expect(content).toHaveLength(1);
  return content[0] as Anthropic.TextBlock;
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
    ["Z.ai's", { web_search: [{ title: "A", link: a, refer: "ref_1" }] }, [cited(4, 7, "A", a)]],
    ["Volcengine's", { references: [{ title: "A", url: a }] }, [cited(4, 7, "A", a)]],
    ["Tencent's", { search_info: { search_results: [{ index: 1, title: "A", url: a }] } }, [cited(4, 7, "A", a)]],
    ["files between pages", { references: ["a.pdf", a, { url: "file:///b.pdf" }] }, [cited(0, 7, a, a)]],
    ["none", { citations: [], search_results: null }, []],
    ["what is no list", { citations: "none", search_results: { url: a } }, []],
  ])("sources beside the choices are those of the text: %s", async (_, beside, annotations) => {
    said({ content: "See [1]" }, beside);
    expect(await outputOf(stream)).toMatchObject([{ type: "message", content: [{ text: "See [1]", annotations }] }]);
  });

  test.each<[string, Json, Json, Json[] | undefined]>([
    ["citations", {}, { citations: [a, b] }, [cited(4, 7, a, a), cited(0, 7, b, b)]],
    ["Tencent's", {}, { search_info: { search_results: [{ index: 1, title: "A", url: a }] } }, [cited(4, 7, "A", a)]],
    ["none", {}, { citations: [] }, undefined],
    ["files", {}, { references: ["a.pdf"] }, undefined],
    [
      "beside its own",
      { annotations: [{ type: "url_citation", url_citation: { url: b } }] },
      { citations: [a] },
      [{ type: "url_citation", url: b }],
    ],
    [
      "of no text",
      {
        content: null,
        tool_calls: [{ index: 0, id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
      },
      { citations: [a] },
      undefined,
    ],
  ])("a chat has the sources beside its choices as annotations, once: %s", async (_, message, beside, annotations) => {
    said({ content: "See [1]", ...message }, beside);
    const asked = { model: "m", messages: [{ role: "user", content: "hi" }] };
    const options = stream ? { stream, stream_options: { include_usage: true } } : {};
    const { text, json } = await ask(gateway, "/v1/chat/completions", { ...asked, ...options });
    const frames = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, frame]) => JSON.parse(frame as string));
    const chunks: { choices: Json[] }[] = stream ? frames : [json];
    const parts = chunks.flatMap(({ choices }) => choices.map(({ delta, message: whole }) => (delta ?? whole) as Json));
    const lists = parts.flatMap(({ annotations: list }) => (list === undefined ? [] : [list as Json[]]));
    const flat = lists.map((list) => list.map(({ type, url_citation: page }) => ({ type, ...(page as Json) })));
    expect(flat).toEqual(annotations === undefined ? [] : [annotations]);
    if (!stream) return;
    // The end comes behind them, and the usage last.
    const ends = chunks.map(({ choices }) => choices[0]?.finish_reason ?? null);
    expect(ends.slice(-2)).toEqual(["stop", null]);
    expect(ends.filter((end) => end !== null)).toHaveLength(1);
  });

  const located = (url: string, title: string | null, cited_text = "") => {
    return { type: "web_search_result_location", url, title, cited_text, encrypted_index: "" };
  };
  const annotation = (url: string, more: Json = {}) => ({ type: "url_citation", url_citation: { url, ...more } });

  test.each<[string, Json, Json, Json[] | null]>([
    ["its own", { annotations: [annotation(a, { title: "A", content: "Said." })] }, {}, [located(a, "A", "Said.")]],
    [
      "its own, once each",
      { annotations: [annotation(a), annotation(b), annotation(a)] },
      {},
      [located(a, null), located(b, null)],
    ],
    ["its own before those of its server", { annotations: [annotation(b)] }, { citations: [a] }, [located(b, null)]],
    ["those of its server", {}, { citations: [a, b] }, [located(a, null), located(b, null)]],
    ["search results", {}, { search_results: [{ title: "A", url: a }, { title: "no address" }] }, [located(a, "A")]],
    [
      "files, which have no address",
      { annotations: [{ type: "file_citation", file_citation: { file_id: "f" } }] },
      {},
      [],
    ],
    ["none", {}, { citations: [] }, []],
  ])("a message cites the sources of its text: %s", async (_, message, beside, citations) => {
    said({ content: "See [1]", ...message }, beside);
    expect(await textBlockOf(stream)).toEqual({ type: "text", text: "See [1]", citations });
  });

  test.each<[string, Json, Json[]]>([
    ["that name what a tool has shown", { type: "reference", reference_ids: [1] }, []],
    ["to a page", { type: "tool_reference", tool: "web_search", title: "A", url: a }, [cited(3, 3, "A", a)]],
    [
      "to a page without a title",
      { type: "tool_reference", tool: "web_search", title: null, url: a },
      [cited(3, 3, a, a)],
    ],
  ])("references of Mistral's %s are no text", async (_, reference, annotations) => {
    said({ content: [{ type: "text", text: "See" }, reference, { type: "text", text: " it." }] });
    expect(await outputOf(stream)).toMatchObject([{ type: "message", content: [{ text: "See it.", annotations }] }]);
    expect(await textOf(stream)).toBe("See it.");
    const body = { model: "m", messages: [{ role: "user", content: "hi" }], stream };
    const { text } = await ask(gateway, "/v1/chat/completions", body);
    expect(text).toContain('"content":"See it."');
    expect(text.includes(`"url":"${a}"`)).toBe(annotations.length > 0);
  });

  test("sources of the text itself stand alone", async () => {
    const url_citation = { start_index: 0, end_index: 3, title: "B", url: b };
    said({ content: "See [1]", annotations: [{ type: "url_citation", url_citation }] }, { citations: [a] });
    expect(await outputOf(stream)).toMatchObject([{ content: [{ annotations: [cited(0, 3, "B", b)] }] }]);
  });
});

test("a source is found in a stream where chunks that say nothing stand between the pieces, and by its number alone", async () => {
  const url = "https://a.example";
  const pieces = ["It ", "says [01] ", "and ", "[1]."].map((content) => chatChunk({ content }));
  const nothing = chatChunk({ content: null, reasoning_content: null });
  const chunks = pieces.flatMap((piece) => [piece, nothing]);
  upstream.script = (exchange) => exchange.stream(...chunks, { ...chatChunk({}, "stop"), citations: [url] });
  const body = { model: "m", messages: [{ role: "user", content: "hi" }], stream: true };
  const told = (await ask(gateway, "/v1/chat/completions", body)).text;
  expect(told).toContain('"start_index":17,"end_index":20');
});

test("a source is found where a stream's pieces name it, wherever they are cut", async () => {
  const [a, b] = ["https://a.example", "https://b.example"] as const;
  const text = "See [2], [x], [01] and [1] and [2].";
  for (const size of [1, 2, 3, 7, 100]) {
    const pieces = text.match(new RegExp(`.{1,${size}}`, "g")) ?? [];
    const chunks = pieces.map((content) => chatChunk({ content }));
    upstream.script = (exchange) => exchange.stream(...chunks, { ...chatChunk({}, "stop"), citations: [a, b] });
    const body = { model: "m", messages: [{ role: "user", content: "hi" }], stream: true };
    const told = (await ask(gateway, "/v1/chat/completions", body)).text;
    const places = [...told.matchAll(/"start_index":(\d+),"end_index":(\d+)/g)].map(([, from, to]) =>
      text.slice(Number(from), Number(to)),
    );
    expect(places, `${size}`).toEqual(["[1]", "[2]"]);
    expect(told).toContain('"start_index":4,"end_index":7');
  }
});

test("places of pages between the texts of a stream are those in the whole text", async () => {
  const url = "https://a.example";
  const page = { type: "tool_reference", tool: "web_search", title: "A", url };
  const deltas = [
    { role: "assistant", content: "Two " },
    { content: "words" },
    { content: [page, { type: "text", text: " more" }] },
    { reasoning_content: "no word of it" },
    { content: [page] },
  ];
  upstream.script = (exchange) => exchange.stream(...deltas.map((delta) => chatChunk(delta)), chatChunk({}, "stop"));
  const body = { model: "m", messages: [{ role: "user", content: "hi" }], stream: true };
  const { text } = await ask(gateway, "/v1/chat/completions", body);
  expect([...text.matchAll(/"start_index":(\d+),"end_index":(\d+)/g)].map(([, from, to]) => [from, to])).toEqual([
    ["9", "9"],
    ["14", "14"],
  ]);
});

test("a response cites a page in a place once, also where its server tells all pages so far with each chunk", async () => {
  const [a, b] = ["https://a.example", "https://b.example"].map((url) => {
    return { type: "url_citation", url_citation: { start_index: 0, end_index: 2, title: "A", url } };
  });
  const again = { type: "url_citation", url_citation: { ...a?.url_citation, end_index: 3 } };
  const said = [
    { content: "He", annotations: [a] },
    { annotations: [a, b] },
    { content: "y", annotations: [a, b, again] },
  ];
  const chunks = [{ role: "assistant", content: "" }, ...said].map((delta) => chatChunk(delta));
  upstream.script = (exchange) => exchange.stream(...chunks, chatChunk({}, "stop"), usageChunk());
  const annotations = [a, b, again].map((one) => ({ type: "url_citation", ...one?.url_citation }));
  expect(await outputOf(true)).toMatchObject([{ content: [{ text: "Hey", annotations }] }]);
});

test("citations that came before the text are those of the text, and those behind a call of none", async () => {
  const annotations = [{ type: "url_citation", url_citation: { url: "https://a.example" } }];
  const call = { index: 0, id: "c", type: "function", function: { name: "f", arguments: "{}" } };
  const [begun, text] = [chatChunk({ role: "assistant", annotations }), chatChunk({ content: "Hello" })];
  for (const chunks of [
    [begun, text, chatChunk({ tool_calls: [call] })],
    [chatChunk({ tool_calls: [call] }), chatChunk({ annotations })],
  ]) {
    upstream.script = (exchange) => exchange.stream(...chunks, chatChunk({}, "tool_calls"), usageChunk());
    const body = { model: "m", max_tokens: 9, messages: [{ role: "user", content: "hi" }], stream: true };
    const { text: told } = await ask(gateway, "/v1/messages", body);
    expect(told.includes('"citations_delta"')).toBe(chunks.includes(text));
    expect(told).toContain('"message_stop"');
  }
});

test("a citation that came with an answer goes back without being named, and one of a vendor's is named", async () => {
  said({ content: "Hello" });
  const made = {
    type: "web_search_result_location",
    url: "https://a.example",
    title: null,
    cited_text: "",
    encrypted_index: "",
  };
  for (const [citation, dropped] of [
    [made, null],
    [{ ...made, encrypted_index: "sealed" }, "messages[1].content[0].citations"],
  ] as const) {
    const answer = { role: "assistant", content: [{ type: "text", text: "See", citations: [citation] }] };
    const messages = [{ role: "user", content: "hi" }, answer, { role: "user", content: "go on" }];
    const { headers } = await ask(gateway, "/v1/messages", { model: "m", max_tokens: 9, messages });
    expect(headers.get("x-gateway-dropped")).toBe(dropped);
  }
});
