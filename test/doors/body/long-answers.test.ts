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
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
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
];

function post(apiKey: string, path: string, body: object, more: Readonly<Record<string, string>> = {}) {
  const headers = { ...asJson, authorization: `Bearer ${apiKey}`, ...more };
  return fetch(gateway.baseUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
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

test("a stored answer is sent again once there is memory for it", async () => {
  const payer = await openAccount(gateway);
  upstream.script = whole(chatOf(long));
  const repeat = () => post(payer.apiKey, "/chat/completions", turns, { "idempotency-key": "again" });
  const first = await (await repeat()).text();
  const created = await post(payer.apiKey, "/responses", { model: "gpt", input: "hi" });
  const { id } = (await created.json()) as { readonly id: string };
  const find = () =>
    fetch(`${gateway.baseUrl}/responses/${id}`, { headers: { authorization: `Bearer ${payer.apiKey}` } });
  const spent = (await books.of(payer)).balance;
  Object.assign(state, { isRoomy: false, waitMs: 1 });
  for (const ask of [repeat, find]) expect((await ask()).status).toBe(503);
  state.isRoomy = true;
  const again = await repeat();
  expect([again.headers.get("x-gateway-replayed"), await again.text()]).toEqual(["true", first]);
  expect(await (await find()).text()).toContain(long);
  expect((await books.of(payer)).balance).toBe(spent);
});
