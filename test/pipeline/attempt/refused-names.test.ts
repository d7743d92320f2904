/** Servers that refuse members of requests by name, in their own words, get the request without them, in the same call and in the next. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import type { Refusal } from "../../../src/call/refusals.ts";
import { refusedNames } from "../../../src/pipeline/attempt/refused-names.ts";
import { ask } from "../../support/ask.ts";
import { modelAt } from "../../support/gateway.ts";
import { cpuMsOf } from "../../support/run/cpu-time.ts";
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { answerAsAnthropic, answerAsOpenAi, outputMessage, respond, responseAnswer } from "../../support/vendors.ts";

const { upstream, gateway } = scriptedStage(
  (base_url) => ({
    upstreams: [
      { name: "claude", kind: "anthropic", base_url },
      {
        name: "own",
        kind: "openai",
        base_url,
        profile: { operations: { responses: "/responses" }, reasoning_items: "encrypted" },
      },
      { name: "chats", kind: "openai", base_url },
    ],
    models: [
      modelAt("claude", "claude", "claude-sonnet-4-6"),
      modelAt("own", "responses", "m"),
      modelAt("chats", "chat", "m"),
      modelAt("chats", "chat-too", "m"),
      modelAt("claude", "other", "m"),
    ],
    embeddedModels: false,
  }),
  { perTest: true },
);

const invalid = "invalid_request_error";

function answer(exchange: ScriptedExchange): void {
  if (exchange.path.endsWith("/messages")) answerAsAnthropic(exchange);
  else if (exchange.path.endsWith("/responses")) respond(exchange, responseAnswer([outputMessage("hi")]));
  else answerAsOpenAi(exchange);
}

/** refusing answers with the first of these bodies whose members a request still has. */
function refusing(
  ...refusals: readonly (readonly [has: (asked: JsonObject) => boolean, status: number, body: JsonValue])[]
) {
  upstream.script = (exchange) => {
    const [, status, body] = refusals.find(([has]) => has(exchange.asked)) ?? [];
    if (status === undefined) answer(exchange);
    else exchange.json(status, body as JsonObject);
  };
}

const ofAnthropic = (message: string) => ({ type: "error", error: { type: invalid, message } });
const ofOpenAi = (message: string) => ({ error: { message, type: invalid, param: null, code: null } });
const list = (value: JsonValue | undefined) => (Array.isArray(value) ? (value as JsonObject[]) : []);
const anyTool = (key: string) => (asked: JsonObject) => list(asked.tools).some((tool) => key in tool);
const has = (key: string) => (asked: JsonObject) => key in asked;

const tools = ["a", "b"].map((name) => ({ name, input_schema: { type: "object" }, eager_input_streaming: true }));
const thought = { type: "thinking", thinking: "hm", signature: "sig", cache_control: { type: "ephemeral" } };
const text = (more: JsonObject = {}) => ({ type: "text", text: "hi", ...more });

const ofClaudeCode: JsonObject = {
  max_tokens: 99,
  messages: [{ role: "user", content: [text({ cache_control: { type: "ephemeral", scope: "global" } })] }],
  context_management: { edits: [] },
  tools,
};

async function send(path: string, body: JsonObject, headers: Record<string, string> = {}) {
  const before = upstream.received.length;
  const { status, text: said, dropped } = await ask(gateway, `/v1${path}`, body, { headers });
  const asked = upstream.received.slice(before);
  return { status, said, dropped, times: asked.length, sent: asked.at(-1)?.asked as JsonObject, last: asked.at(-1) };
}

