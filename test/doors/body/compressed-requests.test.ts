/**
 * Compressed bodies of REST are read like plain ones: in every supported coding and in several at once, on every path, and within
 * the same bounds. Source: RFC 9110, 8.4.
 */
import http2 from "node:http2";
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { upstreamAt } from "../../support/gateway.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const KB = 1024;
const maxBodyBytes = 3_000 * KB;
const model = "embedded-chat";

const { upstream, gateway } = scriptedStage(
  (baseUrl) => {
    const bodiesInFlight = { maxBytes: 40_000 * KB, maxBytesPerAccount: 20_000 * KB };
    return { ...upstreamAt(baseUrl), maxBodyBytes, bodiesInFlight };
  },
  { script: (exchange) => exchange.json(200, answer) },
);

const answer = {
  ...{ id: "c", object: "chat.completion", created: 1, model },
  choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

type Pack = (bytes: Buffer) => Buffer;
const same: Pack = (bytes) => bytes;

const codings: Readonly<Record<string, Pack>> = {
  identity: same,
  gzip: gzipSync,
  "x-gzip": gzipSync,
  GZip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
  "gzip, br": (bytes) => brotliCompressSync(gzipSync(bytes)),
  "br,gzip": (bytes) => gzipSync(brotliCompressSync(bytes)),
  "deflate , identity,  zstd": (bytes) => zstdCompressSync(deflateSync(bytes)),
  "gzip, gzip, gzip": (bytes) => gzipSync(gzipSync(gzipSync(bytes))),
  " , gzip,": gzipSync,
};

/** Codings as encoders write them besides. */
const ways: Readonly<Record<string, readonly [coding: string, pack: Pack]>> = {
  "deflate without its frame": ["deflate", deflateRawSync],
  "gzip in two members": [
    "gzip",
    (bytes) => Buffer.concat([gzipSync(bytes.subarray(0, 9)), gzipSync(bytes.subarray(9))]),
  ],
  "zstd in two frames": [
    "zstd",
    (bytes) => Buffer.concat([zstdCompressSync(bytes.subarray(0, 9)), zstdCompressSync(bytes.subarray(9))]),
  ],
  "zstd by its highest level that RFC 9659 has": [
    "zstd",
    (bytes) => zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 19 } }),
  ],
};

interface Sent {
  readonly coding: string;
  readonly body: Buffer;
  readonly path?: string;
  readonly type?: string;
}

async function send({ coding, body, path = "/v1/chat/completions", type = "application/json" }: Sent) {
  const headers = { authorization: `Bearer ${gateway.apiKey}`, "content-type": type, "content-encoding": coding };
  const response = await fetch(`${gateway.rootUrl}${path}`, { method: "POST", headers, body: new Uint8Array(body) });
  const text = await response.text();
  await eventually(() => expect(gateway.counts().bodyBytes).toBe(0));
  return { status: response.status, acceptEncoding: response.headers.get("accept-encoding"), text };
}

const chat = (content: string) => Buffer.from(JSON.stringify({ model, messages: [{ role: "user", content }] }));

describe("a body is read in", () => {
  const all = [...Object.entries(codings), ...Object.values(ways)];
  for (const [coding, pack] of all) {
    test(`${coding}, on every kind of path, short and long`, async () => {
      const texts = ["rivers ", "mountains ".repeat(20_000)];
      for (const text of texts) {
        const before = upstream.received.length;
        expect(await send({ coding, body: pack(chat(text)) })).toMatchObject({ status: 200 });
        expect(JSON.parse(String(upstream.received[before]?.body)).messages[0].content).toBe(text);
        const asked = Buffer.from(JSON.stringify({ model, input: text, store: false }));
        expect(await send({ coding, body: pack(asked), path: "/v1/responses" })).toMatchObject({ status: 200 });
        const message = Buffer.from(JSON.stringify({ ...JSON.parse(String(chat(text))), max_tokens: 5 }));
        expect(await send({ coding, body: pack(message), path: "/v1/messages" })).toMatchObject({ status: 200 });
      }
      const form = { type: "application/x-www-form-urlencoded", path: "/v1/embeddings" };
      const embedded = pack(Buffer.from("model=nobody&input=a"));
      expect(await send({ coding, body: embedded, ...form })).toMatchObject({ status: 404 });
    });
  }

  test("gzip over HTTP/2, in pieces", async () => {
    const session = http2.connect(gateway.rootUrl);
    const authorization = `Bearer ${gateway.apiKey}`;
    const fields = { ":method": "POST", ":path": "/v1/chat/completions", authorization, "content-encoding": "gzip" };
    const stream = session.request({ ...fields, "content-type": "application/json" });
    const packed = gzipSync(chat("rivers"));
    stream.write(packed.subarray(0, 10));
    stream.end(packed.subarray(10));
    const [head] = (await Promise.all([
      new Promise((resolve) => stream.once("response", resolve)),
      stream.resume(),
    ])) as [http2.IncomingHttpHeaders, unknown];
    expect(head[":status"]).toBe(200);
    await new Promise<void>((resolve) => session.close(resolve));
  });

  test("a coding of an empty body", async () => {
    for (const [coding, pack] of Object.entries(codings)) {
      const refused = { status: 400, text: expect.stringContaining("Missing required parameter") };
      expect(await send({ coding, body: Buffer.alloc(0) }), coding).toMatchObject(refused);
      expect(await send({ coding, body: pack(Buffer.alloc(0)) }), coding).toMatchObject(refused);
    }
  });
});

