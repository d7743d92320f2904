/**
 * Responses that are made in the background: told at once, asked for until they are there, taken up as streams, ended early; and
 * paid once, whatever becomes of them.
 */

import { setTimeout as delay } from "node:timers/promises";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import OpenAI from "openai";
import { pino } from "pino";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { startGateway } from "../../../src/composition/gateway.ts";
import { type Config, loadConfig } from "../../../src/config/config.ts";
import { sweepMs } from "../../../src/ledger/contract.ts";
import { binaryOptions, type JsonObject } from "../../../src/wire/json.ts";
import { eventsOf } from "../../support/clients/endpoints.ts";
import { environment } from "../../support/environment.ts";
import { eventually } from "../../support/eventually.ts";
import { now, startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { openAccount, openBooks, outcomeOf, type Payer } from "../../support/payer.ts";
import { eventStream, type ScriptedExchange } from "../../support/scripted-upstream.ts";
import { refuseInserts } from "../../support/storage/test-database.ts";
import { cost, paidModels } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { briefHello, chatChunk, chatUsage, done, openaiFrames } from "../../support/vendors.ts";

interface Response {
  readonly id: string;
  readonly status: string;
  readonly background: boolean;
  readonly output: readonly JsonObject[];
  readonly usage: { readonly total_tokens: number } | null;
  readonly error: { readonly code: string; readonly message: string; readonly param: string } | null;
}
interface Event {
  readonly type: string;
  readonly sequence_number: number;
  readonly response?: Response;
}

const small = { max: 5, maxPerAccount: 3, maxBytes: 1024 ** 2, maxBytesPerAccount: 1024 ** 2 };

const servedAt = (baseUrl: string) => ({ ...paidModels(baseUrl), backgroundResponses: small });
const { upstream, gateway, books } = scriptedStage(servedAt);

/** Starts another gateway before the same upstream. */
const start = (more: Partial<Config>) => startTestGateway({ ...servedAt(upstream.baseUrl), ...more });

async function ask<T = Response>(
  payer: Pick<Payer, "apiKey">,
  path: string,
  body?: JsonObject,
  more: RequestInit = {},
  at = gateway,
) {
  const headers = { authorization: `Bearer ${payer.apiKey}`, "content-type": "application/json", ...more.headers };
  const init = body ? { method: "POST", body: JSON.stringify(body) } : {};
  const response = await fetch(at.baseUrl + path, { ...init, ...more, headers });
  return { status: response.status, body: (await response.json()) as T };
}

/** account has the fastest tier: waiting for a response polls often. */
const account = (at = gateway) => openAccount(at, { recharge: 300_000_000 });

const asked = { model: "gpt", input: "Hello there, say hello.", background: true, max_output_tokens: 100 };
const begin = (payer: Payer, more: JsonObject = {}, at = gateway) =>
  ask(payer, "/responses", { ...asked, ...more }, {}, at);
const get = (payer: Payer, id: string, at = gateway) => ask(payer, `/responses/${id}`, undefined, {}, at);
const cancel = (payer: Payer, id: string) => ask(payer, `/responses/${id}/cancel`, undefined, { method: "POST" });

async function until(payer: Payer, id: string, status: string, at = gateway): Promise<Response> {
  await eventually(async () => expect((await get(payer, id, at)).body.status).toBe(status));
  return (await get(payer, id, at)).body;
}

const chunks = briefHello;
const answer = (exchange: ScriptedExchange) => exchange.stream(...chunks);
const paid = 9 * cost.input + 2 * cost.output;

async function beginAnswer(exchange: ScriptedExchange): Promise<void> {
  exchange.head(200, eventStream);
  await exchange.write(openaiFrames(chunks[0] as JsonObject));
}

const standing = (payer: Payer) => outcomeOf(books, payer);

describe("a response in the background", () => {
  test("is told as queued at once, then as being made, then as it is; and is paid once", async () => {
    const payer = await account();
    const { status, body } = await begin(payer);
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: "queued", background: true, output: [], usage: null, error: null });
    expect((await get(payer, body.id)).body).toEqual(body);
    const exchange = await upstream.next();
    expect(exchange.body.toString()).not.toContain("background");
    await beginAnswer(exchange);
    await until(payer, body.id, "in_progress");
    expect(await standing(payer)).toMatchObject({ spent: 0, holds: 1 });
    exchange.end(`${openaiFrames(...chunks.slice(1))}data: [DONE]\n\n`);
    const done = await until(payer, body.id, "completed");
    expect(done).toMatchObject({ id: body.id, background: true, usage: { total_tokens: 11 } });
    expect(JSON.stringify(done.output)).toContain("Hello");
    expect(await standing(payer)).toEqual({ spent: paid, holds: 0, held: 0, outcomes: [Outcome.ANSWERED] });
  });

  test("is made at once whatever window is asked for, and says so", async () => {
    const payer = await account();
    const options = { completion_window: "8h", continuation_id: "c" };
    const told = "background_options.completion_window, background_options.continuation_id";
    const headers = { authorization: `Bearer ${payer.apiKey}`, "content-type": "application/json" };
    const post = (json: JsonObject, more = {}) =>
      fetch(`${gateway.baseUrl}/responses`, {
        method: "POST",
        headers: { ...headers, ...more },
        body: JSON.stringify({ ...asked, ...json }),
      });
    const begun = await post({ background_options: options });
    expect([begun.status, begun.headers.get("x-gateway-dropped")]).toEqual([200, told]);
    const exchange = await upstream.next();
    expect(exchange.body.toString()).not.toContain("background");
    await answer(exchange);
    await until(payer, ((await begun.json()) as Response).id, "completed");
    const streamed = await post({ background_options: options, stream: true });
    expect(streamed.headers.get("x-gateway-dropped")).toBe(told);
    await answer(await upstream.next());
    expect(await streamed.text()).toContain("response.completed");
    const soonest = await post({ background_options: { completion_window: "soonest", continuation_id: null } });
    expect([soonest.status, soonest.headers.get("x-gateway-dropped")]).toEqual([200, null]);
    await answer(await upstream.next());
    const strict = await post({ background_options: options }, { "x-gateway-strict": "true" });
    expect(strict.status).toBe(400);
    expect(await strict.text()).toContain("background_options.completion_window");
  });

  test("goes on when its caller has left, and can be gone on from", async () => {
    const payer = await account();
    upstream.script = answer;
    const { body } = await begin(payer);
    await until(payer, body.id, "completed");
    const next = await ask(
      payer,
      "/responses",
      { model: "gpt", input: "And?", previous_response_id: body.id, stream: true },
      {},
    ).catch(() => undefined);
    expect(next).toBeUndefined(); // It is a stream.
    expect(upstream.received.at(-1)?.body.toString()).toContain("say hello");
  });

  test("is refused at once where it could not be begun, and nothing of it is kept", async () => {
    const poor = await openAccount(gateway, { recharge: 1 });
    expect((await begin(poor)).status).toBe(402);
    const payer = await account();
    expect((await begin(payer, { model: "nobody" })).status).toBe(404);
    expect((await begin(payer, { store: false })).body.error).toMatchObject({ param: "background" });
    expect((await begin(payer, { input: [{ type: "item_reference", id: "msg_none_0" }] })).status).toBe(404);
    expect(gateway.counts().background).toBe(0);
    expect(await standing(payer)).toEqual({ spent: 0, holds: 0, held: 0, outcomes: [] });
  });

  test("that fails at its upstream says so, and costs nothing", async () => {
    const payer = await account();
    upstream.script = (exchange) => exchange.json(500, { error: { message: "broken inside" } });
    const { body } = await begin(payer);
    const failed = await until(payer, body.id, "failed");
    expect(failed.error).toMatchObject({ code: "server_error", message: expect.stringContaining("broken inside") });
    expect(await standing(payer)).toMatchObject({ spent: 0, holds: 0 });
    const next = await ask(payer, "/responses", { model: "gpt", input: "And?", previous_response_id: body.id });
    expect(next.status).toBe(400);
    expect((await ask(payer, `/responses/${body.id}`, undefined, { method: "DELETE" })).status).toBe(200);
    expect((await get(payer, body.id)).status).toBe(404);
  });

  test("that breaks off is told as failed, and is charged for what came", async () => {
    const payer = await account();
    const { body } = await begin(payer);
    const exchange = await upstream.next();
    await beginAnswer(exchange);
    await until(payer, body.id, "in_progress");
    exchange.destroy();
    await until(payer, body.id, "failed");
    const { spent, ...rest } = await standing(payer);
    expect(spent).toBeGreaterThan(0);
    expect(rest).toEqual({ holds: 0, held: 0, outcomes: [Outcome.BROKEN] });
  });

  test("that cannot be kept at first is kept a little later, and paid once", async () => {
    upstream.script = answer;
    const accept = await refuseInserts(gateway.database, "responses", "no more room");
    const payer = await account();
    const { body } = await begin(payer);
    await eventually(() => expect(gateway.logged()).toContain("no more room"));
    expect((await get(payer, body.id)).body.status).toBe("in_progress");
    await accept();
    await until(payer, body.id, "completed");
    expect(await standing(payer)).toEqual({ spent: paid, holds: 0, held: 0, outcomes: [1] });
  });

  test("that cannot be stored when it is to begin is asked of no model, and costs nothing", async () => {
    const payer = await account();
    // The key may ask the model once, and has not asked it.
    const model_rates = JSON.stringify([{ model: "gpt", requests: 1 }]);
    await gateway.storage.keys.update(payer.accountId, payer.keyId, { model_rates });
    const before = upstream.received.length;
    const insert = vi.spyOn(gateway.storage.backgroundResponses, "insert").mockImplementation(async () => {
      // A model that were asked meanwhile would have answered by then.
      const isAsked = () => upstream.received.length > before;
      for (let turns = 0; turns < 50 && !isAsked(); turns++) await delay(10);
      throw new Error("no more room");
    });
    onTestFinished(() => insert.mockRestore());
    expect((await begin(payer)).status).toBe(500);
    expect(upstream.received.length).toBe(before);
    expect(await standing(payer)).toEqual({ spent: 0, holds: 0, held: 0, outcomes: [Outcome.FAILED] });
    insert.mockRestore();
    upstream.script = answer;
    const { status, body } = await begin(payer);
    expect(status).toBe(200);
    await until(payer, body.id, "completed");
    expect((await begin(payer)).status).toBe(429);
  });

  test("whose end cannot be stored at first is told as it ended later, and can be forgotten", async () => {
    // Its timers are stopped, and begin with the next run.
    await eventually(() => expect(gateway.counts().background).toBe(0));
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const end = vi.spyOn(gateway.storage.backgroundResponses, "end").mockRejectedValueOnce(new Error("no more room"));
    onTestFinished(() => end.mockRestore());
    upstream.script = (exchange) => exchange.json(500, { error: { message: "broken inside" } });
    const payer = await account();
    const { body } = await begin(payer);
    await eventually(() => expect(gateway.counts().background).toBe(0));
    expect(end).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(sweepMs);
    const { error } = await until(payer, body.id, "failed");
    expect(error?.message).toContain("broken inside");
    expect((await ask(payer, `/responses/${body.id}`, undefined, { method: "DELETE" })).status).toBe(200);
    vi.advanceTimersByTime(sweepMs);
    expect(end).toHaveBeenCalledTimes(2);
  });

  test("is its account's alone", async () => {
    const [payer, other] = [await account(), await account()];
    upstream.script = answer;
    const { body } = await begin(payer, { stream: false });
    for (const path of [`/responses/${body.id}`, `/responses/${body.id}?stream=true`]) {
      expect((await ask(other, path)).status, path).toBe(404);
    }
    expect((await cancel(other, body.id)).status).toBe(404);
    await until(payer, body.id, "completed");
  });

  test("is logged once, with what it cost", async () => {
    const payer = await account();
    upstream.script = answer;
    const { body } = await begin(payer);
    await until(payer, body.id, "completed");
    const lines = () =>
      gateway
        .logged()
        .split("\n")
        .filter((line) => line.includes(body.id.replace("resp_", "req_")));
    await eventually(() => expect(lines()).toHaveLength(1));
    expect(lines()[0]).toContain('"rpc":"CreateResponse"');
    expect(lines()[0]).toContain('"cost_millionths":49');
  });

  test("is told of again under its Idempotency-Key, and made once", async () => {
    const payer = await account();
    upstream.script = answer;
    const received = upstream.received.length;
    const keyed = () => ask(payer, "/responses", asked, { headers: { "idempotency-key": "once" } });
    const first = await keyed();
    await until(payer, first.body.id, "completed");
    const again = await keyed();
    expect(again.body.id).toBe(first.body.id);
    expect(upstream.received.length).toBe(received + 1);
    expect((await standing(payer)).spent).toBe(paid);
    const streamed = await ask(
      payer,
      "/responses",
      { ...asked, stream: true },
      { headers: { "idempotency-key": "two" } },
    );
    expect(streamed.body.error).toMatchObject({ param: "stream" });
  });

  test("is begun and asked for by OpenAI's own client, and over gRPC", async () => {
    const payer = await account();
    upstream.script = answer;
    const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: payer.apiKey });
    let response = await client.responses.create({ model: "gpt", input: "Hello", background: true });
    while (response.status === "queued" || response.status === "in_progress") {
      await delay(5);
      response = await client.responses.retrieve(response.id);
    }
    expect([response.status, response.output_text]).toEqual(["completed", "Hello"]);
    const grpc = createClient(InferenceService, createGrpcTransport({ baseUrl: gateway.rootUrl, binaryOptions }));
    const headers = { authorization: `Bearer ${payer.apiKey}` };
    const request = { model: "gpt", input: { case: "inputText", value: "Hello" }, background: true } as const;
    const begun = await grpc.createResponse(request, { headers });
    expect(begun.status).toBe("queued");
    await until(payer, begun.id, "completed");
    expect((await grpc.cancelResponse({ id: begun.id }, { headers })).status).toBe("completed");
  });
});

