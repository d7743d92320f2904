/**
 * WebSockets for responses, frame by frame: violations of the protocol close the connection with their code, messages beyond the
 * bounds are never held, and however a client leaves, nothing of it stays.
 */
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import { frameOf, openRaw, openSocket, type RawSocket } from "../../support/clients/response-sockets.ts";
import { eventually } from "../../support/eventually.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { timed } from "../../support/run/running-time.ts";
import { eventStream, type ScriptedExchange } from "../../support/scripted-upstream.ts";
import { paidModels } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { chatChunk, done, openaiFrames } from "../../support/vendors.ts";

const { upstream, gateway } = scriptedStage((baseUrl) => ({
  ...paidModels(baseUrl),
  maxBodyBytes: 200_000,
  disconnectDrainMs: 0,
}));

/** Starts another gateway before the same upstream. */
const start = (more: Partial<Config>) => startTestGateway({ ...paidModels(upstream.baseUrl), ...more });

const socketBounds = { enabled: true, maxBytes: 1024 ** 2, maxBytesPerAccount: 1024 ** 2 };

afterEach(async () => {
  await eventually(async () => {
    expect(gateway.counts()).toMatchObject({ websocket: 0, bodyBytes: 0, rememberedBytes: 0, upstreamRunning: 0 });
    expect(await gateway.holds()).toBe(0);
  });
});

const create = JSON.stringify({
  type: "response.create",
  model: "gpt",
  store: false,
  input: "Hello there, how are you?",
  max_output_tokens: 100,
});
const answer = (exchange: ScriptedExchange) =>
  exchange.stream(chatChunk({ role: "assistant", content: "Hello" }), chatChunk({}, "stop"));

/** Begins an answer, and returns the connection and what the upstream has of it. */
async function answering(at: TestGateway = gateway) {
  const raw = await openRaw(at);
  raw.frame(create);
  return { raw, exchange: await upstream.next() };
}

async function began(exchange: ScriptedExchange): Promise<void> {
  exchange.head(200, eventStream);
  await exchange.write(openaiFrames(chatChunk({ role: "assistant", content: "Hello" })));
}

describe("a violation of the protocol:", () => {
  const faults: Readonly<Record<string, readonly [send: (raw: RawSocket) => void, code: number]>> = {
    "a frame that is not masked": [(raw) => raw.frame(create, { masked: false }), 1002],
    "bits that nobody has agreed on": [(raw) => raw.frame(create, { rsv: 4 }), 1002],
    "what says that it is compressed": [(raw) => raw.frame(create, { rsv: 1 }), 1002],
    "an operation that there is not": [(raw) => raw.frame(create, { opcode: 3 }), 1002],
    "a continuation of nothing": [(raw) => raw.frame(create, { opcode: 0 }), 1002],
    "a message within another": [
      (raw) => {
        raw.frame("{", { fin: false });
        raw.frame(create);
      },
      1002,
    ],
    "a ping in pieces": [(raw) => raw.frame("x", { opcode: 9, fin: false }), 1002],
    "a ping that is too long": [(raw) => raw.frame("x".repeat(126), { opcode: 9 }), 1002],
    "a farewell of one byte": [(raw) => raw.frame("x", { opcode: 8 }), 1002],
    "a farewell by no code": [(raw) => raw.frame(Buffer.from([3, 0xec]), { opcode: 8 }), 1002],
    "text that is no UTF-8": [(raw) => raw.frame(Buffer.from([0xff, 0xfe, 0xfd])), 1007],
    "bytes that are no text": [(raw) => raw.frame(create, { opcode: 2 }), 1003],
    noise: [(raw) => raw.socket.write(Buffer.alloc(4096, "GET / HTTP/1.1\r\n\r\n")), 1002],
    "a message longer than a body, before any of it": [
      (raw) => raw.socket.write(frameOf(Buffer.alloc(0), { length: 200_001 })),
      1009,
    ],
    "a message of 2^62 bytes": [
      (raw) => raw.socket.write(Buffer.from([0x81, 0xff, 0x40, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4])),
      1009,
    ],
    "pieces that are longer together": [
      (raw) => {
        raw.frame("x".repeat(150_000), { fin: false });
        raw.frame("x".repeat(60_000), { opcode: 0 });
      },
      1009,
    ],
  };
  for (const [what, [send, code]] of Object.entries(faults)) {
    test(`${what} closes an idle connection with ${code}`, async () => {
      const raw = await openRaw(gateway);
      send(raw);
      expect(await raw.closed).toBe(code);
    });

    test(`${what} closes a busy connection, and ends its call`, async () => {
      const { raw, exchange } = await answering();
      send(raw);
      expect(await raw.closed).toBe(code);
      await exchange.left;
    });
  }
});

