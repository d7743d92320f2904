/**
 * Responses over a WebSocket: the same events as over HTTP, several turns on one connection without anything kept, each a call
 * that is paid once; and what a client may do wrong.
 */
import { setTimeout as delay } from "node:timers/promises";
import OpenAI from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { JsonObject } from "../../../src/wire/json.ts";
import { eventsOf } from "../../support/clients/endpoints.ts";
import {
  openSocket,
  rawBehindPost,
  refusedHandshake,
  type SocketEvent,
} from "../../support/clients/response-sockets.ts";
import { eventually } from "../../support/eventually.ts";
import { now, startTestGateway } from "../../support/gateway.ts";
import { openAccount, outcomeOf, type Payer } from "../../support/payer.ts";
import { eventStream, type ScriptedExchange } from "../../support/scripted-upstream.ts";
import { scrape } from "../../support/telemetry/scrape.ts";
import { cost, paidModels } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { briefHello, done, openaiFrames } from "../../support/vendors.ts";

const { upstream, gateway, books } = scriptedStage(paidModels, { clock: () => now });

afterEach(async () => {
  upstream.script = undefined;
  await eventually(async () => {
    expect(gateway.counts()).toMatchObject({ websocket: 0, bodyBytes: 0, rememberedBytes: 0 });
    expect(await gateway.holds()).toBe(0);
  });
});

const chunks = briefHello;
const answer = (exchange: ScriptedExchange) => exchange.stream(...chunks);
const paid = 9 * cost.input + 2 * cost.output;

const payerAt = (payer: Payer) => ({ port: gateway.port, apiKey: payer.apiKey });
const open = (payer: Payer, headers?: Readonly<Record<string, string>>) => openSocket(payerAt(payer), headers);
const sent = () => upstream.lastAsked as { messages: { content: string }[] } & JsonObject;
const idOf = (events: readonly SocketEvent[]) => events.at(-1)?.response?.id ?? "";
const user = (text: string) => [{ type: "message", role: "user", content: text }];
const request = (text: string, more: JsonObject = {}) => ({
  model: "gpt",
  store: false,
  input: user(text),
  max_output_tokens: 100,
  ...more,
});

const standing = (payer: Payer) => outcomeOf(books, payer);

