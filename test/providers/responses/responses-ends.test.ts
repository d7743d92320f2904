/**
 * How an upstream's streamed response may end: with less than it sent, in contradiction to itself, or not at all.
 * What was sent belongs to the answer; an incomplete response is complete in no family, and is charged for what it
 * used.
 */
import { describe, expect, test } from "vitest";
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { ProfileConfig } from "../../../src/config/schema-profile.ts";
import { call, familyNames, isTold } from "../../support/clients/families.ts";
import { type HeardAnswer, hear } from "../../support/clients/hear.ts";
import { eventually } from "../../support/eventually.ts";
import { openAccount } from "../../support/payer.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { cost, paidModel, price } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import {
  anthropicFrames,
  blockEvents,
  done,
  messageStart,
  outputMessage,
  responseAnswer,
  responseEvents,
} from "../../support/vendors.ts";

// biome-ignore lint/suspicious/noExplicitAny: what the gateway says is looked into as it came.
type Any = any;
type Json = Record<string, unknown>;

/** In millionths of the unit. */
const searchCost = 17_000;
const paid = 5 * cost.input + 4 * cost.cacheRead + 5 * cost.output;

const { upstream, gateway } = scriptedStage((base_url) => {
  const profile: ProfileConfig = {
    operations: { chat: "/chat/completions", responses: "/responses" },
    responses_items: "any",
    responses: "always",
  };
  const more = { price: { ...price, web_search: searchCost }, max_output_tokens: 1000 };
  return {
    embeddedModels: false,
    upstreams: [
      { name: "far", kind: "openai", base_url, profile },
      { name: "claude", kind: "anthropic", base_url, api_key: "k" },
    ],
    models: [paidModel("thinker", "far", more), paidModel("claude", "claude", more)],
  };
});

function script(...events: readonly object[]): void {
  upstream.script = (exchange) => {
    exchange.head(200, eventStream);
    exchange.end(anthropicFrames(...(events as Json[])));
  };
}

const message = outputMessage("Hello there, you");
const called = {
  ...{ id: "fc_v1", type: "function_call", status: "completed" },
  ...{ call_id: "call_1", name: "weather", arguments: '{"city":"Rome"}' },
};
const search = { id: "ws_v1", type: "web_search_call", status: "completed", action: { type: "search", query: "q" } };

/** The events of a response with these items, whose last event has `output`. */
function endingIn(output: readonly Json[], items: readonly Json[], end = "completed"): Json[] {
  const events = responseEvents(responseAnswer(items)).slice(0, -1);
  return [...events, { type: `response.${end}`, response: responseAnswer(output, { status: end }) }];
}

const isOfPieces = ({ type }: Json) => !/\.(done|part\.added)$/.test(type as string);

async function create(body: Json, apiKey = gateway.apiKey): Promise<{ answer: HeardAnswer; response: Any }> {
  const path = "/v1/responses";
  const answer = await hear(gateway, { path, apiKey, body: { model: "thinker", input: "hi", ...body } }).answer;
  const last = answer.text.startsWith("{") ? answer.text : (answer.text.match(/^data: (.*)$/gm)?.at(-1) ?? "").slice(6);
  const json = JSON.parse(last);
  return { answer, response: body.stream ? json.response : json };
}

const get = (path: string) =>
  fetch(`${gateway.baseUrl}${path}`, { headers: { authorization: `Bearer ${gateway.apiKey}` } });

const said = (output: Any[] = []) =>
  output.map(({ type, status, content, ...item }) => [type, status, content?.[0]?.text ?? item.arguments]);
const whole = [
  ["message", "completed", "Hello there, you"],
  ["function_call", "completed", '{"city":"Rome"}'],
];