test("any bytes are answered, refused or waited for, and nothing of them stays", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.oneof(
          fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
          fc
            .tuple(fc.string({ maxLength: 300 }), fc.nat(15), fc.boolean(), fc.boolean(), fc.nat(7))
            .map(([text, opcode, fin, masked, rsv]) => frameOf(Buffer.from(text), { opcode, fin, masked, rsv })),
          fc.json().map((text) => frameOf(Buffer.from(text))),
          fc.jsonValue().map((input) => frameOf(Buffer.from(JSON.stringify({ type: "response.create", input })))),
        ),
        { minLength: 1, maxLength: 6 },
      ),
      async (pieces) => {
        const raw = await openRaw(gateway);
        for (const piece of pieces) raw.socket.write(piece);
        await delay(1);
        raw.socket.destroy();
      },
    ),
    { numRuns: 150, seed: 7 },
  );
  expect(gateway.logged()).not.toMatch(/"level":50/);
});

describe("messages", () => {
  test("may arrive byte by byte, with pings in between", async () => {
    upstream.script = answer;
    const raw = await openRaw(gateway);
    const bytes = Buffer.concat([
      frameOf(Buffer.from(create.slice(0, 20)), { fin: false }),
      frameOf(Buffer.from("ping"), { opcode: 9 }),
      frameOf(Buffer.from(create.slice(20)), { opcode: 0 }),
    ]);
    raw.socket.setNoDelay();
    for (const byte of bytes) {
      raw.socket.write(Buffer.from([byte]));
      await delay(0);
    }
    await eventually(() => expect(raw.received().toString()).toContain("response.completed"));
    expect(raw.received().includes(Buffer.from([0x8a, 4, ...Buffer.from("ping")]))).toBe(true);
    raw.socket.destroy();
  });

  test("that are not complete in time are refused", async () => {
    const own = await start({ bodyTimeoutMs: 200 });
    const raw = await openRaw(own);
    raw.socket.write(frameOf(Buffer.from(create)).subarray(0, 40));
    await eventually(() => expect(own.counts().bodyBytes).toBeGreaterThan(0));
    expect(await raw.closed).toBe(1008);
    expect(raw.received().toString()).toContain('"status":408');
    await own.close();
  });

  test("without room are refused before they are complete, and the running call is aborted", async () => {
    const own = await start({
      bodiesInFlight: { maxBytes: 400_000, maxBytesPerAccount: 100_000 },
      disconnectDrainMs: 0,
    });
    const { raw, exchange } = await answering(own);
    raw.frame("x".repeat(150_000), { fin: false });
    expect(await raw.closed).toBe(1013);
    expect(raw.received().toString()).toContain('"status":503');
    await exchange.left;
    await eventually(() => expect(own.counts().bodyBytes).toBe(0));
    await own.close();
  });
});

