/**
 * Calls under way by every door while the owner of the money is killed, or replaced: none is cut off, each ends as it would have, and each
 * is charged once, by the next owner.
 */
import { once } from "node:events";
import { connect } from "node:http2";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Role } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { openSocket } from "../../support/clients/response-sockets.ts";
import { bearer } from "../../support/dashboard/session.ts";
import { eventually } from "../../support/eventually.ts";
import { openAccount, type Payer } from "../../support/payer.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { chatAnswer, chatChunk, chatUsage, done, openaiFrames, usageChunk } from "../../support/vendors.ts";
import { isAlive, places, startWorkers, type WorkersStage } from "../../support/workers/stage.ts";

// Processes take seconds to start, and more on a busy machine.
vi.setConfig({ testTimeout: 240_000 });
const patience = 60_000;

let stage: WorkersStage;
let payer: Payer;
/** Resolves when the upstream may end its answers. */
let mayEnd: PromiseWithResolvers<void>;

const messages = [{ role: "user", content: "Hello" }];
const chat = { model: "m", max_tokens: 8, messages };
/** What one call costs: a millionth for a token of input, two for one of output. */
const cost = chatUsage.prompt_tokens + 2 * chatUsage.completion_tokens;

beforeEach(async () => {
  stage = await startWorkers({ workers: 2 });
  payer = await openAccount(stage, { recharge: 1_000_000 });
  mayEnd = Promise.withResolvers();
  stage.upstream.script = async (exchange) => {
    const { stream } = exchange.asked;
    if (stream) {
      exchange.head(200, eventStream);
      await exchange.write(openaiFrames(chatChunk({ role: "assistant", content: "Hel" })));
    }
    await mayEnd.promise;
    if (!stream) return exchange.json(200, chatAnswer({ role: "assistant", content: "Hello" }));
    await exchange.write(openaiFrames(chatChunk({ content: "lo" }), chatChunk({}, "stop"), usageChunk()));
    exchange.end(done);
  };
});

afterEach(() => stage.close());

/** Begins a call, and resolves once its upstream answers: to a function that waits for its end, and returns what it has told. */
type Begin = () => Promise<() => Promise<string>>;

