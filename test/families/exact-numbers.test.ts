/**
 * Numbers that no double holds keep their digits in what the gateway hands on, through every pair of families: the inputs of calls, in the
 * history and in answers, and the schemas of tools and of answers.
 */
import { describe, expect, test } from "vitest";
import { fitTools } from "../../src/providers/profile/schemas/fit-tools.ts";
import { runNow } from "../../src/runtime/cooperative.ts";
import { parsedJson } from "../../src/wire/json.ts";
import { ask, eventsIn } from "../support/ask.ts";
import { doorsOf, endpoints } from "../support/clients/endpoints.ts";
import { allFamiliesStage } from "../support/upstreams/families-stage.ts";
import {
  anthropicFrames,
  blockEvents,
  chatAnswer,
  chatChunk,
  messageAnswer,
  messageEnd,
  messageStart,
  respond,
  responseAnswer,
} from "../support/vendors.ts";

const { upstream, gateway } = allFamiliesStage();

/** Numbers as they are written. A double holds the last ones. */
const numbers = [
  ...["1234567890123456789", "-9223372036854775808", "18446744073709551615", "9007199254740993"],
  ...["0.1000000000000000055", "3.14159265358979323846", "1234567890.1234567891", "1.00000000000000000001e-7"],
  ...["9007199254740991", "0.1", "1e-7", "-17"],
];

// biome-ignore lint/suspicious/noExplicitAny: what is sent and heard differs from family to family.
type Any = any;

const { rawJSON } = JSON as unknown as { rawJSON(text: string): Any };

/** input is what `JSON.stringify` writes with these digits, in an object and in a list. */
const input = {
  ...Object.fromEntries(numbers.map((number, i) => [`n${i}`, rawJSON(number)])),
  rows: [{ ids: numbers.map(rawJSON) }],
};
const inputText = JSON.stringify(input);

/** written returns the value of a text with each number as it is written there. */
function written(text: string): Any {
  const reviver = (_key: string, value: unknown, { source }: { source: string }) =>
    typeof value === "number" ? { number: source } : value;
  return JSON.parse(text, reviver as Parameters<typeof JSON.parse>[1]);
}

/** rewritten returns the text of a part of a value that `written` returned. */
function rewritten(value: Any): string {
  return JSON.stringify(value, (_key, one) => (typeof one?.number === "string" ? rawJSON(one.number) : one));
}

const schema = {
  type: "object",
  properties: { id: { type: "integer", maximum: rawJSON("9223372036854775807"), enum: numbers.map(rawJSON) } },
  required: ["id"],
};

type Family = "chat" | "messages" | "responses";
const families: readonly Family[] = ["chat", "messages", "responses"];

interface Spoken {
  readonly path: string;
  readonly body: Any;
}

/** asks is a request of each family with an earlier call, its result, and a tool. */
const asks: Readonly<Record<Family, Spoken>> = {
  chat: {
    path: "/v1/chat/completions",
    body: {
      messages: [
        { role: "user", content: "go" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: inputText } }],
        },
        { role: "tool", tool_call_id: "c1", content: "done" },
      ],
      tools: [{ type: "function", function: { name: "f", parameters: schema } }],
    },
  },
  messages: {
    path: "/v1/messages",
    body: {
      max_tokens: 100,
      messages: [
        { role: "user", content: "go" },
        { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "f", input }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "done" }] },
      ],
      tools: [{ name: "f", input_schema: schema }],
    },
  },
  responses: {
    path: "/v1/responses",
    body: {
      store: false,
      input: [
        { role: "user", content: "go" },
        { type: "function_call", call_id: "c1", name: "f", arguments: inputText },
        { type: "function_call_output", call_id: "c1", output: "done" },
      ],
      tools: [{ type: "function", name: "f", parameters: schema, strict: false }],
    },
  },
};

/** askedInputs read the earlier call's input of a request, as text. */
const askedInputs: Readonly<Record<Family, (asked: Any) => string>> = {
  chat: ({ messages }) => messages[1].tool_calls[0].function.arguments,
  messages: ({ messages }) => rewritten(messages[1].content.find(({ type }: Any) => type === "tool_use").input),
  responses: ({ input }) => input.find(({ type }: Any) => type === "function_call").arguments,
};

const askedSchemas: Readonly<Record<Family, (tool: Any) => Any>> = {
  chat: (tool) => tool.function.parameters,
  messages: (tool) => tool.input_schema,
  responses: (tool) => tool.parameters,
};