describe("messages", () => {
  const scoped = ({ messages }: JsonObject) =>
    list(messages).some(({ content }) =>
      list(content).some(({ cache_control: mark }) => mark && "scope" in (mark as object)),
    );

  test.each([
    ["Anthropic's", (path: string) => ofAnthropic(`${path}: Extra inputs are not permitted`)],
    [
      "LiteLLM's",
      (path: string) => ofOpenAi(`{"message":"${path}: Extra inputs are not permitted"}. Received Model Group=x`),
    ],
    [
      "a router's",
      (path: string) =>
        ofOpenAi(`1 request validation errors: Extra inputs are not permitted, field: '${path}', value: True`),
    ],
  ])("in %s words", async (_, say) => {
    refusing(
      [has("context_management"), 400, say("context_management")],
      [anyTool("eager_input_streaming"), 400, say("tools.1.custom.eager_input_streaming")],
      [scoped, 400, say("messages.0.content.0.text.cache_control.ephemeral.scope")],
    );
    const first = await send("/messages", { model: "claude", ...ofClaudeCode });
    expect([first.status, first.times], first.said).toEqual([200, 4]);
    expect(first.dropped?.split(", ").sort()).toEqual([
      "context_management",
      "messages[0].content[0].cache_control.scope",
      "tools[0].eager_input_streaming",
      "tools[1].eager_input_streaming",
    ]);
    expect(first.sent.messages).toEqual([{ role: "user", content: [text({ cache_control: { type: "ephemeral" } })] }]);
    const next = await send("/messages", { model: "claude", ...ofClaudeCode, stream: true });
    expect([next.status, next.times]).toEqual([200, 1]);
  });

  test("of objects of one type only where the others are taken", async () => {
    const messages = [
      { role: "user", content: [text({ cache_control: { type: "ephemeral" } })] },
      { role: "assistant", content: [thought, text()] },
      { role: "user", content: "go on" },
    ];
    const isMarked = ({ messages: turns }: JsonObject) =>
      list(turns).some(({ content }) =>
        list(content).some((block) => block.type === "thinking" && "cache_control" in block),
      );
    refusing([
      isMarked,
      400,
      ofAnthropic("messages.1.content.0.thinking.cache_control: Extra inputs are not permitted"),
    ]);
    const { status, sent, dropped } = await send("/messages", { model: "claude", max_tokens: 99, messages });
    expect([status, dropped]).toEqual([200, "messages[1].content[0].cache_control"]);
    expect(sent.messages).toMatchObject([{ content: [{ cache_control: { type: "ephemeral" } }] }, {}, {}]);
  });

  const ofPydantic = (input: string, said = "") => [
    `{'type': 'string_type', 'loc': ('body', 'messages', 1, 'content', 'str'), 'input': [{'type': '${input}', 'thinking': '${said}'}]}`,
    `{'type': 'literal_error', 'loc': ('body', 'messages', 1, 'content', 'list[AnthropicContentBlock]', 0, 'type'), ` +
      `'msg': "Input should be 'text', 'image', 'tool_use' or 'tool_result'", 'input': '${input}'}`,
  ];

  test.each<[string, (type: string) => [number, JsonObject]]>([
    ["vLLM's", (type) => [400, ofOpenAi(`2 validation errors:\n  ${ofPydantic(type).join("\n  ")}`)]],
    ["vLLM's, behind a long turn", (type) => [400, ofOpenAi(ofPydantic(type, "hm ".repeat(30_000)).join("\n"))]],
    [
      "ModelScope's",
      (type) => [
        422,
        {
          detail: [
            {
              type: "string_type",
              loc: ["body", "messages", 1, "content", "str"],
              msg: "Input should be a valid string",
            },
            {
              ...{ type: "literal_error", loc: ["body", "messages", 1, "content", "list[union[A,B]]", 0, "A", "type"] },
              ...{ msg: "Input should be 'text'", input: type },
            },
          ],
        },
      ],
    ],
    ["Pydantic's, of a union", (type) => [400, ofOpenAi(`Input tag '${type}' found using 'type' does not match any`)]],
    ["Serde's", (type) => [422, ofOpenAi(`unknown variant \`${type}\`, expected one of \`text\`, \`image\``)]],
    ["a proxy's", (type) => [400, ofAnthropic(`Unsupported content block type: ${type}`)]],
    ["another's", (type) => [400, ofAnthropic(`content of type '${type}' is not supported`)]],
  ])("without thinking, whose type a server does not know, in %s words", async (_, say) => {
    const hidden = { type: "redacted_thinking", data: "c2VhbGVk" };
    const messages = [
      { role: "user", content: "hi" },
      { role: "assistant", content: [thought, hidden, text()] },
      { role: "user", content: "go on" },
      { role: "assistant", content: [thought] },
      { role: "user", content: "go on" },
    ];
    const hasOne = (type: string) => (asked: JsonObject) =>
      list(asked.messages).some(({ content }) => list(content).some((block) => block.type === type));
    refusing(...["thinking", "redacted_thinking"].map((type) => [hasOne(type), ...say(type)] as const));
    const first = await send("/messages", { model: "claude", max_tokens: 99, messages });
    expect([first.status, first.times], first.said).toEqual([200, 2]);
    expect(first.dropped).toBe("messages[1].content[0], messages[1].content[1], messages[3].content[0]");
    expect(first.sent.messages).toEqual([
      { role: "user", content: "hi" },
      { role: "assistant", content: [text()] },
      { role: "user", content: "go on" },
      { role: "user", content: "go on" },
    ]);
    const next = await send("/messages", { model: "claude", max_tokens: 99, messages });
    expect([next.status, next.times]).toEqual([200, 1]);
  });

  test("with the thinking that Claude demands, and any block that says something else", async () => {
    const demand = ofAnthropic(
      "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`.",
    );
    const messages = [
      { role: "user", content: "hi" },
      { role: "assistant", content: [thought, text()] },
      { role: "user", content: "go on" },
    ];
    for (const refusal of [demand, ofAnthropic("Unsupported content block type: text")]) {
      refusing([() => true, 400, refusal]);
      const { status, times } = await send("/messages", { model: "claude", max_tokens: 99, messages });
      expect([status, times]).toEqual([400, 1]);
    }
  });

  const use = { type: "tool_use", id: "toolu_1", name: "a", input: {} };
  const result = { type: "tool_result", tool_use_id: "toolu_1", content: "done" };
  test.each<[string, JsonObject, JsonObject, string]>([
    ["what the user says", text(), { role: "user", content: "go on" }, "messages[1].content[0]"],
    ["its own turn", use, { role: "user", content: [result] }, "thinking, messages[1].content[0]"],
  ])("without what another vendor has sealed, in this call alone, going on with %s", async (_, said, last, left) => {
    const messages = [{ role: "user", content: "hi" }, { role: "assistant", content: [thought, said] }, last];
    const thinking = { type: "enabled", budget_tokens: 1024 };
    const hasSeal = ({ messages }: JsonObject) =>
      list(messages).some(({ content }) => list(content).some((block) => block.type === "thinking"));
    refusing([hasSeal, 400, ofAnthropic("messages.1.content.0: Invalid `signature` in `thinking` block")]);
    for (let call = 0; call < 2; call++) {
      const {
        status,
        times,
        dropped,
        sent,
        said: told,
      } = await send("/messages", {
        ...{ model: "claude", max_tokens: 2000, messages, tools, thinking },
      });
      expect([status, times], told).toEqual([200, 2]);
      expect(dropped).toBe(left);
      expect(list(sent.messages)[1]?.content).toEqual([said]);
      expect("thinking" in sent).toBe(!left.includes("thinking"));
    }
  });

  test.each([
    [
      "OpenAI's",
      { message: "The encrypted content gAAA...xyz= could not be verified.", code: "invalid_encrypted_content" },
    ],
    ["xAI's", { message: "Could not decrypt the provided encrypted_content. Ensure the value is unmodified." }],
    ["vLLM's", { message: "Encrypted content is not supported.", param: "input" }],
    ["another's", { message: "reasoning `encrypted_content` was not issued to this caller" }],
  ])("without what another organisation has sealed, in this call alone, in %s words", async (_, error) => {
    const sealed = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" };
    const called = { type: "function_call", id: "fc_1", call_id: "call_1", name: "a", arguments: "{}" };
    const output = { type: "function_call_output", call_id: "call_1", output: "done" };
    const input = [{ type: "message", role: "user", content: "hi" }, sealed, called, output];
    const hasSeal = (asked: JsonObject) => list(asked.input).some(({ type }) => type === "reasoning");
    refusing([hasSeal, 400, { error: { type: invalid, param: null, code: null, ...error } }]);
    for (let call = 0; call < 2; call++) {
      const { status, times, dropped, sent, said } = await send("/responses", {
        model: "responses",
        store: false,
        input,
      });
      expect([status, times, dropped], said).toEqual([200, 2, "input[1]"]);
      const { id: _, ...unnamed } = called;
      expect(sent.input).toEqual([input[0], unnamed, output]);
    }
  });

  test("as FastAPI tells the place", async () => {
    const place = {
      type: "extra_forbidden",
      loc: ["body", "context_management"],
      msg: "Extra inputs are not permitted",
    };
    refusing([has("context_management"), 422, { detail: [place] }]);
    const { status, dropped } = await send("/messages", { model: "claude", ...ofClaudeCode });
    expect([status, dropped]).toEqual([200, "context_management"]);
  });

  test.each([
    [
      "Vertex's",
      "Unexpected value(s) `advisor-tool-2026-03-01` for the `anthropic-beta` header. Please consult our documentation.",
      "effort-2025-11-24",
    ],
    ["Bedrock's", "invalid beta flag", undefined],
  ])("without the betas in %s words", async (_, message, left) => {
    upstream.script = (exchange) => {
      const sent = `${exchange.headers["anthropic-beta"] ?? ""}`;
      if (sent.includes("advisor")) exchange.json(400, ofAnthropic(message));
      else answer(exchange);
    };
    const body = { model: "claude", max_tokens: 99, messages: [{ role: "user", content: "hi" }] };
    const betas = { "anthropic-beta": "effort-2025-11-24, advisor-tool-2026-03-01" };
    const first = await send("/messages", body, betas);
    expect([first.status, first.times], first.said).toEqual([200, 2]);
    expect(first.last?.headers["anthropic-beta"]).toBe(left);
    expect(first.dropped).toContain("anthropic-beta.advisor-tool-2026-03-01");
    expect((await send("/messages", body, betas)).times).toBe(1);
    expect((await send("/messages", body, { "anthropic-beta": "other-2026-01-01" })).dropped).toBeNull();
    const strict = await send("/messages", body, { ...betas, "x-gateway-strict": "true" });
    expect([strict.status, strict.times]).toEqual([400, 0]);
  });
});

