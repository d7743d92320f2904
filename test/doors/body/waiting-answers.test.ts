/** What ends the wait of an answer for memory: its caller leaves, its own bound passes, or it was sent. */
import { beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { openAccount } from "../../support/payer.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { paidModels } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const long = "x".repeat(300 * 1024);
const state = { isRoomy: true, refused: 0, held: 0 };
const memory = {
  hasRoom(held: number, more: number) {
    state.held = Math.max(state.held, held);
    if (state.isRoomy && held + more > 450 * 1024) return false;
    if (!state.isRoomy) state.refused++;
    return state.isRoomy;
  },
  waitMs: 60_000,
};
const { upstream, gateway, books } = scriptedStage(paidModels, { memory });

beforeEach(() => Object.assign(state, { isRoomy: false, refused: 0, held: 0 }));

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const told = { id: "c", created: 1, model: "m" };
const chat = {
  ...{ ...told, object: "chat.completion", usage },
  choices: [{ index: 0, message: { role: "assistant", content: long }, finish_reason: "stop" }],
};
const chunk = {
  ...{ ...told, object: "chat.completion.chunk", usage: null },
  choices: [{ index: 0, delta: { role: "assistant", content: long }, finish_reason: null }],
};

function ask(apiKey: string, stream: boolean, more: Readonly<Record<string, string>>, signal?: AbortSignal) {
  upstream.script = (exchange) => (stream ? exchange.stream(chunk) : exchange.json(200, chat));
  const headers = { "content-type": "application/json", authorization: `Bearer ${apiKey}`, ...more };
  const body = JSON.stringify({ model: "gpt", stream, messages: [{ role: "user", content: "hi" }] });
  return fetch(`${gateway.baseUrl}/chat/completions`, {
    ...{ method: "POST", headers, body },
    ...(signal && { signal }),
  });
}

test.each([false, true])("its caller leaves: the call is over, stream: %s", async (stream) => {
  const payer = await openAccount(gateway);
  const leaving = new AbortController();
  const asking = ask(payer.apiKey, stream, {}, leaving.signal).catch(() => undefined);
  await eventually(() => expect(state.refused).toBeGreaterThan(0));
  leaving.abort();
  await asking;
  await eventually(async () => expect((await books.of(payer)).requests).toHaveLength(1));
});

test.each([false, true])("the caller's bound passes: it is refused for now, stream: %s", async (stream) => {
  const payer = await openAccount(gateway);
  const response = await ask(payer.apiKey, stream, { "x-gateway-timeout": "1" });
  expect([response.status, await response.text()]).toEqual([503, expect.stringContaining("has no memory")]);
  expect((await books.of(payer)).balance).toBe(payer.begunWith);
});

describe("its upstream resets the connection", () => {
  const frame = `data: ${JSON.stringify(chunk)}\n\n`;
  const ways: readonly (readonly [name: string, stream: boolean, head: Record<string, string>, begun: string])[] = [
    ["of a whole answer", false, { "content-length": "900000" }, JSON.stringify(chat)],
    ["of a whole answer of untold length", false, {}, JSON.stringify(chat).slice(0, -9)],
    ["of a whole answer that has hardly begun", false, { "content-length": "900000" }, "{"],
    ["of a frame", true, eventStream, frame.slice(0, -9)],
    ["of an object in place of a stream", true, {}, JSON.stringify(chat).slice(0, -9)],
  ];

  test.each(ways)("%s: it fails at once, and nothing is held", async (_, stream, head, begun) => {
    const payer = await openAccount(gateway);
    const asking = ask(payer.apiKey, stream, {});
    upstream.script = undefined;
    const exchange = await upstream.next();
    exchange.head(200, { "content-type": "application/json", ...head });
    await exchange.write(begun);
    await eventually(() => expect(state.refused).toBeGreaterThan(0));
    exchange.reset();
    const response = await asking;
    expect([response.status, await response.text()]).toEqual([502, expect.stringContaining("broke")]);
    // Other engines free a hold behind the answer.
    await eventually(async () => {
      const { balance, held } = await books.of(payer);
      expect([balance, held, gateway.counts().bodyBytes]).toEqual([payer.begunWith, 0, 0]);
    });
  });
});

describe("its upstream takes too long", () => {
  const bound = { total_seconds: 1 };
  const bounded = (baseUrl: string) => {
    const { upstreams, ...others } = paidModels(baseUrl);
    return { ...others, upstreams: upstreams.map((one) => ({ ...one, timeouts: bound })) };
  };
  const stage = scriptedStage(bounded, { memory });

  test.each([false, true])("it fails when that is known, and nothing is held, stream: %s", async (stream) => {
    const payer = await openAccount(stage.gateway);
    stage.upstream.script = (exchange) => {
      exchange.head(200, stream ? eventStream : { "content-type": "application/json", "content-length": "900000" });
      void exchange.write(stream ? `data: ${JSON.stringify(chunk)}\n\n` : JSON.stringify(chat));
    };
    const headers = { "content-type": "application/json", authorization: `Bearer ${payer.apiKey}` };
    const body = JSON.stringify({ model: "gpt", stream, messages: [{ role: "user", content: "hi" }] });
    const response = await fetch(`${stage.gateway.baseUrl}/chat/completions`, { method: "POST", headers, body });
    expect([response.status, await response.text()]).toEqual([504, expect.stringContaining("no end of its answer")]);
    await eventually(async () => {
      const { balance, held } = await stage.books.of(payer);
      expect([balance, held, stage.gateway.counts().bodyBytes]).toEqual([payer.begunWith, 0, 0]);
    });
  });
});

test("what was read for a response in the background is given back when it is over, though its events are kept", async () => {
  state.isRoomy = true;
  const payer = await openAccount(gateway);
  const usual = {
    ...chat,
    choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
  };
  upstream.script = (exchange) => {
    exchange.head(200, { "content-type": "application/json" });
    exchange.end(JSON.stringify(usual) + " ".repeat(long.length));
  };
  const headers = { "content-type": "application/json", authorization: `Bearer ${payer.apiKey}` };
  const body = JSON.stringify({ model: "gpt", input: "hi", background: true, stream: true });
  const make = async () => (await fetch(`${gateway.baseUrl}/responses`, { method: "POST", headers, body })).text();
  await make();
  expect(state.held).toBeLessThan(long.length);
  expect(await make()).toContain("response.completed");
  expect(state.held).toBeLessThan(long.length);
});

test("one of untold length comes through where there is memory for it, though not for twice as much", async () => {
  state.isRoomy = true;
  const payer = await openAccount(gateway);
  const asking = ask(payer.apiKey, false, {});
  upstream.script = (exchange) => {
    exchange.head(200, { "content-type": "application/json" });
    exchange.end(JSON.stringify(chat));
  };
  expect((await asking).status).toBe(200);
});