describe.each([false, true])(
  "the end of a response has everything that came before it, requested as a stream: %s",
  (stream) => {
    test.each<[string, Json[]]>([
      ["where it has none of it", endingIn([], [message, called])],
      ["where it lacks an item", endingIn([message], [message, called])],
      ["where it lacks the first", endingIn([called], [message, called])],
      ["where all was told in pieces alone", endingIn([], [message, called]).filter(isOfPieces)],
      [
        "where its items have other ids there",
        endingIn(
          [
            { ...message, id: "a" },
            { ...called, id: "b" },
          ],
          [message, called],
        ),
      ],
    ])("%s", async (_, events) => {
      script(...events);
      const { answer, response } = await create({ stream });
      expect([answer.status, said(response.output)]).toEqual([200, whole]);
      // It is stored that way, too.
      const again = await get(`/responses/${response.id}`);
      expect(said(((await again.json()) as Any).output)).toEqual(whole);
    });

    test("and reports how it ended, whatever the response in it says", async () => {
      const [, ...rest] = endingIn([message], [message]).toReversed();
      script(...rest.toReversed(), {
        type: "response.incomplete",
        response: responseAnswer([], { status: undefined }),
      });
      const { response } = await create({ stream });
      expect([response.status, said(response.output)]).toEqual(["incomplete", [whole[0]]]);
    });

    test("and is not complete where the response in it was cut off, as vLLM says it", async () => {
      const [, ...rest] = endingIn([message], [message]).toReversed();
      script(...rest.toReversed(), {
        type: "response.completed",
        response: responseAnswer([], {
          status: "incomplete",
          incomplete_details: { reason: "max_output_tokens" },
        }),
      });
      const { response } = await create({ stream });
      expect([response.status, response.incomplete_details]).toEqual(["incomplete", { reason: "max_output_tokens" }]);
    });

    test("but not where it reports a failed response, or none", async () => {
      const [, ...rest] = endingIn([message], [message]).toReversed();
      const failed = { status: "failed", error: { code: "server_error", message: "It broke." } };
      const beside = responseAnswer([message], { error: failed.error });
      for (const end of [{ response: responseAnswer([message], failed) }, { response: beside }, {}]) {
        script(...rest.toReversed(), { type: "response.completed", ...end });
        const { answer } = await create({ stream });
        expect(isTold(answer, "responses", stream)).toBe(false);
        expect(answer.text).toMatch(/upstream of this model failed|It broke/);
      }
    });
  },
);

test.each(familyNames)(
  "a caller of %s gets a whole answer where [DONE] stands in place of its last event",
  async (family) => {
    upstream.script = (exchange) => {
      exchange.head(200, eventStream);
      exchange.end(anthropicFrames(...endingIn([], [message, called]).slice(0, -1)) + done);
    };
    const answer = await call(gateway, { family, model: "thinker", stream: true, apiKey: gateway.apiKey });
    expect(isTold(answer, family, true)).toBe(true);
  },
);

describe("an invalid item of an output is left out, and", () => {
  test("does no harm where a caller continues it, refers to it, or lists it", async () => {
    upstream.script = (exchange) => exchange.json(200, responseAnswer([null, 5, message] as never));
    const { response } = await create({});
    expect(response.output).toHaveLength(1);
    const item = { type: "item_reference", id: response.output[0].id };
    for (const body of [{ previous_response_id: response.id }, { input: [item, { role: "user", content: "and?" }] }]) {
      const { answer, response: next } = await create(body);
      expect(answer.status).toBe(200);
      expect(upstream.lastAsked.input).not.toContain(null);
      expect((await get(`/responses/${next.id}/input_items`)).status).toBe(200);
    }
  });

  test("is no answer by itself", async () => {
    upstream.script = (exchange) => exchange.json(200, responseAnswer([null] as never));
    expect((await create({})).answer.status).toBe(502);
  });
});

test("a failed unary response is no answer, whatever its status", async () => {
  upstream.script = (exchange) => exchange.json(200, { status: "failed", output: [message] });
  expect((await create({})).answer.status).toBe(502);
});