describe("a client leaves", () => {
  const ways: Readonly<Record<string, (raw: RawSocket) => void>> = {
    "by a farewell": (raw) => raw.frame(Buffer.from([3, 0xe8]), { opcode: 8 }),
    "by a farewell, and keeps its side open": (raw) => {
      raw.socket.removeAllListeners("end");
      raw.frame(Buffer.from([3, 0xe8]), { opcode: 8 });
    },
    "by ending its side": (raw) => void raw.socket.end(),
    "by a reset": (raw) => void raw.socket.resetAndDestroy(),
    "in the middle of a frame": (raw) => {
      raw.socket.write(frameOf(Buffer.from(create)).subarray(0, 10));
      raw.socket.end();
    },
  };
  for (const [how, leave] of Object.entries(ways)) {
    test(`${how}, and the upstream call is aborted at once`, async () => {
      const { raw, exchange } = await answering();
      const [, { runningMs }] = await timed(() => {
        leave(raw);
        return exchange.left;
      });
      // Where nothing is set it would be five seconds.
      expect(runningMs).toBeLessThan(4_500);
      raw.socket.destroy();
    });

    test(`${how} in the middle of an answer, which is charged`, async () => {
      const { raw, exchange } = await answering();
      await began(exchange);
      await eventually(() => expect(raw.received().toString()).toContain("output_text.delta"));
      leave(raw);
      await exchange.left;
      raw.socket.destroy();
    });

    test(`${how} while nothing runs`, async () => {
      const raw = await openRaw(gateway);
      leave(raw);
      await eventually(() => expect(gateway.counts().websocket).toBe(0));
      raw.socket.destroy();
    });
  }

  test("a hundred times, and nothing stays", async () => {
    const all = await Promise.all(Array.from({ length: 100 }, () => answering()));
    for (const [i, { raw }] of all.entries()) Object.values(ways)[i % 5]?.(raw);
    await Promise.all(all.map(({ exchange }) => exchange.left));
    for (const { raw } of all) raw.socket.destroy();
    await eventually(() => expect(upstream.openRequests).toBe(0));
  });
});

describe("a silent client", () => {
  test("is closed when it has been silent for too long, and not while it is answered", async () => {
    const own = await start({ responsesSocket: { ...socketBounds, idleMs: 300 } });
    const idle = await openRaw(own);
    const { raw, exchange } = await answering(own);
    expect(await idle.closed).toBe(1000);
    await began(exchange);
    await eventually(() => expect(raw.received().toString()).toContain("output_text.delta"));
    exchange.end(openaiFrames(chatChunk({}, "stop")) + done);
    await eventually(() => expect(raw.received().toString()).toContain("response.completed"));
    expect(await raw.closed).toBe(1000);
    await own.close();
  });

  test("is cut if it answers no pings while it is answered, and not if it does", async () => {
    const own = await start({ keepAliveMs: 50, disconnectDrainMs: 0 });
    const { raw, exchange } = await answering(own);
    const alive = await openSocket(own);
    const asking = alive.ask(JSON.parse(create));
    const other = await upstream.next();
    expect(await raw.closed).toBe(1006);
    await exchange.left;
    await delay(300);
    answer(other);
    expect((await asking).at(-1)?.type).toBe("response.completed");
    await alive.close();
    await own.close();
  });
});

test("a client that stops reading is cut in time, and its upstream call aborted", async () => {
  const own = await start({ stalledReaderMs: 400, disconnectDrainMs: 0 });
  const { raw, exchange } = await answering(own);
  raw.socket.pause();
  exchange.head(200, eventStream);
  const left = exchange.left.then(() => "left" as const);
  const piece = openaiFrames(chatChunk({ content: "x".repeat(64 * 1024) }));
  for (let i = 0; i < 2000; i++) {
    const wrote = await Promise.race([exchange.write(piece), left, delay(3000, "stuck" as const)]);
    if (wrote !== true) break;
  }
  expect(await left).toBe("left");
  expect(own.counts().stalled).toBe(1);
  raw.socket.destroy();
  await own.close();
});

describe("frames that ask for nothing", () => {
  const floods: Readonly<Record<string, Buffer>> = {
    pings: frameOf(Buffer.alloc(125, 1), { opcode: 9 }),
    pongs: frameOf(Buffer.alloc(0), { opcode: 10 }),
    receipts: frameOf(Buffer.from('{"type":"response.processed","response_id":"resp_1"}')),
  };
  const many = (frame: Buffer, count: number) => Buffer.concat(Array.from({ length: count }, () => frame));

  for (const [what, frame] of Object.entries(floods)) {
    test(`a hundred ${what} are taken, and no request is lost behind them`, async () => {
      upstream.script = answer;
      const raw = await openRaw(gateway);
      raw.socket.write(many(frame, 100));
      raw.frame(create);
      await eventually(() => expect(raw.received().toString()).toContain("response.completed"));
      raw.socket.destroy();
    });

    test(`a flood of ${what} closes the connection, also beside an answer, and nothing more of it is read`, async () => {
      const { raw, exchange } = await answering();
      raw.socket.write(many(frame, 5_000));
      expect(await raw.closed).toBe(1008);
      await exchange.left;
    });

    test(`a flood of ${what} is cut, also if its client neither reads nor stops`, async () => {
      const raw = await openRaw(gateway);
      raw.socket.pause();
      const closed = new Promise((resolve) => raw.socket.once("close", resolve));
      const drained = () => Promise.race([new Promise((resolve) => raw.socket.once("drain", resolve)), closed]);
      let sent = 0;
      for (; !raw.socket.destroyed && sent < 10_000; sent++) {
        if (!raw.socket.write(many(frame, 500))) await drained();
        await delay(0);
      }
      expect(sent).toBeLessThan(10_000);
      await closed;
    });
  }

  test("a message in more pieces than any client makes is refused before it is complete", async () => {
    const raw = await openRaw(gateway);
    raw.frame("{", { fin: false });
    raw.socket.write(many(frameOf(Buffer.from(" "), { opcode: 0, fin: false }), 3_000));
    expect(await raw.closed).toBe(1008);
  });

  test("more requests beside an answer than any client makes close the connection", async () => {
    const { raw, exchange } = await answering();
    raw.socket.write(many(frameOf(Buffer.from("{}")), 40));
    expect(await raw.closed).toBe(1008);
    expect(raw.received().toString().split("response_under_way").length).toBeLessThan(40);
    await exchange.left;
  });
});

