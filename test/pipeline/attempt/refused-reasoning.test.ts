/** Models that do not reason are asked without it in the same call, and those that always do without its being switched off. */
import type { JsonObject } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { modelAt } from "../../support/gateway.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { answerAsOpenAi } from "../../support/vendors.ts";

const { upstream, gateway } = scriptedStage(
  (base_url) => ({
    upstreams: [
      { name: "far", kind: "openai", base_url },
      { name: "messages", kind: "anthropic", base_url },
    ],
    models: [modelAt("far", "chat", "open"), modelAt("messages", "messages", "open")],
    embeddedModels: false,
  }),
  { perTest: true },
);

const said = { role: "user", content: "Hi" };
const chat: JsonObject = { model: "chat", messages: [said] };
const message: JsonObject = { model: "messages", max_tokens: 2000, messages: [said] };

/** refuse answers requests that have a member by a refusal, and all others. */
function refuse(words: string, has: (asked: JsonObject) => boolean): void {
  upstream.script = (exchange) => {
    if (has(exchange.asked)) return exchange.json(400, { error: { message: words, type: "invalid_request_error" } });
    if (exchange.path.endsWith("/chat/completions")) return answerAsOpenAi(exchange);
    const content = [{ type: "text", text: "Hi" }];
    exchange.json(200, { type: "message", role: "assistant", content, stop_reason: "end_turn" });
  };
}

async function send(path: string, body: JsonObject) {
  const before = upstream.received.length;
  const { status, dropped, text } = await ask(gateway, `/v1${path}`, body);
  return { status, dropped, text, times: upstream.received.length - before };
}

const adaptive = { thinking: { type: "adaptive" } };
const effort = { reasoning_effort: "high" };

test.each<[string, string, string, JsonObject, string]>([
  ["Ollama's", '"llama3.1:8b" does not support thinking', "/chat/completions", effort, "reasoning_effort"],
  ["Ollama's", '"llama3.1:8b" does not support thinking', "/messages", adaptive, "thinking"],
  [
    "SGLang's",
    "Anthropic thinking is not supported for models without a reasoning parser",
    ...(["/messages", { ...adaptive, output_config: { effort: "low" } }, "thinking, output_config.effort"] as const),
  ],
  [
    "another's",
    "This model does not support reasoning.",
    "/chat/completions",
    { reasoning: { effort: "low" } },
    "reasoning",
  ],
  [
    "a template's",
    "Reasoning is not supported by this model",
    ...(["/chat/completions", { chat_template_kwargs: { enable_thinking: true, a: 1 } }] as const),
    "chat_template_kwargs.enable_thinking",
  ],
])("a model without reasoning, in %s words: %s, over %s", async (_, words, path, asked, left) => {
  const [key = ""] = Object.keys(asked);
  refuse(words, ({ [key]: value }) => JSON.stringify(value ?? {}) === JSON.stringify(asked[key]));
  const body = { ...(path === "/messages" ? message : chat), ...asked };
  const first = await send(path, body);
  expect([first.status, first.dropped, first.times], first.text).toEqual([200, left, 2]);
  const next = await send(path, body);
  expect([next.status, next.times]).toEqual([200, 1]);
});

const mandatory = "Reasoning is mandatory for this endpoint and cannot be disabled.";

test.each<[string, string, JsonObject, JsonObject]>([
  [mandatory, "/chat/completions", { reasoning: { effort: "none" } }, { reasoning: { effort: "low" } }],
  [mandatory, "/chat/completions", { reasoning: { enabled: false } }, { reasoning: { enabled: true } }],
  [mandatory, "/chat/completions", { reasoning_effort: "none" }, effort],
  [mandatory, "/messages", { thinking: { type: "disabled" } }, adaptive],
  [
    "Reasoning parser 'step3' is always-on and cannot be disabled via Anthropic thinking",
    ...(["/messages", { thinking: { type: "disabled" } }, adaptive] as const),
  ],
  [
    "Disabling thinking is not supported for this model",
    ...(["/messages", { thinking: { type: "disabled" } }, adaptive] as const),
  ],
  [
    "The value of the enable_thinking parameter is restricted to True.",
    ...(["/chat/completions", { enable_thinking: false }, { enable_thinking: true }] as const),
  ],
])("a model that always reasons: %s, over %s, %j", async (words, path, off, on) => {
  const [key = ""] = Object.keys(off);
  refuse(words, ({ [key]: value }) => JSON.stringify(value) === JSON.stringify(off[key]));
  const body = path === "/messages" ? message : chat;
  for (let call = 0; call < 2; call++) {
    const { status, dropped, times, text } = await send(path, { ...body, ...off });
    expect([status, dropped, times], text).toEqual([200, key, 2]);
  }
  // Any degree of it goes on being asked for.
  expect(await send(path, { ...body, ...on })).toMatchObject({ status: 200, dropped: null, times: 1 });
  expect(upstream.lastAsked[key]).toEqual(on[key]);
});

test.each([
  "This model does not support reasoning_effort values other than 'low'",
  "The model does not support thinking with a forced tool",
  "adaptive thinking is not supported on this model",
  "This model does not support thinking type 'enabled'",
  "This model does not support thinking budgets",
  "This model does not support reasoning efforts other than 'low'",
  "This model does not support reasoning summaries.",
  "Interleaved thinking is not supported for this model",
])("a refusal of a degree or a kind is told as it came: %s", async (words) => {
  refuse(words, () => true);
  const { status, times } = await send("/messages", { ...message, ...adaptive });
  expect([status, times]).toEqual([400, 1]);
});

test("a refusal that names a member leaves the reasoning, whatever it quotes of the request", async () => {
  const words =
    "context_management: Extra inputs are not permitted, input: 'Why does this model not work? It does not support thinking.'";
  refuse(words, ({ context_management: edits }) => edits !== undefined);
  const asked = { ...message, ...adaptive, context_management: { edits: [] } };
  expect(await send("/messages", asked)).toMatchObject({ status: 200, dropped: "context_management", times: 2 });
  expect(upstream.lastAsked).toMatchObject(adaptive);
});

test("a refusal of a role that speaks of reasoning is one of the role, where no reasoning is asked for", async () => {
  const isOther = ({ role }: JsonObject) => role === "developer";
  refuse("Unknown role 'developer': this model does not support reasoning.", ({ messages }) =>
    (messages as JsonObject[]).some(isOther),
  );
  const asked = { ...chat, messages: [{ role: "developer", content: "Be short." }, said] };
  expect(await send("/chat/completions", asked)).toMatchObject({ status: 200, times: 2 });
});

test.each([
  "Function tools with reasoning_effort are not supported for gpt-6-astra in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
  "Function tools with reasoning_effort are not supported for google.gemma-4-31b in /v1/chat/completions. Please use /v1/responses instead, or set 'reasoning_effort' to none.",
])("tools that a model takes only without reasoning are asked with the effort `none`: %s", async (words) => {
  refuse(words, (asked) => asked.tools !== undefined && asked.reasoning_effort !== "none");
  const tools = [{ type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } }];
  const first = await send("/chat/completions", { ...chat, tools, reasoning_effort: "high" });
  expect([first.status, first.dropped, first.times], first.text).toEqual([200, "reasoning_effort", 2]);
  const next = await send("/chat/completions", { ...chat, tools });
  expect([next.status, next.dropped, next.times]).toEqual([200, null, 1]);
  const toolless = await send("/chat/completions", { ...chat, reasoning_effort: "high" });
  expect([toolless.dropped, upstream.lastAsked.reasoning_effort]).toEqual([null, "high"]);
});
