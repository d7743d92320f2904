/** Inputs of calls, which are a text in some families and an object in others, keep what they say on the way from one to the other. */
import { describe, expect, test } from "vitest";
import { ask } from "../support/ask.ts";
import { call } from "../support/clients/families.ts";
import { allFamiliesStage } from "../support/upstreams/families-stage.ts";
import { messageAnswer, outputMessage, respond, responseAnswer } from "../support/vendors.ts";

const { upstream, gateway } = allFamiliesStage();

/** Each text of arguments, and the object that it is where one is needed. */
const inputs: Readonly<Record<string, readonly [text: string, input: object]>> = {
  "half an emoji in a text": ['{"a":"x\\ud83d y","b":[{"c":"\\ude00"}]}', { a: "x\ufffd y", b: [{ c: "\ufffd" }] }],
  "half an emoji in a name": ['{"x\\ud83d":1}', { "x\ufffd": 1 }],
  "half an emoji behind a whole one": ['{"a":"\\ud83d\\ude00\\ud83d"}', { a: "\ud83d\ude00\ufffd" }],
  "a backslash before what looks like half an emoji": ['{"a":"\\\\ud83d"}', { a: "\\ud83d" }],
  "an object that is written as a text": [JSON.stringify('{"a":"\\ud83d"}'), { a: "\ufffd" }],
  "an object that was cut off": ['{"a":"Os', { _raw: '{"a":"Os' }],
  "a list": ["[1]", { _raw: "[1]" }],
  "a number beyond a double": ['{"a":1e400}', { _raw: '{"a":1e400}' }],
  "a key that no object may have": ['{"__proto__":{"a":1}}', { _raw: '{"__proto__":{"a":1}}' }],
  "nothing that JSON has": ["{'a': None}", { _raw: "{'a': None}" }],
  null: ["null", {}],
  nothing: [" ", {}],
};

describe("an earlier call's input reaches a server of messages", () => {
  for (const [name, [text, input]] of Object.entries(inputs)) {
    test(`from a caller of chat: ${name}`, async () => {
      const calls = [{ id: "c1", type: "function", function: { name: "f", arguments: text } }];
      const result = { role: "tool", tool_call_id: "c1", content: "done" };
      const messages = [
        { role: "user", content: "go" },
        { role: "assistant", content: null, tool_calls: calls },
        result,
      ];
      const { status, json } = await ask(gateway, "/v1/chat/completions", { model: "messages", messages });
      expect(status, JSON.stringify(json)).toBe(200);
      expect(inputOf(upstream.lastAsked.messages)).toEqual(input);
    });

    test(`from a caller of responses: ${name}`, async () => {
      const called = { type: "function_call", call_id: "c1", name: "f", arguments: text };
      const result = { type: "function_call_output", call_id: "c1", output: "done" };
      const asked = { model: "messages", input: [{ role: "user", content: "go" }, called, result] };
      const { status, json } = await ask(gateway, "/v1/responses", asked);
      expect(status, JSON.stringify(json)).toBe(200);
      expect(inputOf(upstream.lastAsked.messages)).toEqual(input);
    });
  }
});

// biome-ignore lint/suspicious/noExplicitAny: the blocks of messages differ.
function inputOf(messages: any): unknown {
  // biome-ignore lint/suspicious/noExplicitAny: the blocks of messages differ.
  return messages.flatMap(({ content }: any) => content).find(({ type }: any) => type === "tool_use").input;
}

describe("a call's input reaches callers whole", () => {
  const halves = Object.entries(inputs).filter(([name]) => name.startsWith("half"));
  for (const [name, [text, input]] of halves) {
    test(`of a server of messages: ${name}`, async () => {
      const answer = messageAnswer([{ type: "tool_use", id: "toolu_1", name: "f", input: "@" }] as never, "tool_use");
      upstream.script = (exchange) => {
        exchange.head(200, { "content-type": "application/json" });
        exchange.end(JSON.stringify(answer).replace('"@"', () => text));
      };
      const asked = { model: "messages", stream: false, apiKey: gateway.apiKey } as const;
      const chat = JSON.parse((await call(gateway, { family: "chat", ...asked })).text);
      expect(JSON.parse(chat.choices[0].message.tool_calls[0].function.arguments)).toEqual(input);
      const { output } = JSON.parse((await call(gateway, { family: "responses", ...asked })).text);
      expect(JSON.parse(output[0].arguments)).toEqual(input);
    });

    test(`of servers of chat and responses: ${name}`, async () => {
      upstream.script = (exchange) => {
        const item = {
          id: "fc_1",
          type: "function_call",
          status: "completed",
          call_id: "c1",
          name: "f",
          arguments: text,
        };
        if (exchange.path.endsWith("/responses")) return respond(exchange, responseAnswer([outputMessage("ok"), item]));
        const calls = [{ id: "c1", type: "function", function: { name: "f", arguments: text } }];
        const message = { role: "assistant", content: null, tool_calls: calls };
        exchange.json(200, {
          id: "c",
          object: "chat.completion",
          created: 1,
          model: "m",
          choices: [{ index: 0, message, finish_reason: "tool_calls" }],
        });
      };
      for (const model of ["chat", "responses"]) {
        const { text: told } = await call(gateway, {
          family: "messages",
          model,
          stream: false,
          apiKey: gateway.apiKey,
        });
        expect(JSON.parse(told).content.at(-1)).toMatchObject({ type: "tool_use", input });
      }
    });
  }
});
