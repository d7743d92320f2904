/**
 * Disconnecting from a stream just before its usage is not free: a caller that disconnects after the first content, at any door, is
 * charged what the upstream then reports. Before the first content it pays nothing, and the upstream request is aborted at once.
 */
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Config } from "../../../src/config/config.ts";
import { readMessage } from "../../../src/wire/read.ts";
import { hear } from "../../support/clients/hear.ts";
import { eventually } from "../../support/eventually.ts";
import type { TestGateway } from "../../support/gateway.ts";
import { openAccount, type Payer } from "../../support/payer.ts";
import { timed } from "../../support/run/running-time.ts";
import { eventStream, type ScriptedExchange, startScriptedUpstream } from "../../support/scripted-upstream.ts";
import { scrape } from "../../support/telemetry/scrape.ts";
import { cost, paidModel, paidModels } from "../../support/upstreams/paid-models.ts";
import { type OpenedStage, openScriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { anthropicFrames, blockEvents, chatChunk, done, messageAnswer, openaiFrames } from "../../support/vendors.ts";

type Json = Readonly<Record<string, unknown>>;
type Vendor = "openai" | "anthropic";
type Family = "chat" | "messages" | "responses" | "completions";

/** Opens a gateway of its own, before an upstream of its own. At its end it drains nothing. */
async function place(more: Partial<Config> = {}): Promise<OpenedStage> {
  const stage = await openScriptedStage((baseUrl) => {
    const config = paidModels(baseUrl);
    const models = [...config.models, paidModel("thinker", "openai", { reasoning: true })];
    return { ...config, models, ...more };
  });
  return {
    ...stage,
    async close() {
      expect(await drainingAt(stage.gateway)).toBe(0);
      await stage.close();
    },
  };
}

let at: OpenedStage;
beforeAll(async () => {
  at = await place();
});
afterAll(() => at.close());
afterEach(() => {
  at.upstream.script = undefined;
});

async function drainingAt({ metricsPort }: TestGateway): Promise<number> {
  return (await scrape(metricsPort)).value("model_gateway_draining_streams") ?? Number.NaN;
}

/** Waits until the gateway has noticed that its callers disconnected, and drains. */
function untilDraining(gateway: TestGateway, streams = 1): Promise<void> {
  return eventually(async () => expect(await drainingAt(gateway)).toBe(streams));
}

async function rowOf(payer: Payer, { books }: OpenedStage = at) {
  await eventually(async () => expect((await books.of(payer)).requests).toHaveLength(1));
  const standing = await books.of(payer);
  const [row] = standing.requests;
  expect(standing).toMatchObject({ held: 0, keyHeld: 0, holds: 0, spent: row?.cost });
  expect(standing.balance).toBe(payer.begunWith - (row?.cost ?? 0));
  expect(row?.waived).toBe(0);
  return row;
}

const conversation = [{ role: "user", content: "Think hard, and then say hello." }];

function bodyOf(family: Family, model: string): Json {
  if (family === "responses") return { model, input: "Think hard.", max_output_tokens: 30_000, stream: true };
  if (family === "completions") return { model, prompt: "Think hard.", max_tokens: 30_000, stream: true };
  return { model, messages: conversation, max_tokens: 4000, stream: true };
}

const paths: Readonly<Record<Family, string>> = {
  chat: "/v1/chat/completions",
  messages: "/v1/messages",
  responses: "/v1/responses",
  completions: "/v1/completions",
};

// Answers of upstreams, piece by piece.

const told = { input: 100, reasoning: 2_000, output: 2_010 };
const due = told.input * cost.input + told.output * cost.output;

/** The pieces of an answer; the first content is in the second, and the usage in the one before the last. */
const pieces: Readonly<Record<Vendor, readonly string[]>> = {
  openai: [
    openaiFrames(chatChunk({ role: "assistant", content: "" })),
    openaiFrames(chatChunk({ content: "Hel" })),
    openaiFrames(chatChunk({ content: "lo" })),
    openaiFrames(chatChunk({}, "stop")),
    openaiFrames({
      ...chatChunk({}),
      choices: [],
      usage: {
        ...{ prompt_tokens: told.input, completion_tokens: told.output, total_tokens: told.input + told.output },
        completion_tokens_details: { reasoning_tokens: told.reasoning },
      },
    }),
    done,
  ],
  anthropic: [
    anthropicFrames({
      type: "message_start",
      message: messageAnswer([], null, { usage: { input_tokens: told.input, output_tokens: 1 } }),
    }),
    anthropicFrames(...blockEvents(0, { type: "text", text: "" }, { type: "text_delta", text: "Hel" }).slice(0, 2)),
    anthropicFrames(...blockEvents(0, { type: "text", text: "" }, { type: "text_delta", text: "lo" }).slice(1, 2)),
    anthropicFrames({ type: "content_block_stop", index: 0 }),
    anthropicFrames({
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: {
        input_tokens: told.input,
        output_tokens: told.output,
        output_tokens_details: { thinking_tokens: told.reasoning },
      },
    }),
    anthropicFrames({ type: "message_stop" }),
  ],
};

/** Sends the pieces from one to before another. */
async function say(exchange: ScriptedExchange, vendor: Vendor, from: number, to = pieces[vendor].length) {
  if (from === 0) exchange.head(200, eventStream);
  for (const piece of pieces[vendor].slice(from, to)) await exchange.write(piece);
  if (to === pieces[vendor].length) exchange.end();
}

const inFull = { ...told, cost: due, estimated: 0, outcome: Outcome.LEFT };

describe("who leaves after the first content pays what the upstream then tells", () => {
  const moments: readonly [string, number][] = [
    ["right then", 2],
    ["in the middle", 3],
    ["before the usage", 4],
    ["between the usage and the end", 5],
  ];
  const ways = (["chat", "messages", "responses"] as const).flatMap((family) =>
    (["openai", "anthropic"] as const).map((vendor) => ({ family, vendor })),
  );
  for (const { family, vendor } of [...ways, { family: "completions", vendor: "openai" } as const]) {
    // With its usage a stream of OpenAI's is over.
    const before = vendor === "openai" ? moments.slice(0, -1) : moments;
    test.each(before)(`${family} over ${vendor}: %s`, async (_, said) => {
      const payer = await openAccount(at.gateway);
      const model = family === "completions" ? "davinci" : vendor === "openai" ? "gpt" : "claude";
      const asked = { path: paths[family], body: bodyOf(family, model), apiKey: payer.apiKey };
      let heard = "";
      const hearing = hear(at.gateway, { ...asked, onPiece: (bytes) => (heard = bytes.toString()) });
      const exchange = await at.upstream.next();
      const rest = family === "completions" ? completionPieces : pieces[vendor];
      exchange.head(200, eventStream);
      for (const piece of rest.slice(0, said)) await exchange.write(piece);
      await eventually(() => expect(heard).toContain("Hel"));
      await hearing.leave();
      await untilDraining(at.gateway);
      expect(await at.books.of(payer)).toMatchObject({ requests: [], holds: 1 });
      for (const piece of rest.slice(said)) await exchange.write(piece);
      exchange.end();
      expect(await rowOf(payer)).toMatchObject(inFull);
      expect(await drainingAt(at.gateway)).toBe(0);
    });
  }

  const completionPieces = pieces.openai.map((piece) =>
    piece.replace(/"delta":\{[^}]*?"content":("[^"]*")\}/, '"text":$1').replace('"delta":{}', '"text":""'),
  );
});

describe("through every door", () => {
  /** Makes a call that disconnects on request. Resolves when the first content has arrived. */
  type Door = (gateway: TestGateway, payer: Payer) => { readonly heard: Promise<void>; leave(): void };

  const rpc =
    (transportTo: (baseUrl: string) => Transport): Door =>
    ({ rootUrl }, { apiKey }) => {
      const leaving = new AbortController();
      const heard = Promise.withResolvers<void>();
      const message = readMessage(CreateChatCompletionRequestSchema, chat as JsonObject, { lenient: false });
      const options = { signal: leaving.signal, headers: { authorization: `Bearer ${apiKey}` } };
      void (async () => {
        for await (const { choices } of createClient(InferenceService, transportTo(rootUrl)).streamChatCompletion(
          message,
          options,
        ))
          if (choices[0]?.delta?.content) heard.resolve();
      })().catch(() => {});
      return { heard: heard.promise, leave: () => leaving.abort() };
    };

  /** A plain socket, closed in the given way. */
  const bare =
    (end: "reset" | "close"): Door =>
    ({ port }, { apiKey }) => {
      const socket = connect(port, "127.0.0.1").on("error", () => {});
      const body = JSON.stringify(chat);
      socket.write(
        `POST ${paths.chat} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${apiKey}\r\ncontent-type: application/json\r\n` +
          `content-length: ${body.length}\r\n\r\n${body}`,
      );
      const heard = Promise.withResolvers<void>();
      socket.on("data", (bytes) => bytes.includes("Hel") && heard.resolve());
      return {
        heard: heard.promise,
        leave: () => void (end === "reset" ? socket.resetAndDestroy() : socket.destroy()),
      };
    };

  const http2: Door = ({ rootUrl }, { apiKey }) => {
    const session = connectHttp2(rootUrl);
    const names = { ":method": "POST", ":path": paths.chat, "content-type": "application/json" };
    const req = session.request({ ...names, authorization: `Bearer ${apiKey}` }).on("error", () => {});
    const heard = Promise.withResolvers<void>();
    req.on("data", (bytes: Buffer) => bytes.includes("Hel") && heard.resolve());
    req.end(JSON.stringify(chat));
    return {
      heard: heard.promise,
      leave() {
        req.close(8 /* CANCEL */);
        session.close();
      },
    };
  };

  const chat = bodyOf("chat", "gpt");
  const doors: Readonly<Record<string, Door>> = {
    "REST, closed": bare("close"),
    "REST, reset": bare("reset"),
    "REST over HTTP/2, its stream reset": http2,
    Connect: rpc((baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" })),
    "Connect over HTTP/2": rpc((baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2" })),
    gRPC: rpc((baseUrl) => createGrpcTransport({ baseUrl })),
    "gRPC-Web": rpc((baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })),
  };
  test.each(Object.entries(doors))("%s", async (_, door) => {
    const payer = await openAccount(at.gateway);
    const call = door(at.gateway, payer);
    const exchange = await at.upstream.next();
    await say(exchange, "openai", 0, 4);
    await call.heard;
    call.leave();
    await untilDraining(at.gateway);
    await say(exchange, "openai", 4);
    expect(await rowOf(payer)).toMatchObject(inFull);
  });

  const deadlines: readonly [string, (baseUrl: string) => Transport][] = [
    ["Connect", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" })],
    ["gRPC", (baseUrl) => createGrpcTransport({ baseUrl })],
    ["gRPC-Web", (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })],
  ];
  test.each(deadlines)("%s, by a deadline that passes", async (_, transportTo) => {
    const payer = await openAccount(at.gateway);
    const client = createClient(InferenceService, transportTo(at.gateway.rootUrl));
    const message = readMessage(CreateChatCompletionRequestSchema, chat as JsonObject, { lenient: false });
    const options = { timeoutMs: 300, headers: { authorization: `Bearer ${payer.apiKey}` } };
    const asked = Array.fromAsync(client.streamChatCompletion(message, options));
    const exchange = await at.upstream.next();
    await say(exchange, "openai", 0, 4);
    await expect(asked).rejects.toThrow(/deadline|timed out/);
    await untilDraining(at.gateway);
    await say(exchange, "openai", 4);
    expect(await rowOf(payer)).toMatchObject(inFull);
  });

  test.each(["total=0.3", "idle=0.1", "0.3"])("by a bound of its own, x-gateway-timeout: %s", async (bound) => {
    const payer = await openAccount(at.gateway);
    const headers = { "x-gateway-timeout": bound };
    const { answer } = hear(at.gateway, { path: paths.chat, body: chat, apiKey: payer.apiKey, headers });
    const exchange = await at.upstream.next();
    await say(exchange, "openai", 0, 4);
    const { text } = await answer; // It is told at once, and need not wait for the bill.
    expect(text).toContain("did not answer in time");
    expect(text).not.toContain("[DONE]");
    expect(await drainingAt(at.gateway)).toBe(1);
    await say(exchange, "openai", 4);
    expect(await rowOf(payer)).toMatchObject(inFull);
  });

  test("who reads nothing, so that its upstream waits, and then leaves", async () => {
    const payer = await openAccount(at.gateway, { recharge: 1e9 });
    const socket = connect(at.gateway.port, "127.0.0.1").on("error", () => {});
    const body = JSON.stringify(chat);
    socket.write(
      `POST ${paths.chat} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${payer.apiKey}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    const exchange = await at.upstream.next();
    exchange.head(200, eventStream);
    const piece = openaiFrames(chatChunk({ content: "x".repeat(64 * 1024) }));
    let waiting: Promise<boolean> = Promise.resolve(true);
    for (let i = 0; i < 1000; i++) {
      waiting = exchange.write(piece);
      if ((await Promise.race([waiting, delay(200, "stuck" as const)])) === "stuck") break;
    }
    socket.destroy();
    expect(await waiting).toBe(true);
    await say(exchange, "openai", 3);
    expect(await rowOf(payer)).toMatchObject(inFull);
  });
});

test("20,000 tokens of reasoning are charged in full, however shortly before the usage its caller leaves, 120 times", async () => {
  const usage = {
    ...{ prompt_tokens: 100, completion_tokens: 20_010, total_tokens: 20_110 },
    completion_tokens_details: { reasoning_tokens: 20_000 },
  };
  at.upstream.script = async (exchange) => {
    exchange.head(200, eventStream);
    await exchange.write(openaiFrames(chatChunk({ role: "assistant", content: "" }), chatChunk({ content: "Hello" })));
    await delay(40);
    exchange.end(openaiFrames(chatChunk({}, "stop"), { ...chatChunk({}), choices: [], usage }) + done);
  };
  const inTurn = async (i: number) => {
    const payer = await openAccount(at.gateway);
    const body = { ...bodyOf("chat", "gpt"), max_tokens: 30_000 };
    const hearing = hear(at.gateway, { path: paths.chat, body, apiKey: payer.apiKey });
    await hearing.begun;
    await delay(40 - 15 - (i % 21)); // 15 to 35 ms before the usage.
    await hearing.leave();
    return rowOf(payer);
  };
  const costs: (number | undefined)[] = [];
  for (let round = 0; round < 12; round++) {
    const rows = await Promise.all(Array.from({ length: 10 }, (_, i) => inTurn(round * 10 + i)));
    costs.push(...rows.map((row) => row?.cost));
  }
  expect(costs).toEqual(Array(120).fill(100 * cost.input + 20_010 * cost.output));
});

test("each of several prompts is read on", async () => {
  const payer = await openAccount(at.gateway);
  const body = { model: "claude", prompt: ["One", "Two", "Three"], max_tokens: 4000, stream: true };
  const hearing = hear(at.gateway, { path: "/v1/completions", body, apiKey: payer.apiKey });
  const exchanges: ScriptedExchange[] = [];
  for (let i = 0; i < 3; i++) {
    exchanges.push(await at.upstream.next());
    await say(exchanges[i] as ScriptedExchange, "anthropic", 0, 3);
  }
  await hearing.begun;
  await delay(50);
  await hearing.leave();
  await untilDraining(at.gateway, 3);
  for (const exchange of exchanges) await say(exchange, "anthropic", 3);
  const row = await rowOf(payer);
  expect(row).toMatchObject({ input: 300, output: 3 * told.output, cost: 3 * due, estimated: 0 });
});

describe("who leaves before the first content pays nothing", () => {
  const moments: readonly [string, number | undefined][] = [
    ["before the head", undefined],
    ["after the head", 0],
    ["after the head of the message", 1],
  ];
  for (const vendor of ["openai", "anthropic"] as const) {
    test.each(moments)(`and the upstream of ${vendor} is let go within 50 ms: %s`, async (_, said) => {
      const took: number[] = [];
      for (let i = 0; i < 5; i++) {
        const payer = await openAccount(at.gateway);
        const body = bodyOf("chat", vendor === "openai" ? "gpt" : "claude");
        const hearing = hear(at.gateway, { path: paths.chat, body, apiKey: payer.apiKey });
        const exchange = await at.upstream.next();
        if (said !== undefined) await say(exchange, vendor, 0, said);
        // Its caller has not seen the head yet: it is held until there is content.
        if (said === 1) await delay(30);
        const [, { runningMs }] = await timed(async () => {
          void hearing.leave();
          await exchange.left;
        });
        took.push(runningMs);
        expect(await rowOf(payer)).toMatchObject({ cost: 0, input: 0, output: 0, outcome: Outcome.LEFT });
      }
      expect(took.sort((a, b) => a - b)[2]).toBeLessThan(50);
    });
  }

  test("of an answer that is not streamed, of which it has seen nothing", async () => {
    const payer = await openAccount(at.gateway);
    const body = { ...bodyOf("chat", "gpt"), stream: false };
    const hearing = hear(at.gateway, { path: paths.chat, body, apiKey: payer.apiKey });
    const exchange = await at.upstream.next();
    exchange.head(200, { "content-type": "application/json" });
    await exchange.write('{"choices":[');
    await hearing.leave();
    await exchange.left;
    expect(await rowOf(payer)).toMatchObject({ cost: 0, outcome: Outcome.LEFT });
  });
});

describe("content is whatever was put out, text or not", () => {
  const block = { type: "content_block_start", index: 0, content_block: { type: "redacted_thinking", data: "xyz" } };
  const contents: readonly [string, Vendor, string][] = [
    ["sound", "openai", openaiFrames(chatChunk({ audio: { id: "a", data: "AAAA" } }))],
    ["a picture", "openai", openaiFrames(chatChunk({ images: [{ type: "image_url", image_url: { url: "data:," } }] }))],
    [
      "encrypted thoughts",
      "openai",
      openaiFrames(chatChunk({ reasoning_details: [{ type: "encrypted", data: "x" }] })),
    ],
    ["a call of a tool", "openai", openaiFrames(chatChunk({ tool_calls: [{ index: 0, function: { name: "look" } }] }))],
    ["encrypted thoughts", "anthropic", anthropicFrames(block)],
  ];
  test.each(contents)("%s over %s", async (_, vendor, content) => {
    const payer = await openAccount(at.gateway);
    const body = bodyOf(vendor === "openai" ? "chat" : "messages", vendor === "openai" ? "gpt" : "claude");
    const hearing = hear(at.gateway, {
      path: paths[vendor === "openai" ? "chat" : "messages"],
      body,
      apiKey: payer.apiKey,
    });
    const exchange = await at.upstream.next();
    await say(exchange, vendor, 0, 1);
    await exchange.write(content);
    await hearing.begun;
    await delay(50);
    await hearing.leave();
    await untilDraining(at.gateway);
    await say(exchange, vendor, 3);
    expect(await rowOf(payer)).toMatchObject(inFull);
  });
});

describe("where a stream's head is held back until its first content", () => {
  let held: OpenedStage;
  beforeAll(async () => {
    held = await place({ retries: { attempts: 3, share: 0.15 } });
  });
  afterAll(() => held.close());

  test.each(["openai", "anthropic"] as const)("over %s: before it nothing is due, and after it all", async (vendor) => {
    for (const said of [1, 2, 4]) {
      const payer = await openAccount(held.gateway);
      const body = bodyOf("chat", vendor === "openai" ? "gpt" : "claude");
      const hearing = hear(held.gateway, { path: paths.chat, body, apiKey: payer.apiKey });
      const exchange = await held.upstream.next();
      await say(exchange, vendor, 0, said);
      if (said > 1) await hearing.begun;
      else await delay(30);
      await hearing.leave();
      if (said > 1) {
        await untilDraining(held.gateway);
        await say(exchange, vendor, said);
      } else await exchange.left;
      expect(await rowOf(payer, held)).toMatchObject(said > 1 ? inFull : { cost: 0, outcome: Outcome.LEFT });
    }
  });
});

describe("what is read on is bounded", () => {
  let short: OpenedStage;
  beforeAll(async () => {
    short = await place({ disconnectDrainMs: 400 });
  });
  afterAll(() => short.close());

  async function left(model: string, thoughtMs = 0, where = short) {
    const payer = await openAccount(where.gateway);
    let heard = "";
    const asked = { path: paths.chat, body: bodyOf("chat", model), apiKey: payer.apiKey };
    const hearing = hear(where.gateway, { ...asked, onPiece: (bytes) => (heard = bytes.toString()) });
    const exchange = await where.upstream.next();
    await say(exchange, "openai", 0, 1);
    await delay(thoughtMs);
    await say(exchange, "openai", 1, 3);
    await eventually(() => expect(heard).toContain("lo"));
    const leftAt = performance.now();
    const drained = timed(() => exchange.left);
    await hearing.leave();
    return { payer, exchange, leftAt, drained };
  }

  test("in time: then what was seen is charged, as an estimate", async () => {
    const { payer, leftAt, drained } = await left("gpt");
    const [at, { runningMs }] = await drained;
    expect(at - leftAt).toBeGreaterThan(380);
    expect(runningMs).toBeLessThan(3000);
    const row = await rowOf(payer, short);
    expect(row).toMatchObject({ estimated: 1, reasoning: 0, outcome: Outcome.LEFT });
    expect(row?.output).toBeLessThan(5);
    const line =
      short.gateway
        .logged()
        .split("\n")
        .find((text) => text.includes(`"request_id":"${row?.id}"`)) ?? "";
    expect(JSON.parse(line)).toMatchObject({ status: 499, cost_millionths: row?.cost });
    expect(JSON.parse(line).drained_ms).toBeGreaterThan(380);
  });

  test("and of a model that reasons its reasoning is estimated by the time before the first content", async () => {
    const { payer } = await left("thinker", 1200);
    const row = await rowOf(payer, short);
    expect(row).toMatchObject({ estimated: 1, outcome: Outcome.LEFT });
    // 50 tokens a second, less what it takes to begin.
    expect(row?.reasoning).toBeGreaterThan(40);
    expect(row?.reasoning).toBeLessThan(1000);
    expect(row?.output).toBeGreaterThan(row?.reasoning as number);
  });

  test("in bytes: an upstream that floods is cut", async () => {
    const long = await place({ disconnectDrainMs: 60_000 });
    const { payer, exchange } = await left("gpt", 0, long);
    await untilDraining(long.gateway);
    const piece = openaiFrames(chatChunk({ content: "x".repeat(256 * 1024) }));
    let sent = 0;
    while (sent < 1000 && (await exchange.write(piece))) sent++;
    expect(sent).toBeLessThan(120);
    await eventually(async () => expect((await long.books.of(payer)).requests).toHaveLength(1));
    const [row] = (await long.books.of(payer)).requests;
    expect(row).toMatchObject({ outcome: Outcome.LEFT, estimated: 1 });
    expect(row?.cost).toBeLessThanOrEqual(4000 * cost.output + 1000 * cost.input); // Its hold.
    await long.close();
  });

  test("by nothing where it is 0: the upstream is let go at once, and reasoning is estimated all the same", async () => {
    const never = await place({ disconnectDrainMs: 0 });
    const { payer, drained } = await left("thinker", 1200, never);
    const [, { runningMs }] = await drained;
    // Where nothing is set it would be five seconds.
    expect(runningMs).toBeLessThan(4_500);
    expect((await rowOf(payer, never))?.reasoning).toBeGreaterThan(40);
    await never.close();
  });

  test("and its place in the queue is kept until then", async () => {
    const queue = { max_concurrent: 1, max_queued: 10, max_wait_seconds: 60 };
    const upstream = await startScriptedUpstream();
    const upstreams = [{ name: "openai", kind: "openai", base_url: upstream.baseUrl, api_key: "k", queue } as const];
    const queued = await place({ upstreams, disconnectDrainMs: 60_000 });
    const at = { ...queued, upstream };
    const { payer, exchange } = await left("gpt", 0, at);
    await untilDraining(at.gateway);
    const next = hear(at.gateway, { path: paths.chat, body: bodyOf("chat", "gpt"), apiKey: payer.apiKey });
    await eventually(async () => {
      const { value } = await scrape(at.gateway.metricsPort);
      expect(value("model_gateway_upstream_queued", { upstream: "openai" })).toBe(1);
    });
    expect(upstream.received).toHaveLength(1);
    await say(exchange, "openai", 3);
    await say(await upstream.next(), "openai", 0);
    expect((await next.answer).text).toContain("[DONE]");
    expect(await at.books.of(payer)).toMatchObject({ spent: 2 * due, held: 0 });
    await queued.close();
    await upstream.close();
  });
});

describe("a stream that ends without usage, of a model that reasons, is charged its estimated reasoning", () => {
  const untold: Readonly<Record<string, (exchange: ScriptedExchange) => Promise<void>>> = {
    "to its end": async (exchange) => {
      await say(exchange, "openai", 1, 4);
      exchange.end(done);
    },
    "broken off": async (exchange) => {
      await say(exchange, "openai", 1, 3);
      exchange.destroy();
    },
  };

  test.each(Object.entries(untold))("%s", async (how, go) => {
    const payer = await openAccount(at.gateway);
    const asked = { path: paths.chat, body: bodyOf("chat", "thinker"), apiKey: payer.apiKey };
    const hearing = hear(at.gateway, asked);
    const exchange = await at.upstream.next();
    await say(exchange, "openai", 0, 1);
    await delay(1200);
    await go(exchange);
    await hearing.answer;
    const row = await rowOf(payer);
    expect(row).toMatchObject({ estimated: 1, outcome: how === "to its end" ? Outcome.ANSWERED : Outcome.BROKEN });
    expect(row?.reasoning).toBeGreaterThan(40);
    expect(row?.reasoning).toBeLessThan(1000);
    expect(row?.output).toBeGreaterThan(row?.reasoning as number);
  });
});

describe("a gateway that stops", () => {
  async function begun(drainMs: number) {
    const stopping = await place({ drainMs, disconnectDrainMs: 60_000 });
    const payer = await openAccount(stopping.gateway);
    const hearing = hear(stopping.gateway, { path: paths.chat, body: bodyOf("chat", "gpt"), apiKey: payer.apiKey });
    const exchange = await stopping.upstream.next();
    await say(exchange, "openai", 0, 4);
    await hearing.begun;
    return { ...stopping, hearing, exchange };
  }

  /** The charge by the log line of the only call: the database is closed with the gateway. */
  function costIn({ logged }: TestGateway): number {
    const lines = logged()
      .split("\n")
      .filter((line) => line.includes('"cost_millionths"'));
    expect(lines).toHaveLength(1);
    return JSON.parse(lines[0] as string).cost_millionths;
  }

  test("waits for the usage of who has left, as long as it waits for calls", async () => {
    const { gateway, upstream, hearing, exchange } = await begun(20_000);
    await hearing.leave();
    await untilDraining(gateway);
    let isClosed = false;
    const closed = gateway.close("running").then(() => (isClosed = true));
    await delay(200);
    expect(isClosed).toBe(false);
    await say(exchange, "openai", 4);
    await closed;
    expect(costIn(gateway)).toBe(due);
    await upstream.close();
  });

  test("and no longer: whoever is still there then is cut, and its upstream at once", async () => {
    const { gateway, upstream, exchange } = await begun(300);
    const begunAt = performance.now();
    const closed = gateway.close("running");
    expect((await exchange.left) - begunAt).toBeLessThan(30_000);
    await closed;
    expect(costIn(gateway)).toBeGreaterThan(0);
    expect(costIn(gateway)).toBeLessThan(due);
    await upstream.close();
  });

  test("nor for who has left long before", async () => {
    const { gateway, upstream, hearing, exchange } = await begun(500);
    await hearing.leave();
    await untilDraining(gateway);
    const begunAt = performance.now();
    const closed = gateway.close("running");
    expect((await exchange.left) - begunAt).toBeLessThan(30_000);
    await closed;
    expect(costIn(gateway)).toBeGreaterThan(0);
    await upstream.close();
  });
});

test("a call that was left is no answer to its repetition", async () => {
  const payer = await openAccount(at.gateway);
  const asked = { path: paths.chat, body: bodyOf("chat", "gpt"), apiKey: payer.apiKey };
  const headers = { "idempotency-key": "once" };
  const hearing = hear(at.gateway, { ...asked, headers });
  const exchange = await at.upstream.next();
  await say(exchange, "openai", 0, 4);
  await hearing.begun;
  await hearing.leave();
  await untilDraining(at.gateway);
  const again = hear(at.gateway, { ...asked, headers });
  const second = await at.upstream.next();
  await say(exchange, "openai", 4);
  await say(second, "openai", 0);
  const { text, headers: told } = await again.answer;
  expect(text).toContain("[DONE]");
  expect(told["x-gateway-original-request-id"]).toBeUndefined();
  expect(await at.books.of(payer)).toMatchObject({ spent: 2 * due, held: 0 });
});