test("the oldest idle connection makes room where there are too many", async () => {
  const own = await start({ maxConnections: 2 });
  const [first, second] = [await openRaw(own), await openRaw(own)];
  const third = await openRaw(own);
  expect(await first.closed).toBe(1006);
  expect(own.counts().shed).toBe(1);
  for (const { socket } of [second, third]) socket.destroy();
  await own.close();
});

describe("a handshake", () => {
  const head = (lines: string, version = "1.1") =>
    `GET /v1/responses HTTP/${version}\r\nconnection: Upgrade\r\nupgrade: websocket\r\nauthorization: Bearer ${gateway.apiKey}\r\n${lines}\r\n`;
  const key = "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  const faulty: Readonly<Record<string, readonly [lines: string, status: number, words: string]>> = {
    "of an older version": [`host: x\r\n${key}sec-websocket-version: 8\r\n`, 426, "sec-websocket-version: 13"],
    "of no version": [`host: x\r\n${key}`, 426, "sec-websocket-version: 13"],
    "without a key of its own": ["host: x\r\nsec-websocket-version: 13\r\n", 400, "sec-websocket-key"],
    "with a key that is none": [
      "host: x\r\nsec-websocket-version: 13\r\nsec-websocket-key: short\r\n",
      400,
      "sec-websocket-key",
    ],
    "that names a host that is none": [`host: a b\r\n${key}sec-websocket-version: 13\r\n`, 400, "could not be read"],
    "with another credential besides": [
      `host: x\r\nAuthorization: Bearer x\r\n${key}sec-websocket-version: 13\r\n`,
      400,
      "could not be read",
    ],
    "that names no host": [`${key}sec-websocket-version: 13\r\n`, 400, "host"],
  };
  for (const [what, [lines, status, words]] of Object.entries(faulty)) {
    test(`${what} is refused with ${status}`, async () => {
      const text = await raw(head(lines));
      expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(text).toContain(words);
      expect(text).toContain("x-request-id: req_");
    });
  }

  test("in HTTP/1.0 is ignored", async () => {
    expect(await raw(head(`host: x\r\n${key}sec-websocket-version: 13\r\n`, "1.0"))).toMatch(/^HTTP\/1\.1 405 /);
  });

  test("whose client leaves during authentication leaves nothing behind", async () => {
    for (let i = 0; i < 20; i++) {
      const socket = connect(gateway.port, "127.0.0.1");
      socket.on("error", () => {}).write(head(`host: x\r\n${key}sec-websocket-version: 13\r\n`));
      await delay(i % 3);
      socket.resetAndDestroy();
    }
    await eventually(() => expect(gateway.counts()).toMatchObject({ websocket: 0, http1: 0 }));
  });

  /** Sends a head, and returns what comes until the connection ends. */
  function raw(text: string): Promise<string> {
    return new Promise((resolve) => {
      let told = "";
      const socket = connect(gateway.port, "127.0.0.1");
      socket.on("data", (piece) => (told += piece)).on("error", () => {});
      socket.once("close", () => resolve(told));
      socket.write(text);
    });
  }
});