describe("responses", () => {
  test.each([
    ["client_metadata", { detail: "Unsupported parameter: client_metadata" }],
    [
      "access_programs",
      ofOpenAi("Upstream request failed: [invalid_request_error] unknown parameter `access_programs`"),
    ],
    [
      "metadata",
      {
        error: {
          code: "unknown_parameter",
          message: "Unknown parameter: 'metadata'.",
          param: "metadata",
          type: invalid,
        },
      },
    ],
  ])("without %s", async (key, body) => {
    refusing([has(key), 400, body]);
    const request = { model: "responses", input: "hi", store: false, [key]: { a: "b" } };
    const { status, said, dropped, times } = await send("/responses", request);
    expect([status, dropped, times], said).toEqual([200, key, 2]);
  });

  test("without what an item has", async () => {
    const key = "internal_chat_message_metadata_passthrough";
    const strange = ({ input }: JsonObject) => list(input).some((item) => key in item);
    refusing([strange, 400, ofOpenAi(`[trace_id: 1] Unknown parameter: 'input[0].${key}'.`)]);
    const input = [1, 2].map((n) => ({ type: "message", role: "user", content: `${n}`, [key]: { kinds: [] } }));
    const { status, dropped, times } = await send("/responses", { model: "responses", input, store: false });
    expect([status, dropped, times]).toEqual([200, `input[0].${key}, input[1].${key}`, 2]);
  });
});