describe("an answer", () => {
  test("has the events that a stream over HTTP has", async () => {
    upstream.script = answer;
    const payer = await openAccount(gateway);
    const socket = await open(payer);
    const events = await socket.ask(request("Hello"));
    const posted = await fetch(`${gateway.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${payer.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ ...request("Hello"), stream: true }),
    });
    const own = (text: string) => text.replace(/(resp|msg)_\w{10,}/g, "$1…");
    const streamed = eventsOf(new Uint8Array(await posted.arrayBuffer())).map(({ data }) =>
      JSON.parse(own(data.toString())),
    );
    expect(events.map((event) => JSON.parse(own(JSON.stringify(event))))).toEqual(streamed);
    expect(Object.keys(sent())).not.toContain("type");
    await socket.close();
  });

  test("is one call: charged, logged and told of once, by an id of its own", async () => {
    upstream.script = answer;
    const payer = await openAccount(gateway);
    const socket = await open(payer);
    const ids = [idOf(await socket.ask(request("One"))), idOf(await socket.ask(request("Two")))];
    expect(new Set(ids).size).toBe(2);
    await eventually(async () =>
      expect(await standing(payer)).toEqual({
        spent: 2 * paid,
        holds: 0,
        held: 0,
        outcomes: [Outcome.ANSWERED, Outcome.ANSWERED],
      }),
    );
    for (const id of ids) {
      const lines = gateway
        .logged()
        .split("\n")
        .filter((line) => line.includes(id.replace("resp_", "req_")));
      expect(lines).toHaveLength(1);
      expect(lines[0]).toContain('"rpc":"StreamResponse"');
    }
    await socket.close();
  });

  test("is kept where the caller wants it, and read over HTTP", async () => {
    upstream.script = answer;
    const payer = await openAccount(gateway);
    const socket = await open(payer);
    const id = idOf(await socket.ask(request("Hello", { store: true })));
    const get = (one: string) =>
      fetch(`${gateway.baseUrl}/responses/${one}`, { headers: { authorization: `Bearer ${payer.apiKey}` } });
    expect((await get(id)).status).toBe(200);
    const next = idOf(await socket.ask(request("And?", { store: true, previous_response_id: id })));
    const items = await fetch(`${gateway.baseUrl}/responses/${next}/input_items`, {
      headers: { authorization: `Bearer ${payer.apiKey}` },
    });
    expect(((await items.json()) as { data: unknown[] }).data).toHaveLength(3);
    await socket.close();
  });
});

test("OpenAI's own client asks, goes on, and hears of what is refused", async () => {
  upstream.script = answer;
  const payer = await openAccount(gateway);
  const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: payer.apiKey });
  const ws = new ResponsesWS(client);
  const ask = (body: JsonObject) =>
    new Promise<string>((resolve, reject) => {
      ws.once("response.completed", ({ response }) => resolve(response.id));
      ws.once("error", reject);
      ws.send({ type: "response.create", ...body } as Parameters<typeof ws.send>[0]);
    });
  const first = await ask(request("My name is Ada."));
  await ask(request("What is it?", { previous_response_id: first }));
  expect(sent().messages).toHaveLength(3);
  await expect(ask(request("What is it?", { previous_response_id: "resp_none" }))).rejects.toThrow(/not found/);
  ws.close();
});

describe("several turns", () => {
  test("go on from one another though nothing is kept", async () => {
    upstream.script = answer;
    const payer = await openAccount(gateway);
    const socket = await open(payer);
    let previous = idOf(await socket.ask(request("My name is Ada.")));
    for (const [i, text] of ["What is it?", "And once more?", "Thanks."].entries()) {
      previous = idOf(await socket.ask(request(text, { previous_response_id: previous })));
      expect(sent().messages).toHaveLength(3 + 2 * i);
      expect(sent().messages[0]?.content).toContain("Ada");
    }
    const kept = await fetch(`${gateway.baseUrl}/responses/${previous}`, {
      headers: { authorization: `Bearer ${payer.apiKey}` },
    });
    expect(kept.status).toBe(404);
    await socket.close();
  });

  test("that are kept from one that is not are kept with all before them", async () => {
    upstream.script = answer;
    const payer = await openAccount(gateway);
    const socket = await open(payer);
    const first = idOf(await socket.ask(request("My name is Ada.")));
    const second = idOf(await socket.ask(request("What is it?", { previous_response_id: first, store: true })));
    await socket.close();
    const again = await open(payer);
    await again.ask(request("And?", { previous_response_id: second }));
    expect(sent().messages.map(({ content }) => content)).toEqual([
      "My name is Ada.",
      "Hello",
      "What is it?",
      "Hello",
      "And?",
    ]);
    await again.close();
  });

  test("are forgotten with the connection, and of each only the last is remembered", async () => {
    upstream.script = answer;
    const payer = await openAccount(gateway);
    const socket = await open(payer);
    const first = idOf(await socket.ask(request("One")));
    await socket.ask(request("Two"));
    const missed = await socket.ask(request("Three", { previous_response_id: first }));
    expect(missed).toEqual([
      {
        type: "error",
        status: 400,
        error: expect.objectContaining({ code: "previous_response_not_found", param: "previous_response_id" }),
        headers: expect.objectContaining({ "x-request-id": expect.stringMatching(/^req_/) }),
      },
    ]);
    const last = idOf(await socket.ask(request("Four")));
    await socket.close();
    const other = await open(payer);
    expect((await other.ask(request("Five", { previous_response_id: last })))[0]?.error?.code).toBe(
      "previous_response_not_found",
    );
    await other.close();
  });

  test("are forgotten where there is no room for them, and go on as the client sends all", async () => {
    const responsesSocket = { enabled: true, idleMs: 60_000, maxBytes: 4096, maxBytesPerAccount: 4096 };
    const own = await startTestGateway({ ...paidModels(upstream.baseUrl), responsesSocket });
    upstream.script = answer;
    const socket = await openSocket(own);
    const id = idOf(await socket.ask(request("word ".repeat(2000))));
    expect((await socket.ask(request("And?", { previous_response_id: id })))[0]?.error?.code).toBe(
      "previous_response_not_found",
    );
    expect((await socket.ask(request("word ".repeat(2000)))).at(-1)?.type).toBe("response.completed");
    await socket.close();
    await own.close();
  });
});

describe("a warm-up", () => {
  test("is not sent, not paid and not kept, and is gone on from", async () => {
    upstream.script = answer;
    const payer = await openAccount(gateway);
    const socket = await open(payer);
    const received = upstream.received.length;
    const warmed = await socket.ask(request("My name is Ada.", { generate: false, instructions: "Be brief." }));
    expect(warmed.map(({ type }) => type)).toEqual(["response.created", "response.completed"]);
    expect(warmed[1]?.response).toMatchObject({ status: "completed", output: [], usage: { total_tokens: 0 } });
    expect(upstream.received.length).toBe(received);
    expect(await standing(payer)).toEqual({ spent: 0, holds: 0, held: 0, outcomes: [] });
    const events = await socket.ask(
      request("", { previous_response_id: idOf(warmed), input: [], instructions: "Be brief." }),
    );
    expect(events.at(-1)?.type).toBe("response.completed");
    expect(sent().messages.map(({ content }) => content)).toEqual(["Be brief.", "My name is Ada."]);
    await eventually(async () => expect((await standing(payer)).spent).toBe(paid));
    await socket.close();
  });

  test("is refused for a model that the key may not call", async () => {
    const payer = await openAccount(gateway, { models: ["claude"] });
    const socket = await open(payer);
    expect((await socket.ask(request("Hello", { generate: false })))[0]?.error?.code).toBe("model_not_found");
    await socket.close();
  });
});

describe("a request", () => {
  test("while another is answered is told so, and the answer goes on", async () => {
    const payer = await openAccount(gateway);
    const socket = await open(payer);
    socket.send({ type: "response.create", ...request("One") });
    const exchange = await upstream.next();
    exchange.head(200, eventStream);
    await exchange.write(openaiFrames(chunks[0] as JsonObject));
    while ((await socket.next()).type !== "response.output_text.delta");
    socket.send({ type: "response.create", ...request("Two") });
    expect(await socket.next()).toMatchObject({ type: "error", status: 409, error: { code: "conflict" } });
    exchange.end(openaiFrames(...chunks.slice(1)) + done);
    let last: SocketEvent;
    do last = await socket.next();
    while (last.type !== "response.completed");
    upstream.script = answer;
    expect((await socket.ask(request("Three"))).at(-1)?.type).toBe("response.completed");
    await socket.close();
  });

  test("out of turn again and again has the connection closed", async () => {
    const payer = await openAccount(gateway);
    const socket = await open(payer);
    socket.send({ type: "response.create", ...request("One") });
    const exchange = await upstream.next();
    for (let i = 0; i < 40; i++) socket.send("{}");
    expect(await socket.closed).toBe(1008);
    await exchange.left;
    await eventually(async () => expect(await standing(payer)).toMatchObject({ spent: 0, holds: 0 }));
  });

  const faulty: Readonly<Record<string, readonly [message: string, status: number, param: string | null]>> = {
    "no JSON": ["hello", 400, null],
    "half of it": ['{"type":"response.create",', 400, null],
    "a list": ["[]", 400, null],
    "no type": [JSON.stringify(request("x")), 400, "type"],
    "another type": ['{"type":"response.cancel"}', 400, "type"],
    "no model": ['{"type":"response.create","input":"x"}', 400, "model"],
    "no such model": [JSON.stringify({ type: "response.create", ...request("x"), model: "nobody" }), 404, "model"],
    "one in the background": [
      JSON.stringify({ type: "response.create", ...request("x"), background: true }),
      400,
      "background",
    ],
    "another lane": [JSON.stringify({ type: "response.create", ...request("x"), stream_id: "a" }), 400, "stream_id"],
  };
  for (const [what, [message, status, param]] of Object.entries(faulty)) {
    test(`that is faulty (${what}) is refused, and the next is answered`, async () => {
      upstream.script = answer;
      const payer = await openAccount(gateway);
      const socket = await open(payer);
      socket.send(message);
      const told = await socket.next();
      expect([told.type, told.status, told.error?.param ?? null]).toEqual(["error", status, param]);
      expect((await socket.ask(request("Hello"))).at(-1)?.type).toBe("response.completed");
      expect((await standing(payer)).outcomes).toEqual([Outcome.ANSWERED]);
      await socket.close();
    });
  }

  test("that cannot be paid is refused by its status", async () => {
    const payer = await openAccount(gateway, { recharge: 1 });
    const socket = await open(payer);
    expect((await socket.ask(request("Hello")))[0]).toMatchObject({
      status: 402,
      error: { code: "insufficient_quota" },
    });
    await socket.close();
  });

  test("counts for the account's rate, and is refused beyond it", async () => {
    upstream.script = answer;
    const payer = await openAccount(gateway, { recharge: 0, grant: 10_000_000 });
    const socket = await open(payer);
    let told: SocketEvent[] = [];
    let asked = 0;
    while (told.at(-1)?.type !== "error" && asked < 70) {
      told = await socket.ask(request("Hello", { generate: false }));
      asked++;
    }
    // The handshake was the first of sixty.
    expect(asked).toBe(60);
    expect(told.at(-1)).toMatchObject({ status: 429, headers: { "retry-after": expect.any(String) } });
    await socket.close();
  });

  test("says that it has taken an answer, and is told nothing", async () => {
    upstream.script = answer;
    const socket = await open(await openAccount(gateway));
    const id = idOf(await socket.ask(request("Hello")));
    socket.send({ type: "response.processed", response_id: id });
    expect((await socket.ask(request("Hello")))[0]?.type).toBe("response.created");
    await socket.close();
  });

  test("has the headers of the handshake: here that nothing may be left out", async () => {
    const socket = await open(await openAccount(gateway), {
      "x-gateway-strict": "true",
      "idempotency-key": "of the handshake",
    });
    upstream.script = answer;
    const [told] = await socket.ask(request("Hello", { truncation: "auto" }));
    expect(told).toMatchObject({ type: "error", status: 400, error: { code: "unsupported_parameter" } });
    expect((await socket.ask(request("Hello"))).at(-1)?.type).toBe("response.completed");
    expect((await socket.ask(request("Hello again"))).at(-1)?.type).toBe("response.completed");
    await socket.close();
  });

  test("whose upstream fails is told in the upstream's words, before and in the middle of its answer", async () => {
    const payer = await openAccount(gateway);
    const socket = await open(payer);
    upstream.script = (exchange) => exchange.json(500, { error: { message: "broken inside" } });
    expect((await socket.ask(request("Hello")))[0]).toMatchObject({
      status: 502,
      error: { message: expect.stringContaining("broken inside") },
    });
    upstream.script = undefined;
    const asking = socket.ask(request("Hello"));
    const exchange = await upstream.next();
    exchange.head(200, eventStream);
    await exchange.write(openaiFrames(chunks[0] as JsonObject));
    await delay(20);
    exchange.destroy();
    const told = await asking;
    expect(told.length).toBeGreaterThan(2);
    expect(told.at(-1)).toMatchObject({ type: "error", status: 502 });
    await socket.close();
  });
});

describe("the handshake", () => {
  test("is refused without a key that is valid", async () => {
    const told = await refusedHandshake({ port: gateway.port, apiKey: "sk-none" });
    expect([told.status, JSON.parse(told.text).error.code]).toEqual([401, "invalid_api_key"]);
    expect(told.headers["x-request-id"]).toMatch(/^req_/);
  });

  test("is refused beyond the account's rate", async () => {
    const payer = await openAccount(gateway, { recharge: 0 });
    for (let i = 0; i < 60; i++)
      await fetch(`${gateway.baseUrl}/models`, { headers: { authorization: `Bearer ${payer.apiKey}` } });
    const told = await refusedHandshake(payerAt(payer));
    expect([told.status, told.headers["retry-after"]]).toEqual([429, expect.any(String)]);
  });

  test.for(["/responses", "/v1/responses/", "//v1/responses?x=1", "/api/v1/responses"])(
    "is taken at %s",
    async (path) => {
      upstream.script = answer;
      const socket = await openSocket(payerAt(await openAccount(gateway)), {}, path);
      expect((await socket.ask(request("Hello"))).at(-1)?.type).toBe("response.completed");
      await socket.close();
    },
  );

  test("is taken behind a request on the same connection, with the first message in one piece", async () => {
    upstream.script = answer;
    const text = await rawBehindPost(
      payerAt(await openAccount(gateway)),
      JSON.stringify({ type: "response.create", ...request("Hello") }),
    );
    expect(text).toContain("response.completed");
  });
});

test("a connection that has lasted for an hour is told to open another, and closed", async () => {
  const socket = await open(await openAccount(gateway));
  const now = performance.now.bind(performance);
  const later = vi.spyOn(performance, "now").mockImplementation(() => now() + 3_600_001);
  try {
    const [told] = await socket.ask(request("Hello"));
    expect(told).toMatchObject({ status: 400, error: { code: "websocket_connection_limit_reached" } });
    expect(await socket.closed).toBe(1001);
  } finally {
    later.mockRestore();
  }
});

describe("a client that leaves", () => {
  test.for(["close", "terminate"] as const)(
    "by %s in the middle of an answer is charged what the upstream then tells",
    async (how) => {
      const payer = await openAccount(gateway);
      const socket = await open(payer);
      socket.send({ type: "response.create", ...request("Hello") });
      const exchange = await upstream.next();
      exchange.head(200, eventStream);
      await exchange.write(openaiFrames(chunks[0] as JsonObject));
      while ((await socket.next()).type !== "response.output_text.delta");
      socket.ws[how]();
      await eventually(() => expect(gateway.counts().drains).toBe(1));
      exchange.end(openaiFrames(...chunks.slice(1)) + done);
      await eventually(async () =>
        expect(await standing(payer)).toEqual({ spent: paid, holds: 0, held: 0, outcomes: [Outcome.LEFT] }),
      );
    },
  );

  test("before anything has come pays nothing, and the upstream is let go", async () => {
    const payer = await openAccount(gateway);
    const socket = await open(payer);
    socket.send({ type: "response.create", ...request("Hello") });
    const exchange = await upstream.next();
    socket.ws.terminate();
    await exchange.left;
    await eventually(async () => expect(await standing(payer)).toMatchObject({ spent: 0, holds: 0 }));
  });
});

test("connections are counted, and told of", async () => {
  const socket = await open(await openAccount(gateway));
  expect(gateway.counts()).toMatchObject({ websocket: 1 });
  expect((await scrape(gateway.metricsPort)).value("model_gateway_connections", { protocol: "websocket" })).toBe(1);
  await socket.close();
});

describe("a gateway that is stopped", () => {
  test("closes idle connections at once, and others after their answer, by 1001", async () => {
    const own = await startTestGateway({ ...paidModels(upstream.baseUrl), drainMs: 20_000 });
    const [idle, busy] = [await openSocket(own), await openSocket(own)];
    const asking = busy.ask(request("Hello"));
    const exchange = await upstream.next();
    const closing = own.close("running");
    expect(await idle.closed).toBe(1001);
    answer(exchange);
    expect((await asking).at(-1)?.type).toBe("response.completed");
    expect(await busy.closed).toBe(1001);
    await closing;
  });

  test("cuts what is left when its time is over", async () => {
    const own = await startTestGateway({ ...paidModels(upstream.baseUrl), drainMs: 50 });
    const busy = await openSocket(own);
    busy.send({ type: "response.create", ...request("Hello") });
    const exchange = await upstream.next();
    await Promise.all([own.close("running"), busy.closed, exchange.left]);
  });
});

test("where it is not enabled, it is refused with 426", async () => {
  const responsesSocket = { enabled: false, idleMs: 1000, maxBytes: 1024, maxBytesPerAccount: 1024 };
  const own = await startTestGateway({ ...paidModels(upstream.baseUrl), responsesSocket });
  expect((await refusedHandshake(own)).status).toBe(426);
  await own.close();
});
