/**
 * Every answer is valid for the strictest clients of its family, and every stream keeps its family's rules: from the
 * embedded models, from another gateway of either family, and from vendors that send less, more, or odd things.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import type { SseFrame } from "../../src/wire/sse.ts";
import { eventsOf } from "../support/clients/endpoints.ts";
import { nearAndFar } from "../support/clients/near-and-far.ts";
import {
  checkChatCompletion,
  checkChatStream,
  checkCompletion,
  checkCompletionStream,
  checkEmbeddings,
  checkMessage,
  checkMessageStream,
  checkModel,
  checkModels,
  checkTokenCount,
} from "../support/clients/strict.ts";
import { checkResponse, checkResponseStream, checkSpeechStream } from "../support/clients/strict-responses.ts";
import { anthropicUpstreamAt, behind, startTestGateway, type TestGateway, upstreamAt } from "../support/gateway.ts";
import { eventStream } from "../support/scripted-upstream.ts";
import { scriptedStage } from "../support/upstreams/scripted-stage.ts";
import {
  anthropicFrames,
  blockEvents,
  chatAnswer,
  chatChunk,
  done,
  messageAnswer,
  messageEnd,
  messageStart,
  openaiFrames,
  usageChunk,
} from "../support/vendors.ts";

const model = "embedded-chat";
const user = (content: string) => ({ role: "user", content });
const chat: JsonObject = { model, max_tokens: 200, messages: [user("Hello, 世界! 👋")] };
const response: JsonObject = { model, input: "Hello, 世界! 👋" };
const schema: JsonObject = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city", "days"],
  additionalProperties: false,
};
const bothTools = [user("Use get_weather and get_time for Oslo.")];
const chatTool = (name: string) => ({ type: "function", function: { name, parameters: schema } });
const messageTool = (name: string) => ({ name, input_schema: schema });
const chatTools = [chatTool("get_weather"), chatTool("get_time")];
const responseTools = ["get_weather", "get_time"].map((name) => ({ type: "function", name, parameters: schema }));
const messageTools = [messageTool("get_weather"), messageTool("get_time")];
const includeUsage = { stream_options: { include_usage: true } };

interface Endpoint {
  readonly whole: (answer: unknown) => void;
  readonly stream?: (frames: readonly SseFrame[], options?: { readonly usage?: boolean }) => void;
  readonly requests: Readonly<Record<string, JsonObject>>;
}

const endpoints: Readonly<Record<string, Endpoint>> = {
  "/chat/completions": {
    whole: checkChatCompletion,
    stream: checkChatStream,
    requests: {
      text: chat,
      "text that was cut": { ...chat, max_tokens: 2 },
      "text up to a stop": { ...chat, messages: [user("say one two three")], stop: ["two"] },
      "no text at all": { ...chat, messages: [user("say one two three")], stop: ["one"] },
      "two tool calls": { ...chat, messages: bothTools, tools: chatTools },
      "a forced tool call": { ...chat, tools: chatTools, tool_choice: "required" },
      "a filled schema": {
        ...chat,
        response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict: true } },
      },
      "any JSON": { ...chat, response_format: { type: "json_object" } },
    },
  },
  "/messages": {
    whole: checkMessage,
    stream: checkMessageStream,
    requests: {
      text: chat,
      "text that was cut": { ...chat, max_tokens: 2 },
      "text up to a stop": { ...chat, messages: [user("say one two three")], stop_sequences: ["two"] },
      "no text at all": { ...chat, messages: [user("say one two three")], stop_sequences: ["one"] },
      "two tool calls": { ...chat, messages: bothTools, tools: messageTools },
      "a forced tool call": { ...chat, tools: messageTools, tool_choice: { type: "any" } },
      "a filled schema": { ...chat, output_config: { format: { type: "json_schema", schema } } },
      thinking: { ...chat, max_tokens: 4096, thinking: { type: "enabled", budget_tokens: 2048 } },
    },
  },
  "/messages/count_tokens": {
    whole: checkTokenCount,
    requests: {
      text: { model, messages: [user("Hello")] },
      tools: { model, messages: bothTools, tools: messageTools },
    },
  },
  "/responses": {
    whole: checkResponse,
    stream: checkResponseStream,
    requests: {
      text: response,
      "text that was cut": { ...response, max_output_tokens: 16, input: `say ${"one ".repeat(40)}` },
      "text that is not kept": { ...response, store: false, instructions: "Be brief.", metadata: { a: "b" } },
      "two tool calls": { ...response, input: bothTools, tools: responseTools },
      "a forced tool call": { ...response, tools: responseTools, tool_choice: "required" },
      "a call of a tool that takes text": {
        ...response,
        tools: [{ type: "custom", name: "run", description: "Runs a program." }],
        tool_choice: "required",
      },
      "a filled schema": {
        ...response,
        text: { format: { type: "json_schema", name: "answer", schema, strict: true } },
      },
      reasoning: { ...response, reasoning: { effort: "low", summary: "auto" } },
    },
  },
  "/completions": {
    whole: checkCompletion,
    stream: checkCompletionStream,
    requests: {
      text: { model, prompt: "say hello" },
      "text that was cut": { model, prompt: "say one two three", max_tokens: 2 },
      "text up to a stop": { model, prompt: "say one two three", stop: "two" },
      "no text at all": { model, prompt: "say hello", max_tokens: 0 },
      "the prompt before the text": { model, prompt: "say hello", echo: true },
      nothing: {},
    },
  },
};

async function send(gateway: TestGateway, path: string, body?: JsonObject): Promise<Response> {
  const response = await fetch(`${gateway.baseUrl}${path}`, {
    method: body ? "POST" : "GET",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  return response;
}

async function whole(gateway: TestGateway, path: string, body?: JsonObject): Promise<unknown> {
  const response = await send(gateway, path, body);
  expect(response.headers.get("content-type")).toBe("application/json");
  return response.json();
}

/** Whether an endpoint's frames name their events. Then usage comes unasked. */
function namesEvents(path: string): boolean {
  return path === "/messages" || path === "/responses";
}