describe("a member that a chat server refuses is left out, where it says", () => {
  test.each<[string, JsonValue]>(
    [
      "Extra inputs are not permitted: store",
      "body.store: Extra inputs are not permitted",
      "1 validation error for ChatRequest\nstore\n  Extra inputs are not permitted [type=extra_forbidden, input_value=False]",
      "store: unknown field",
      "Unrecognized request argument supplied: store",
      "Unrecognized request arguments supplied: store, user",
      'Invalid JSON payload received. Unknown name "store": Cannot find field.',
      'json: unknown field "store"',
      "unknown field `store`, expected one of `model`, `messages`, `seed`",
      "property 'store' is unsupported, did you mean 'stop'?",
      "Unsupported parameter: store",
      "Unsupported parameters: [store]",
      "unsupported fields in the request: store",
      "Unknown keys: store",
      "Additional properties are not allowed ('store' was unexpected)",
      "create() got an unexpected keyword argument 'store'",
      "UnsupportedParamsError: this provider does not support parameters: ['store'], for model=m",
      "This model does not support the store parameter.",
      "The store field is not supported by this endpoint",
      "Parameter store not supported",
      "`store` is not supported by this model",
      "store is not a supported parameter",
      "Unrecognized key(s) in object: 'store'",
      'Unrecognized key: "store"',
      "Not supported: store",
      "unsupported_parameter: store",
      "不支持的参数：store",
      "参数 store 不支持",
    ]
      .map((message): [string, JsonValue] => [message, ofOpenAi(message)])
      .concat([
        [
          "its name in `param` alone",
          { error: { message: "Unsupported parameter", code: "unsupported_parameter", param: "store" } },
        ],
        [
          "its name as Ajv does",
          [
            {
              keyword: "additionalProperties",
              params: { additionalProperty: "store" },
              message: "must NOT have additional properties",
            },
          ],
        ],
      ]),
  )("%s", async (_, body) => {
    refusing([has("store"), 400, body]);
    const { status, dropped, sent } = await send("/chat/completions", {
      model: "chat",
      messages: [{ role: "user", content: "hi" }],
      store: false,
      seed: 1,
      user: "u",
    });
    expect([status, dropped]).toEqual([200, "store"]);
    expect(sent).toMatchObject({ seed: 1, user: "u" });
  });
});

describe("a setting that a model has by itself alone is left out, where its server says", () => {
  const temperature =
    "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.";
  test.each([
    [temperature, "temperature"],
    ["invalid temperature: only 1 is allowed for this model", "temperature"],
    ["`temperature` is deprecated for this model.", "temperature"],
    ["`temperature` and `top_p` cannot both be specified for this model. Please use only one.", "top_p"],
    ["Only one of temperature or top_p should be set (not both)", "top_p"],
  ])("%s", async (message, key) => {
    for (const [model, words] of [
      ["claude", ofAnthropic],
      ["chat", ofOpenAi],
    ] as const) {
      refusing([has(key), 400, words(message)]);
      const settings = { temperature: 0.5, top_p: 0.9, max_tokens: 9, messages: [{ role: "user", content: "hi" }] };
      const path = model === "chat" ? "/chat/completions" : "/messages";
      const { status, dropped, sent } = await send(path, { model: model === "chat" ? model : "other", ...settings });
      const { [key]: _, ...left } = { temperature: 0.5, top_p: 0.9 } as JsonObject;
      expect([status, dropped]).toEqual([200, key]);
      expect(sent).toEqual({ ...settings, temperature: left.temperature, top_p: left.top_p, model: "m" });
    }
  });
});

test("a key of OpenAI's own that a chat server refuses is left out", async () => {
  refusing([
    has("prompt_cache_key"),
    400,
    ofOpenAi("Extra inputs are not permitted, field: 'prompt_cache_key', value: 'x'"),
  ]);
  const body = { model: "chat", messages: [{ role: "user", content: "hi" }], prompt_cache_key: "x", seed: 1 };
  const { status, dropped, sent } = await send("/chat/completions", body);
  expect([status, dropped, sent.seed]).toEqual([200, "prompt_cache_key", 1]);
});

