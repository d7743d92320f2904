/**
 * Which operation an upstream is asked: chat where that suffices, responses where the model requires them. Tested with a strict
 * double of OpenAI's server, in conversations of several turns, in each family.
 */
import { beforeEach, describe, expect, test } from "vitest";
import { withVendor } from "../../../src/config/catalogue/vendors.ts";
import type { ModelConfig } from "../../../src/config/config.ts";
import { eventsIn } from "../../support/ask.ts";
import { type HeardAnswer, hear } from "../../support/clients/hear.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { type ChatRequest, refusedBy, refusesResponse, strictServers } from "../../support/upstreams/strict-servers.ts";
import { vendors } from "../../support/upstreams/vendor-profiles.ts";
import { answerAsOpenAi, outputMessage, respond, responseAnswer } from "../../support/vendors.ts";

// biome-ignore lint/suspicious/noExplicitAny: what the gateway says is looked into as it came.
type Any = any;

const openai = strictServers.filter(({ vendor }) => vendor === "openai");
let asked: Any[] = [];
/** What the upstream answers to requests for responses, one after another. */
let turns: readonly (readonly Any[])[] = [];

const { gateway } = scriptedStage(
  (base_url) => {
    const at = { name: "far", kind: "openai", base_url, vendor: "openai" } as const;
    const chatOnly = { ...at, name: "chat-only", profile: { operations: { chat: "/chat/completions" } } };
    const model = (id: string, far = "far") => {
      const targets = [{ upstream: far, model: id, priority: 0, weight: 1 }];
      return {
        id: far === "far" ? id : `${id}-there`,
        aliases: [],
        family: "f",
        kind: "chat",
        targets,
      } satisfies ModelConfig;
    };
    return {
      embeddedModels: false,
      upstreams: [withVendor(at, vendors), withVendor(chatOnly, vendors)],
      models: [...openai.map(({ model: id }) => model(id)), model("gpt-4.1", "chat-only")],
    };
  },
  {
    script: (exchange) => {
      const request = exchange.asked as ChatRequest & { input: string };
      const isResponse = exchange.path === "/v1/responses";
      const server = openai.find(({ model }) => model === request.model) as (typeof openai)[number];
      asked.push({ path: exchange.path.replace("/v1", ""), ...request });
      const refused = isResponse ? refusesResponse(server, request) : refusedBy(server, request);
      if (refused) exchange.json(400, refused);
      else if (isResponse) respond(exchange, responseAnswer(turns[asked.length - 1] ?? [outputMessage("Hello")]));
      else answerAsOpenAi(exchange);
    },
  },
);

beforeEach(() => {
  asked = [];
  turns = [];
});

const ask = (path: string, body: Any): Promise<HeardAnswer> =>
  hear(gateway, { path: `/v1${path}`, apiKey: gateway.apiKey, body }).answer;

async function told(path: string, body: Any): Promise<Any> {
  const { status, text } = await ask(path, body);
  expect([status, text.slice(0, 200)]).toEqual([200, expect.stringContaining("")]);
  return JSON.parse(text);
}

const parameters = { type: "object", properties: { city: { type: "string" } } };
const chatTools = [{ type: "function", function: { name: "weather", parameters } }];
const messageTools = [{ name: "weather", input_schema: parameters }];
const messages = [{ role: "user", content: "How warm?" }];
const document = { type: "document", source: { type: "url", url: "https://example.com/a.pdf" } };

