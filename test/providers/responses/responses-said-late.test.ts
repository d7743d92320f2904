/**
 * Servers that send a text or a call's arguments whole instead of in pieces, or name and number the items of a
 * response in their own ways. The words reach callers of every family once.
 */
import { describe, expect, test } from "vitest";
import type { ProfileConfig } from "../../../src/config/schema-profile.ts";
import { call } from "../../support/clients/families.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { paidModel } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { anthropicFrames, outputMessage, responseAnswer, responseEvents } from "../../support/vendors.ts";

// biome-ignore lint/suspicious/noExplicitAny: what the gateway says is looked into as it came.
type Any = any;
type Json = Record<string, unknown>;

const { upstream, gateway } = scriptedStage((base_url) => {
  const profile: ProfileConfig = {
    operations: { chat: "/chat/completions", responses: "/responses" },
    responses_items: "any",
    responses: "always",
  };
  return {
    embeddedModels: false,
    upstreams: [{ name: "far", kind: "openai", base_url, profile }],
    models: [paidModel("thinker", "far", { max_output_tokens: 1000 })],
  };
});

function script(...events: readonly Json[]): void {
  upstream.script = (exchange) => {
    exchange.head(200, eventStream);
    exchange.end(anthropicFrames(...events));
  };
}

const city = '{"city":"Rome"}';
const message = outputMessage("Hello");
const called = { id: "fc_v1", type: "function_call", call_id: "call_1", name: "weather", arguments: city };
const created = { type: "response.created", response: responseAnswer([], { status: "in_progress", usage: null }) };
const completed = (...output: Json[]) => ({ type: "response.completed", response: responseAnswer(output) });
const added = (item: Json, output_index = 0) => ({ type: "response.output_item.added", output_index, item });
const ended = (item: Json, output_index = 0) => ({ type: "response.output_item.done", output_index, item });
const at = { output_index: 0, content_index: 0, item_id: "msg_v1" };
const argumentsDone = { type: "response.function_call_arguments.done", ...at, item_id: "fc_v1", arguments: city };

/** Returns the events of a stream, or the only answer. */
async function ask(family: "chat" | "messages" | "responses", stream: boolean): Promise<Any[]> {
  const answer = await call(gateway, { family, model: "thinker", stream, apiKey: gateway.apiKey });
  expect([answer.status, answer.text]).toEqual([200, expect.not.stringContaining("failed:")]);
  if (!stream) return [JSON.parse(answer.text)];
  return [...answer.text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json as string));
}

/** The text, and the arguments of the call, as the caller puts them together. */
async function heard(family: "chat" | "messages" | "responses", stream: boolean): Promise<string> {
  const told = await ask(family, stream);
  if (family === "responses") {
    const { output } = stream ? told.at(-1).response : told[0];
    return output.map((item: Any) => item.content?.[0].text ?? item.arguments).join("");
  }
  if (family === "chat") {
    const said = told.map(({ choices: [choice] }) => choice?.delta ?? choice?.message ?? {});
    return said.map((one) => (one.content ?? "") + (one.tool_calls?.[0].function.arguments ?? "")).join("");
  }
  if (stream) return told.map(({ delta }) => delta?.text ?? delta?.partial_json ?? "").join("");
  return told[0].content.map((block: Any) => block.text ?? JSON.stringify(block.input)).join("");
}

const events: readonly [string, string, Json[]][] = [
  ["a text told whole", "Hello", [created, { type: "response.output_text.done", ...at, text: "Hello" }, completed()]],
  [
    "a text told in its part",
    "Hello",
    [created, { type: "response.content_part.done", ...at, part: (message.content as Json[])[0] }, completed()],
  ],
  ["arguments told whole", city, [created, added({ ...called, arguments: "" }), argumentsDone, completed()]],
  [
    "arguments told whole, of an item that ends without them",
    city,
    [created, added({ ...called, arguments: "" }), argumentsDone, ended({ ...called, arguments: "" }), completed()],
  ],
  [
    "an end by OpenRouter's name",
    "Hello",
    [...responseEvents(responseAnswer([message])).slice(0, -1), { ...completed(message), type: "response.done" }],
  ],
  [
    "two items at one place",
    `Hello${city}`,
    [
      ...responseEvents(responseAnswer([message, called]))
        .slice(0, -1)
        .map((event) => ("output_index" in event ? { ...event, output_index: 0 } : event)),
      completed(),
    ],
  ],
  [
    "a final output without the reasoning before it",
    "Hello",
    [
      created,
      added({ id: "rs_v1", type: "reasoning", summary: [] }),
      ended({ id: "rs_v1", type: "reasoning", summary: [] }),
      added({ ...message, content: [] }, 1),
      { type: "response.output_text.delta", ...at, output_index: 1, delta: "Hello" },
      ended(message, 1),
      completed(message),
    ],
  ],
];

