/**
 * Servers of responses leave events out of their streams. OpenAI's SDK, which throws at a text without its item, and Codex, which takes items
 * when they end, read each of them as they read OpenAI's.
 */
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { responsesStage } from "../../support/upstreams/responses-stage.ts";
import { outputMessage, responseAnswer, responseEvents } from "../../support/vendors.ts";

// biome-ignore lint/suspicious/noExplicitAny: what the gateway says is looked into as it came.
type Any = any;
type Json = Record<string, unknown>;

const { gateway, streams } = responsesStage();

const call = {
  id: "fc_v1",
  type: "function_call",
  status: "completed",
  call_id: "call_1",
  name: "get",
  arguments: '{"a":1}',
};
const reasoning = { id: "rs_v1", type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }] };
const whole = responseEvents(responseAnswer([reasoning, outputMessage("Hello"), call])) as Any[];

const isNo =
  (...types: string[]) =>
  ({ type }: Any) =>
    !types.includes(type);
const ofMessage = ({ output_index }: Any) => output_index === 1;

/** Codex's own server, proxies before it, and others send these between the events of a response. */
const ownEvents = [
  { type: "codex.rate_limits", rate_limits: { allowed: true } },
  { type: "responsesapi.websocket_timing", timing: { ttft: 1 } },
  ...[{ type: "keepalive", sequence_number: 0 }, { type: "ping" }, { type: "ping", cost: "0" }],
];

/** A server of an open model reasons in its own words, and vLLM announces them by an event that nobody else knows. */
const thought = { id: "rs_v1", type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "Hm." }] };
const at = { item_id: thought.id, output_index: 0, content_index: 0 };

async function toldOf(events: readonly Json[]): Promise<Any[]> {
  streams(events);
  const { text } = await ask(gateway, "/v1/responses", { model: "m", input: "hi", stream: true, store: false });
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json as string));
}

describe.each<[string, Any[]]>([
  ["without its beginning", whole.filter(isNo("response.created", "response.in_progress"))],
  ["that begins in progress", whole.filter(isNo("response.created"))],
  ["whose items do not begin", whole.filter(isNo("response.output_item.added"))],
  [
    "whose parts do not begin",
    whole.filter(isNo("response.content_part.added", "response.reasoning_summary_part.added")),
  ],
  ["whose items do not end", whole.filter(isNo("response.output_item.done"))],
  ["of deltas and a last event", whole.filter(({ type }) => /_text\.delta$|arguments\.delta$|completed$/.test(type))],
  ["whose deltas have no places", whole.map(withoutPlaces)],
  ["as llama.cpp sends it, without indices and ids of calls", whole.map(withoutIndices)],
  ["without indices, whose items do not begin", whole.filter(isNo("response.output_item.added")).map(withoutIndices)],
  ["without ids of items", whole.map(withoutIds)],
  ["without ids of items, which do not begin", whole.filter(isNo("response.output_item.added")).map(withoutIds)],
  ["that is a last event alone", whole.slice(-1)],
  ["whose message is in its last event alone", whole.filter((event) => !ofMessage(event))],
  ["whose response stands in its events themselves", whole.map(unwrapped)],
  ["that ends without an output", whole.map((event) => ("response" in event ? withOutput(event, null) : event))],
  [
    "whose items do not end, and whose end has none",
    whole
      .filter(isNo("response.output_item.done"))
      .map((event) => ("response" in event ? withOutput(event, []) : event)),
  ],
  ["with events of the server's own", whole.flatMap((event) => [...ownEvents, event])],
  ["as OpenAI sends it", whole],
])("a stream %s", (_, events) => {
  test("is whole to the SDK", async () => {
    await toldOf(events);
    const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey, maxRetries: 0 });
    const response = await client.responses.stream({ model: "m", input: "hi", store: false }).finalResponse();
    expect(response.output).toMatchObject([
      { type: "reasoning" },
      { type: "message", content: [{ text: "Hello" }] },
      { type: "function_call", call_id: "call_1", arguments: '{"a":1}' },
    ]);
  });

  test("begins, and ends each of its items once", async () => {
    const told = await toldOf(events);
    expect(told[0].type).toBe("response.created");
    expect(told.at(-1).type).toBe("response.completed");
    for (const type of ["response.output_item.added", "response.output_item.done"]) {
      const items = told.filter((event) => event.type === type);
      expect(items.map(({ output_index }) => output_index).sort()).toEqual([0, 1, 2]);
    }
    const numbers = told.flatMap(({ sequence_number: number }) => (number === undefined ? [] : [number]));
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    expect(new Set(numbers).size).toBe(numbers.length);
  });
});