describe("a stream in the background", () => {
  async function events(payer: Payer, path: string, body?: JsonObject): Promise<Event[]> {
    const headers = { authorization: `Bearer ${payer.apiKey}`, "content-type": "application/json" };
    const response = await fetch(gateway.baseUrl + path, {
      headers,
      ...(body ? { method: "POST", body: JSON.stringify(body) } : {}),
    });
    expect(response.status).toBe(200);
    return eventsOf(new Uint8Array(await response.arrayBuffer())).map(({ data }) => JSON.parse(data.toString()));
  }

  test("begins as queued, counts on, and ends in the whole response", async () => {
    const payer = await account();
    upstream.script = answer;
    const told = await events(payer, "/responses", { ...asked, stream: true });
    expect(told.map(({ sequence_number }) => sequence_number)).toEqual(told.map((_, i) => i));
    expect(told.slice(0, 3).map(({ type }) => type)).toEqual([
      "response.created",
      "response.queued",
      "response.in_progress",
    ]);
    expect(told.at(-1)).toMatchObject({
      type: "response.completed",
      response: { status: "completed", background: true },
    });
    const ids = new Set(told.flatMap(({ response }) => response?.id ?? []));
    expect(ids.size).toBe(1);
    expect((await standing(payer)).spent).toBe(paid);
    const [id] = ids;
    for (const after of [-1, 0, 3, told.length - 1]) {
      const query = after < 0 ? "" : `&starting_after=${after}`;
      expect(await events(payer, `/responses/${id}?stream=true${query}`)).toEqual(told.slice(after + 1));
    }
    const headers = { authorization: `Bearer ${payer.apiKey}` };
    const again = await fetch(`${gateway.baseUrl}/responses/${id}?stream=true`, { headers });
    await again.text();
    expect(again.headers.get("content-type")).toMatch(/^text\/event-stream/);
    expect(again.headers.get("cache-control")).toBe("no-store");
  });

  test("is taken up where it was left, by several at once, while it is made", async () => {
    const payer = await account();
    const leaving = new AbortController();
    const response = await fetch(`${gateway.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${payer.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ ...asked, stream: true }),
      signal: leaving.signal,
    });
    const [created] = eventsOf((await response.body?.getReader().read())?.value ?? new Uint8Array());
    const { id } = (JSON.parse(created?.data.toString() ?? "{}") as Event).response as Response;
    leaving.abort();
    const exchange = await upstream.next();
    await beginAnswer(exchange);
    const following = [
      events(payer, `/responses/${id}?stream=true&starting_after=1`),
      events(payer, `/responses/${id}?stream=true`),
    ];
    await until(payer, id, "in_progress");
    exchange.end(`${openaiFrames(...chunks.slice(1))}data: [DONE]\n\n`);
    const [late = [], all = []] = await Promise.all(following);
    expect(all.at(-1)?.type).toBe("response.completed");
    expect(late).toEqual(all.slice(2));
    expect(await standing(payer)).toEqual({ spent: paid, holds: 0, held: 0, outcomes: [Outcome.ANSWERED] });
  });

  test("who follows may leave, and it goes on", async () => {
    const payer = await account();
    const { body } = await begin(payer, { stream: false });
    const exchange = await upstream.next();
    expect((await ask(payer, `/responses/${body.id}?stream=true`)).body.error).toMatchObject({ param: "stream" });
    answer(exchange);
    await until(payer, body.id, "completed");
  });

  test("lets go of events that take more room than there is, and is made all the same", async () => {
    const payer = await account();
    const started = fetch(`${gateway.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${payer.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ ...asked, stream: true, max_output_tokens: undefined }),
    });
    const exchange = await upstream.next();
    exchange.head(200, eventStream);
    for (let i = 0; i < 20; i++) await exchange.write(openaiFrames(chatChunk({ content: "x".repeat(24_000) })));
    exchange.end(`${openaiFrames({ ...chatChunk({}, "stop"), usage: chatUsage })}data: [DONE]\n\n`);
    const text = await (await started).text();
    expect(text).toContain("not kept any more");
    const id = /"id":"(resp_\w+)"/.exec(text)?.[1] ?? "";
    await until(payer, id, "completed");
    expect((await ask(payer, `/responses/${id}?stream=true`)).body.error).toMatchObject({ param: "stream" });
    expect((await standing(payer)).holds).toBe(0);
  });

  test("that fails ends in a response that has failed", async () => {
    const payer = await account();
    upstream.script = (exchange) => exchange.json(500, { error: { message: "broken inside" } });
    const told = await events(payer, "/responses", { ...asked, stream: true });
    expect(told.at(-1)).toMatchObject({ type: "response.failed", response: { status: "failed" } });
  });
});