describe("a bound that a chat server knows by its other name", () => {
  const messages = [{ role: "user", content: "hi" }];

  test.each<[string, JsonObject, JsonObject, JsonValue]>([
    [
      "the newer",
      { max_completion_tokens: 9 },
      { max_tokens: 9 },
      "Extra inputs are not permitted: max_completion_tokens",
    ],
    [
      "the older",
      { max_tokens: 9 },
      { max_completion_tokens: 9 },
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    ],
    [
      "one of both: the larger counts",
      { max_tokens: 9, max_completion_tokens: 7 },
      { max_completion_tokens: 9 },
      "Unknown parameter: 'max_tokens'.",
    ],
  ])("has that: %s", async (_, bound, taken, message) => {
    const refused = Object.keys({ max_tokens: 0, max_completion_tokens: 0 }).find((name) => !(name in taken)) as string;
    refusing([has(refused), 400, ofOpenAi(message as string)]);
    const { status, dropped, sent } = await send("/chat/completions", { model: "chat", messages, ...bound });
    expect([status, dropped]).toEqual([200, null]);
    expect(sent).toEqual({ model: "m", messages, ...taken });
    const next = await send("/chat/completions", { model: "chat", messages, ...bound, stream: true });
    expect([next.times, next.sent]).toMatchObject([1, taken]);
  });

  test("keeps that where the one that is not known is null", async () => {
    refusing([has("max_tokens"), 400, ofOpenAi("Unknown parameter: 'max_tokens'.")]);
    await send("/chat/completions", { model: "chat", messages, max_tokens: 9 });
    const bounds = { max_tokens: null, max_completion_tokens: 7 };
    const { sent } = await send("/chat/completions", { model: "chat", messages, ...bounds });
    expect(sent).toEqual({ model: "m", messages, max_completion_tokens: 7 });
  });

  test("is refused where the server knows neither", async () => {
    const says = (name: string) => [has(name), 400, ofOpenAi(`Unknown parameter: '${name}'.`)] as const;
    refusing(says("max_tokens"), says("max_completion_tokens"));
    const { status, times } = await send("/chat/completions", { model: "chat", messages, max_tokens: 9 });
    expect([status, times]).toEqual([400, 2]);
  });
});

test("a bound of a count of tokens has no other name", async () => {
  refusing([has("max_tokens"), 400, ofAnthropic("max_tokens: Extra inputs are not permitted")]);
  const body = { model: "claude", messages: [{ role: "user", content: "hi" }], max_tokens: 9 };
  const { status, times, said } = await send("/messages/count_tokens", body);
  expect([status, times]).toEqual([400, 1]);
  expect(said).toContain("max_tokens: Extra");
});

describe("a word of a refusal that is a member's name by chance", () => {
  const asked = { model: "responses", input: "hi", store: false, temperature: 0.3, reasoning: { effort: "high" } };

  test.each(["", " (request id: 20261129-%d)"])(
    "leaves that member in, once its server says the same%s",
    async (id) => {
      upstream.script = (exchange) => {
        const said = `Unsupported parameter for reasoning models: temperature${id.replace("%d", String(Math.random()))}`;
        if ("temperature" in exchange.asked) exchange.json(400, ofOpenAi(said));
        else answer(exchange);
      };
      const { status, dropped, sent } = await send("/responses", asked);
      expect([status, dropped, sent.reasoning]).toEqual([200, "temperature", { effort: "high" }]);
      const next = await send("/responses", asked);
      expect([next.times, next.dropped, next.sent.reasoning]).toEqual([1, "temperature", { effort: "high" }]);
    },
  );

  test("is not looked for where an API key is refused", async () => {
    refusing([() => true, 400, ofOpenAi("This API key is not allowed for this user.")]);
    const body = { model: "chat", messages: [{ role: "user", content: "hi" }], user: "u" };
    expect((await send("/chat/completions", body)).times).toBe(1);
  });
});

test.each([
  ...["a", "a_", "'a", "a:", "field "].map((piece) => ["unsupported parameter", piece] as const),
  ...["_", "-_", " a"].map((piece) => ["does not support thinking", piece] as const),
])("a refusal of %s %j without end is read in time", async (said, piece) => {
  const message = `${said} ${piece.repeat(10_000 / piece.length)}`;
  const refusal = { message, answered: Buffer.from(JSON.stringify({ error: { message } })) } as unknown as Refusal;
  const cpuMs = await cpuMsOf(() => {
    for (let times = 0; times < 30; times++) refusedNames(refusal);
  });
  expect(cpuMs).toBeLessThan(5_000);
});

