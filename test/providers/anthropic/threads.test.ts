/** A conversation that Anthropic keeps, of which a request has the last messages alone: it goes on there, or not at all. */
import Anthropic, { NotFoundError } from "@anthropic-ai/sdk";
import { beforeEach, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/wire/json.ts";
import { type Asked, ask, eventsIn } from "../../support/ask.ts";
import { openAccount } from "../../support/payer.ts";
import { eventStream, type ScriptedExchange } from "../../support/scripted-upstream.ts";
import { cost, paidModel, paidModels, price } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import {
  answerAsAnthropic,
  anthropicError,
  anthropicFrames,
  messageAnswer,
  messageStart,
} from "../../support/vendors.ts";

const { upstream, gateway, books } = scriptedStage(
  (baseUrl) => {
    const served = paidModels(baseUrl);
    const kimi = { upstream: "anthropic", model: "kimi-k3", priority: 0, weight: 1 };
    const big = { upstream: "anthropic", model: "claude-opus-5", priority: 0, weight: 1 };
    return {
      ...served,
      models: [
        ...served.models,
        paidModel("kimi", "anthropic", { targets: [kimi] }),
        paidModel("searching", "anthropic", {
          targets: [big],
          context_window: 100_000,
          price: { ...price, web_search: 200_000 },
        }),
        paidModel("big", "anthropic", { targets: [big], context_window: 500_000 }),
      ],
    };
  },
  { perTest: true, script: answerAsAnthropic },
);

const result = { type: "tool_result", tool_use_id: "toolu_1", content: "made" };
const goingOn = (previous: string): JsonObject => ({
  max_tokens: 64,
  thread: { type: "continue", previous_message_id: previous },
  messages: [{ role: "user", content: [result, { type: "text", text: "Go on." }] }],
});
const begun: JsonObject = {
  max_tokens: 64,
  thread: { type: "create" },
  messages: [{ role: "user", content: "Make it." }],
};

const say = (model: string, body: JsonObject, apiKey = gateway.apiKey): Promise<Asked> =>
  ask(gateway, "/v1/messages", { model, ...body }, { apiKey });

/** begins begins a thread, and returns the request that goes on with it. */
async function begins(apiKey?: string): Promise<JsonObject> {
  return goingOn((await say("big", begun, apiKey)).json.id);
}

/** sent is what goes to the vendor of such a request. */
const sent = goingOn("msg_v1");

function expectLost({ status, json }: Asked): void {
  expect(status).toBe(404);
  expect(json.error).toMatchObject({ type: "not_found_error", details: { error_code: "thread_not_found" } });
}

describe("at Claude", () => {
  test("goes on with results whose calls only the vendor has, and with a choice among the tools that it has", async () => {
    const tool_choice = { type: "none" };
    expect((await say("big", { ...(await begins()), tool_choice })).status).toBe(200);
    expect(upstream.lastAsked).toMatchObject({ ...sent, tool_choice });
  });

  test("goes on with nothing new, as Anthropic's SDK sends it behind a pause", async () => {
    const silent = { ...(await begins()), messages: [] };
    expect(await say("big", silent)).toMatchObject({ status: 200 });
    expect(upstream.lastAsked).toMatchObject({ ...sent, messages: [] });
    await ask(gateway, "/v1/messages/count_tokens", { model: "big", ...silent });
    expect(upstream.lastAsked).toMatchObject({ messages: [], thread: sent.thread });
  });

  test("that goes on with nothing new keeps to the other rules, and one that begins says something", async () => {
    const next = await begins();
    const silent = { ...next, messages: [] };
    expect(await say("big", { ...silent, max_tokens: -1 })).toMatchObject({ status: 400 });
    expect(await say("big", { ...begun, messages: [] })).toMatchObject({ status: 400 });
    const { messages: _, ...absent } = next;
    expect(await say("big", absent)).toMatchObject({ status: 400 });
    for (const model of ["kimi", "gpt"]) expectLost(await say(model, silent));
  });

  test("is counted as it is sent", async () => {
    await ask(gateway, "/v1/messages/count_tokens", { model: "big", ...(await begins()) });
    expect(upstream.lastAsked).toMatchObject({ messages: sent.messages, thread: sent.thread });
  });

  test("is charged for all that was said before", async () => {
    const payer = await openAccount(gateway);
    const next = await begins(payer.apiKey);
    const usage = { input_tokens: 12, cache_read_input_tokens: 420_000, output_tokens: 2 };
    upstream.script = (exchange) => exchange.json(200, messageAnswer([], "end_turn", { usage }));
    await say("big", next, payer.apiKey);
    const { requests } = await books.of(payer);
    expect(requests.at(-1)).toMatchObject({
      cost: 12 * cost.input + 420_000 * cost.cacheRead + 2 * cost.output,
      implausible: 0,
    });
  });

  test("is held and charged for searches by the tools with which it began", async () => {
    const payer = await openAccount(gateway);
    const next = await begins(payer.apiKey);
    const usage = { input_tokens: 12, output_tokens: 900, server_tool_use: { web_search_requests: 3 } };
    upstream.script = (exchange) => exchange.json(200, messageAnswer([], "end_turn", { usage }));
    await say("searching", next, payer.apiKey);
    const { requests } = await books.of(payer);
    expect(requests.at(-1)).toMatchObject({
      cost: 12 * cost.input + 900 * cost.output + 3 * 200_000,
      waived: 0,
      implausible: 0,
    });
  });

  test("is lost where the credit is for less than the model's context: what it says in whole may cost less", async () => {
    const { apiKey } = await openAccount(gateway, { recharge: 100_000 });
    const next = await begins(apiKey);
    for (const model of ["big", "kimi", "gpt"]) expectLost(await say(model, next, apiKey));
    expect((await say("big", begun, apiKey)).status).toBe(200);
    expect(upstream.received.length).toBe(2);
  });

  test("is told as lost in the vendor's words", async () => {
    const next = await begins();
    const error = { type: "not_found_error", message: "Gone.", details: { error_code: "thread_not_found" } };
    upstream.script = (exchange) => exchange.json(404, { type: "error", error });
    const answer = await say("big", next);
    expectLost(answer);
    expect(answer.json.error.message).toBe("Gone.");
  });
});

describe("at a server that keeps none", () => {
  /** What it was asked with the last messages alone, and answered. */
  let answered: JsonObject[] = [];
  let next: JsonObject;

  beforeEach(async () => {
    next = await begins();
    answered = [];
    upstream.script = (exchange: ScriptedExchange) => {
      const { asked } = exchange;
      if (asked.thread)
        exchange.json(400, anthropicError("invalid_request_error", "thread: Extra inputs are not permitted"));
      else {
        answered.push(asked);
        answerAsAnthropic(exchange);
      }
    };
  });

  test("is lost at the first try, and once it is known that it refuses them", async () => {
    expectLost(await say("big", next));
    expect((await say("big", begun)).dropped).toBe("thread");
    expectLost(await say("big", next));
    expect(answered.map(({ messages }) => messages)).toEqual([begun.messages]);
  });

  test("goes on for the SDK, which sends it whole", async () => {
    const client = new Anthropic({ apiKey: gateway.apiKey, baseURL: gateway.rootUrl, maxRetries: 0 });
    const thread = client.beta.messages.thread({ model: "big", max_tokens: 64 });
    for (const turn of ["One", "Two", "Three"]) await thread.send({ role: "user", content: turn });
    expect(answered.map(({ messages }) => (messages as unknown[]).length)).toEqual([1, 3, 5]);
  });

  test("is lost where another vendor's model is asked, which may not refuse it", async () => {
    upstream.script = answerAsAnthropic;
    expectLost(await say("kimi", next));
    expect((await say("kimi", begun)).status).toBe(200);
    expect(upstream.received.length).toBe(2);
  });
});

describe("of another account", () => {
  const code = /^msg_v1_[\da-f]{32}$/;

  test("is lost, as one that nobody has, by whatever spelling of its id, and its vendor is not asked", async () => {
    const { json } = await say("big", begun);
    expect(json.id).toMatch(code);
    const other = await openAccount(gateway);
    const cut = json.id.slice(0, -1);
    for (const id of [json.id, "msg_v1", cut, `${cut}g`, json.id.toUpperCase(), `msg_v1_${"0".repeat(32)}`, ""]) {
      const answers = await Promise.all(
        ["/v1/messages", "/v1/messages/count_tokens"].map((path) =>
          ask(gateway, path, { model: "big", ...goingOn(id) }, { apiKey: other.apiKey }),
        ),
      );
      for (const answer of answers) expectLost(answer);
    }
    expect(upstream.received.length).toBe(1);
    expect((await say("big", goingOn(json.id))).json.id).toBe(json.id);
  });

  test("is lost whatever the type of the thread is called", async () => {
    const { json } = await say("big", begun);
    const bare = json.id.replace(/_[\da-f]{32}$/, "");
    const { apiKey } = await openAccount(gateway);
    const typed = (type: string | null, id: string) => ({ ...begun, thread: { type, previous_message_id: id } });
    for (const type of ["create", "fork", null])
      for (const id of [json.id, bare]) expectLost(await say("big", typed(type, id), apiKey));
    expect(upstream.received.length).toBe(1);
    await say("big", typed("fork", json.id));
    expect(upstream.lastAsked).toMatchObject({ thread: { type: "fork", previous_message_id: "msg_v1" } });
  });

  test("goes on for the SDK by the id of a streamed message", async () => {
    const client = new Anthropic({ apiKey: gateway.apiKey, baseURL: gateway.rootUrl, maxRetries: 0 });
    const { id } = await client.beta.messages.stream({ model: "big", ...begun } as never).finalMessage();
    expect(id).toMatch(code);
    expect((await say("big", goingOn(id))).status).toBe(200);
    expect(upstream.lastAsked).toMatchObject({ thread: sent.thread });
  });

  test("is no prompt that one's own is compared with", async () => {
    const asked: JsonObject = { max_tokens: 64, messages: [{ role: "user", content: "Hi" }] };
    const compared = (previous_message_id: string | null) => ({ ...asked, diagnostics: { previous_message_id } });
    const { json } = await say("big", compared(null));
    const other = await openAccount(gateway);
    await say("big", compared(json.id), other.apiKey);
    expect(upstream.lastAsked).toMatchObject({ diagnostics: { previous_message_id: null } });
    await say("big", compared(json.id));
    expect(upstream.lastAsked).toMatchObject({ diagnostics: { previous_message_id: "msg_v1" } });
  });
});

describe("a container of code", () => {
  const tools: JsonObject[] = [{ type: "code_execution_20260521", name: "code_execution" }];
  const asked: JsonObject = { max_tokens: 64, tools, messages: [{ role: "user", content: "Count." }] };
  const container = { id: "container_v1", expires_at: "2026-12-01T00:00:00Z" };

  beforeEach(() => {
    upstream.script = (exchange) => {
      if (!exchange.asked.stream) return exchange.json(200, messageAnswer([], "end_turn", { container }));
      exchange.head(200, eventStream);
      const delta = { stop_reason: "end_turn", stop_sequence: null, container };
      const end = { type: "message_delta", delta, usage: { output_tokens: 2 } };
      exchange.end(anthropicFrames(messageStart(), end, { type: "message_stop" }));
    };
  });

  test.each([false, true])("is its account's alone (streamed: %s)", async (stream) => {
    const first = await say("big", { ...asked, stream });
    const told = stream ? eventsIn(first.text).find(({ type }) => type === "message_delta").delta : first.json;
    expect(told.container).toEqual({ ...container, id: expect.stringMatching(/^container_v1_[\da-f]{32}$/) });
    const { id } = told.container as { id: string };
    const { apiKey } = await openAccount(gateway);
    for (const given of [id, { id }, "container_v1", { id: "container_v1" }]) {
      const refused = await say("big", { ...asked, container: given }, apiKey);
      expect([refused.status, refused.json.error.type]).toEqual([404, "not_found_error"]);
    }
    expect(upstream.received.length).toBe(1);
    for (const [given, got] of [
      [id, "container_v1"],
      [{ id }, { id: "container_v1" }],
    ] as const) {
      await say("big", { ...asked, container: given });
      expect(upstream.lastAsked).toMatchObject({ container: got });
    }
  });
});

describe.each<[what: string, credentials: { readonly api_keys?: string[] }]>([
  ["several keys, which calls take in turn", { api_keys: ["k1", "k2"] }],
  ["no key", {}],
])("at an upstream with %s", (_, credentials) => {
  const { gateway: other, upstream: asked } = scriptedStage(
    (baseUrl) => {
      const served = paidModels(baseUrl);
      const upstreams = served.upstreams.map(({ api_key: _, ...rest }) => ({ ...rest, ...credentials }));
      const target = { upstream: "anthropic", model: "claude-opus-5", priority: 0, weight: 1 };
      return { ...served, upstreams, models: [paidModel("big", "anthropic", { targets: [target] })] };
    },
    { script: answerAsAnthropic },
  );

  test("goes on for its account, and for no other", async () => {
    const { json } = await ask(other, "/v1/messages", { model: "big", ...begun });
    for (let turn = 0; turn < 3; turn++) {
      const next = { model: "big", ...goingOn(json.id) };
      expect((await ask(other, "/v1/messages", next)).status).toBe(200);
      expect(asked.lastAsked).toMatchObject({ thread: sent.thread });
      expectLost(await ask(other, "/v1/messages", next, { apiKey: (await openAccount(other)).apiKey }));
    }
    const keys = new Set(asked.received.map(({ headers }) => headers["x-api-key"]));
    expect(keys).toEqual(new Set(credentials.api_keys ?? [undefined]));
  });
});

test("the SDK knows it as lost", async () => {
  const client = new Anthropic({ apiKey: gateway.apiKey, baseURL: gateway.rootUrl, maxRetries: 0 });
  const lost = client.messages.create({ model: "kimi", ...goingOn("msg_v1") } as never);
  await expect(lost).rejects.toBeInstanceOf(NotFoundError);
});