test.each([
  [
    "that vLLM announces",
    [{ type: "response.reasoning_part.added", ...at, part: { type: "reasoning_text", text: "" } }],
  ],
  ["that nobody announces", []],
])("reasoning in its own words %s is whole to the SDK", async (_, announced) => {
  streams([
    { type: "response.output_item.added", output_index: 0, item: { ...thought, content: undefined } },
    ...announced,
    { type: "response.reasoning_text.delta", ...at, delta: "Hm." },
    ...announced.map((event) => ({ ...event, type: "response.reasoning_part.done", part: thought.content[0] })),
    { type: "response.output_item.done", output_index: 0, item: thought },
    { type: "response.completed", response: responseAnswer([thought]) },
  ]);
  const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey, maxRetries: 0 });
  const response = await client.responses.stream({ model: "m", input: "hi", store: false }).finalResponse();
  expect(response.output).toMatchObject([{ content: thought.content }]);
});

const deltas = whole.filter(({ type }) => type.endsWith("text.delta"));

test.each([
  ["at the place of the reasoning", ({ item_id: _, ...event }: Any) => ({ ...event, output_index: 0 })],
  [
    "without a place",
    ({ item_id: _, output_index: __, content_index: ___, summary_index: ____, ...event }: Any) => event,
  ],
])("a text %s is an item of its own, where nothing is announced and the end has no output", async (_, told) => {
  const events = [...deltas.map(told), { type: "response.completed", response: responseAnswer([]) }];
  const output = [
    { type: "reasoning", summary: [{ text: "Hm." }] },
    { type: "message", content: [{ text: "Hello" }] },
  ];
  await toldOf(events);
  const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey, maxRetries: 0 });
  const body = { model: "m", input: "hi", store: false };
  expect((await client.responses.stream(body).finalResponse()).output).toMatchObject(output);
  expect((await client.responses.create(body)).output).toMatchObject(output);
});

test("an end that is hardly a response has what the response began with", async () => {
  const { id, usage } = responseAnswer([]);
  const told = await toldOf([...whole.slice(0, -1), { type: "response.completed", response: { id, usage } }]);
  const { output, ...response } = responseAnswer([]);
  expect(told.at(-1).response).toMatchObject({ ...response, id: expect.any(String) });
  expect(told.at(-1).response.output).toMatchObject([
    { type: "reasoning" },
    { type: "message" },
    { type: "function_call" },
  ]);
});

test("a stream as OpenAI sends it gets no further events", async () => {
  expect((await toldOf(whole)).map(({ type }) => type)).toEqual(whole.map(({ type }) => type));
});

/** unwrapped returns an event with the members of its response in place of it. */
function unwrapped({ response, ...event }: Any): Any {
  return { ...response, ...event };
}

function withOutput(event: Any, output: unknown): Any {
  return { ...event, response: { ...event.response, output } };
}

test("what is no event of a response does not reach the caller", async () => {
  const told = await toldOf(whole.flatMap((event) => [...ownEvents, event]));
  expect(told.map(({ type }) => type)).toEqual(whole.map(({ type }) => type));
});

function withoutPlaces(event: Any): Any {
  if (!event.type.endsWith("_text.delta")) return event;
  const { output_index: _, content_index: __, summary_index: ___, ...rest } = event;
  return rest;
}

/** A call of llama.cpp's has no id but that of the call, which its pieces name as their item. */
function withoutIndices(event: Any): Any {
  const { output_index: _, content_index: __, summary_index: ___, sequence_number: ____, ...rest } = event;
  if (rest.item_id === call.id) rest.item_id = call.call_id;
  if (rest.item?.id === call.id) rest.item = withoutId(rest.item);
  if (!rest.response) return rest;
  return {
    ...rest,
    response: {
      ...rest.response,
      output: rest.response.output.map((item: Any) => (item.id === call.id ? withoutId(item) : item)),
    },
  };
}

function withoutId({ id: _, ...item }: Any): Any {
  return item;
}

/** withoutIds returns an event whose items have no ids, neither where they stand nor where they are named. */
function withoutIds(event: Any): Any {
  const bare = ({ id: _, ...item }: Any) => item;
  const { item_id: __, ...rest } = event;
  return {
    ...rest,
    ...(event.item && { item: bare(event.item) }),
    ...(event.response && { response: { ...event.response, output: event.response.output.map(bare) } }),
  };
}
