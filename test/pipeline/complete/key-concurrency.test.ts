/**
 * How many calls of models a key may have running, on real sockets: exactly so many, and a place is free again however a call ends. That
 * nothing is counted once all have ended is proved when the gateway is closed, as for everything that runs.
 */
import { connect } from "node:net";
import { beforeEach, describe, expect, test } from "vitest";
import { openSocket } from "../../support/clients/response-sockets.ts";
import { eventually } from "../../support/eventually.ts";
import { upstreamAt } from "../../support/gateway.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { at, openStage, served, wholeAnswer } from "../../support/upstreams/two-upstreams.ts";

const { upstream, gateway } = scriptedStage((baseUrl) => ({ ...upstreamAt(baseUrl), disconnectDrainMs: 300 }), {
  perTest: true,
});

const allow = (max_concurrent: number | null) =>
  gateway.storage.keys.update(gateway.accountId, gateway.keyId, { max_concurrent });

function ask(stream: boolean, signal?: AbortSignal, path = "/chat/completions"): Promise<Response> {
  return fetch(`${gateway.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "embedded-chat", stream, messages: [{ role: "user", content: "Hi" }] }),
    ...(signal ? { signal } : {}),
  });
}

const chunk = `data: ${JSON.stringify({ ...wholeAnswer, object: "chat.completion.chunk", usage: null, choices: [{ index: 0, delta: { content: "Hel" }, finish_reason: null }] })}\n\n`;
const running = () => gateway.counts().keyCalls;

test("is exact: so many run, one more is refused at once, and the next goes when one has ended", async () => {
  await allow(3);
  const calls = Array.from({ length: 3 }, (_, i) => ask(i === 0));
  const exchanges = [await upstream.next(), await upstream.next(), await upstream.next()];
  expect(running()).toBe(3);
  const refused = await Promise.all(Array.from({ length: 10 }, () => ask(false)));
  expect(refused.map(({ status }) => status)).toEqual(Array(10).fill(429));
  const [first] = refused as [Response];
  expect(first.headers.get("retry-after")).toBe("1");
  expect(first.headers.get("x-gateway-limit")).toBe("key-concurrency;limit=3;remaining=0");
  expect(((await first.json()) as { error: { message: string } }).error.message).toBe(
    "The API key has 3 calls running, as many as it may have at a time. Try again when one has ended.",
  );
  expect(upstream.received).toHaveLength(3);
  // Calls of no model are no such calls.
  const models = await fetch(`${gateway.baseUrl}/models`, { headers: { authorization: `Bearer ${gateway.apiKey}` } });
  expect(models.status).toBe(200);
  for (const exchange of exchanges) {
    const { stream } = exchange.asked;
    if (stream) exchange.stream({ ...wholeAnswer, object: "chat.completion.chunk", choices: [] });
    else exchange.json(200, wholeAnswer);
  }
  await Promise.all(calls.map(async (call) => (await call).text()));
  await eventually(() => expect(running()).toBe(0));
  upstream.script = (exchange) => exchange.json(200, wholeAnswer);
  expect((await ask(false)).status).toBe(200);
});

describe("a place is free again", () => {
  beforeEach(() => allow(1));

  /** Proves that the key's only place is taken, and then that it is free. */
  async function freedBy(end: () => Promise<unknown>): Promise<void> {
    expect((await ask(false)).status).toBe(429);
    await end();
    upstream.script = (exchange) => exchange.json(200, wholeAnswer);
    await eventually(async () => expect((await ask(false)).status).toBe(200));
    expect(running()).toBe(0);
  }

  test("after a stream has ended, and not before its last frame", async () => {
    const asked = ask(true);
    const exchange = await upstream.next();
    exchange.head(200, eventStream);
    await exchange.write(chunk);
    const answer = await asked;
    await freedBy(async () => {
      exchange.end(
        `data: ${JSON.stringify({ ...wholeAnswer, object: "chat.completion.chunk", choices: [] })}\n\ndata: [DONE]\n\n`,
      );
      await answer.text();
    });
  });

  test("after a stream whose client has left", async () => {
    const left = new AbortController();
    const asked = ask(true, left.signal);
    const exchange = await upstream.next();
    exchange.head(200, eventStream);
    await exchange.write(chunk);
    await asked;
    await freedBy(async () => left.abort());
  });

  test("after a call whose client has left before an answer", async () => {
    const left = new AbortController();
    const asked = ask(false, left.signal).catch(() => {});
    await upstream.next();
    await freedBy(async () => {
      left.abort();
      await asked;
    });
  });

  test("after a client that has reset its connection before the stream began", async () => {
    const body = JSON.stringify({ model: "embedded-chat", stream: true, messages: [{ role: "user", content: "Hi" }] });
    const socket = connect(gateway.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.apiKey}\r\n` +
        `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    await upstream.next();
    await freedBy(async () => socket.resetAndDestroy());
  });

  test("after an upstream that broke off, or failed", async () => {
    const asked = ask(true);
    const exchange = await upstream.next();
    exchange.head(200, eventStream);
    await exchange.write(chunk);
    const answer = await asked;
    await freedBy(async () => {
      exchange.reset();
      await answer.text().catch(() => {});
    });
    upstream.script = (failing) => failing.json(500, {});
    expect((await ask(false)).status).toBe(502);
    expect(running()).toBe(0);
  });

  test("after a call that is refused for its model, its credit or its body", async () => {
    upstream.script = (exchange) => exchange.json(200, wholeAnswer);
    const send = (body: string) =>
      fetch(`${gateway.baseUrl}/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
        body,
      });
    expect((await send('{"model":"gone","messages":[{"role":"user","content":"Hi"}]}')).status).toBe(404);
    expect((await send("{")).status).toBe(400);
    expect(running()).toBe(0);
    expect((await ask(false)).status).toBe(200);
  });

  test("after an upstream that never answers, once the caller's deadline has passed", async () => {
    const asked = fetch(`${gateway.baseUrl}/chat/completions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${gateway.apiKey}`,
        "content-type": "application/json",
        "x-gateway-timeout": "1",
      },
      body: JSON.stringify({ model: "embedded-chat", messages: [{ role: "user", content: "Hi" }] }),
    });
    await upstream.next();
    expect(running()).toBe(1);
    await freedBy(async () => void (await asked));
  });

  test("after a call whose client leaves while another of the same idempotency key waits for it, which takes no place", async () => {
    const again = (signal?: AbortSignal) =>
      fetch(`${gateway.baseUrl}/chat/completions`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${gateway.apiKey}`,
          "content-type": "application/json",
          "idempotency-key": "same",
        },
        body: JSON.stringify({ model: "embedded-chat", messages: [{ role: "user", content: "Hi" }] }),
        ...(signal ? { signal } : {}),
      });
    const first = again();
    const exchange = await upstream.next();
    const second = again();
    // The second waits for the first, and is not refused for it.
    expect((await ask(false)).status).toBe(429);
    exchange.json(200, wholeAnswer);
    expect((await first).status).toBe(200);
    const replay = await second;
    expect([replay.status, replay.headers.get("x-gateway-replayed")]).toEqual([200, "true"]);
    await eventually(() => expect(running()).toBe(0));
    const left = new AbortController();
    const third = ask(false, left.signal).catch(() => {});
    await upstream.next();
    await freedBy(async () => {
      left.abort();
      await third;
    });
  });

  test("after a message over a WebSocket, whose connection stays; the next one is refused while a call runs", async () => {
    upstream.script = (exchange) => exchange.json(200, wholeAnswer);
    const socket = await openSocket(gateway);
    const message = { model: "embedded-chat", input: "Hi" };
    upstream.script = undefined;
    const asked = socket.ask(message);
    const exchange = await upstream.next();
    await freedBy(async () => {
      exchange.stream(JSON.parse(chunk.slice(6)), { ...wholeAnswer, object: "chat.completion.chunk", choices: [] });
      await asked;
    });
    upstream.script = undefined;
    const held = ask(false);
    const second = await upstream.next();
    expect((await socket.ask(message)).at(-1)?.error?.code).toBe("rate_limit_exceeded");
    second.json(200, wholeAnswer);
    expect((await held).status).toBe(200);
    await socket.close();
  });
});

test("of another key of the same account is its own, and keys without it have none", async () => {
  const { issueKey } = await import("../../../src/services/keys/issue-key.ts");
  await allow(1);
  const init = { accountId: gateway.accountId, name: "other", admin: false, now: 0 };
  const { secret } = await issueKey(gateway.storage.keys, init);
  const held = ask(false);
  const first = await upstream.next();
  upstream.script = (exchange) => exchange.json(200, wholeAnswer);
  const other = await fetch(`${gateway.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "embedded-chat", messages: [{ role: "user", content: "Hi" }] }),
  });
  expect(other.status).toBe(200);
  expect(running()).toBe(1);
  // A limit that is raised holds at once.
  await allow(2);
  expect((await ask(false)).status).toBe(200);
  first.json(200, wholeAnswer);
  await held;
});

test("is taken once by a call that is hedged, or falls back to another upstream", async () => {
  const targets = [at("first"), at("second", 1)];
  const stage = await openStage([served(targets)], { hedging: { afterMs: 10, share: 1 } });
  try {
    await stage.gateway.storage.keys.update(stage.gateway.accountId, stage.gateway.keyId, { max_concurrent: 1 });
    const well = stage.first.script;
    stage.first.script = undefined;
    expect((await stage.ask()).headers.get("x-gateway-upstream")).toBe("second");
    await eventually(() => expect(stage.gateway.counts().keyCalls).toBe(0));
    stage.first.script = (exchange) => exchange.json(500, {});
    expect((await stage.ask()).status).toBe(200);
    expect(stage.gateway.counts().keyCalls).toBe(0);
    stage.first.script = well;
    expect((await stage.ask()).status).toBe(200);
  } finally {
    await stage.close();
  }
});