describe("a chat server that nobody knows, whose template refuses instructions where they stand, gets them as most take them", () => {
  const roles = (asked: JsonObject) => list(asked.messages).map(({ role }) => role);
  const ofRole = (asked: JsonObject) => roles(asked).includes("developer");
  const late = (asked: JsonObject) => roles(asked).lastIndexOf("system") > 0;
  const turns = [
    { role: "developer", content: "Be short." },
    { role: "user", content: "hi" },
    { role: "system", content: "It is late." },
    { role: "user", content: "go on" },
  ];
  const placed = [
    { role: "system", content: "Be short.\n\nIt is late." },
    { role: "user", content: "hi\n\ngo on" },
  ];

  test.each<[string, (asked: JsonObject) => boolean]>([
    ["unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`", ofRole],
    ["messages[0].role: Input should be 'system', 'user', 'assistant' or 'tool'", ofRole],
    ["Unexpected message role.", ofRole],
    ["Only user, assistant and system roles are supported!", ofRole],
    ["Invalid value: 'developer'. Supported values are: 'system', 'assistant', 'user', and 'tool'.", ofRole],
    ["'messages[0].role' does not support 'developer' with this model.", ofRole],
    ["unsupported role: developer", ofRole],
    ["role must be one of system, user, assistant, tool", ofRole],
    ["System message must be at the beginning.", late],
    ["only one system message is allowed, and it must be the first", late],
    ["The first message must be a system message, others must not", late],
    ["multiple system messages are not supported", late],
    ["Conversation roles must alternate user/assistant/user/assistant/...", late],
  ])("%s", async (message, isRefused) => {
    refusing([isRefused, 400, ofOpenAi(message)]);
    const { status, dropped, sent } = await send("/chat/completions", { model: "chat", messages: turns, seed: 1 });
    expect([status, dropped]).toEqual([200, null]);
    expect(sent).toEqual({ model: "m", messages: placed, seed: 1 });
    const next = await send("/chat/completions", { model: "chat", messages: turns, stream: true });
    expect([next.times, next.sent.messages]).toEqual([1, placed]);
  });

  test.each<[string, number, (words: string) => JsonValue]>([
    ["llama.cpp", 500, (message) => ({ error: { code: 500, message, type: "server_error" } })],
    ["Ollama", 500, (error) => ({ error })],
    ["LM Studio", 400, (error) => ({ error })],
  ])("in the words of a template, as %s tells them", async (_, status, body) => {
    const words = "\n------------\nWhile executing CallExpression at line 85, column 32 in source:\n...first %}";
    const said = `${words}\nError: Jinja Exception: System message must be at the beginning.`;
    refusing([late, status, body(said)]);
    const first = await send("/chat/completions", { model: "chat", messages: turns });
    expect([first.status, first.times, first.sent.messages]).toEqual([200, 2, placed]);
  });

  test("with keys that it refuses, in either order", async () => {
    const marked = { ...turns[1], content: [text({ cache_control: { type: "ephemeral" } })] };
    const hasMark = (asked: JsonObject) => JSON.stringify(asked).includes("cache_control");
    for (const first of ["roles", "keys"]) {
      const faults = [
        [ofRole, 400, ofOpenAi("unsupported role: developer")],
        [hasMark, 400, ofOpenAi("Extra inputs are not permitted: cache_control")],
      ] as const;
      refusing(...(first === "roles" ? faults : [...faults].reverse()));
      const model = first === "roles" ? "chat" : "chat-too";
      const { status, dropped, sent } = await send("/chat/completions", {
        model,
        messages: [turns[0] as JsonObject, marked],
      });
      expect([status, dropped]).toEqual([200, "messages[1].content[0].cache_control"]);
      expect(sent.messages).toMatchObject([{ role: "system" }, { role: "user" }]);
    }
  });

  test("and is asked once where its refusal is for something else", async () => {
    refusing([() => true, 400, ofOpenAi("messages[1].content is too long")]);
    const { status, times } = await send("/chat/completions", { model: "chat", messages: turns });
    expect([status, times]).toEqual([400, 1]);
  });
});

describe("a chat server that nobody knows, whose messages are texts, gets lists of texts as one", () => {
  const isList = (asked: JsonObject) => list(asked.messages).some(({ content }) => Array.isArray(content));
  const call = { id: "call_1", type: "function", function: { name: "f", arguments: "{}" } };
  const turns = [
    { role: "system", content: [text()] },
    { role: "user", content: [text(), text({ cache_control: { type: "ephemeral" } })] },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "call_1", content: [text()] },
  ];

  test.each([
    "Failed to deserialize the JSON body into the target type: messages[3]: invalid type: sequence, expected a string",
    "messages.1.content: Input should be a valid string",
    "json: cannot unmarshal array into Go struct field Message.messages.content of type string",
    "messages[0].content must be a string",
    "[{'type': 'text', 'text': 'hi'}] is not of type 'string' - 'messages.0.content'",
    "Invalid input: expected string, received array",
    'can only concatenate str (not "list") to str',
  ])("%s", async (message) => {
    refusing([isList, 400, ofOpenAi(message)]);
    const { status, sent } = await send("/chat/completions", { model: "chat", messages: turns });
    expect(status).toBe(200);
    expect(list(sent.messages).map(({ content }) => content)).toEqual(["hi", "hi\n\nhi", null, "hi"]);
    const next = await send("/chat/completions", { model: "chat", messages: turns, stream: true });
    expect([next.times, next.status]).toEqual([1, 200]);
  });

  test("and is asked once where there is an image", async () => {
    refusing([isList, 400, ofOpenAi("messages[0].content must be a string")]);
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } };
    const messages = [{ role: "user", content: [text(), image] }];
    const { status, times } = await send("/chat/completions", { model: "chat", messages });
    expect([status, times]).toEqual([400, 1]);
  });
});