async function streamed(gateway: TestGateway, path: string, body: JsonObject): Promise<SseFrame[]> {
  const response = await send(gateway, path, { ...body, stream: true });
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  const bytes = Buffer.from(await response.arrayBuffer());
  // One data line per frame, after its event line where the family has one, and a blank line after the last, too.
  const text = bytes.toString();
  expect(text).toMatch(namesEvents(path) ? /^(event: [\w.]+\ndata: [^\r\n]+\n\n)+$/ : /^(data: [^\r\n]+\n\n)+$/);
  return eventsOf(bytes);
}

const gateways = nearAndFar();

const places = {
  "the embedded models": () => gateways.near,
  "an OpenAI upstream": () => gateways.overChat,
  "an Anthropic upstream": () => gateways.overMessages,
  "an upstream that is asked for responses": () => gateways.overResponses,
} as const;

for (const [place, gateway] of Object.entries(places)) {
  describe(`over ${place}`, () => {
    for (const [path, { whole: check, stream, requests }] of Object.entries(endpoints)) {
      for (const [name, request] of Object.entries(requests)) {
        test(`${path} answers with ${name} that every client takes`, async () => {
          check(await whole(gateway(), path, request));
        });

        if (!stream) continue;

        test(`${path} streams ${name} as every client reads it`, async () => {
          stream(await streamed(gateway(), path, request));
          if (namesEvents(path)) return;
          stream(await streamed(gateway(), path, { ...request, ...includeUsage }), { usage: true });
        });
      }
    }

    if (place === "the embedded models" || place === "an OpenAI upstream") {
      test("/embeddings answers with vectors that every client takes", async () => {
        const input = ["one", "two", "three"];
        for (const request of [{ input }, { input: "one" }, { input: [1, 2] }, {}] as JsonObject[]) {
          checkEmbeddings(await whole(gateway(), "/embeddings", request), "float");
          const base64 = { ...request, encoding_format: "base64" };
          checkEmbeddings(await whole(gateway(), "/embeddings", base64), "base64");
        }
      });
    }

    if (place === "the embedded models") {
      test("/audio/speech answers with events that every client takes", async () => {
        const order = { model: "tts-1", voice: "alloy", input: "Hello, this is a test.", stream_format: "sse" };
        for (const response_format of ["mp3", "wav"]) {
          const answer = await send(gateway(), "/audio/speech", { ...order, response_format });
          expect(answer.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
          checkSpeechStream(eventsOf(Buffer.from(await answer.arrayBuffer())));
        }
      });
    }

    test("/models answers with what both families' clients take", async () => {
      checkModels(await whole(gateway(), "/models"));
      checkModels(await whole(gateway(), "/models?limit=1"));
      checkModel(await whole(gateway(), `/models/${model}`));
    });
  });
}

test("/models with an empty page is valid", async () => {
  const page = await whole(gateways.near, "/models?after_id=embedded-embedding&before_id=embedded-chat");
  checkModels(page);
  expect(page).toMatchObject({ data: [], has_more: false, first_id: null, last_id: null });
});

test("/models can be paged backwards to its beginning, as forwards to its end", async () => {
  type Page = { readonly data: readonly { readonly id: string }[]; readonly has_more: boolean };
  const pageOf = async (query: string) => (await whole(gateways.near, `/models${query}`)) as Page;
  const idsOf = ({ data }: Page) => data.map(({ id }) => id);
  const all = idsOf(await pageOf(""));
  const forwards = all.slice(0, 1);
  for (let more = true; more; ) {
    const page = await pageOf(`?limit=1&after_id=${forwards.at(-1)}`);
    forwards.push(...idsOf(page));
    more = page.has_more;
  }
  const backwards = all.slice(-1);
  for (let more = true; more; ) {
    const page = await pageOf(`?limit=1&before_id=${backwards[0]}`);
    backwards.unshift(...idsOf(page));
    more = page.has_more;
  }
  expect(forwards).toEqual(all);
  expect(backwards).toEqual(all);
});

test("/models of the whole catalogue is valid", async () => {
  const { models, upstreams } = behind(gateways.near);
  const [chatModel] = models ?? [];
  const ids = ["vendor/a:1", "vendor/b@2", "plain"];
  const gateway = await startTestGateway({
    embeddedModels: true,
    upstreams: upstreams ?? [],
    models: ids.map((id) => ({ ...(chatModel as NonNullable<typeof chatModel>), id, created: "2026-05-04" })),
  });
  checkModels(await whole(gateway, "/models"));
  for (const id of ids) checkModel(await whole(gateway, `/models/${encodeURIComponent(id)}`));
  await gateway.close();
});

describe("from a vendor of OpenAI's family, in Anthropic's form and as responses", () => {
  const { upstream: vendor, gateway } = scriptedStage(upstreamAt);

  const call = (args: string, more: object = {}) => ({
    id: "call_1",
    type: "function",
    function: { name: "get_weather", arguments: args },
    ...more,
  });

  const answers: Readonly<Record<string, object>> = {
    "without usage": chatAnswer({ content: "Hi" }, "stop", { usage: undefined }),
    "without an id, a time and a name": chatAnswer({ content: "Hi" }, "stop", {
      id: undefined,
      created: undefined,
      model: undefined,
    }),
    "without a reason for its end": chatAnswer({ content: "Hi" }, null),
    "with a reason that nobody knows": chatAnswer({ content: "Hi" }, "eos"),
    "without text": chatAnswer({ content: null }),
    "with an empty text": chatAnswer({ content: "" }),
    "with a refusal": chatAnswer({ content: null, refusal: "No." }),
    "that was filtered": chatAnswer({ content: "" }, "content_filter"),
    "with reasoning": chatAnswer({ content: "Hi", reasoning_content: "Hm." }),
    "with reasoning under another name": chatAnswer({ content: "Hi", reasoning: "Hm." }),
    "with a call": chatAnswer({ content: null, tool_calls: [call('{"city":"Oslo"}')] }, "tool_calls"),
    "with text and two calls": chatAnswer(
      { content: "Well.", tool_calls: [call("{}"), call("{}", { id: "call_2" })] },
      "tool_calls",
    ),
    "with a call without arguments": chatAnswer({ content: null, tool_calls: [call("")] }, "tool_calls"),
    "with a call whose arguments are no JSON": chatAnswer({ content: null, tool_calls: [call("{oops")] }, "tool_calls"),
    "with a call whose arguments are no object": chatAnswer({ content: null, tool_calls: [call("[1]")] }, "tool_calls"),
    "with a call that ends as if there were none": chatAnswer({ content: null, tool_calls: [call("{}")] }, "stop"),
    "with a call whose id has strange characters": chatAnswer(
      { content: null, tool_calls: [call("{}", { id: "functions.get_weather:0" })] },
      "tool_calls",
    ),
    "with a call of the old kind": chatAnswer(
      { content: null, function_call: { name: "get_weather", arguments: "{}" } },
      "function_call",
    ),
    "with cached tokens": chatAnswer({ content: "Hi" }, "stop", {
      usage: {
        prompt_tokens: 9,
        completion_tokens: 2,
        total_tokens: 11,
        prompt_tokens_details: { cached_tokens: 8, cache_write_tokens: 4 },
      },
    }),
  };

  for (const [name, answer] of Object.entries(answers)) {
    test(`an answer ${name} is one that every client takes`, async () => {
      vendor.script = (exchange) => exchange.json(200, answer);
      checkMessage(await whole(gateway, "/messages", { ...chat, tools: messageTools }));
      checkResponse(await whole(gateway, "/responses", { ...response, tools: responseTools }));
    });
  }

  const role = chatChunk({ role: "assistant", content: "" });
  const piece = (index: number, args: string, more: object = {}) =>
    chatChunk({ tool_calls: [{ index, function: { arguments: args }, ...more }] });
  const opening = (index: number, args = "") =>
    chatChunk({
      tool_calls: [
        { index, id: `call_${index}`, type: "function", function: { name: "get_weather", arguments: args } },
      ],
    });
  const ended = (reason: string) => chatChunk({}, reason);

  const streams: Readonly<Record<string, readonly object[]>> = {
    "of text": [role, chatChunk({ content: "Hel" }), chatChunk({ content: "lo" }), ended("stop"), usageChunk()],
    "without usage": [role, chatChunk({ content: "Hi" }), ended("stop")],
    "with usage in its last chunk": [role, { ...chatChunk({ content: "Hi" }, "stop"), usage: usageChunk().usage }],
    "with its end in the chunk of its text": [role, chatChunk({ content: "Hi" }, "stop"), usageChunk()],
    "that is empty": [role, ended("stop"), usageChunk()],
    "of reasoning, text and a call": [
      role,
      chatChunk({ reasoning_content: "Hm" }),
      chatChunk({ reasoning_content: "." }),
      chatChunk({ content: "Hi" }),
      opening(0),
      piece(0, '{"city":'),
      piece(0, '"Oslo"}'),
      ended("tool_calls"),
      usageChunk(),
    ],
    "of two calls, one after the other": [
      ...[role, opening(0), piece(0, "{}"), opening(1), piece(1, '{"a":'), piece(1, "1}")],
      ended("tool_calls"),
    ],
    "of two calls, in turns": [
      ...[role, opening(0), opening(1), piece(0, '{"a":'), piece(1, '{"b":'), piece(0, "1}"), piece(1, "2}")],
      ended("tool_calls"),
    ],
    "of a call without arguments": [role, opening(0), ended("tool_calls")],
    "of a call in one piece": [role, opening(0, '{"city":"Oslo"}'), ended("tool_calls")],
    "of a call whose name comes late": [
      role,
      chatChunk({ tool_calls: [{ index: 0, id: "call_1", type: "function", function: { arguments: "" } }] }),
      piece(0, '{"a"', { function: { name: "get_weather", arguments: '{"a"' } }),
      piece(0, ":1}"),
      ended("tool_calls"),
    ],
    "of text between two calls": [
      role,
      opening(0, "{}"),
      chatChunk({ content: "and" }),
      opening(1, "{}"),
      ended("stop"),
    ],
    "of a refusal": [role, chatChunk({ refusal: "No." }), ended("stop")],
    "that was filtered": [role, ended("content_filter")],
    "without a role": [chatChunk({ content: "Hi" }), ended("stop")],
    "with chunks without choices": [
      { ...chatChunk({}), choices: [] },
      role,
      chatChunk({ content: "Hi" }),
      ended("stop"),
      usageChunk(),
    ],
  };

  for (const [name, chunks] of Object.entries(streams)) {
    for (const end of [done, ""]) {
      test(`a stream ${name} is as every client reads it${end === "" ? ", also without the word at its end" : ""}`, async () => {
        vendor.script = (exchange) => {
          exchange.head(200, eventStream);
          exchange.end(openaiFrames(...(chunks as Record<string, unknown>[])) + end);
        };
        checkMessageStream(await streamed(gateway, "/messages", { ...chat, tools: messageTools }));
        checkResponseStream(await streamed(gateway, "/responses", { ...response, tools: responseTools }));
      });
    }
  }
});

describe("from a vendor of Anthropic's family, in OpenAI's forms", () => {
  const { upstream: vendor, gateway } = scriptedStage(anthropicUpstreamAt);

  const hi = { type: "text", text: "Hi" };
  const thinking = { type: "thinking", thinking: "Hm.", signature: "c2ln" };
  const use = (id: string, input: object = { city: "Oslo" }) => ({ type: "tool_use", id, name: "get_weather", input });

  const answers: Readonly<Record<string, object>> = {
    "of text": messageAnswer([hi]),
    "of several texts": messageAnswer([hi, hi]),
    "of nothing": messageAnswer([]),
    "of thinking and text": messageAnswer([thinking, hi]),
    "of thinking that nobody can read": messageAnswer([{ type: "redacted_thinking", data: "eA==" }, hi]),
    "of a call": messageAnswer([use("toolu_1")], "tool_use"),
    "of text and two calls": messageAnswer([hi, use("toolu_1"), use("toolu_2", {})], "tool_use"),
    "that a stop text ended": messageAnswer([hi], "stop_sequence", { stop_sequence: "x" }),
    "that was cut": messageAnswer([hi], "max_tokens"),
    "that filled the context window": messageAnswer([hi], "model_context_window_exceeded"),
    "that paused": messageAnswer([hi], "pause_turn"),
    "that is a refusal": messageAnswer([], "refusal"),
    "with a reason that nobody knows": messageAnswer([hi], "tired"),
    "without a reason for its end": messageAnswer([hi], null),
    "with a block that nobody knows": messageAnswer([hi, { type: "novelty", data: 1 }]),
    "with citations": messageAnswer([
      {
        ...hi,
        citations: [
          { type: "char_location", cited_text: "H", document_index: 0, start_char_index: 0, end_char_index: 1 },
          { type: "web_search_result_location", url: "https://example.com", title: "x", cited_text: "H" },
        ],
      },
    ]),
    "with what the vendor's own search found": messageAnswer([
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "x" } },
      { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
      hi,
    ]),
    "with cached tokens": messageAnswer([hi], "end_turn", {
      usage: {
        input_tokens: 1,
        output_tokens: 2,
        cache_read_input_tokens: 100,
        cache_creation_input_tokens: 50,
        output_tokens_details: { thinking_tokens: 1 },
      },
    }),
    "with counts that are null": messageAnswer([hi], "end_turn", {
      usage: { input_tokens: 1, output_tokens: 2, cache_read_input_tokens: null, cache_creation_input_tokens: null },
    }),
  };

  for (const [name, answer] of Object.entries(answers)) {
    test(`an answer ${name} is one that every client takes`, async () => {
      vendor.script = (exchange) => exchange.json(200, answer);
      checkChatCompletion(await whole(gateway, "/chat/completions", { ...chat, tools: chatTools }));
      checkCompletion(await whole(gateway, "/completions", { model, prompt: "x" }));
      checkResponse(await whole(gateway, "/responses", { ...response, tools: responseTools }));
    });
  }

  const text = (index: number, ...pieces: string[]) =>
    blockEvents(index, { type: "text", text: "" }, ...pieces.map((piece) => ({ type: "text_delta", text: piece })));
  const thought = (index: number) =>
    blockEvents(
      index,
      { type: "thinking", thinking: "", signature: "" },
      { type: "thinking_delta", thinking: "Hm." },
      { type: "signature_delta", signature: "c2ln" },
    );
  const called = (index: number, ...pieces: string[]) =>
    blockEvents(
      index,
      use(`toolu_${index}`, {}),
      ...pieces.map((partial_json) => ({ type: "input_json_delta", partial_json })),
    );
  const ping = { type: "ping" };

  const streams: Readonly<Record<string, readonly object[]>> = {
    "of text": [messageStart(), ...text(0, "Hel", "lo"), ...messageEnd()],
    "of nothing": [messageStart(), ...messageEnd()],
    "of an empty block": [messageStart(), ...text(0), ...messageEnd()],
    "of two texts": [messageStart(), ...text(0, "a"), ...text(1, "b"), ...messageEnd()],
    "of thinking, text and a call": [
      ...[messageStart(), ...thought(0), ...text(1, "Hi"), ...called(2, '{"city":', '"Oslo"}')],
      ...messageEnd("tool_use"),
    ],
    "of two calls": [messageStart(), ...called(0, "{}"), ...called(1, '{"a":', "1}"), ...messageEnd("tool_use")],
    "of a call without input": [messageStart(), ...called(0), ...messageEnd("tool_use")],
    "of a call whose first piece is empty": [messageStart(), ...called(0, "", "{}"), ...messageEnd("tool_use")],
    "with signs of life": [messageStart(), ping, ...text(0, "Hi"), ping, ...messageEnd()],
    "with an event that nobody knows": [messageStart(), { type: "novelty", x: 1 }, ...text(0, "Hi"), ...messageEnd()],
    "with thinking that nobody can read": [
      messageStart(),
      ...blockEvents(0, { type: "redacted_thinking", data: "eA==" }),
      ...text(1, "Hi"),
      ...messageEnd(),
    ],
    "that is a refusal": [messageStart(), ...messageEnd("refusal")],
    "with a reason that nobody knows": [messageStart(), ...text(0, "Hi"), ...messageEnd("tired")],
    "that was cut": [messageStart(), ...text(0, "Hi"), ...messageEnd("max_tokens")],
  };

  for (const [name, events] of Object.entries(streams)) {
    test(`a stream ${name} is as every client reads it`, async () => {
      vendor.script = (exchange) => {
        exchange.head(200, eventStream);
        exchange.end(anthropicFrames(...(events as Record<string, unknown>[])));
      };
      for (const usage of [false, true]) {
        const options = usage ? includeUsage : {};
        const tools = { tools: chatTools };
        checkChatStream(await streamed(gateway, "/chat/completions", { ...chat, ...tools, ...options }), { usage });
        checkCompletionStream(await streamed(gateway, "/completions", { model, prompt: "x", ...options }), { usage });
      }
      checkResponseStream(await streamed(gateway, "/responses", { ...response, tools: responseTools }));
    });
  }
});