describe("a body is refused", () => {
  const accepted = "gzip, deflate, br, zstd, identity";
  for (const coding of ["compress", "x-compress", "lzma", "gzip, snappy", "aws-chunked", "gzip;q=1", "*", "none"]) {
    test(`with the supported codings, where it is in ${coding}`, async () => {
      expect(await send({ coding, body: chat("rivers") })).toMatchObject({ status: 415, acceptEncoding: accepted });
    });
  }

  test("where it was compressed too many times", async () => {
    const body = gzipSync(gzipSync(gzipSync(gzipSync(chat("rivers")))));
    expect(await send({ coding: "gzip, gzip, gzip, gzip", body })).toMatchObject({ status: 415 });
  });

  const whole = chat("rivers and mountains");
  const garbage = Buffer.from("garbage");
  for (const [coding, pack] of Object.entries({
    gzip: gzipSync,
    deflate: deflateSync,
    br: brotliCompressSync,
    zstd: zstdCompressSync,
  })) {
    const packed = (pack as Pack)(whole);
    const broken: Readonly<Record<string, Buffer>> = {
      "is plain": whole,
      "is cut off in its middle": packed.subarray(0, packed.length >> 1),
      "lacks its last byte": packed.subarray(0, -1),
      "has one byte alone": packed.subarray(0, 1),
      "goes on with garbage": Buffer.concat([packed, garbage]),
      "goes on with zeros": Buffer.concat([packed, Buffer.alloc(8)]),
      "is compressed and garbage after": Buffer.concat([garbage, packed]),
    };
    for (const [name, body] of Object.entries(broken)) {
      test(`where it ${name} instead of ${coding}`, async () => {
        const before = upstream.received.length;
        expect(await send({ coding, body })).toMatchObject({ status: 400 });
        expect(upstream.received).toHaveLength(before);
      });
    }
  }

  test("where its codings were applied in another order", async () => {
    const body = brotliCompressSync(gzipSync(whole));
    expect(await send({ coding: "br, gzip", body })).toMatchObject({ status: 400 });
  });

  test("where its window is larger than RFC 9659 allows", async () => {
    const params = { [constants.ZSTD_c_compressionLevel]: 19, [constants.ZSTD_c_windowLog]: 25 };
    const body = zstdCompressSync(Buffer.alloc(40_000 * KB), { params });
    expect(await send({ coding: "zstd", body })).toMatchObject({ status: 400 });
  });

  const zeros = (bytes: number) => chat("0".repeat(bytes));
  const bombs: Readonly<Record<string, readonly [coding: string, body: () => Buffer]>> = {
    "gzip beyond the bound": ["gzip", () => gzipSync(zeros(30_000 * KB))],
    "deflate beyond the bound": ["deflate", () => deflateSync(zeros(30_000 * KB))],
    "br beyond the bound": ["br", () => brotliCompressSync(zeros(30_000 * KB))],
    "zstd beyond the bound": ["zstd", () => zstdCompressSync(zeros(30_000 * KB))],
    "gzip in gzip beyond the bound": ["gzip, gzip", () => gzipSync(gzipSync(zeros(30_000 * KB)))],
    "gzip within the bound, and too well": ["gzip", () => gzipSync(zeros(2_500 * KB))],
    "zstd within the bound, and too well": ["zstd", () => zstdCompressSync(zeros(2_500 * KB))],
    "two members, within the bound and too well": [
      "gzip",
      () => Buffer.concat([gzipSync(zeros(1_000 * KB)), gzipSync(zeros(1_000 * KB))]),
    ],
  };
  for (const [name, [coding, body]] of Object.entries(bombs)) {
    test(`where it is a bomb of ${name}`, async () => {
      const before = upstream.received.length;
      expect(await send({ coding, body: body() })).toMatchObject({ status: 413 });
      expect(upstream.received).toHaveLength(before);
    });
  }
});

test("a megabyte is read however well it was compressed, and more only up to a ratio", async () => {
  expect(await send({ coding: "gzip", body: gzipSync(chat("0".repeat(1_000 * KB))) })).toMatchObject({ status: 200 });
  const varied = Array.from({ length: 60_000 }, (_, i) => `${(i * 7919) % 100_003} rivers, `).join("");
  expect(await send({ coding: "zstd", body: zstdCompressSync(chat(varied)) })).toMatchObject({ status: 200 });
});

test("several long bodies in several codings at once are all read", async () => {
  const long = "mountains ".repeat(30_000);
  const sent = Array.from({ length: 12 }, (_, i) => Object.entries(codings)[i] as [string, Pack]);
  const headers = { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" };
  const statuses = sent.map(async ([coding, pack]) => {
    const asked = {
      method: "POST",
      headers: { ...headers, "content-encoding": coding },
      body: new Uint8Array(pack(chat(long))),
    };
    const response = await fetch(`${gateway.rootUrl}/v1/chat/completions`, asked);
    await response.arrayBuffer();
    return response.status;
  });
  expect(await Promise.all(statuses)).toEqual(sent.map(() => 200));
});

test("a caller that leaves while its body is decompressed leaves nothing behind", async () => {
  const body = gzipSync(chat("mountains ".repeat(90_000)));
  const headers = {
    authorization: `Bearer ${gateway.apiKey}`,
    "content-type": "application/json",
    "content-encoding": "gzip",
  };
  const leaving = Array.from({ length: 8 }, async () => {
    const controller = new AbortController();
    const asked = fetch(`${gateway.rootUrl}/v1/chat/completions`, {
      method: "POST",
      headers,
      body: new Uint8Array(body),
      signal: controller.signal,
    });
    setImmediate(() => controller.abort());
    await asked.catch(() => {});
  });
  await Promise.all(leaving);
  await eventually(() => expect(gateway.counts().bodyBytes).toBe(0));
  expect(await send({ coding: "gzip", body })).toMatchObject({ status: 200 });
});
