/**
 * Answers that are longer than the memory that is left wait for memory, and are refused where none comes, whichever way they come. Small
 * calls are served meanwhile, and nobody pays for an answer that had no room.
 */
import { once } from "node:events";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { openAccount } from "../../support/payer.ts";
import { eventStream, type ScriptedExchange } from "../../support/scripted-upstream.ts";
import { paidModels } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const long = "x".repeat(300 * 1024);
const state = { isRoomy: true, waitMs: 60_000, refused: 0 };
const memory = {
  hasRoom() {
    if (!state.isRoomy) state.refused++;
    return state.isRoomy;
  },
  get waitMs() {
    return state.waitMs;
  },
};
const { upstream, gateway, books } = scriptedStage(paidModels, { memory });

beforeEach(() => Object.assign(state, { isRoomy: true, waitMs: 60_000, refused: 0 }));

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const told = { id: "c", created: 1, model: "m" };
const chatOf = (content: string) => {
  const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
  return { ...told, object: "chat.completion", choices, usage };
};
const chunkOf = (content: string) => ({
  ...{ ...told, object: "chat.completion.chunk", usage: null },
  choices: [{ index: 0, delta: { role: "assistant", content }, finish_reason: null }],
});
const lastChunk = { ...chunkOf(""), choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage };
/** vectorsOf returns the answer of a model that embeds, of about so many bytes. */
const vectorsOf = (bytes: number) => {
  const embedding = new Array(Math.ceil(bytes / 8)).fill(0.12345);
  return { object: "list", model: "m", data: [{ object: "embedding", index: 0, embedding }], usage };
};
const embed = { model: "embed", input: "x" };

const turns = { model: "gpt", messages: [{ role: "user", content: "hi" }] };
const speak = { model: "voice", input: "x", voice: "alloy" };
const sound = Buffer.from(`ID3${long}`).toString("base64");
const asJson = { "content-type": "application/json" };

interface Way {
  readonly name: string;
  readonly path: string;
  readonly request: object;
  readonly answer: (exchange: ScriptedExchange) => void;
}

const inPieces = (exchange: ScriptedExchange) => {
  exchange.head(200, asJson);
  exchange.end(JSON.stringify(chatOf(long)));
};
const compressed = (exchange: ScriptedExchange) => {
  exchange.head(200, { ...asJson, "content-encoding": "gzip" });
  exchange.end(gzipSync(JSON.stringify(chatOf(`${long}${Math.random()}`))));
};
const inFrames = (exchange: ScriptedExchange) => {
  const half = long.slice(long.length / 2);
  exchange.stream(chunkOf(half), chunkOf(half), lastChunk);
};
const whole = (value: object) => (exchange: ScriptedExchange) => exchange.json(200, value);

const ways: readonly Way[] = [
  { name: "a chat", path: "/chat/completions", request: turns, answer: whole(chatOf(long)) },
  { name: "a chat of untold length", path: "/chat/completions", request: turns, answer: inPieces },
  { name: "a compressed chat", path: "/chat/completions", request: turns, answer: compressed },
  { name: "vectors", path: "/embeddings", request: embed, answer: whole(vectorsOf(long.length)) },
  { name: "a translated chat", path: "/messages", request: { ...turns, max_tokens: 9 }, answer: whole(chatOf(long)) },
  { name: "a response", path: "/responses", request: { model: "gpt", input: "hi" }, answer: whole(chatOf(long)) },
  { name: "a chat that came as a stream", path: "/chat/completions", request: turns, answer: inFrames },
  {
    ...{ name: "a stream that came whole", path: "/chat/completions", request: { ...turns, stream: true } },
    answer: whole(chatOf(long)),
  },
  {
    ...{ name: "a frame of a stream", path: "/chat/completions", request: { ...turns, stream: true } },
    answer: (exchange) => exchange.stream(chunkOf(long), lastChunk),
  },
  { name: "speech in an object", path: "/audio/speech", request: speak, answer: whole({ audio: sound }) },
  {
    ...{ name: "speech in an event", path: "/audio/speech", request: speak },
    answer: (exchange) => exchange.stream({ type: "speech.audio.delta", audio: sound }),
  },
];

