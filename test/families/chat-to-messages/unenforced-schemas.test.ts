/** Callers with the schema of a tree get an answer of Claude's, whose API refuses a schema that refers to itself. */
import { expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { twoFamiliesStage } from "../../support/upstreams/families-stage.ts";
import {
  anthropicError,
  anthropicFrames,
  blockEvents,
  messageAnswer,
  messageEnd,
  messageStart,
} from "../../support/vendors.ts";

const { upstream, gateway } = twoFamiliesStage();

const tree = {
  type: "object",
  properties: { root: { $ref: "#/$defs/Node" } },
  required: ["root"],
  $defs: {
    Node: {
      type: "object",
      properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/Node" } } },
    },
  },
};
const answer = { root: { name: "a", children: [{ name: "b", children: [] }] } };

/** Answers as Claude does: by a call where one is demanded. */
function answerWithTree(): void {
  upstream.script = (exchange) => {
    const { stream, tool_choice: choice, output_config: config, tools } = exchange.asked;
    if (config?.format ?? tools?.some(({ strict }: { strict?: boolean }) => strict)) {
      const why = "Circular reference detected in schema definitions: Node -> Node.";
      return exchange.json(400, anthropicError("invalid_request_error", why));
    }
    const call = { type: "tool_use", id: "toolu_1", name: choice?.name ?? tools[0].name };
    if (!stream) return exchange.json(200, messageAnswer([{ ...call, input: answer }], "tool_use"));
    const delta = { type: "input_json_delta", partial_json: JSON.stringify(answer) };
    const events = [messageStart(), ...blockEvents(0, { ...call, input: {} }, delta), ...messageEnd("tool_use")];
    exchange.head(200, eventStream);
    exchange.end(anthropicFrames(...events));
  };
}

const messages = [{ role: "user", content: "Which tree?" }];
const format = { type: "json_schema", name: "tree", schema: tree, strict: true };
const chat = { model: "claude", messages, response_format: { type: "json_schema", json_schema: format } };
const response = { model: "claude", input: "Which tree?", store: false, text: { format } };

/** contentIn returns the JSON of which a chat stream has the pieces. */
function contentIn(text: string): unknown {
  const frames = text.split("\n").filter((line) => line.startsWith("data: {"));
  const chunks = frames.map((line) => JSON.parse(line.slice(6)));
  return JSON.parse(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join(""));
}

test("the answer of a chat is the tree, whole and streamed", async () => {
  answerWithTree();
  const whole = await ask(gateway, "/v1/chat/completions", chat);
  expect(whole.status, whole.text).toBe(200);
  const [choice] = JSON.parse(whole.text).choices;
  expect([JSON.parse(choice.message.content), choice.finish_reason]).toEqual([answer, "stop"]);
  const streamed = await ask(gateway, "/v1/chat/completions", { ...chat, stream: true });
  expect(contentIn(streamed.text)).toEqual(answer);
});

test("the answer of a response is the tree", async () => {
  answerWithTree();
  const { status, text } = await ask(gateway, "/v1/responses", response);
  expect(status, text).toBe(200);
  const [{ content }] = JSON.parse(text).output;
  expect(JSON.parse(content[0].text)).toEqual(answer);
});

test("a strict tool of a tree can be called", async () => {
  answerWithTree();
  const tools = [{ type: "function", function: { name: "grow", parameters: tree, strict: true } }];
  const { status, text, dropped } = await ask(gateway, "/v1/chat/completions", { model: "claude", messages, tools });
  expect([status, dropped], text).toEqual([200, "tools[0].function.strict"]);
  expect(JSON.parse(text).choices[0].message.tool_calls[0].function.name).toBe("grow");
});