describe("chat is asked", () => {
  const chat = (model: string, more: Any = {}) =>
    ["/chat/completions", { model, messages, ...more }, "/chat/completions"] as const;
  const inMessages = (model: string, more: Any = {}) =>
    ["/messages", { model, max_tokens: 50, messages, ...more }] as const;
  const cases: Readonly<Record<string, readonly [path: string, body: Any, asked: string]>> = {
    "of a model that takes tools there": chat("gpt-5.1", { tools: chatTools, reasoning_effort: "high" }),
    "where there are no tools": chat("gpt-6-sol", { reasoning_effort: "high" }),
    "where the list of tools is empty": chat("gpt-6-sol", { tools: [] }),
    "where the model does not reason unless it is told": chat("gpt-5.4-mini", { tools: chatTools }),
    "where it is told not to": chat("gpt-6-sol", { tools: chatTools, reasoning_effort: "none" }),
    "by the Messages API, too": [...inMessages("gpt-5.4-mini", { tools: messageTools }), "/chat/completions"],
    "for a completion": ["/completions", { model: "gpt-6-sol", prompt: "hi" }, "/chat/completions"],
    "for a response, where there is nothing else": [
      "/responses",
      { model: "gpt-4.1-there", input: "hi" },
      "/chat/completions",
    ],
  };
  test.each(Object.entries(cases))("%s", async (_, [path, body, operation]) => {
    await told(path, body);
    expect(asked.map((request) => request.path)).toEqual([operation]);
  });
});

describe("responses are asked for", () => {
  const cases: Readonly<Record<string, readonly [path: string, body: Any]>> = {
    "by callers of responses": ["/responses", { model: "gpt-4.1", input: "hi" }],
    "where chat refuses tools while the model reasons": [
      "/chat/completions",
      { model: "gpt-5.4-mini", messages, tools: chatTools, reasoning_effort: "low" },
    ],
    "where it reasons without being told": ["/chat/completions", { model: "gpt-6-sol", messages, tools: chatTools }],
    "also for tools in the oldest form": [
      "/chat/completions",
      { model: "gpt-6-sol", messages, functions: [{ name: "weather", parameters }] },
    ],
    "by the Messages API": ["/messages", { model: "gpt-6-sol", max_tokens: 50, messages, tools: messageTools }],
    "by its effort": [
      "/messages",
      {
        model: "gpt-5.4-mini",
        max_tokens: 50,
        messages,
        tools: messageTools,
        output_config: { effort: "high" },
        thinking: { type: "adaptive" },
      },
    ],
    "for a document by its URL": [
      "/messages",
      { model: "gpt-4.1", max_tokens: 50, messages: [{ role: "user", content: [document] }] },
    ],
    "for one within a result": [
      "/messages",
      {
        ...{ model: "gpt-6-sol", max_tokens: 50, thinking: { type: "disabled" }, tools: messageTools },
        messages: [
          ...messages,
          { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "weather", input: {} }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: [document] }] },
        ],
      },
    ],
    "of a model that has nothing else": ["/chat/completions", { model: "gpt-5-pro", messages }],
    "of it by the Messages API": ["/messages", { model: "gpt-5.3-codex", max_tokens: 50, messages }],
    "of it for a completion": ["/completions", { model: "gpt-5.3-codex", prompt: "hi" }],
    "of it for a summary of a conversation": ["/responses/compact", { model: "gpt-5-pro", input: "hi" }],
  };
  test.each(Object.entries(cases))("%s", async (_, [path, body]) => {
    await told(path, body);
    expect(asked.map((request) => request.path)).toEqual(["/responses"]);
  });

  test("and a document by its URL is one there", async () => {
    await told("/messages", { model: "gpt-4.1", max_tokens: 50, messages: [{ role: "user", content: [document] }] });
    expect(asked[0].input[0].content).toEqual([{ type: "input_file", file_url: document.source.url }]);
  });

  test("and a server that has none cannot be given a document by its URL", async () => {
    const body = { model: "gpt-4.1-there", max_tokens: 50, messages: [{ role: "user", content: [document] }] };
    const { status, text } = await ask("/messages", body);
    expect([status, text]).toEqual([400, expect.stringContaining("messages[0].content[0].source")]);
    expect(asked).toEqual([]);
  });

  test("and what they cannot be told is named in the caller's words", async () => {
    const stops = { stop_sequences: ["END"], temperature: 0.5 };
    const said = await ask("/messages", {
      model: "gpt-6-sol",
      max_tokens: 50,
      messages,
      tools: messageTools,
      ...stops,
    });
    expect([said.status, said.headers["x-gateway-dropped"]]).toEqual([200, "stop_sequences, temperature"]);
    const completed = await ask("/completions", { model: "gpt-5-pro", prompt: "hi", stop: "END", logprobs: 1 });
    expect([completed.status, completed.headers["x-gateway-dropped"]]).toEqual([200, "stop, top_logprobs, logprobs"]);
  });

  test("as an explanation tells beforehand", async () => {
    const body = { model: "gpt-6-sol", messages, tools: chatTools, stop: "END" };
    const { models } = await told("/explain", { path: "/v1/chat/completions", request: body });
    const [target] = models[0].targets;
    expect([target.operation, target.dropped]).toEqual(["responses", ["stop"]]);
    const { operation } = (await told("/explain", { request: { ...body, tools: [] } })).models[0].targets[0];
    expect(operation).toBe("chat");
  });
});

