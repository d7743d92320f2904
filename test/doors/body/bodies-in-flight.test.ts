/**
 * The bytes of bodies in flight are bounded, in all and by account, through every door: a body without room is refused with a time
 * to retry, and small requests still find room.
 */
import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { beforeEach, describe, expect, test } from "vitest";
import { createBodyBudget } from "../../../src/doors/body/body-budget.ts";
import { doors } from "../../support/clients/doors.ts";
import { eventually } from "../../support/eventually.ts";
import { upstreamAt } from "../../support/gateway.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const KB = 1024;

const chat = (length: number) => ({
  model: "embedded-chat",
  messages: [{ role: "user", content: "x".repeat(length) }],
});

const answer = {
  ...{ id: "c", object: "chat.completion", created: 1, model: "embedded-chat" },
  choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

describe("the room for bodies", () => {
  const bounds = { maxBytes: 1000 * KB, maxBytesPerAccount: 500 * KB, maxBytesEach: 800 * KB };

  test("is taken by bytes that have arrived, and free once they are given back", () => {
    const bodies = createBodyBudget(bounds);
    const share = bodies.open("one");
    share.add(100 * KB);
    share.add(200 * KB);
    expect(bodies.bytes).toBe(300 * KB);
    share.release();
    share.release();
    expect(bodies.bytes).toBe(0);
  });

  test("is bounded for each account, independently of others", () => {
    const bodies = createBodyBudget(bounds);
    bodies.open("one").add(500 * KB);
    expect(() => bodies.open("one").add(1)).toThrow("the account has under way");
    bodies.open("two").add(200 * KB);
  });

  test("keeps its last quarter for small bodies", () => {
    const bodies = createBodyBudget({ ...bounds, maxBytesPerAccount: bounds.maxBytes });
    bodies.open("one").add(750 * KB);
    expect(() => bodies.open("two").add(65 * KB)).toThrow("the gateway has under way");
    const small = bodies.open("two");
    small.add(60 * KB);
    // It is small no longer.
    expect(() => small.add(5 * KB)).toThrow("the gateway has under way");
    for (let i = 0; i < 3; i++) bodies.open("two").add(60 * KB);
    expect(() => bodies.open("two").add(60 * KB)).toThrow("the gateway has under way");
  });

  test("is taken by what a body grows to, up to the bound of any body", () => {
    const bodies = createBodyBudget({ ...bounds, maxBytesEach: 300 * KB });
    const share = bodies.open("one");
    share.add(100 * KB);
    share.grow(200 * KB);
    expect(bodies.bytes).toBe(300 * KB);
    expect(() => share.grow(1, "input")).toThrow("the limit of 307200 bytes");
    share.remove(100 * KB);
    expect(bodies.bytes).toBe(200 * KB);
    bodies.open("one").add(300 * KB);
    expect(() => share.grow(1)).toThrow("the account has under way");
    share.remove(900 * KB);
    expect(bodies.bytes).toBe(300 * KB);
  });

  test("is for small bodies alone where memory is short", () => {
    const asked: [number, number][] = [];
    const hasRoom = (held: number, more: number) => {
      asked.push([held, more]);
      return more < 100 * KB;
    };
    const bodies = createBodyBudget({ ...bounds, memory: { hasRoom } });
    bodies.open("one").add(64 * KB);
    expect(asked).toEqual([]);
    const long = bodies.open("two");
    long.add(90 * KB);
    expect(() => long.add(100 * KB)).toThrow("the gateway has under way");
    const each = [64, 90, 154, 100].map((kilobytes) => kilobytes * KB);
    expect(asked.flat()).toEqual(each);
    expect(bodies.bytes).toBe(154 * KB);
  });

  test("is not taken by refused bytes", () => {
    const bodies = createBodyBudget(bounds);
    expect(() => bodies.open("one").add(501 * KB)).toThrow();
    expect(bodies.bytes).toBe(0);
  });
});

describe("a gateway without room", () => {
  const bodiesInFlight = { maxBytes: 1000 * KB, maxBytesPerAccount: 400 * KB };
  const { upstream, gateway } = scriptedStage((baseUrl) => ({ ...upstreamAt(baseUrl), bodiesInFlight }), {
    perTest: true,
  });

  /** Takes most of the account's room by a call that waits for its upstream. */
  async function takeRoom() {
    const [rest] = doors;
    const running = rest?.chat(gateway, { request: chat(300 * KB), stream: false });
    const exchange = await upstream.next();
    expect(gateway.counts().bodyBytes).toBeGreaterThan(300 * KB);
    return async () => {
      exchange.json(200, answer);
      await running;
    };
  }

  for (const door of doors) {
    test(`refuses a large body with 503 through ${door.name}, and accepts it when there is room again`, async () => {
      const free = await takeRoom();
      const refused = await door.chat(gateway, { request: chat(200 * KB), stream: false }).catch(String);
      expect(JSON.stringify(refused)).toMatch(/take all the room there is for them. Try again in 1 s./);
      await free();
      await eventually(() => expect(gateway.counts().bodyBytes).toBe(0));
      upstream.script = (exchange) => exchange.json(200, answer);
      const { answers } = await door.chat(gateway, { request: chat(200 * KB), stream: false });
      expect(answers).toHaveLength(1);
      await eventually(() => expect(gateway.counts().bodyBytes).toBe(0));
    });
  }

  test("says when to retry, even for a body without a length", async () => {
    const free = await takeRoom();
    const headers = { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" };
    const req = request(`${gateway.baseUrl}/chat/completions`, { method: "POST", headers, agent: false });
    req.on("error", () => {}).end(JSON.stringify(chat(200 * KB)));
    const [res] = await once(req, "response");
    expect([res.statusCode, res.headers["retry-after"]]).toEqual([503, "1"]);
    res.resume();
    await free();
  });

  test("gives back the room of a streaming call when its answer begins", async () => {
    const [rest] = doors;
    const running = rest?.chat(gateway, { request: chat(300 * KB), stream: true });
    const exchange = await upstream.next();
    exchange.head(200, { "content-type": "text/event-stream" });
    await exchange.write('data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n');
    await eventually(() => expect(gateway.counts().bodyBytes).toBe(0));
    exchange.end('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
    await running;
  });

  test("counts no announced body that does not arrive, and releases what a client has left behind", async () => {
    const socket = connect(gateway.port, "127.0.0.1");
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\nauthorization: Bearer ${gateway.apiKey}\r\n`;
    socket.write(`${head}content-length: ${390 * KB}\r\n\r\n${"x".repeat(80 * KB)}`);
    await eventually(() => expect(gateway.counts().bodyBytes).toBe(80 * KB));
    const free = await takeRoom();
    await free();
    socket.destroy();
    await eventually(() => expect(gateway.counts().bodyBytes).toBe(0));
  });
});

describe("a gateway whose memory is short", () => {
  const memory = { hasRoom: () => isRoomy };
  let isRoomy = false;
  const { upstream, gateway } = scriptedStage((baseUrl) => upstreamAt(baseUrl), { perTest: true, memory });
  beforeEach(() => {
    isRoomy = false;
    upstream.script = (exchange) => exchange.json(200, answer);
  });

  for (const door of doors) {
    test(`refuses a long body with 503 through ${door.name}, serves small ones, and the long one once there is memory`, async () => {
      const refused = await door.chat(gateway, { request: chat(200 * KB), stream: false }).catch(String);
      expect(JSON.stringify(refused)).toMatch(/take all the room there is for them. Try again in 1 s./);
      expect((await door.chat(gateway, { request: chat(1 * KB), stream: false })).answers).toHaveLength(1);
      isRoomy = true;
      expect((await door.chat(gateway, { request: chat(200 * KB), stream: false })).answers).toHaveLength(1);
      await eventually(() => expect(gateway.counts().bodyBytes).toBe(0));
    });
  }
});