for (const from of families)
  for (const to of families)
    for (const long of [false, true]) {
      test(`a request of ${from} to a server of ${to}${long ? ", a long one," : ""} keeps the digits`, async () => {
        const { path, body } = asks[from];
        const answer = await ask(gateway, path, { model: to, ...body, ...(long ? longer(body) : {}) });
        expect(answer.status, answer.text).toBe(200);
        const asked = written(upstream.received.at(-1)?.body.toString() ?? "");
        expect(askedInputs[to](asked)).toBe(inputText);
        const { properties } = askedSchemas[to](asked.tools[0]);
        expect(rewritten(properties)).toBe(JSON.stringify(schema.properties));
      });
    }

/** longer returns the first list of the body with more text than is read at once. */
function longer({ messages, input }: Any): Any {
  const told = { role: "user", content: Array(12_000).fill("and on").join(" ") };
  return messages ? { messages: [...messages, told] } : { input: [...input, { ...told }] };
}

type Form = "text" | "object";

/** answers call the tool, with the input as its family has it or in the other form, which some servers send. */
const answers: Readonly<Record<Family, (exchange: Any, form: Form) => void>> = {
  chat(exchange, form) {
    const args = form === "text" ? inputText : input;
    const call = { id: "c1", type: "function", function: { name: "f", arguments: args } };
    if (!exchange.asked.stream) exchange.json(200, chatAnswer({ content: null, tool_calls: [call] }, "tool_calls"));
    else
      exchange.stream(
        chatChunk({ role: "assistant", tool_calls: [{ index: 0, ...call }] }),
        chatChunk({}, "tool_calls"),
      );
  },
  messages(exchange, form) {
    const head = { type: "tool_use", id: "c1", name: "f" };
    if (!exchange.asked.stream) {
      exchange.json(200, messageAnswer([{ ...head, input: form === "text" ? inputText : input }], "tool_use"));
      return;
    }
    const pieces = [inputText.slice(0, 25), inputText.slice(25)].map((partial_json) => ({
      ...{ type: "input_json_delta", partial_json },
    }));
    const events =
      form === "text" ? blockEvents(0, { ...head, input: {} }, ...pieces) : blockEvents(0, { ...head, input });
    exchange.head(200, { "content-type": "text/event-stream" });
    exchange.end(anthropicFrames(messageStart(), ...events, ...messageEnd("tool_use")));
  },
  responses(exchange) {
    const call = { type: "function_call", id: "fc_1", status: "completed", call_id: "c1", name: "f" };
    respond(exchange, responseAnswer([{ ...call, arguments: inputText }]));
  },
};

const heardWhole: Readonly<Record<Family, (text: string) => string>> = {
  chat: (text) => JSON.parse(text).choices[0].message.tool_calls[0].function.arguments,
  messages: (text) => rewritten(written(text).content.at(-1).input),
  responses: (text) => JSON.parse(text).output.at(-1).arguments,
};

const heardPieces: Readonly<Record<Family, (text: string) => string>> = {
  chat: (text) =>
    eventsIn(text)
      .map(({ choices }) => choices[0]?.delta?.tool_calls?.[0]?.function?.arguments ?? "")
      .join(""),
  messages: (text) => {
    const events = eventsIn(text);
    const pieces = events.map(({ delta }) => delta?.partial_json ?? "").join("");
    const begun = text.split("\n").find((line) => line.includes('"content_block_start"')) ?? "";
    return pieces || rewritten(written(begun.slice(6)).content_block.input);
  },
  responses: (text) =>
    eventsIn(text)
      .findLast(({ type }) => type === "response.completed")
      .response.output.at(-1).arguments,
};

describe("an answer", () => {
  for (const of of families)
    for (const form of of === "responses" ? (["text"] as const) : (["text", "object"] as const))
      for (const to of families)
        for (const stream of [false, true])
          test(`of ${of} with its input as ${form} keeps the digits to ${to}, ${stream ? "streamed" : "whole"}`, async () => {
            upstream.script = (exchange) => answers[of](exchange, form);
            const { path, body } = asks[to];
            const { status, text } = await ask(gateway, path, { model: of, ...body, ...(stream ? { stream } : {}) });
            expect(status, text).toBe(200);
            expect((stream ? heardPieces : heardWhole)[to](text)).toBe(inputText);
          });
});