describe("reasoning is there in the next turn", () => {
  const reasoning = (id: string) => ({ id, type: "reasoning", summary: [], encrypted_content: `gAAA-${id}` });
  const call = (n: number) => {
    const named = { call_id: `call_${n}`, name: "weather", arguments: '{"city":"Rome"}' };
    return { id: `fc_v${n}`, type: "function_call", status: "completed", ...named };
  };

  beforeEach(() => {
    turns = [[reasoning("rs_v1"), call(1), reasoning("rs_v2"), call(2)], [outputMessage("20 degrees.")]];
  });

  /** What the second request brings of the first answer, without ids of calls. */
  const brought = () =>
    asked[1].input.map(({ type, encrypted_content: hidden, call_id: id }: Any) => hidden ?? id ?? type);
  const expected = ["message", "gAAA-rs_v1", "call_1", "gAAA-rs_v2", "call_2", "call_1", "call_2"];

  test.each([false, true])("of chat, stream: %s", async (stream) => {
    const request = { model: "gpt-6-sol", messages, tools: chatTools };
    const message = stream
      ? messageIn((await ask("/chat/completions", { ...request, stream })).text)
      : (await told("/chat/completions", request)).choices[0].message;
    expect(message.tool_calls.map(({ id }: Any) => id)).toEqual(["call_1", "call_2"]);
    const results = ["call_1", "call_2"].map((id) => ({ role: "tool", tool_call_id: id, content: "20" }));
    await told("/chat/completions", { ...request, messages: [...messages, message, ...results] });
    expect(brought()).toEqual(expected);
  });

  test("of the Messages API", async () => {
    const request = { model: "gpt-6-sol", max_tokens: 50, messages, tools: messageTools };
    const { content, stop_reason } = await told("/messages", request);
    expect([stop_reason, content.map(({ type }: Any) => type)]).toEqual([
      "tool_use",
      ["redacted_thinking", "redacted_thinking", "tool_use", "tool_use"],
    ]);
    const results = ["call_1", "call_2"].map((id) => ({ type: "tool_result", tool_use_id: id, content: "20" }));
    const further = [
      { role: "assistant", content },
      { role: "user", content: results },
    ];
    await told("/messages", { ...request, messages: [...messages, ...further] });
    expect(brought()).toEqual(expected);
  });

  test("but is kept from chat, which knows no such thing", async () => {
    const request = { model: "gpt-6-sol", messages, tools: chatTools };
    const { message } = (await told("/chat/completions", request)).choices[0];
    const { tool_calls: _, ...said } = { ...message, content: "20" };
    const next = { model: "gpt-5.1", messages: [...messages, said, { role: "user", content: "Sure?" }] };
    const { headers } = await ask("/chat/completions", next);
    expect([asked[1].path, headers["x-gateway-dropped"]]).toEqual(["/chat/completions", "messages[1].thinking_blocks"]);
    expect(JSON.stringify(asked[1])).not.toContain("thinking_blocks");
  });
});

/** Puts a streamed chat message together. */
function messageIn(text: string): Any {
  const message: Any = { role: "assistant", content: "", thinking_blocks: [], tool_calls: [] };
  for (const { choices } of eventsIn(text)) {
    const { delta = {} } = choices[0] ?? {};
    message.content += delta.content ?? "";
    message.thinking_blocks.push(...(delta.thinking_blocks ?? []));
    for (const { index, ...piece } of delta.tool_calls ?? []) {
      const known = message.tool_calls[index];
      if (known) known.function.arguments += piece.function.arguments;
      else message.tool_calls[index] = piece;
    }
  }
  return message;
}
