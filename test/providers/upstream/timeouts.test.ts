/**
 * How long an upstream may take: for a connection, the first byte, between two chunks, and in total. Slower ones are
 * broken off; before anything was sent another target is tried, afterwards the stream ends with an error. A caller
 * may set shorter bounds, never longer ones, and no caller's bounds trip the breaker for others.
 */
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Config, ModelConfig, UpstreamConfig } from "../../../src/config/config.ts";
import { createBounds, defaultTimeouts } from "../../../src/providers/upstream/timeouts.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { type Took, timed } from "../../support/run/running-time.ts";
import {
  eventStream,
  type ScriptedExchange,
  type ScriptedUpstream,
  startScriptedUpstream,
} from "../../support/scripted-upstream.ts";
import { startStuffedListener } from "../../support/upstreams/stuffed-listener.ts";
import { at, chunk, price, wholeAnswer } from "../../support/upstreams/two-upstreams.ts";

const frame = (json: object) => `${"type" in json ? `event: ${json.type}\n` : ""}data: ${JSON.stringify(json)}\n\n`;

/** The same, as each family says it. */
const families = {
  openai: {
    path: "/chat/completions",
    answer: wholeAnswer,
    words: frame(chunk({ role: "assistant", content: "Hel" })),
    refused: { code: "timeout" },
    brokenOff: /"type":"server_error".*"code":"504"/,
    end: "[DONE]",
  },
  anthropic: {
    path: "/messages",
    answer: {
      ...{ id: "msg_1", type: "message", role: "assistant", model: "m", stop_reason: "end_turn" },
      content: [{ type: "text", text: "Hello!" }],
      usage: { input_tokens: 9, output_tokens: 3 },
    },
    words: [
      { type: "message_start", message: { id: "msg_1", type: "message", role: "assistant", model: "m", content: [] } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hel" } },
    ]
      .map(frame)
      .join(""),
    refused: { type: "timeout_error" },
    brokenOff: /event: error\ndata: .*"timeout_error"/,
    end: "message_stop",
  },
} as const;

type Kind = keyof typeof families;

let first: ScriptedUpstream;
let second: ScriptedUpstream;
let gateway: TestGateway | undefined;

const short = 0.2;

interface Start {
  readonly kind?: Kind;
  readonly timeouts?: UpstreamConfig["timeouts"];
  readonly targets?: ModelConfig["targets"];
  readonly baseUrl?: string;
}

async function start(
  { kind = "openai", timeouts, targets = [at("first")], baseUrl }: Start,
  config: Partial<Config> = {},
) {
  const upstreams: UpstreamConfig[] = [
    { name: "first", kind, base_url: baseUrl ?? first.baseUrl, api_key: "k", ...(timeouts ? { timeouts } : {}) },
    { name: "second", kind, base_url: second.baseUrl, api_key: "k" },
  ];
  const model: ModelConfig = { id: "m", aliases: [], family: "f", kind: "chat", price, targets };
  const served = { upstreams, models: [model], embeddedModels: false, disconnectDrainMs: 300, ...config };
  gateway = await startTestGateway(served, { clock: Date.now, postpaid: false });
  return gateway;
}

interface Ask {
  readonly kind?: Kind;
  readonly stream?: boolean;
  readonly timeout?: string;
}

function ask({ kind = "openai", stream = false, timeout }: Ask = {}): Promise<Response> {
  const { baseUrl, apiKey } = gateway as TestGateway;
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  return fetch(`${baseUrl}${families[kind].path}`, {
    method: "POST",
    headers: timeout === undefined ? headers : { ...headers, "x-gateway-timeout": timeout },
    body: JSON.stringify({ model: "m", max_tokens: 100, stream, messages: [{ role: "user", content: "Hi" }] }),
  });
}

/** A bound is kept, and not only by the timers behind it, which fire a second later. */
function expectAbout({ ms, runningMs }: Took, seconds: number) {
  expect(ms).toBeGreaterThan(seconds * 1000 - 20);
  expect(runningMs).toBeLessThan(seconds * 1000 + 500);
}

async function latest() {
  const { storage, accountId } = gateway as TestGateway;
  const [request] = await storage.requests.page({ accountId }, undefined, 1);
  return request;
}

async function expectNothingCharged() {
  const { storage, accountId } = gateway as TestGateway;
  expect(await latest()).toMatchObject({ outcome: Outcome.FAILED, cost: 0, input: 0, output: 0 });
  expect(await storage.accounts.find(accountId)).toMatchObject({ held: 0, balance: 300_000_000 });
}

const words = (kind: Kind) => async (exchange: ScriptedExchange) => {
  exchange.head(200, eventStream);
  await exchange.write(families[kind].words);
};

beforeEach(async () => {
  [first, second] = [await startScriptedUpstream(), await startScriptedUpstream()];
});
afterEach(async () => {
  await gateway?.close();
  gateway = undefined;
  await Promise.all([first.close(), second.close()]);
});

for (const kind of ["openai", "anthropic"] as const) {
  const { answer, refused, brokenOff, end } = families[kind];
  const target = [at("first"), at("second", 1)];

  describe(`an upstream of the ${kind} family`, () => {
    test("that never answers is broken off, and nothing is charged", async () => {
      await start({ kind, timeouts: { first_byte_seconds: short } });
      const [response, took] = await timed(() => ask({ kind }));
      expect(response.status).toBe(504);
      expectAbout(took, short);
      const message = `The upstream of this model did not answer in time: no answer in ${short} s. Try again.`;
      expect(await response.json()).toMatchObject({ error: { ...refused, message } });
      await first.received[0]?.left;
      await expectNothingCharged();
    });

    test("that never answers is replaced by another, and the failure is reported in the gateway's own words", async () => {
      await start(
        { kind, timeouts: { first_byte_seconds: short }, targets: target },
        { retries: { attempts: 2, share: 0 } },
      );
      second.script = (exchange) => exchange.json(200, answer);
      const [response, { ms }] = await timed(() => ask({ kind }));
      expect([response.status, response.headers.get("x-gateway-attempts")]).toEqual([200, "2"]);
      expect(JSON.parse((await latest())?.tried ?? "null")).toMatchObject([{ failure: `no answer in ${short} s` }]);
      // The wait for the failed target counts as the upstream's time, not the gateway's.
      const [upstream = 0, own = 0] = ["upstream", "gateway"].map((part) => timingOf(response, part));
      expect(upstream).toBeGreaterThan(short * 1000 - 20);
      expect(upstream + own).toBeLessThan(ms + 1);
    });

    test("that sends its head and then nothing is broken off", async () => {
      await start({ kind, timeouts: { idle_seconds: short } });
      first.script = (exchange) => exchange.head(200, { "content-type": "application/json" });
      const [response, took] = await timed(() => ask({ kind }));
      expect(response.status).toBe(504);
      expectAbout(took, short);
      expect(await response.text()).toContain(`nothing more of its answer in ${short} s`);
      await expectNothingCharged();
    });

    test("whose stream falls silent after its first content has it ended with an error", async () => {
      await start({ kind, timeouts: { idle_seconds: short } });
      first.script = words(kind);
      const response = await ask({ kind, stream: true });
      expect(response.status).toBe(200);
      const text = await response.text();
      expect(text).toContain("Hel");
      expect(text).toMatch(brokenOff);
      expect(text).not.toContain(end);
      await first.received[0]?.left;
      expect(await latest()).toMatchObject({ outcome: Outcome.BROKEN, output: expect.any(Number) });
    });

    test("with an endless stream is broken off at the total bound", async () => {
      await start({ kind, timeouts: { total_seconds: 1, idle_seconds: 60 } });
      first.script = async (exchange) => {
        await words(kind)(exchange);
        while (await exchange.write(": on it goes\n\n")) await setTimeout(20);
      };
      const [text, took] = await timed(async () => (await ask({ kind, stream: true })).text());
      expectAbout(took, 1);
      expect(text).toMatch(brokenOff);
      expect(text).not.toContain(end);
    });
  });
}

function timingOf(response: Response, part: string): number {
  return Number(new RegExp(`\\b${part};dur=([\\d.]+)`).exec(response.headers.get("server-timing") ?? "")?.[1]);
}

test("an upstream that accepts no connection is given up", async () => {
  const stuffed = await startStuffedListener();
  try {
    await start({ timeouts: { connect_seconds: short }, baseUrl: stuffed.baseUrl });
    const [response, took] = await timed(() => ask());
    expect(response.status).toBe(504);
    expectAbout(took, short);
    expect(await response.text()).toContain(`no connection in ${short} s`);
    await expectNothingCharged();
  } finally {
    await stuffed.close();
  }
});

test("an open connection is not subject to the bound of connecting", async () => {
  await start({ timeouts: { connect_seconds: short } });
  first.script = (exchange) => exchange.json(200, families.openai.answer);
  expect((await ask()).status).toBe(200);
  first.script = async (exchange) => {
    await setTimeout(short * 2000);
    exchange.json(200, families.openai.answer);
  };
  expect((await ask()).status).toBe(200);
  expect(first.connections).toBe(1);
});

test("a chunk in time restarts the wait for the next one", async () => {
  await start({ timeouts: { idle_seconds: 1 } });
  first.script = async (exchange) => {
    await words("openai")(exchange);
    for (let i = 0; i < 6; i++) {
      await setTimeout(200);
      await exchange.write(families.openai.words);
    }
    exchange.end(`${frame(chunk({}, "stop"))}data: [DONE]\n\n`);
  };
  expect(await (await ask({ stream: true })).text()).toContain("[DONE]");
});

test("a slow caller does not count as a silent upstream", async () => {
  await start({ timeouts: { idle_seconds: 1 } });
  const long = frame(chunk({ content: "x".repeat(100_000) }));
  first.script = async (exchange) => {
    exchange.head(200, eventStream);
    // More than all buffers on the way hold.
    for (let i = 0; i < 200; i++) await exchange.write(long);
    exchange.end(`${frame(chunk({}, "stop"))}data: [DONE]\n\n`);
  };
  const response = await ask({ stream: true });
  await setTimeout(1500);
  expect((await response.text()).endsWith("data: [DONE]\n\n")).toBe(true);
});

describe("the header x-gateway-timeout", () => {
  const long = { connect_seconds: 60, first_byte_seconds: 60, idle_seconds: 60, total_seconds: 60 };

  test("lowers the wait for the first byte", async () => {
    await start({ timeouts: long });
    const [response, took] = await timed(() => ask({ timeout: "first_byte=0.2" }));
    expect(response.status).toBe(504);
    expectAbout(took, 0.2);
  });

  test("lowers the wait for a connection", async () => {
    const stuffed = await startStuffedListener();
    await start({ timeouts: long, baseUrl: stuffed.baseUrl });
    const [response, took] = await timed(() => ask({ timeout: "connect=0.2, total=30" }));
    expect(await response.text()).toContain("no connection in 0.2 s");
    expectAbout(took, 0.2);
    await stuffed.close();
  });

  test("lowers the wait between two chunks", async () => {
    await start({ timeouts: long });
    first.script = words("openai");
    const [text, took] = await timed(async () => (await ask({ stream: true, timeout: "idle=0.2" })).text());
    expect(text).toMatch(families.openai.brokenOff);
    expectAbout(took, 0.2);
  });

  test("lowers the total for all attempts, and a number alone means that", async () => {
    const targets = [at("first"), at("second", 1)];
    await start({ timeouts: long, targets }, { retries: { attempts: 3, share: 1 } });
    for (const timeout of ["1", "total=1"]) {
      const [response, took] = await timed(() => ask({ timeout }));
      expect(response.status).toBe(504);
      expectAbout(took, 1);
      expect((await latest())?.tried).toBeNull();
    }
    expect([first.received.length, second.received.length]).toEqual([2, 0]);
  });

  test("leaves a second attempt the rest of the first one's time", async () => {
    const targets = [at("first"), at("second", 1)];
    await start({ timeouts: { first_byte_seconds: 1 }, targets }, { retries: { attempts: 3, share: 1 } });
    const [response, took] = await timed(() => ask({ timeout: "total=2" }));
    expect(response.status).toBe(504);
    expectAbout(took, 2);
    expect(await response.text()).toContain("no end of its answer within `x-gateway-timeout`.");
    expect([first.received.length, second.received.length]).toEqual([1, 1]);
  });

  test("raises no bound", async () => {
    await start({ timeouts: { first_byte_seconds: 0.2 } });
    const [response, took] = await timed(() => ask({ timeout: "first_byte=60, connect=60, idle=60, total=600" }));
    expect(response.status).toBe(504);
    expectAbout(took, 0.2);
  });

  test.each(["", "0", "soon", "total=", "read=3", "total=-1", "1e3", "total=1;idle=1", "total=0.0"])(
    "is refused with %j",
    async (timeout) => {
      await start({});
      const response = await ask({ timeout });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { param: "x-gateway-timeout" } });
      expect(first.received).toHaveLength(0);
    },
  );

  test("trips no breaker for others, however short its caller's bounds", async () => {
    await start({}, { breaker: { failures: 2, openMs: 60_000 } });
    for (let i = 0; i < 4; i++) expect((await ask({ timeout: "first_byte=0.05" })).status).toBe(504);
    first.script = (exchange) => exchange.json(200, families.openai.answer);
    expect((await ask()).status).toBe(200);
  });

  test("uses up no retry that others may need", async () => {
    await start({}, { retries: { attempts: 3, share: 1 } });
    expect((await ask({ timeout: "first_byte=0.05" })).status).toBe(504);
    expect(first.received).toHaveLength(1);
  });

  test("does not keep the upstream's own time-outs from tripping its breaker", async () => {
    await start({ timeouts: { first_byte_seconds: 0.05 } }, { breaker: { failures: 2, openMs: 60_000 } });
    for (let i = 0; i < 2; i++) expect((await ask({ timeout: "30" })).status).toBe(504);
    expect((await ask()).status).toBe(503);
    expect(first.received).toHaveLength(2);
  });
});

