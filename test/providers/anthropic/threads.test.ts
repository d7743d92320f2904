/** A conversation that Anthropic keeps, of which a request has the last messages alone: it goes on there, or not at all. */
import Anthropic, { NotFoundError } from "@anthropic-ai/sdk";
import { beforeEach, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/wire/json.ts";
import { type Asked, ask } from "../../support/ask.ts";
import { openAccount } from "../../support/payer.ts";
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { cost, paidModel, paidModels, price } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { answerAsAnthropic, anthropicError, messageAnswer } from "../../support/vendors.ts";

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
const goingOn: JsonObject = {
  max_tokens: 64,
  thread: { type: "continue", previous_message_id: "msg_v1" },
  messages: [{ role: "user", content: [result, { type: "text", text: "Go on." }] }],
};
const begun: JsonObject = {
  max_tokens: 64,
  thread: { type: "create" },
  messages: [{ role: "user", content: "Make it." }],
};

const say = (model: string, body: JsonObject): Promise<Asked> => ask(gateway, "/v1/messages", { model, ...body });

function expectLost({ status, json }: Asked): void {
  expect(status).toBe(404);
  expect(json.error).toMatchObject({ type: "not_found_error", details: { error_code: "thread_not_found" } });
}

describe("at Claude", () => {
  test("goes on with results whose calls only the vendor has, and with a choice among the tools that it has", async () => {
    const asked = { ...goingOn, tool_choice: { type: "none" } };
    expect((await say("big", asked)).status).toBe(200);
    expect(upstream.lastAsked).toMatchObject(asked);
  });

  test("goes on with nothing new, as Anthropic's SDK sends it behind a pause", async () => {
    const silent = { ...goingOn, messages: [] };
    expect(await say("big", silent)).toMatchObject({ status: 200 });
    expect(upstream.lastAsked).toMatchObject(silent);
    await ask(gateway, "/v1/messages/count_tokens", { model: "big", ...silent });
    expect(upstream.lastAsked).toMatchObject({ messages: [], thread: goingOn.thread });
  });

  test("that goes on with nothing new keeps to the other rules, and one that begins says something", async () => {
    const silent = { ...goingOn, messages: [] };
    expect(await say("big", { ...silent, max_tokens: -1 })).toMatchObject({ status: 400 });
    expect(await say("big", { ...begun, messages: [] })).toMatchObject({ status: 400 });
    const { messages: _, ...absent } = goingOn;
    expect(await say("big", absent)).toMatchObject({ status: 400 });
    for (const model of ["kimi", "gpt"]) expectLost(await say(model, silent));
  });

  test("is counted as it is sent", async () => {
    await ask(gateway, "/v1/messages/count_tokens", { model: "big", ...goingOn });
    expect(upstream.lastAsked).toMatchObject({ messages: goingOn.messages, thread: goingOn.thread });
  });

  test("is charged for all that was said before", async () => {
    const payer = await openAccount(gateway);
    const usage = { input_tokens: 12, cache_read_input_tokens: 420_000, output_tokens: 2 };
    upstream.script = (exchange) => exchange.json(200, messageAnswer([], "end_turn", { usage }));
    await ask(gateway, "/v1/messages", { model: "big", ...goingOn }, { apiKey: payer.apiKey });
    const { requests } = await books.of(payer);
    expect(requests.at(-1)).toMatchObject({
      cost: 12 * cost.input + 420_000 * cost.cacheRead + 2 * cost.output,
      implausible: 0,
    });
  });

  test("is held and charged for searches by the tools with which it began", async () => {
    const payer = await openAccount(gateway);
    const usage = { input_tokens: 12, output_tokens: 900, server_tool_use: { web_search_requests: 3 } };
    upstream.script = (exchange) => exchange.json(200, messageAnswer([], "end_turn", { usage }));
    await ask(gateway, "/v1/messages", { model: "searching", ...goingOn }, { apiKey: payer.apiKey });
    const { requests } = await books.of(payer);
    expect(requests.at(-1)).toMatchObject({
      cost: 12 * cost.input + 900 * cost.output + 3 * 200_000,
      waived: 0,
      implausible: 0,
    });
  });

  test("is lost where the credit is for less than the model's context: what it says in whole may cost less", async () => {
    const { apiKey } = await openAccount(gateway, { recharge: 100_000 });
    for (const model of ["big", "kimi", "gpt"])
      expectLost(await ask(gateway, "/v1/messages", { model, ...goingOn }, { apiKey }));
    expect((await ask(gateway, "/v1/messages", { model: "big", ...begun }, { apiKey })).status).toBe(200);
    expect(upstream.received.length).toBe(1);
  });

  test("is told as lost in the vendor's words", async () => {
    const error = { type: "not_found_error", message: "Gone.", details: { error_code: "thread_not_found" } };
    upstream.script = (exchange) => exchange.json(404, { type: "error", error });
    const answer = await say("big", goingOn);
    expectLost(answer);
    expect(answer.json.error.message).toBe("Gone.");
  });
});

describe("at a server that keeps none", () => {
  /** What it was asked with the last messages alone, and answered. */
  let answered: JsonObject[] = [];

  beforeEach(() => {
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
    expectLost(await say("big", goingOn));
    expect((await say("big", begun)).dropped).toBe("thread");
    expectLost(await say("big", goingOn));
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
    expectLost(await say("kimi", goingOn));
    expect((await say("kimi", begun)).status).toBe(200);
    expect(upstream.received.length).toBe(1);
  });
});

test("the SDK knows it as lost", async () => {
  const client = new Anthropic({ apiKey: gateway.apiKey, baseURL: gateway.rootUrl, maxRetries: 0 });
  const lost = client.messages.create({ model: "kimi", ...goingOn } as never);
  await expect(lost).rejects.toBeInstanceOf(NotFoundError);
});