describe.each(familyNames)("a caller of %s, whose stream breaks off after any of its events,", (family) => {
  const events = endingIn([message, called], [message, called]);

  test.each([false, true])("gets nothing marked as complete, nor pays for it; stream: %s", async (stream) => {
    for (let cut = 0; cut < events.length; cut++) {
      const payer = await openAccount(gateway);
      script(...events.slice(0, cut));
      const answer = await call(gateway, { family, model: "thinker", stream, apiKey: payer.apiKey });
      expect([cut, isTold(answer, family, stream)]).toEqual([cut, false]);
      const { outcome, cost: charged } = await onlyCall(payer.accountId);
      expect([cut, outcome]).not.toEqual([cut, Outcome.ANSWERED]);
      if (!stream) expect(charged).toBe(0);
      else expect(charged).toBeLessThanOrEqual(paid + 20 * cost.output);
    }
  });
});

/** Returns the record of an account's only call. */
async function onlyCall(accountId: string): Promise<Any> {
  let rows: readonly Any[] = [];
  await eventually(async () => {
    rows = await gateway.storage.requests.page({ accountId }, undefined, 10);
    expect(rows.length).toBe(1);
  });
  return rows[0];
}

describe("searches that were made before a stream broke off are charged", () => {
  test("of a response", async () => {
    const payer = await openAccount(gateway);
    const opened = { ...search, id: "ws_v2", action: { type: "open_page", url: "http://x" } };
    script(...endingIn([], [search, opened, { ...search, id: "ws_v3" }, message]).slice(0, -2));
    await create({ stream: true, tools: [{ type: "web_search" }] }, payer.apiKey);
    const row = await onlyCall(payer.accountId);
    expect(row.outcome).toBe(Outcome.BROKEN);
    expect(Math.floor(row.cost / searchCost)).toBe(2);
  });

  test("of a message, except for those that failed", async () => {
    const payer = await openAccount(gateway);
    const found = (content: unknown) => ({ type: "web_search_tool_result", tool_use_id: "s", content });
    const error = { type: "web_search_tool_result_error", error_code: "unavailable" };
    script(
      messageStart(),
      ...blockEvents(0, found([{ type: "web_search_result", url: "http://x", title: "X" }])),
      ...blockEvents(1, found(error)),
      ...blockEvents(2, { type: "text", text: "" }, { type: "text_delta", text: "Hel" }),
    );
    const tools = [{ type: "web_search_20250305", name: "web_search", max_uses: 2 }];
    const request = {
      family: "messages",
      model: "claude",
      stream: true,
      apiKey: payer.apiKey,
      more: { tools },
    } as const;
    await call(gateway, request);
    const row = await onlyCall(payer.accountId);
    expect(row.outcome).toBe(Outcome.BROKEN);
    expect(Math.floor(row.cost / searchCost)).toBe(1);
  });
});

test("a stream larger than an answer may be is broken off, and no more of it is kept", async () => {
  const text = "word and ".repeat(500_000);
  let sent = 0;
  upstream.script = async (exchange) => {
    exchange.head(200, eventStream);
    const piece = (output_index: number) =>
      anthropicFrames({ type: "response.output_item.done", output_index, item: outputMessage(text) });
    while (sent < 25 && (await exchange.write(piece(sent)))) sent++;
    exchange.destroy();
  };
  const headers = { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" };
  const body = JSON.stringify({ model: "thinker", input: "hi", stream: true });
  const answer = await fetch(`${gateway.baseUrl}/responses`, { method: "POST", headers, body });
  const told = Buffer.from(await answer.arrayBuffer());
  expect(told.subarray(-300).toString()).toContain("its answer is too large");
  expect(Math.round(told.length / text.length)).toBe(14);
});

test("five hundred unrequested searches are charged up to the hold, and the rest is waived", async () => {
  const payer = await openAccount(gateway);
  upstream.script = (exchange) => exchange.json(200, responseAnswer([...Array(500).fill(search), message]));
  const { answer } = await create({}, payer.apiKey);
  expect(answer.headers["x-gateway-usage"]).toContain("searches=500");
  const row = await onlyCall(payer.accountId);
  expect(row.cost).toBeGreaterThan(paid);
  expect(row.cost).toBeLessThan(searchCost * 2);
  expect(gateway.logged()).toContain("more than was held");
});