test("a caller without bounds costs no timer", () => {
  const unbounded = { connectMs: undefined, firstByteMs: undefined, idleMs: undefined, totalMs: undefined };
  const boundsFor = createBounds(defaultTimeouts);
  expect(boundsFor({})).toEqual(unbounded);
  expect(boundsFor({ totalMs: Number.POSITIVE_INFINITY })).toBe(boundsFor({}));
  expect(boundsFor({ idleMs: 20 })).toEqual({ ...unbounded, idleMs: { ms: 20, isCallers: true } });
});

describe("an embedded model", () => {
  const askEmbedded = async (timeout: string, metadata: object, stream = false) => {
    gateway = await startTestGateway({}, { clock: Date.now });
    return timed(async () => {
      const response = await fetch(`${gateway?.baseUrl}/chat/completions`, {
        method: "POST",
        headers: {
          ...{ authorization: `Bearer ${gateway?.apiKey}`, "content-type": "application/json" },
          "x-gateway-timeout": timeout,
        },
        body: JSON.stringify({
          ...{ model: "embedded-chat", stream, metadata },
          messages: [{ role: "user", content: "one two three" }],
        }),
      });
      return { status: response.status, text: await response.text(), timing: response.headers.get("server-timing") };
    });
  };

  test.each([
    ["1", 1, { simulate_silence: "true" }, "no end of its answer within `x-gateway-timeout`"],
    ["first_byte=0.2", 0.2, { simulate_delay_ms: "60000" }, "no answer in 0.2 s"],
    ["total=60, first_byte=0.2", 0.2, { simulate_silence: "true" }, "no answer in 0.2 s"],
  ])("keeps %s as well", async (timeout, seconds, metadata, said) => {
    const [{ status, text, timing }, took] = await askEmbedded(timeout, metadata);
    expect(status).toBe(504);
    expect(text).toContain(said);
    expectAbout(took, seconds);
    expect(Number(/upstream;dur=([\d.]+)/.exec(timing ?? "")?.[1])).toBeGreaterThan(190);
  });

  test.each(["idle=0.2", "total=0.2"])("has its stream broken off by %s", async (timeout) => {
    const [{ status, text }, took] = await askEmbedded(timeout, { simulate_token_delay_ms: "60000" }, true);
    expect(status).toBe(200);
    expect(text).toMatch(families.openai.brokenOff);
    expectAbout(took, 0.2);
  });

  test.each([false, true])("that is in time answers normally, streamed: %s", async (stream) => {
    const delays = { simulate_delay_ms: "50", simulate_token_delay_ms: "1" };
    const [{ status, text }] = await askEmbedded("total=60, first_byte=30, idle=30", delays, stream);
    expect(status).toBe(200);
    expect(text).toContain(stream ? "data: [DONE]" : '"finish_reason":"stop"');
  });
});