describe("a chat server that nobody knows, which does not go on with a turn of the model's, is asked by a word of the user's", () => {
  const turns = [
    { role: "user", content: "Count." },
    { role: "assistant", content: "One," },
  ];
  const isOwn = (asked: JsonObject) => list(asked.messages).at(-1)?.role === "assistant";

  test.each<[number, string]>([
    [400, "This model does not support assistant message prefill. The conversation must end with a user message."],
    [400, "Assistant response prefill is incompatible with enable_thinking."],
    [400, "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"],
    [422, "the last message must have the role user"],
    [400, "Cannot set `add_generation_prompt` to True when the last message is from the assistant."],
    [500, "Jinja Exception: The last message cannot be of the assistant"],
    [400, "Cannot have 2 or more assistant messages at the end of the list."],
  ])("%d %s", async (status, message) => {
    refusing([isOwn, status, ofOpenAi(message)]);
    const first = await send("/chat/completions", { model: "chat", messages: turns });
    expect([first.status, first.times, first.dropped]).toEqual([200, 2, null]);
    expect(first.sent.messages).toEqual([...turns, { role: "user", content: "Continue." }]);
    const next = await send("/chat/completions", { model: "chat", messages: turns, stream: true });
    expect([next.times, next.status]).toEqual([1, 200]);
  });
});

describe("a chat server that nobody knows, whose template is strict about turns, gets them as it takes them", () => {
  const user = { role: "user", content: "hi" };
  const model = { role: "assistant", content: "Yes." };
  const system = { role: "system", content: "Be short." };
  const more = { role: "user", content: "go on" };
  const calls = ["call_1", "call_2"].map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } }));
  const results = calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: id }));
  const turnOf = (...tool_calls: JsonObject[]) => ({ role: "assistant", content: null, tool_calls });
  const roles = ({ messages }: JsonObject) => list(messages).map(({ role }) => role);
  const isSame = (asked: JsonObject) => roles(asked).some((role, i) => role !== "tool" && role === roles(asked)[i + 1]);
  const isModels = (asked: JsonObject) => roles(asked).find((role) => role !== "system") === "assistant";
  const hasSystem = (asked: JsonObject) => roles(asked).includes("system");
  const isParallel = (asked: JsonObject) => list(asked.messages).some(({ tool_calls: made }) => list(made).length > 1);
  const alternating = "Conversation roles must alternate user/assistant/user/assistant/...";
  const told = { role: "user", content: "Be short.\n\nhi" };
  const joined = { role: "user", content: "hi\n\ngo on" };
  const [one, two] = calls as JsonObject[] as [JsonObject, JsonObject];
  const [first, second] = results as JsonObject[] as [JsonObject, JsonObject];
  const ofMiniMax = "invalid params, chat content has invalid message role: system (2013)";

  test.each<[string, (asked: JsonObject) => boolean, JsonObject[], JsonObject[]]>([
    ["System role not supported", hasSystem, [system, user], [told]],
    ["Developer instruction is not enabled for models/gemma-3-27b-it", hasSystem, [system, user], [told]],
    ["System messages are not supported.", hasSystem, [system, model], [{ ...system, role: "user" }, model]],
    [
      ofMiniMax,
      (asked) => roles(asked).lastIndexOf("system") > 0,
      [user, model, system, more],
      [system, user, model, more],
    ],
    [
      "invalid params, invalid chat setting (2013)",
      isSame,
      [system, system, user],
      [{ ...system, content: "Be short.\n\nBe short." }, user],
    ],
    [
      alternating,
      isSame,
      [system, user, more, model, model, user],
      [system, joined, { ...model, content: "Yes.\n\nYes." }, user],
    ],
    [alternating, isModels, [system, model, user], [system, { role: "user", content: "Begin." }, model, user]],
    [
      "After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s).",
      isSame,
      [user, more],
      [joined],
    ],
    [
      "First message must be from the user",
      isModels,
      [model, user],
      [{ role: "user", content: "Begin." }, model, user],
    ],
    [
      "This model only supports single tool-calls at once!",
      isParallel,
      [user, turnOf(...calls), second, first, more],
      [user, turnOf(one), first, { ...turnOf(two), content: "" }, second, more],
    ],
    [
      "Multiple tool calls are not supported.\n",
      isParallel,
      [user, turnOf(...calls), ...results],
      [user, turnOf(one), first, { ...turnOf(two), content: "" }, second],
    ],
  ])("%s", async (message, isRefused, messages, placed) => {
    refusing([isRefused, 400, ofOpenAi(message)]);
    const asked = { model: "chat", messages, tools: [{ type: "function", function: { name: "f", parameters: {} } }] };
    const { status, dropped, times, sent } = await send("/chat/completions", asked);
    expect([status, dropped, times]).toEqual([200, null, 2]);
    expect(sent.messages).toEqual(placed);
    const next = await send("/chat/completions", { ...asked, stream: true });
    expect([next.times, next.sent.messages]).toEqual([1, placed]);
  });

  test("also where turns have images, and a second template's refusal comes behind the first", async () => {
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } };
    refusing(
      [hasSystem, 400, ofOpenAi("System role not supported")],
      [isSame, 500, ofOpenAi(`Jinja Exception: ${alternating}`)],
    );
    const messages = [system, { role: "user", content: [image] }, more];
    const { status, sent, times } = await send("/chat/completions", { model: "chat", messages });
    const content = [{ type: "text", text: "Be short." }, image, { type: "text", text: "go on" }];
    expect([status, times, sent.messages]).toEqual([200, 3, [{ role: "user", content }]]);
  });
});

