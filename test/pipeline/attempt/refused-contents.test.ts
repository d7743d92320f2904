/**
 * What single servers of chat refuse of a request that most take, in their own words: the request is sent again as they take it, in the
 * same call, and the next ones at once.
 */
import { expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { hurriedClock } from "../../support/gateway.ts";
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { paidModel } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { answerAsOpenAi } from "../../support/vendors.ts";

// biome-ignore lint/suspicious/noExplicitAny: what a request holds differs from server to server.
type Asked = any;

const user = { role: "user", content: "hi" };
const call = { id: "a", type: "function", function: { name: "look", arguments: "{}" } };
const calling = [user, { role: "assistant", content: null, tool_calls: [call] }];
const called = [...calling, { role: "tool", tool_call_id: "a", content: "ok" }];
const tools = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }];
const hasNull = ({ messages }: Asked) => messages.some(({ content = null }: Asked) => content === null);
const named = { messages: [{ ...user, name: "Ann" }] };
const isNamed = ({ messages }: Asked) => messages[0].name !== undefined;

interface Refused {
  readonly asked: Asked;
  readonly refuses: (asked: Asked) => boolean;
  readonly error: object;
  /** sent is what the server takes then. */
  readonly sent: object;
  readonly dropped?: string;
  /** Whether each call is refused once. */
  readonly isEach?: true;
}

const worded = (message: string) => ({ error: { message, type: "invalid_request_error" } });
const empty = { messages: [user, { role: "assistant", content: "" }, user] };
const isEmpty = ({ messages }: Asked) => messages[1].content === "";
const hasSwitch = (key: string) => (asked: Asked) => asked[key] !== undefined;

const refused: Readonly<Record<string, Refused>> = {
  "a content of null, in OpenAI's words": {
    ...{ asked: { messages: called, tools }, refuses: hasNull },
    error: worded("Invalid type for 'messages[1].content': expected a string, but got null."),
    sent: { messages: [user, { ...called[1], content: "" }, called[2]] },
  },
  "a content of null, in Pydantic's": {
    ...{ asked: { messages: called, tools }, refuses: hasNull },
    error: {
      detail: [{ type: "string_type", loc: ["body", "messages", 1, "content"], msg: "Input should be a valid string" }],
    },
    sent: { messages: [user, { ...called[1], content: "" }, called[2]] },
  },
  "a content that is left out, in Alibaba's": {
    asked: { messages: [user, { role: "assistant", tool_calls: [call] }, called[2]], tools },
    refuses: hasNull,
    error: worded("<400> InternalError.Algo.InvalidParameter: The content field is a required field."),
    sent: { messages: [user, { role: "assistant", content: "", tool_calls: [call] }, called[2]] },
  },
  "an empty turn, in Moonshot's": {
    ...{ asked: empty, refuses: isEmpty },
    error: worded("the message at position 1 with role 'assistant' must not be empty"),
    sent: { messages: [user, user] },
  },
  "an empty turn, in MiniMax's": {
    ...{ asked: empty, refuses: isEmpty },
    error: {
      type: "error",
      error: { type: "bad_request_error", message: "invalid params, chat content is empty (2013)" },
    },
    sent: { messages: [user, user] },
  },
  "a turn without what was thought": {
    asked: { messages: called, tools },
    refuses: ({ messages }) => messages[1].reasoning_content === undefined,
    error: worded("thinking is enabled but reasoning_content is missing in assistant tool call message at index 1"),
    sent: { messages: [user, { ...called[1], reasoning_content: " " }, called[2]] },
  },
  "the name of who speaks, in Cerebras' words": {
    ...{ asked: named, refuses: isNamed, sent: { messages: [user] }, dropped: "messages[0].name" },
    error: {
      message: "property 'messages.0.name' is unsupported",
      type: "invalid_request_error",
      code: "wrong_api_format",
    },
  },
  "the name of who speaks, in Groq's": {
    ...{ asked: named, refuses: isNamed, sent: { messages: [user] }, dropped: "messages[0].name" },
    error: worded(
      "'messages.0' : for 'role:user' the following must be satisfied[('messages.0' : property 'name' is unsupported)]",
    ),
  },
  "the name of who speaks, in Fireworks'": {
    ...{ asked: named, refuses: isNamed, sent: { messages: [user] }, dropped: "messages[0].name" },
    error: worded("Extra inputs are not permitted, field: 'messages[0].name', value: 'Ann'"),
  },
  "a member by its name in xAI's code": {
    ...{ asked: { messages: [user], presence_penalty: 0.1 }, refuses: hasSwitch("presence_penalty") },
    error: {
      code: "Client specified an invalid argument",
      error: "Argument not supported on this model: presencePenalty",
    },
    ...{ sent: { messages: [user] }, dropped: "presence_penalty" },
  },
  "a member that says what is usual": {
    ...{ asked: { messages: [user], n: 1 }, refuses: hasSwitch("n"), error: worded("Unsupported parameter: n") },
    ...{ sent: { messages: [user] }, dropped: "n", isEach: true },
  },
  "a demand, in Alibaba's words": {
    ...{ asked: { messages: [user], tools, tool_choice: "required" }, refuses: hasSwitch("tool_choice") },
    error: worded("The tool_choice parameter does not support being set to required or object in thinking mode"),
    ...{ sent: { messages: [user], tools }, dropped: "tool_choice" },
  },
  "a demand, in LM Studio's": {
    asked: { messages: [user], tools, tool_choice: { type: "function", function: { name: "look" } } },
    refuses: ({ tool_choice }) => typeof tool_choice === "object",
    error: { error: "Invalid tool_choice type: 'object'. Supported string values: none, auto, required" },
    ...{ sent: { messages: [user], tools }, dropped: "tool_choice" },
  },
  "JSON without a schema, in LM Studio's": {
    asked: { messages: [user], response_format: { type: "json_object" } },
    refuses: ({ response_format }) => response_format?.type === "json_object",
    error: { error: "'response_format.type' must be 'json_schema' or 'text'" },
    ...{ sent: { messages: [user] }, dropped: "response_format" },
  },
  "a role, in Z.ai's": {
    asked: { messages: [{ role: "developer", content: "Be brief." }, user] },
    refuses: ({ messages }) => messages[0].role === "developer",
    error: { error: { code: "1214", message: "Incorrect role information" } },
    sent: { messages: [{ role: "system", content: "Be brief." }, user] },
  },
};