describe("cancelling", () => {
  test("lets go of the upstream, and charges what it tells within disconnect_drain_seconds", async () => {
    const payer = await account();
    const { body } = await begin(payer);
    const exchange = await upstream.next();
    await beginAnswer(exchange);
    await until(payer, body.id, "in_progress");
    const first = await cancel(payer, body.id);
    expect(first).toMatchObject({ status: 200, body: { id: body.id, status: "cancelled", background: true } });
    exchange.end(`${openaiFrames(...chunks.slice(1))}data: [DONE]\n\n`);
    await eventually(async () =>
      expect(await standing(payer)).toEqual({ spent: paid, holds: 0, held: 0, outcomes: [Outcome.LEFT] }),
    );
    expect((await cancel(payer, body.id)).body).toEqual(first.body);
    expect((await get(payer, body.id)).body).toEqual(first.body);
  });

  test("before anything has come costs nothing", async () => {
    const payer = await account();
    const { body } = await begin(payer);
    const exchange = await upstream.next();
    expect((await cancel(payer, body.id)).body.status).toBe("cancelled");
    await exchange.left;
    await eventually(async () => expect(await standing(payer)).toMatchObject({ spent: 0, holds: 0 }));
  });

  test("ends the stream of who follows", async () => {
    const payer = await account();
    const following = fetch(`${gateway.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${payer.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ ...asked, stream: true }),
    }).then((response) => response.arrayBuffer());
    const exchange = await upstream.next();
    await beginAnswer(exchange);
    const id = `resp_${(await books.of(payer)).holds}`;
    expect(id).toBe("resp_1");
    const [hold] = await gateway.storage.holds.list(payer.accountId, now, 1);
    const { body } = await cancel(payer, `resp_${hold?.request_id.replace("req_", "")}`);
    expect(body.status).toBe("cancelled");
    const told = eventsOf(new Uint8Array(await following));
    expect(JSON.parse(told.at(-1)?.data.toString() ?? "{}")).toMatchObject({ type: "response.cancelled" });
    exchange.end();
  });

  test("is for what is made in the background only, and of one that is over changes nothing", async () => {
    const payer = await account();
    upstream.script = (exchange) => {
      if (exchange.asked.stream) answer(exchange);
      else
        exchange.json(200, {
          ...chatChunk({}),
          choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
          usage: chatUsage,
        });
    };
    const front = await ask(payer, "/responses", { model: "gpt", input: "Hello" });
    expect(await cancel(payer, front.body.id)).toMatchObject({ status: 400, body: { error: { param: "id" } } });
    expect((await cancel(payer, "resp_none")).status).toBe(404);
    const { body } = await begin(payer);
    const done = await until(payer, body.id, "completed");
    expect((await cancel(payer, body.id)).body).toEqual(done);
  });

  test("has to come before forgetting", async () => {
    const payer = await account();
    const { body } = await begin(payer);
    const exchange = await upstream.next();
    expect((await ask(payer, `/responses/${body.id}`, undefined, { method: "DELETE" })).status).toBe(409);
    await cancel(payer, body.id);
    expect((await ask(payer, `/responses/${body.id}`, undefined, { method: "DELETE" })).status).toBe(200);
    await exchange.left;
  });
});

describe("bounds", () => {
  test("hold an account and the process to so many at a time", async () => {
    const [payer, other] = [await account(), await account()];
    const begun = [await begin(payer), await begin(payer), await begin(payer)];
    const beyond = await begin(payer);
    expect([beyond.status, beyond.body.error?.message]).toEqual([503, expect.stringContaining("the account")]);
    begun.push(await begin(other), await begin(other));
    const full = await begin(other);
    expect([full.status, full.body.error?.message]).toEqual([503, expect.stringContaining("the gateway")]);
    expect(gateway.counts().background).toBe(5);
    const exchanges = [
      await upstream.next(),
      await upstream.next(),
      await upstream.next(),
      await upstream.next(),
      await upstream.next(),
    ];
    for (const exchange of exchanges) answer(exchange);
    for (const [i, { body }] of begun.entries()) await until(i < 3 ? payer : other, body.id, "completed");
    expect(gateway.counts().background).toBe(0);
  });

  test("hold their requests to so many bytes", async () => {
    const payer = await account();
    const { status } = await begin(payer, { input: "word ".repeat(300_000) });
    expect(status).toBe(503);
    expect(await standing(payer)).toMatchObject({ spent: 0, holds: 0 });
  });
});

test("those that come to nothing make room for one another, and none is longer than is kept", async () => {
  const own = await start({ responses: { keepMs: 3_600_000, maxPerAccount: 2, maxBytes: 2048 } });
  const payer = await account(own);
  upstream.script = (exchange) => exchange.json(500, { error: { message: "broken inside" } });
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) {
    const { body } = await begin(payer, {}, own);
    await until(payer, body.id, "failed", own);
    ids.push(body.id);
  }
  const statuses = await Promise.all(ids.map(async (id) => (await get(payer, id, own)).status));
  expect(statuses).toEqual([404, 404, 200, 200, 200]);
  expect((await begin(payer, { instructions: "word ".repeat(1000) }, own)).status).toBe(413);
  expect(own.counts().background).toBe(0);
  upstream.script = (exchange) => exchange.stream(chatChunk({ content: "word ".repeat(1000) }), chunks[2]);
  const { body } = await begin(payer, {}, own);
  expect((await until(payer, body.id, "failed", own)).error?.message).toContain("larger than the 2048 bytes");
  await own.close();
});

describe("a gateway that is stopped", () => {
  /** closed closes the gateway, and returns the response's state afterwards. */
  async function closed(own: TestGateway, payer: Payer, id: string) {
    const { storage, database } = own;
    const seen: { row?: string; kept?: number; spent?: number; holds?: number } = {};
    await own.close("running", async () => {
      const last = openBooks(database, storage);
      const { balance, holds } = await last.of(payer);
      const kept = await storage.responses.find(payer.accountId, [id], 0);
      const row = (await storage.backgroundResponses.find(payer.accountId, id, 0))?.response ?? "{}";
      Object.assign(seen, { row, kept: kept.length, spent: payer.begunWith - balance, holds });
    });
    return seen;
  }

  test("lets those that are made come to their end", async () => {
    const own = await start({ drainMs: 20_000 });
    const payer = await account(own);
    const { body } = await begin(payer, {}, own);
    const exchange = await upstream.next();
    const closing = closed(own, payer, body.id);
    await delay(50);
    answer(exchange);
    expect(await closing).toEqual({ row: "{}", kept: 1, spent: paid, holds: 0 });
  });

  test("tells those that do not as failed, and charges what they have put out", async () => {
    const own = await start({ drainMs: 100, disconnectDrainMs: 0 });
    const payer = await account(own);
    const { body } = await begin(payer, {}, own);
    const exchange = await upstream.next();
    await beginAnswer(exchange);
    await until(payer, body.id, "in_progress", own);
    const seen = await closed(own, payer, body.id);
    expect(JSON.parse(seen.row ?? "")).toMatchObject({
      status: "failed",
      error: { message: expect.stringContaining("stopped") },
    });
    expect(seen).toMatchObject({ kept: 0, holds: 0 });
    expect(seen.spent).toBeGreaterThan(0);
  });
});

test("one whose process has died is told as failed, and can be forgotten", async () => {
  const payer = await account();
  const dead = {
    account_id: payer.accountId,
    node: "nod_dead",
    created_at: now - 200_000,
    expires_at: now + 1_000_000,
  };
  const response = JSON.stringify({
    id: "resp_dead",
    object: "response",
    status: "in_progress",
    background: true,
    output: [],
  });
  await gateway.storage.backgroundResponses.insert({ ...dead, id: "resp_dead", alive_until: now - 1, response }, 100);
  await gateway.database.countDeadlines();
  expect((await get(payer, "resp_dead")).body).toMatchObject({ status: "failed", error: { code: "server_error" } });
  expect((await cancel(payer, "resp_dead")).status).toBe(200);
  expect((await ask(payer, "/responses/resp_dead", undefined, { method: "DELETE" })).status).toBe(200);
});

test("one that another process makes is told of here, and ended there", async () => {
  const payer = await account();
  const { body } = await begin(payer);
  const exchange = await upstream.next();
  await beginAnswer(exchange);
  await until(payer, body.id, "in_progress");
  const storage = await gateway.database.open();
  const config = {
    ...loadConfig(undefined, environment),
    ...paidModels(upstream.baseUrl),
    port: 0,
    metrics: undefined,
  };
  // Its clock is ahead, as where it was set forward a moment ago.
  const ahead = now + 7_200_000;
  const other = await startGateway({ config, storage, log: pino({ level: "silent" }), clock: () => ahead });
  const there = { ...gateway, baseUrl: `http://127.0.0.1:${other.port}/v1` };
  expect((await get(payer, body.id, there)).body.status).toBe("in_progress");
  const followed = await ask(payer, `/responses/${body.id}?stream=true`, undefined, {}, there);
  expect([followed.status, followed.body.error?.param]).toEqual([400, "stream"]);
  const ended = await ask(payer, `/responses/${body.id}/cancel`, undefined, { method: "POST" }, there);
  expect(ended.body.status).toBe("cancelled");
  await eventually(() => expect(gateway.counts()).toMatchObject({ background: 0, drains: 1 }));
  exchange.end(openaiFrames(...chunks.slice(1)) + done);
  await eventually(async () =>
    expect(await standing(payer)).toEqual({ spent: paid, holds: 0, held: 0, outcomes: [Outcome.LEFT] }),
  );
  for (const at of [gateway, there]) expect((await get(payer, body.id, at)).body.status).toBe("cancelled");
  await other.close();
  await storage.close();
});