describe("the checkers find what a strict client would reject", () => {
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const fine = chatAnswer({ content: "Hi", refusal: null }, "stop", { usage });
  const called = (more: object) => chatAnswer({ content: null, refusal: null, tool_calls: [more] }, "tool_calls");
  const call = { id: "call_1", type: "function", function: { name: "f", arguments: "{}" } };
  const sumsOfMessage = {
    ...{ input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
    ...{ output_tokens_details: null, server_tool_use: null },
  };
  const usageOfMessage = {
    ...sumsOfMessage,
    ...{ cache_creation: null, service_tier: "standard", speed: null, inference_geo: null },
  };
  const messageOf = (content: JsonObject[], reason: string | null = "end_turn") =>
    messageAnswer(content, reason, { usage: usageOfMessage, container: null, diagnostics: null, stop_details: null });
  const message = messageOf([{ type: "text", text: "Hi", citations: [] }]);
  const messageStart = () => ({ type: "message_start", message: messageOf([], null) });
  const messageEnd = () => [
    {
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null, container: null, stop_details: null },
      usage: sumsOfMessage,
    },
    { type: "message_stop" },
  ];

  const faults: Readonly<Record<string, () => void>> = {
    "no id": () => checkChatCompletion({ ...fine, id: undefined }),
    "no choices": () => checkChatCompletion({ ...fine, choices: [] }),
    "no reason": () => checkChatCompletion(chatAnswer({ content: "Hi", refusal: null }, null)),
    "another family's reason": () => checkChatCompletion(chatAnswer({ content: "Hi", refusal: null }, "end_turn")),
    "content that is a list": () => checkChatCompletion(chatAnswer({ content: [], refusal: null })),
    "a sum that is none": () => checkChatCompletion({ ...fine, usage: { ...usage, total_tokens: 3 } }),
    "a call without an id": () => checkChatCompletion(called({ ...call, id: undefined })),
    "arguments that are an object": () =>
      checkChatCompletion(called({ ...call, function: { name: "f", arguments: {} } })),
    "a text whose citations are null": () =>
      checkMessage({ ...message, content: [{ type: "text", text: "Hi", citations: null }] }),
    "a message without usage": () => checkMessage({ ...message, usage: undefined }),
    "a message without a stop text's place": () => checkMessage({ ...message, stop_sequence: undefined }),
    "a thinking block without a signature": () => checkMessage(messageOf([{ type: "thinking", thinking: "Hm." }])),
    "a call whose input is a list": () =>
      checkMessage(
        messageOf([{ type: "tool_use", id: "a", name: "f", input: [], caller: { type: "direct" } }], "tool_use"),
      ),
    "a vector that is no base64 of floats": () =>
      checkEmbeddings(
        {
          object: "list",
          model: "m",
          data: [{ object: "embedding", index: 0, embedding: "AAA=" }],
          usage: { prompt_tokens: 1, total_tokens: 1 },
        },
        "base64",
      ),
    "vectors out of order": () =>
      checkEmbeddings(
        {
          object: "list",
          model: "m",
          data: [{ object: "embedding", index: 1, embedding: [1] }],
          usage: { prompt_tokens: 1, total_tokens: 1 },
        },
        "float",
      ),
  };

  const chunks = (...all: Record<string, unknown>[]) => eventsOf(Buffer.from(openaiFrames(...all) + done));
  const events = (...all: Record<string, unknown>[]) => eventsOf(Buffer.from(anthropicFrames(...all)));
  const role = chatChunk({ role: "assistant", content: "" });
  const end = chatChunk({}, "stop");
  const block = blockEvents(0, { type: "text", text: "", citations: [] }, { type: "text_delta", text: "Hi" });

  const part = { type: "output_text", text: "Hi", annotations: [], logprobs: [] };
  const item = { type: "message", id: "a", status: "completed", role: "assistant", content: [part] };
  const head = {
    ...{
      id: "r",
      object: "response",
      access_programs: null,
      created_at: 1,
      model: "m",
      parallel_tool_calls: true,
      tool_choice: "auto",
      tools: [],
    },
    ...{ error: null, incomplete_details: null, instructions: null, metadata: {}, temperature: 1, top_p: 1 },
  };
  const counts = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  const details = {
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  };
  const answered = { ...head, status: "completed", output: [item], usage: { ...counts, ...details } };
  const begun = { ...head, status: "in_progress", output: [], usage: null };
  /** A valid stream with these replacements in its events. */
  const responseEvents = (changes: Record<string, unknown>) => {
    const at = { output_index: 0, item_id: "a", content_index: 0 };
    const all = [
      { type: "response.created", response: begun },
      { type: "response.in_progress", response: begun },
      { type: "response.output_item.added", output_index: 0, item: { ...item, status: "in_progress", content: [] } },
      { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
      { type: "response.output_text.delta", ...at, delta: "Hi", logprobs: [] },
      { type: "response.output_text.done", ...at, text: "Hi", logprobs: [] },
      { type: "response.content_part.done", ...at, part },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: answered },
    ].map((event, sequence_number) => ({ ...event, sequence_number }));
    const changed = (event: object) => Object.entries(changes).filter(([key]) => key in event);
    return events(...all.map((event) => ({ ...event, ...Object.fromEntries(changed(event)) })));
  };
  const sound = { type: "speech.audio.delta", audio: "AAEC" };
  const spoken = { type: "speech.audio.done", usage: counts };

  const broken: Readonly<Record<string, () => void>> = {
    "a stream without its last word": () => checkChatStream(eventsOf(Buffer.from(openaiFrames(role, end)))),
    "a stream without a role": () => checkChatStream(chunks(chatChunk({ content: "Hi" }), end)),
    "a stream without a reason": () => checkChatStream(chunks(role)),
    "a stream with two reasons": () => checkChatStream(chunks(role, end, end)),
    "a stream of two ids": () => checkChatStream(chunks(role, { ...end, id: "other" })),
    "usage that nobody asked for": () => checkChatStream(chunks(role, end, usageChunk())),
    "usage that was asked for and is not there": () => checkChatStream(chunks(role, end), { usage: true }),
    "a call that is named twice": () =>
      checkChatStream(
        chunks(
          role,
          chatChunk({ tool_calls: [{ index: 0, ...call }] }),
          chatChunk({ tool_calls: [{ index: 0, ...call }] }),
          end,
        ),
      ),
    "an event under another name": () =>
      checkMessageStream([
        ...events(messageStart()),
        ...events(...block, ...messageEnd()).map((frame) => ({ ...frame, event: "x" })),
      ]),
    "a stream that begins twice": () => checkMessageStream(events(messageStart(), messageStart(), ...messageEnd())),
    "a block that does not end": () =>
      checkMessageStream(events(messageStart(), ...block.slice(0, -1), ...messageEnd())),
    "blocks that are not counted": () =>
      checkMessageStream(events(messageStart(), ...block, ...block, ...messageEnd())),
    "a stream without its end": () => checkMessageStream(events(messageStart(), ...block)),
    "something after the end": () => checkMessageStream(events(messageStart(), ...block, ...messageEnd(), ...block)),
    "an event without a number": () => checkResponseStream(responseEvents({ sequence_number: undefined })),
    "an item that is not the one at the end": () => checkResponseStream(responseEvents({ item: { ...item, id: "b" } })),
    "pieces that are not the whole": () => checkResponseStream(responseEvents({ delta: "Ho" })),
    "a response without its end": () => checkResponseStream(responseEvents({}).slice(0, -1)),
    "a response without usage": () => checkResponse({ ...answered, usage: undefined }),
    "a response without tools": () => checkResponse({ ...answered, tools: undefined }),
    "a response's text without annotations": () =>
      checkResponse({ ...answered, output: [{ ...item, content: [{ type: "output_text", text: "Hi" }] }] }),
    "speech without an end": () => checkSpeechStream(events(sound)),
    "speech without sound": () => checkSpeechStream(events(spoken)),
    "speech that is not counted": () => checkSpeechStream(events(sound, { type: "speech.audio.done" })),
    "sound that is no base64": () => checkSpeechStream(events({ ...sound, audio: "?" }, spoken)),
    "a text that begins with null, to which no citation can be added": () =>
      checkMessageStream(
        events(messageStart(), ...blockEvents(0, { type: "text", text: "", citations: null }), ...messageEnd()),
      ),
    "a piece of another kind of block": () =>
      checkMessageStream(
        events(
          messageStart(),
          ...blockEvents(
            0,
            { type: "text", text: "", citations: [] },
            { type: "input_json_delta", partial_json: "{}" },
          ),
          ...messageEnd(),
        ),
      ),
  };

  for (const [name, check] of Object.entries({ ...faults, ...broken })) {
    test(name, () => {
      expect(check).toThrow();
    });
  }

  const typed: Readonly<Record<string, () => void>> = {
    "Response.access_programs": () => checkResponse({ ...answered, access_programs: undefined }),
    "Response.tools[0].strict": () =>
      checkResponse({ ...answered, tools: [{ type: "function", name: "f", parameters: {} }] }),
    "ResponseStreamEvent.content_index": () => checkResponseStream(responseEvents({ content_index: undefined })),
    "Message.usage.speed": () => checkMessage({ ...message, usage: { ...usageOfMessage, speed: undefined } }),
    "MessageStreamEvent.content_block.citations": () =>
      checkMessageStream(events(messageStart(), ...blockEvents(0, { type: "text", text: "" }), ...messageEnd())),
    "ChatCompletion.choices[0].message.refusal": () => checkChatCompletion(chatAnswer({ content: "Hi" })),
  };

  test.each(Object.entries(typed))("a member that an SDK's type requires: %s", (path, check) => {
    expect(check).toThrow(path);
  });

  test("and nothing in valid answers", () => {
    checkChatCompletion(fine);
    checkChatCompletion(called(call));
    checkMessage(message);
    checkChatStream(chunks(role, chatChunk({ tool_calls: [{ index: 0, ...call }] }), end));
    checkChatStream(chunks(role, end, usageChunk()), { usage: true });
    checkMessageStream(events(messageStart(), ...block, ...messageEnd()));
    checkResponse(answered);
    checkResponseStream(responseEvents({}));
    checkSpeechStream(events(sound, spoken));
  });
});