const post = (body: object, { apiKey } = payer) =>
  fetch(`${stage.rootUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...bearer(apiKey) },
    body: JSON.stringify(body),
  });

const doors: Readonly<Record<string, Begin>> = {
  async "HTTP/1.1, a stream"() {
    const answer = await post({ ...chat, stream: true });
    expect(answer.status).toBe(200);
    return () => answer.text();
  },
  async "HTTP/1.1, a whole answer"() {
    const before = stage.upstream.received.length;
    const answering = post(chat);
    await eventually(() => expect(stage.upstream.received.length).toBeGreaterThan(before), patience);
    return async () => {
      const answer = await answering;
      return `${answer.status} ${await answer.text()}`;
    };
  },
  async "HTTP/2"() {
    const session = connect(stage.rootUrl);
    const headers = { ":method": "POST", ":path": "/v1/chat/completions", "content-type": "application/json" };
    const stream = session.request({ ...headers, ...bearer(payer.apiKey) });
    stream.end(JSON.stringify({ ...chat, stream: true }));
    await once(stream, "response");
    // It is read from now on: a stream that has ended before anybody reads it is closed with what came.
    const told = text(stream).finally(() => session.close());
    return () => told;
  },
  async gRPC() {
    const client = createClient(InferenceService, createGrpcTransport({ baseUrl: stage.rootUrl }));
    const content = { case: "text", value: "Hello" } as const;
    const request = { model: "m", maxTokens: 8, messages: [{ role: Role.USER, content }] };
    const chunks = client.streamChatCompletion(request, { headers: bearer(payer.apiKey) });
    const iterator = chunks[Symbol.asyncIterator]();
    const told = [(await iterator.next()).value];
    return async () => {
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) told.push(next.value);
      return told.map((chunk) => chunk?.choices[0]?.delta?.content ?? "").join("");
    };
  },
  async WebSocket() {
    const port = Number(new URL(stage.rootUrl).port);
    const socket = await openSocket({ port, apiKey: payer.apiKey });
    const asked = socket.ask({ model: "m", input: "Hello", max_output_tokens: 8, store: false });
    return async () => {
      const events = await asked;
      await socket.close();
      return JSON.stringify(events.at(-1));
    };
  },
};

const ends: Readonly<Record<string, RegExp>> = {
  "HTTP/1.1, a stream": /"Hel".*"lo".*data: \[DONE\]\n\n$/s,
  "HTTP/1.1, a whole answer": /^200 .*"Hello"/,
  "HTTP/2": /"Hel".*"lo".*data: \[DONE\]\n\n$/s,
  gRPC: /^Hello$/,
  WebSocket: /"response\.completed".*"Hello"/,
};

test("calls by every door go on while the owner is killed, end once there is another, and are charged once", async () => {
  const before = await stage.processes();
  const count = Object.keys(doors).length;
  const endings = new Map<string, () => Promise<string>>();
  for (const [name, begin] of Object.entries(doors)) endings.set(name, await begin());
  await eventually(() => expect(stage.upstream.received).toHaveLength(count), patience);
  process.kill(before.owner, "SIGKILL");
  mayEnd.resolve();
  for (const [name, ending] of endings) expect(await ending(), name).toMatch(ends[name] as RegExp);
  const after = await stage.processes();
  expect(after.owner).not.toBe(before.owner);
  expect(after.workers).toEqual(before.workers);
  // New calls are served, by the same workers.
  expect((await post(chat)).status).toBe(200);
  await stage.server.stop("SIGTERM");
  const { balance, held } = (await stage.storage.accounts.find(payer.accountId)) ?? {};
  expect({ balance, held }).toEqual({ balance: 1_000_000 - (count + 1) * cost, held: 0 });
  expect((await stage.storage.reconcile({ isFull: true })).findings).toEqual([]);
});

test("new calls wait for the next owner, and are refused with the time to wait where none comes", async () => {
  mayEnd.resolve();
  expect((await post(chat)).status).toBe(200);
  const { owner } = await stage.processes();
  process.kill(owner, "SIGKILL");
  const told = await Promise.all(Array.from({ length: 8 }, () => post(chat)));
  for (const answer of told) {
    const body = await answer.text();
    if (answer.status === 200) continue;
    // On a machine that takes longer than that to start a process.
    expect(answer.status, body).toBe(503);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  }
  await eventually(async () => expect((await post(chat)).status).toBe(200), patience);
});

test("an owner that stands still is as one that is gone: what runs goes on, new calls are refused, and it goes on where it was", async () => {
  const [scarce, revoked] = [await openAccount(stage, { recharge: 1_000 }), await openAccount(stage)];
  const readiness = async () => (await fetch(`${stage.rootUrl}/readyz`)).status;
  const running = await (doors["HTTP/1.1, a stream"] as Begin)();
  const { owner } = await stage.processes();
  process.kill(owner, "SIGSTOP");
  try {
    const refused = post(chat, scarce);
    await eventually(async () => expect(await readiness()).toBe(503), patience);
    // Nobody tells of changes: all is read anew.
    await stage.storage.keys.revoke(revoked.keyId, Date.now());
    expect((await post(chat, revoked)).status).toBe(401);
    const answer = await refused;
    expect([answer.status, Number(answer.headers.get("retry-after"))]).toEqual([503, expect.toSatisfy((s) => s > 0)]);
  } finally {
    process.kill(owner, "SIGCONT");
  }
  mayEnd.resolve();
  expect(await running()).toMatch(ends["HTTP/1.1, a stream"] as RegExp);
  await eventually(async () => expect(await readiness()).toBe(200), patience);
  expect((await post(chat, scarce)).status).toBe(200);
  expect((await stage.processes()).owner).toBe(owner);
  await stage.server.stop("SIGTERM");
  // What it granted of the call that was refused is released.
  for (const [{ accountId }, left] of [
    [payer, 1_000_000 - cost],
    [scarce, 1_000 - cost],
  ] as const) {
    const { balance, held } = (await stage.storage.accounts.find(accountId)) ?? {};
    expect({ balance, held }).toEqual({ balance: left, held: 0 });
  }
  expect((await stage.storage.reconcile({ isFull: true })).findings).toEqual([]);
});

test("after SIGHUP old workers go by the new owner: their calls go on, and their places at an upstream count on", async () => {
  const before = await stage.processes();
  const running = await Promise.all(
    Array.from({ length: places }, () => post({ ...chat, model: "narrow", stream: true })),
  );
  stage.server.child.kill("SIGHUP");
  await eventually(async () => {
    const { owner, workers } = await stage.processes();
    expect(owner).not.toBe(before.owner);
    expect(isAlive(before.owner)).toBe(false);
    // At least one of the old has calls that run on.
    expect(workers.length).toBeGreaterThan(2);
  }, patience);
  await eventually(() => expect(stage.server.stderr).toContain("the new workers serve"), patience);
  const one = post({ ...chat, model: "narrow", stream: true });
  // Long enough for a place to be granted that nobody counts.
  await delay(1_500);
  expect(stage.upstream.received).toHaveLength(places);
  mayEnd.resolve();
  for (const answer of [...running, await one]) expect(await answer.text()).toMatch(ends["HTTP/2"] as RegExp);
  await eventually(async () => expect((await stage.processes()).workers).toHaveLength(2), patience);
  await stage.server.stop("SIGTERM");
  const { balance, held } = (await stage.storage.accounts.find(payer.accountId)) ?? {};
  expect({ balance, held }).toEqual({ balance: 1_000_000 - (places + 1) * cost, held: 0 });
  expect((await stage.storage.reconcile({ isFull: true })).findings).toEqual([]);
});