test("a schema of the answer keeps its digits, from chat and responses to each other", async () => {
  const messages = [{ role: "user", content: "go" }];
  const json_schema = { name: "s", schema, strict: false };
  const chat = { messages, response_format: { type: "json_schema", json_schema } };
  const responses = { input: messages, store: false, text: { format: { type: "json_schema", ...json_schema } } };
  for (const model of ["chat", "responses"]) {
    for (const [path, body] of Object.entries({ "/v1/chat/completions": chat, "/v1/responses": responses })) {
      expect((await ask(gateway, path, { model, ...body } as Any)).status).toBe(200);
      const { response_format, text } = written(upstream.received.at(-1)?.body.toString() ?? "");
      const format = response_format?.json_schema ?? text.format;
      expect(rewritten(format.schema.properties)).toBe(JSON.stringify(schema.properties));
    }
  }
});

for (const { name, call } of doorsOf(endpoints.messages).slice(1))
  test(`${name}, which knows doubles only, tells the nearest ones, whole and streamed`, async () => {
    const { max_tokens, messages, tools } = asks.messages.body;
    upstream.script = (exchange) => answers.messages(exchange, "object");
    const doubles = JSON.parse(inputText);
    const request = {
      model: "messages",
      max_tokens,
      messages: messages.slice(0, 1),
      tools: JSON.parse(JSON.stringify(tools)),
    };
    const whole = await call(gateway, { request });
    expect(whole.refused).toBeUndefined();
    expect((whole.answers[0] as Any).content.at(-1).input).toEqual(doubles);
    const { answers: events, refused } = await call(gateway, { request, stream: true });
    expect(refused).toBeUndefined();
    const told = events
      .map(({ content_block, delta }: Any) => delta?.partial_json ?? content_block?.input)
      .filter(Boolean);
    expect(JSON.stringify(told)).not.toContain("rawJSON");
    expect(JSON.stringify(told)).toContain("n11");
  });

test("a schema with such numbers in place of names and maps goes on without them", async () => {
  const number = parsedJson("1234567890123456789", true);
  const demands = { required: ["a b", number], dependentRequired: { "a b": [number] } };
  const parameters = { type: "object", properties: { "a b": {} }, ...demands, allOf: [{ properties: number }] };
  const tools = [{ type: "function", function: { name: "f", parameters } }];
  for (const model of families) {
    const body = { model, messages: [{ role: "user", content: "go" }], tools };
    expect((await ask(gateway, "/v1/chat/completions", body as Any)).status).toBe(200);
  }
  for (const schemas of ["plain", "nullable"] as const) {
    const fitted = runNow(fitTools(tools as Any, { schemas }));
    const plain = { type: "object", properties: { "a b": {} }, required: ["a b"] };
    expect(fitted?.tools).toMatchObject([{ function: { parameters: plain } }]);
    expect(JSON.stringify(fitted)).not.toContain("rawJSON");
  }
});

test("a number in place of a schema is refused, however many digits it has", async () => {
  for (const number of ["17", "1234567890123456789"]) {
    const json_schema = { name: "s", schema: rawJSON(number) };
    const body = { messages: [{ role: "user", content: "go" }], response_format: { type: "json_schema", json_schema } };
    const { status, json } = await ask(gateway, "/v1/chat/completions", { model: "chat", ...body });
    expect([status, json.error?.param]).toEqual([400, "response_format.json_schema.schema"]);
  }
});

test.each([400, 422])("a server's refusal is told where it quotes such a number, with status %s", async (code) => {
  const detail = [{ loc: ["body"], msg: "It does not fit.", input: { id: rawJSON("1234567890123456789") } }];
  const error = { message: "It does not fit.", metadata: { ids: [rawJSON("1234567890123456789")] } };
  for (const told of [{ detail }, { error }]) {
    upstream.script = (exchange) => exchange.json(code, told as Any);
    for (const family of families) {
      const { path, body } = asks[family];
      const { status, text } = await ask(gateway, path, { model: family, ...body });
      expect(status, text).toBe(code);
      expect(text).toContain("It does not fit.");
    }
  }
});

test("numbers that the gateway reads stay doubles beside them", async () => {
  const { path, body } = asks.messages;
  const settings = { temperature: rawJSON("0.5000000000000000001"), max_tokens: 50 };
  const { status } = await ask(gateway, path, { model: "chat", ...body, ...settings });
  expect(status).toBe(200);
  expect(upstream.lastAsked).toMatchObject({ temperature: 0.5, max_tokens: 50 });
});
