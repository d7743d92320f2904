/**
 * Servers of responses have items in other forms: a text without its part, arguments as an object, a call without its own id. OpenAI's SDK
 * reads each of them, whole and streamed, as it reads OpenAI's.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { changesOfResponse, usualEvent } from "../../../src/providers/responses/usual-items.ts";
import { responsesStage } from "../../support/upstreams/responses-stage.ts";
import { outputMessage, responseAnswer } from "../../support/vendors.ts";

type Json = Record<string, unknown>;

const { upstream, gateway, streams } = responsesStage();

const call: Json = { id: "fc_1", type: "function_call", status: "completed", call_id: "call_1", name: "get" };
const idAlone: Json = { id: "call_1", type: "function_call", status: "completed", name: "get" };
const { id: __, ...withoutId } = call;
const { annotations: _, ...bare } = (outputMessage("Hello").content as Json[])[0] as Json;
const thought = { id: "rs_1", type: "reasoning" };
const told = { type: "summary_text", text: "Hm." };

const usual = {
  thought: { type: "reasoning", summary: [] },
  message: { type: "message", role: "assistant", content: [{ type: "output_text", text: "Hello", annotations: [] }] },
  call: { type: "function_call", call_id: "call_1", name: "get", arguments: '{"a":1}' },
};

const forms: readonly [string, Json, object][] = [
  ["a text without its part", { ...outputMessage("Hello"), content: "Hello" }, usual.message],
  ["a text among parts", { ...outputMessage("Hello"), content: ["Hello"] }, usual.message],
  [
    "a part of the chat's type",
    { ...outputMessage("Hello"), content: [{ type: "text", text: "Hello" }] },
    usual.message,
  ],
  ["a part without annotations", { ...outputMessage("Hello"), content: [bare] }, usual.message],
  ["a message without a type", { id: "msg_1", role: "assistant", content: "Hello" }, usual.message],
  ["a message without a role", { id: "msg_1", type: "message", content: "Hello" }, usual.message],
  [
    "a message without an id",
    { ...outputMessage("Hello"), id: undefined },
    { ...usual.message, id: expect.any(String) },
  ],
  [
    "a message whose id is empty",
    { ...outputMessage("Hello"), id: "" },
    { ...usual.message, id: expect.stringMatching(/^msg/) },
  ],
  ["a search without an id", { type: "web_search_call", status: "completed" }, { id: expect.stringMatching(/^item/) }],
  ["arguments as an object", { ...call, arguments: { a: 1 } }, usual.call],
  ["a call with its item's id alone", { ...idAlone, arguments: '{"a":1}' }, usual.call],
  ["a call without arguments", call, { ...usual.call, arguments: "{}" }],
  ["a call with empty arguments", { ...call, arguments: "" }, { ...usual.call, arguments: "{}" }],
  ["a call without an id", withoutId, { ...usual.call, arguments: "{}" }],
  ["reasoning without a summary", thought, usual.thought],
  ...[told.text, [told.text], { text: told.text }, [told]].map((summary): [string, Json, object] => [
    `reasoning with the summary ${JSON.stringify(summary)}`,
    { ...thought, id: "rs_2", summary },
    { ...usual.thought, summary: [told] },
  ]),
];

describe.each(forms)("%s", (_, item, expected) => {
  const client = () => new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey, maxRetries: 0 });
  const asked = { model: "m", input: "hi", store: false };
  const response = responseAnswer([thought, item]);

  test("of a whole response", async () => {
    upstream.script = (exchange) => exchange.json(200, response);
    const { output } = await client().responses.create(asked);
    expect(output).toMatchObject([usual.thought, expected]);
  });

  test("of a stream, whose items come before its end", async () => {
    streams([
      { type: "response.created", response: { ...response, output: [] } },
      { type: "response.output_item.done", output_index: 0, item: thought },
      { type: "response.output_item.done", output_index: 1, item },
      { type: "response.completed", response },
    ]);
    const stream = client().responses.stream(asked);
    const done: unknown[] = [];
    for await (const event of stream) if (event.type === "response.output_item.done") done.push(event.item);
    expect(done).toMatchObject([usual.thought, expected]);
    expect((await stream.finalResponse()).output).toMatchObject([usual.thought, expected]);
  });
});

test("a call that ends without its arguments has those of its pieces", async () => {
  const at = { output_index: 0, item_id: "fc_1" };
  streams([
    { type: "response.output_item.added", ...at, item: { ...call, id: "fc_1", status: "in_progress" } },
    { type: "response.function_call_arguments.delta", ...at, delta: '{"a":1}' },
    { type: "response.output_item.done", ...at, item: { ...call, id: "fc_1" } },
    { type: "response.completed", response: responseAnswer([]) },
  ]);
  const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey, maxRetries: 0 });
  const response = await client.responses.stream({ model: "m", input: "hi", store: false }).finalResponse();
  expect(response.output).toMatchObject([usual.call]);
});

test("an item as OpenAI sends it passes as it came", () => {
  const output = [
    { ...thought, summary: [] },
    outputMessage("Hello"),
    { ...call, arguments: '{"a": 1}' },
  ] as JsonObject[];
  expect(changesOfResponse({ output, status: "completed" }, "responses")).toBeUndefined();
  for (const event of [{ item: output[1] }, { response: { output } }, { delta: "He" }] as JsonObject[]) {
    expect(usualEvent(event)).toBe(event);
  }
});

test("a whole response without a status is completed", async () => {
  upstream.script = (exchange) => exchange.json(200, responseAnswer([outputMessage("Hello")], { status: undefined }));
  const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey, maxRetries: 0 });
  expect(await client.responses.create({ model: "m", input: "hi", store: false })).toMatchObject({
    status: "completed",
  });
});
