/**
 * Upstreams, or proxies before them, compress their answers: they are read like plain ones, and a stream's events are
 * passed on as they come. A broken, oversized or unrequested coding is the upstream's failure.
 */
import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createDeflate,
  createGzip,
  createZstdCompress,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import { describe, expect, test } from "vitest";
import { call, isTold } from "../../support/clients/families.ts";
import { hear } from "../../support/clients/hear.ts";
import { openAccount } from "../../support/payer.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { cost } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import {
  anthropicFrames,
  chatAnswer,
  done,
  helloChunks,
  helloEvents,
  messageAnswer,
  openaiError,
  openaiFrames,
  usageChunk,
} from "../../support/vendors.ts";

const { upstream, gateway, books } = scriptedStage();

type Pack = (bytes: Buffer) => Buffer;

const codings: Readonly<Record<string, readonly [name: string, pack: Pack]>> = {
  gzip: ["gzip", gzipSync],
  "gzip, in capitals": ["GZIP", gzipSync],
  "x-gzip": ["x-gzip", gzipSync],
  "gzip, a member for each half": ["gzip", (bytes) => Buffer.concat(halves(bytes).map((half) => gzipSync(half)))],
  deflate: ["deflate", deflateSync],
  "deflate without its head": ["deflate", deflateRawSync],
  br: ["br", brotliCompressSync],
  zstd: ["zstd", zstdCompressSync],
  "zstd, a frame for each half": [
    "zstd",
    (bytes) => Buffer.concat(halves(bytes).map((half) => zstdCompressSync(half))),
  ],
  identity: ["identity", (bytes) => bytes],
  "gzip upon br": ["br, gzip", (bytes) => gzipSync(brotliCompressSync(bytes))],
};

function halves(bytes: Buffer): Buffer[] {
  const middle = bytes.length >> 1;
  return [bytes.subarray(0, middle), bytes.subarray(middle)];
}

const models = { gpt: "chat", claude: "messages" } as const;
type Model = keyof typeof models;

function said(model: Model, stream: boolean): Buffer {
  if (model === "gpt")
    return Buffer.from(
      stream ? openaiFrames(...helloChunks, usageChunk()) + done : JSON.stringify(chatAnswer({ content: "Hello" })),
    );
  return Buffer.from(
    stream ? anthropicFrames(...helloEvents) : JSON.stringify(messageAnswer([{ type: "text", text: "Hello" }])),
  );
}

/** Answers with these bytes, so many at a time. */
function answerWith(bytes: Buffer, headers: Record<string, string>, step: number, status = 200): void {
  upstream.script = async (exchange) => {
    exchange.head(status, headers);
    for (let at = 0; at < bytes.length; at += step) await exchange.write(bytes.subarray(at, at + step));
    exchange.end();
  };
}

function typeOf(stream: boolean) {
  return stream ? eventStream : { "content-type": "application/json" };
}

const cases = Object.entries(codings).flatMap(([name, [coding, pack]]) =>
  (["gpt", "claude"] as const).flatMap((model) =>
    [false, true].flatMap((stream) => [1, 1_000_000].map((step) => ({ name, coding, pack, model, stream, step }))),
  ),
);

describe("an answer that is compressed", () => {
  test.each(cases)("is read: $name, $model, streamed: $stream, $step bytes at a time", async (one) => {
    const { coding, pack, model, stream, step } = one;
    answerWith(pack(said(model, stream)), { ...typeOf(stream), "content-encoding": coding }, step);
    const payer = await openAccount(gateway);
    for (const family of ["chat", "messages"] as const) {
      const answer = await call(gateway, { family, model, stream, apiKey: payer.apiKey });
      expect(isTold(answer, family, stream), answer.text).toBe(true);
      expect(answer.text).toContain(stream ? "lo" : "Hello");
    }
    expect(await books.of(payer)).toMatchObject({ spent: 2 * (9 * cost.input + 2 * cost.output), holds: 0 });
  });

  test("is requested in supported codings", async () => {
    answerWith(said("gpt", false), typeOf(false), 1_000_000);
    await call(gateway, { family: "chat", model: "gpt", stream: false, apiKey: gateway.apiKey });
    expect(upstream.received.at(-1)?.headers["accept-encoding"]).toBe("gzip, deflate, br, zstd");
  });

  test("is read where it is an error, and the caller gets its words", async () => {
    const bytes = gzipSync(JSON.stringify(openaiError("invalid_request_error", "the vendor's words")));
    answerWith(bytes, { ...typeOf(false), "content-encoding": "gzip" }, 1_000_000, 400);
    const answer = await call(gateway, { family: "chat", model: "gpt", stream: true, apiKey: gateway.apiKey });
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining("the vendor's words")]);
  });

  test("may name its coding without a body", async () => {
    answerWith(Buffer.alloc(0), { ...typeOf(true), "content-encoding": "gzip" }, 1);
    const answer = await call(gateway, { family: "chat", model: "gpt", stream: true, apiKey: gateway.apiKey });
    expect(answer.status).toBe(502);
  });

  const packers = {
    gzip: () => createGzip(),
    deflate: () => createDeflate(),
    br: () => createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
    zstd: () => createZstdCompress(),
  } as const;

  test.each(Object.keys(packers) as (keyof typeof packers)[])(
    "reaches the caller event by event: %s",
    async (coding) => {
      upstream.script = undefined;
      const heard: string[] = [];
      let next = Promise.withResolvers<void>();
      const hearing = hear(gateway, {
        path: "/v1/chat/completions",
        apiKey: gateway.apiKey,
        body: { model: "gpt", stream: true, messages: [{ role: "user", content: "hi" }] },
        onPiece: (bytes) => {
          heard.push(bytes.toString());
          next.resolve();
        },
      });
      const exchange = await upstream.next();
      exchange.head(200, { ...eventStream, "content-encoding": coding });
      const packer = packers[coding]();
      packer.on("data", (piece: Buffer) => void exchange.write(piece));
      const flush = { gzip: constants.Z_SYNC_FLUSH, deflate: constants.Z_SYNC_FLUSH };
      const kind = coding === "br" ? constants.BROTLI_OPERATION_FLUSH : constants.ZSTD_e_flush;
      const say = (text: string) => {
        packer.write(text);
        packer.flush(flush[coding as "gzip"] ?? kind);
      };
      for (const chunk of helloChunks.slice(1)) {
        next = Promise.withResolvers();
        say(openaiFrames(chunk));
        await next.promise;
      }
      expect(heard.length).toBe(3);
      packer.end(done);
      packer.once("end", () => exchange.end());
      expect((await hearing.answer).text).toContain("[DONE]");
    },
  );
});