test.each(["invalid params, function parameters is empty (2013)", "body.tools.0.function.parameters: Field required"])(
  "a function that takes nothing has a schema where a chat server says: %s",
  async (message) => {
    const isBare = ({ tools: offered }: JsonObject) =>
      list(offered).some(({ function: called = null }) => called !== null && !(called as JsonObject).parameters);
    refusing([isBare, 400, ofOpenAi(message)]);
    const bare = { type: "function", function: { name: "f" } };
    const vendors = { type: "web_search", web_search: { enable: true } };
    const { status, dropped, sent } = await send("/chat/completions", {
      model: "chat",
      messages: [{ role: "user", content: "hi" }],
      tools: [bare, vendors],
    });
    expect([status, dropped]).toEqual([200, null]);
    const fitted = { ...bare, function: { name: "f", parameters: { type: "object", properties: {} } } };
    expect(sent.tools).toEqual([fitted, vendors]);
  },
);

describe("what is told, and asked once", () => {
  const ofMessages = { model: "claude", ...ofClaudeCode } as JsonObject;
  test.each<[string, string, JsonObject, JsonObject]>([
    ["a value", "/messages", ofMessages, ofAnthropic("max_tokens: 99 > 64, which is the maximum allowed number")],
    ["a member that is needed", "/messages", ofMessages, ofAnthropic("tools: Extra inputs are not permitted")],
    [
      "the form of the answer",
      "/messages",
      { ...ofMessages, output_config: { format: { type: "json_schema", schema: {} } } },
      ofAnthropic("output_config: Extra inputs are not permitted"),
    ],
    ["a member that was not sent", "/messages", ofMessages, ofAnthropic("speed: Extra inputs are not permitted")],
    [
      "a schema",
      "/messages",
      ofMessages,
      ofAnthropic("tools.0.custom.input_schema.type: Extra inputs are not permitted"),
    ],
    [
      "an effort",
      "/responses",
      { model: "responses", input: "hi", store: false, reasoning: { effort: "minimal" } },
      ofOpenAi("Unsupported value: 'minimal' is not supported with this model."),
    ],
    [
      "an effort by its member alone",
      "/chat/completions",
      { model: "chat", messages: [{ role: "user", content: "hi" }], reasoning_effort: "minimal", temperature: 0.2 },
      {
        error: {
          message: "Unsupported value: 'minimal' is not supported",
          code: "unsupported_value",
          param: "reasoning_effort",
        },
      },
    ],
    [
      "an effort, bare",
      "/chat/completions",
      { model: "chat", messages: [{ role: "user", content: "hi" }], reasoning_effort: "minimal", temperature: 0.2 },
      ofOpenAi("minimal is not supported for reasoning_effort"),
    ],
    [
      "a value of a parameter",
      "/chat/completions",
      { model: "chat", messages: [{ role: "user", content: "hi" }], reasoning_effort: "minimal", temperature: 0.2 },
      ofOpenAi("Unsupported parameter value: temperature must be 1"),
    ],
  ])("%s", async (_, path, body, refusal) => {
    refusing([() => true, 400, refusal]);
    const { status, times } = await send(path, body);
    expect([status, times]).toEqual([400, 1]);
  });

  test("a server that refuses whatever is left is asked nine times at most", async () => {
    upstream.script = (exchange) => {
      const key = Object.keys(exchange.asked).find((one) => one.startsWith("k")) ?? "k";
      exchange.json(400, ofAnthropic(`${key}: Extra inputs are not permitted`));
    };
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, true]));
    const { status, times } = await send("/messages", { ...ofMessages, ...many });
    expect([status, times]).toEqual([400, 9]);
  });

  test("what a key is refused beyond 64 names, and names of more than 200 characters", async () => {
    upstream.script = (exchange) => {
      const key = Object.keys(exchange.asked).find((one) => one.startsWith("k"));
      if (key) exchange.json(400, ofAnthropic(`${key}: Extra inputs are not permitted`));
      else answer(exchange);
    };
    const long = await send("/messages", { ...ofMessages, [`k${"e".repeat(200)}y`]: true });
    expect([long.status, long.times]).toEqual([400, 1]);
    const statuses: unknown[] = [];
    for (let i = 0; i < 66; i++) statuses.push((await send("/messages", { ...ofMessages, [`k${i}`]: true })).status);
    expect(statuses).toEqual([...Array(64).fill(200), 400, 400]);
  });
});