const servers = Object.keys(refused).map((_, i) => `server-${i}`);
/** Time goes on, so that no number of calls is too many. */
const { upstream, gateway } = scriptedStage(
  (base_url) => ({
    embeddedModels: false,
    upstreams: servers.map((name) => ({ name, kind: "openai", base_url })),
    models: servers.map((name) => paidModel(name, name)),
  }),
  { clock: hurriedClock() },
);

/** refuseAs answers as a server that refuses something. */
function refuseAs(exchange: ScriptedExchange, { refuses, error }: Refused): void {
  if (refuses(exchange.asked)) exchange.json(400, error);
  else answerAsOpenAi(exchange);
}

test.each(Object.entries(refused).map(([name, one], i) => [name, one, `server-${i}`] as const))(
  "%s is sent as the server takes it",
  async (_, one, model) => {
    upstream.script = (exchange) => refuseAs(exchange, one);
    const before = upstream.received.length;
    for (const tries of [2, one.isEach ? 4 : 3]) {
      const { status, text, dropped } = await ask(gateway, "/v1/chat/completions", { model, ...one.asked });
      expect(status, text).toBe(200);
      expect(dropped).toBe(one.dropped ?? null);
      expect(upstream.lastAsked).toMatchObject(one.sent);
      expect(one.refuses(upstream.lastAsked)).toBe(false);
      expect(upstream.received.length - before).toBe(tries);
    }
  },
);

test.each([
  ["a value other than the usual one", { n: 2 }, "Unsupported parameter: n"],
  [
    "the name of a function that has answered",
    { messages: [{ role: "function", name: "look", content: "x" }] },
    "name",
  ],
  ["stop sequences", { stop: ["x"] }, "Argument not supported on this model: stop"],
  ["an empty turn of the user's", { messages: [{ role: "user", content: "" }] }, "chat content is empty (2013)"],
])("%s is not left out", async (_, more, message) => {
  upstream.script = (exchange) => exchange.json(400, worded(message));
  const { status, json } = await ask(gateway, "/v1/chat/completions", { model: "server-0", messages: [user], ...more });
  expect([status, json.error.message]).toEqual([400, message]);
});