describe("an answer whose header says another coding than it has", () => {
  const packs: Readonly<Record<string, (bytes: Buffer) => readonly [coding: string, bytes: Buffer]>> = {
    "plain as gzip": (bytes) => ["gzip", bytes],
    "plain as zstd": (bytes) => ["zstd", bytes],
    "plain as br": (bytes) => ["br", bytes],
    "plain as deflate": (bytes) => ["deflate", bytes],
    "gzip as br": (bytes) => ["br", gzipSync(bytes)],
    "zstd as gzip": (bytes) => ["gzip", zstdCompressSync(bytes)],
    "plain as a character set": (bytes) => ["utf-8", bytes],
    "plain as none": (bytes) => ["none", bytes],
    "gzip beside a character set": (bytes) => ["utf-8, gzip", gzipSync(bytes)],
  };
  const all = Object.entries(packs).flatMap(([name, pack]) => [false, true].map((stream) => ({ name, pack, stream })));
  test.each(all)(
    "is read by its first bytes, and asked for once: $name, streamed: $stream",
    async ({ pack, stream }) => {
      const [coding, bytes] = pack(said("gpt", stream));
      const before = upstream.received.length;
      answerWith(bytes, { ...typeOf(stream), "content-encoding": coding }, 1_000_000);
      const answer = await call(gateway, { family: "chat", model: "gpt", stream, apiKey: gateway.apiKey });
      expect([answer.status, answer.text]).toEqual([200, expect.stringContaining("Hel")]);
      expect(upstream.received.length).toBe(before + 1);
    },
  );
});

describe("an answer that is compressed badly", () => {
  const spaces = (mebibytes: number) => Buffer.alloc(mebibytes * 1024 * 1024, " ");
  const bad: Readonly<Record<string, (bytes: Buffer) => readonly [coding: string, bytes: Buffer]>> = {
    "as nobody asked": (bytes) => ["compress", bytes],
    "in a coding that is no name": (bytes) => ["gzip;q=1", gzipSync(bytes)],
    "four times over": (bytes) => ["gzip, gzip, gzip, gzip", gzipSync(bytes)],
    "and is cut in the middle": (bytes) => ["gzip", gzipSync(bytes).subarray(0, 60)],
    "and is cut in the middle, br": (bytes) => ["br", brotliCompressSync(bytes).subarray(0, 60)],
    "and is cut in the middle, zstd": (bytes) => ["zstd", zstdCompressSync(bytes).subarray(0, 60)],
    "and changes to something else": (bytes) => [
      "gzip",
      Buffer.concat([gzipSync(bytes).subarray(0, 60), Buffer.alloc(99, 7)]),
    ],
    "and becomes a hundred megabytes of space": () => ["gzip", gzipSync(spaces(100))],
    "and becomes that in two steps": () => ["gzip, gzip", gzipSync(gzipSync(spaces(100)))],
    "and becomes that, br": () => [
      "br",
      brotliCompressSync(spaces(100), { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } }),
    ],
    "and becomes that, zstd": () => ["zstd", zstdCompressSync(spaces(100))],
    "with a window that nobody may ask for": (bytes) => [
      "zstd",
      zstdCompressSync(Buffer.concat([spaces(20), bytes]), { params: { [constants.ZSTD_c_windowLog]: 26 } }),
    ],
  };

  const all = Object.entries(bad).flatMap(([name, pack]) => [false, true].map((stream) => ({ name, pack, stream })));
  test.each(all)("is the upstream's failure, and costs nothing: $name, streamed: $stream", async ({ pack, stream }) => {
    const [coding, bytes] = pack(said("gpt", stream));
    answerWith(bytes, { ...typeOf(stream), "content-encoding": coding }, 1_000_000);
    const payer = await openAccount(gateway);
    const answer = await call(gateway, { family: "chat", model: "gpt", stream, apiKey: payer.apiKey });
    expect([answer.status, isTold(answer, "chat", stream)], answer.text).toEqual([502, false]);
    expect(await books.of(payer)).toMatchObject({ spent: 0, held: 0, holds: 0 });
  });
});