function post(apiKey: string, path: string, body: object, more: Readonly<Record<string, string>> = {}) {
  const headers = { ...asJson, authorization: `Bearer ${apiKey}`, ...more };
  return fetch(gateway.baseUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
}

/** readUntil returns what a stream has said once that is enough. Rejects where it ends before. */
async function readUntil(reader: ReadableStreamDefaultReader<Uint8Array>, isEnough: (text: string) => boolean) {
  let text = "";
  while (!isEnough(text)) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`it ended behind ${text.slice(-200)}`);
    text += Buffer.from(value).toString("latin1");
  }
  return text;
}

describe.each(ways)("$name without memory for it", ({ path, request, answer }) => {
  test("waits until there is memory, and is answered and charged then", async () => {
    const payer = await openAccount(gateway);
    upstream.script = answer;
    state.isRoomy = false;
    const calling = post(payer.apiKey, path, request);
    await eventually(() => expect(state.refused).toBeGreaterThan(0));
    state.isRoomy = true;
    const response = await calling;
    expect(response.status).toBe(200);
    expect((await response.text()).length).toBeGreaterThan(long.length);
    await eventually(() => expect(gateway.counts().bodyBytes).toBe(0));
    expect((await books.of(payer)).balance).toBeLessThan(payer.begunWith);
  });

  test("is refused for now where none comes: it costs nothing, is not asked for again, and small calls are served", async () => {
    const payer = await openAccount(gateway);
    const before = upstream.received.length;
    upstream.script = answer;
    Object.assign(state, { isRoomy: false, waitMs: 1 });
    const response = await post(payer.apiKey, path, request);
    expect([response.status === 529 ? 503 : response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await response.text()).toContain("The gateway has no memory for so long an answer");
    expect(upstream.received.length).toBe(before + 1);
    const { balance, held, requests } = await books.of(payer);
    expect([balance, held, requests.map((row) => row.cost)]).toEqual([payer.begunWith, 0, [0]]);
    upstream.script = whole(chatOf("hi"));
    expect((await post(payer.apiKey, "/chat/completions", turns)).status).toBe(200);
    expect(gateway.counts().bodyBytes).toBe(0);
  });
});

test("an answer takes memory until its reader has it", async () => {
  const payer = await openAccount(gateway);
  upstream.script = whole(vectorsOf(24 * 1024 ** 2));
  const body = JSON.stringify(embed);
  const socket = connect(gateway.port, "127.0.0.1");
  const head = `POST /v1/embeddings HTTP/1.1\r\nhost: h\r\nauthorization: Bearer ${payer.apiKey}\r\nconnection: close\r\n`;
  socket.write(`${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  await eventually(async () => expect((await books.of(payer)).requests).toHaveLength(1));
  expect(gateway.counts().bodyBytes).toBeGreaterThan(24 * 1024 ** 2);
  socket.resume();
  await once(socket, "end");
  await eventually(() => expect(gateway.counts().bodyBytes).toBe(0));
  socket.destroy();
});

test.each([
  ["a response, which", "/responses", { model: "gpt", input: "hi", stream: true }, true],
  ["a chat, which nothing translates,", "/chat/completions", { ...turns, stream: true }, false],
])("%s takes memory for what it has said where its end tells that again", async (_, path, request, isHeld) => {
  const payer = await openAccount(gateway);
  upstream.script = undefined;
  const asking = post(payer.apiKey, path, request);
  const exchange = await upstream.next();
  exchange.head(200, eventStream);
  const said = 400 * 500;
  for (let i = 0; i < 400; i++) await exchange.write(`data: ${JSON.stringify(chunkOf("x".repeat(500)))}\n\n`);
  const reader = ((await asking).body as ReadableStream<Uint8Array>).getReader();
  await readUntil(reader, (text) => text.split("x").length > said);
  if (isHeld) expect(gateway.counts().bodyBytes).toBeGreaterThan(said);
  else await eventually(() => expect(gateway.counts().bodyBytes).toBe(0));
  exchange.end(`data: ${JSON.stringify(lastChunk)}\n\ndata: [DONE]\n\n`);
  while (!(await reader.read()).done);
  await eventually(() => expect(gateway.counts().bodyBytes).toBe(0));
});

test("a translated stream that finds no more memory is charged what was sent of it, and that is sent", async () => {
  const payer = await openAccount(gateway);
  upstream.script = undefined;
  const asking = post(payer.apiKey, "/responses", { model: "gpt", input: "hi", stream: true });
  const exchange = await upstream.next();
  exchange.head(200, eventStream);
  const say = (content: string) => exchange.write(`data: ${JSON.stringify(chunkOf(content))}\n\n`);
  const words = 20_000;
  for (let i = 0; i < words; i += 200) await say("x ".repeat(200));
  const reader = ((await asking).body as ReadableStream<Uint8Array>).getReader();
  await readUntil(reader, (text) => text.split("x ").length > words);
  Object.assign(state, { isRoomy: false, waitMs: 1 });
  await say("x ".repeat(words));
  const rest = await readUntil(reader, (text) => text.includes("has no memory"));
  while (!(await reader.read()).done);
  await eventually(async () => expect((await books.of(payer)).requests).toHaveLength(1));
  const [charged] = (await books.of(payer)).requests;
  expect(Math.abs((charged?.output ?? 0) - words - rest.split("x ").length)).toBeLessThan(10);
  await eventually(() => expect(gateway.counts().bodyBytes).toBe(0));
});

test("an answer of Connect takes memory until its reader has it", async () => {
  const payer = await openAccount(gateway);
  upstream.script = whole(vectorsOf(24 * 1024 ** 2));
  const body = JSON.stringify({ model: "embed", inputText: "x" });
  const socket = connect(gateway.port, "127.0.0.1");
  const path = "/modelgateway.v1.InferenceService/CreateEmbeddings";
  const head = `POST ${path} HTTP/1.1\r\nhost: h\r\nauthorization: Bearer ${payer.apiKey}\r\nconnection: close\r\n`;
  socket.write(`${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  await once(socket, "readable");
  expect(gateway.counts().bodyBytes).toBeGreaterThan(24 * 1024 ** 2);
  socket.resume();
  await once(socket, "end");
  await eventually(() => expect(gateway.counts().bodyBytes).toBe(0));
  socket.destroy();
});

test("a stored answer is sent again once there is memory for it", async () => {
  const payer = await openAccount(gateway);
  upstream.script = whole(chatOf(long));
  const repeat = () => post(payer.apiKey, "/chat/completions", turns, { "idempotency-key": "again" });
  const first = await (await repeat()).text();
  const created = await post(payer.apiKey, "/responses", { model: "gpt", input: "hi" });
  const { id } = (await created.json()) as { readonly id: string };
  const get = (path: string) =>
    fetch(`${gateway.baseUrl}/responses/${path}`, { headers: { authorization: `Bearer ${payer.apiKey}` } });
  const find = () => get(id);
  const further = { model: "gpt", input: "go on", previous_response_id: id };
  const next = (await (await post(payer.apiKey, "/responses", further)).json()) as { readonly id: string };
  const list = () => get(`${next.id}/input_items`);
  const spent = (await books.of(payer)).balance;
  Object.assign(state, { isRoomy: false, waitMs: 1 });
  for (const ask of [repeat, find, list]) expect((await ask()).status).toBe(503);
  state.isRoomy = true;
  const again = await repeat();
  expect([again.headers.get("x-gateway-replayed"), await again.text()]).toEqual(["true", first]);
  for (const ask of [find, list]) expect(await (await ask()).text()).toContain(long);
  expect((await books.of(payer)).balance).toBe(spent);
});

test("a stored answer waits for memory no longer than its caller does", async () => {
  const payer = await openAccount(gateway);
  upstream.script = whole(chatOf(long));
  const created = await post(payer.apiKey, "/responses", { model: "gpt", input: long });
  const { id } = (await created.json()) as { readonly id: string };
  const repeat = { method: "POST", body: JSON.stringify(turns) };
  const headers = { ...asJson, authorization: `Bearer ${payer.apiKey}`, "idempotency-key": "once" };
  await (await fetch(`${gateway.baseUrl}/chat/completions`, { ...repeat, headers })).text();
  await leaveWaiting(gateway, "GetResponse", `/responses/${id}`, { headers });
  await leaveWaiting(gateway, "ListResponseInputItems", `/responses/${id}/input_items`, { headers });
  await leaveWaiting(gateway, "CreateChatCompletion", "/chat/completions", { ...repeat, headers });
});

test.each(["", "/input_items"])("a stored response waits no longer than x-gateway-timeout says: %s", async (path) => {
  const payer = await openAccount(gateway);
  upstream.script = whole(chatOf(long));
  const created = await post(payer.apiKey, "/responses", { model: "gpt", input: long });
  const { id } = (await created.json()) as { readonly id: string };
  state.isRoomy = false;
  const headers = { authorization: `Bearer ${payer.apiKey}`, "x-gateway-timeout": "0.5" };
  const asked = { headers, signal: AbortSignal.timeout(30_000) };
  expect((await fetch(`${gateway.baseUrl}/responses/${id}${path}`, asked)).status).toBe(503);
});

/** leaveWaiting disconnects while the answer to a request waits for memory, and resolves when its call is over. */
async function leaveWaiting(
  { baseUrl, metricsPort }: Pick<typeof gateway, "baseUrl" | "metricsPort">,
  rpc: string,
  path: string,
  init: RequestInit,
) {
  Object.assign(state, { isRoomy: false, refused: 0 });
  const leaving = new AbortController();
  const asking = fetch(baseUrl + path, { ...init, signal: leaving.signal }).catch(() => undefined);
  await eventually(() => expect(state.refused).toBeGreaterThan(0));
  leaving.abort();
  await asking;
  await eventually(async () => {
    const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    expect(metrics).toContain(`model_gateway_rpc_requests_total{rpc="${rpc}",status="499"} 1`);
  });
}

describe("an answer of the cache", () => {
  const cached = (baseUrl: string) => ({
    ...paidModels(baseUrl),
    cache: { maxBytes: 64 * 1024 ** 2, keepMs: 60_000, priceShare: 1 },
  });
  const stage = scriptedStage(cached, { memory });

  test("waits for memory no longer than its caller does", async () => {
    const payer = await openAccount(stage.gateway);
    stage.upstream.script = whole(chatOf(long));
    const headers = { ...asJson, authorization: `Bearer ${payer.apiKey}` };
    const asked = { method: "POST", body: JSON.stringify(turns), headers };
    await (await fetch(`${stage.gateway.baseUrl}/chat/completions`, asked)).text();
    await leaveWaiting(stage.gateway, "CreateChatCompletion", "/chat/completions", asked);
  });

  test.each([{}, { "idempotency-key": "bounded" }])("waits no longer than x-gateway-timeout says: %j", async (more) => {
    const payer = await openAccount(stage.gateway);
    stage.upstream.script = whole(chatOf(long));
    const headers = { ...asJson, authorization: `Bearer ${payer.apiKey}`, ...more };
    const ask = (bound = {}) =>
      fetch(`${stage.gateway.baseUrl}/chat/completions`, {
        ...{ method: "POST", headers: { ...headers, ...bound }, body: JSON.stringify(turns) },
        signal: AbortSignal.timeout(30_000),
      });
    expect((await ask()).status).toBe(200);
    state.isRoomy = false;
    expect((await ask({ "x-gateway-timeout": "0.5" })).status).toBe(503);
    state.isRoomy = true;
    expect((await ask({ "x-gateway-timeout": "30" })).status).toBe(200);
  });

  test.each([false, true])("is sent and charged once there is memory for it, stream: %s", async (stream) => {
    const payer = await openAccount(stage.gateway);
    stage.upstream.script = stream ? (exchange) => exchange.stream(chunkOf(long), lastChunk) : whole(chatOf(long));
    const headers = { ...asJson, authorization: `Bearer ${payer.apiKey}` };
    const body = JSON.stringify({ ...turns, stream });
    const ask = () => fetch(`${stage.gateway.baseUrl}/chat/completions`, { method: "POST", headers, body });
    const first = await (await ask()).text();
    const { balance } = await stage.books.of(payer);
    Object.assign(state, { isRoomy: false, waitMs: 1 });
    expect((await ask()).status).toBe(503);
    expect((await stage.books.of(payer)).balance).toBe(balance);
    state.isRoomy = true;
    const again = await ask();
    expect([again.headers.get("x-gateway-cache"), await again.text()]).toEqual(["hit", first]);
    await eventually(() => expect(stage.gateway.counts().bodyBytes).toBe(0));
  });
});