describe.each(["chat", "messages", "responses"] as const)("callers of %s hear once", (family) => {
  test.each(events)("%s", async (_, text, events) => {
    script(...events);
    expect([await heard(family, true), await heard(family, false)]).toEqual([text, text]);
  });
});

test("an item that ends without its arguments is passed on with them: agents read that event alone", async () => {
  script(created, added({ ...called, arguments: "" }), argumentsDone, ended({ ...called, arguments: "" }), completed());
  const { item } = (await ask("responses", true)).find(({ type }) => type === "response.output_item.done");
  expect([item.arguments, item.call_id, item.name]).toEqual([city, "call_1", "weather"]);
});

test("items at one place get places of their own", async () => {
  script(...(events.find(([name]) => name === "two items at one place")?.[2] ?? []));
  const told = (await ask("responses", true)).filter(({ type }) => type.startsWith("response.output_item."));
  expect(told.map(({ output_index, item }) => [output_index, item.type])).toEqual([
    [0, "message"],
    [0, "message"],
    [1, "function_call"],
    [1, "function_call"],
  ]);
});

test.each(["chat", "messages"] as const)("a string in place of a message's parts reaches %s", async (family) => {
  script(created, completed({ ...message, content: "Hello" }));
  expect([await heard(family, true), await heard(family, false)]).toEqual(["Hello", "Hello"]);
});

test.each(["chat", "messages"] as const)(
  "arguments as an object, and a call with one id only, reach %s",
  async (family) => {
    const { call_id: _, ...bare } = called;
    script(created, completed({ ...bare, arguments: { city: "Rome" } }));
    expect([await heard(family, true), await heard(family, false)]).toEqual([city, city]);
    const [answer] = await ask(family, false);
    expect(answer.content?.[0].id ?? answer.choices[0].message.tool_calls[0].id).toBe("fc_v1");
  },
);

test.each<[string, Json]>([
  ["a text", { response: responseAnswer([], { status: "failed", error: "It broke." }) }],
  ["`last_error`", { response: responseAnswer([], { status: "failed", last_error: { message: "It broke." } }) }],
  ["beside the response", { response: { status: "failed" }, error: { message: "It broke." } }],
  ["in the event", { code: "server_error", message: "It broke." }],
])("a failed response's error as %s reaches the caller", async (_, failed) => {
  script(created, { type: "response.failed", ...failed });
  const answer = await call(gateway, { family: "responses", model: "thinker", stream: false, apiKey: gateway.apiKey });
  expect([answer.status, answer.text]).toEqual([502, expect.stringContaining("It broke.")]);
});

test("a call whose name is there at its end alone begins then, with its whole input", async () => {
  const nameless = { ...called, name: "", arguments: "" };
  const delta = { type: "response.function_call_arguments.delta", output_index: 0, item_id: "fc_v1", delta: city };
  script(created, added(nameless), delta, ended(called), completed(called));
  const calls = (await ask("chat", true)).flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
  expect(calls[0]).toMatchObject({ index: 0, id: "call_1", function: { name: "weather" } });
  expect(calls.map((piece: Any) => piece.function.arguments).join("")).toBe(city);
  const blocks = (await ask("messages", true)).filter(({ type }) => type.startsWith("content_block"));
  expect(blocks[0].content_block).toMatchObject({ type: "tool_use", id: "call_1", name: "weather" });
  expect(blocks.map((event: Any) => event.delta?.partial_json ?? "").join("")).toBe(city);
});
