/**
 * A compressed body is bounded like a plain one, through every door that takes it: piece by piece while it is decompressed, and
 * counted as what it becomes.
 */
import { brotliCompressSync, gzipSync } from "node:zlib";
import { ConnectError, createClient, type Transport } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import {
  compressionBrotli,
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { ErrorDetailSchema, Reason } from "../../../gen/modelgateway/v1/errors_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { createBodyBudget } from "../../../src/doors/body/body-budget.ts";
import { createInflate } from "../../../src/doors/body/inflate.ts";
import { binaryOptions } from "../../../src/wire/json.ts";
import { readMessage } from "../../../src/wire/read.ts";
import { eventually } from "../../support/eventually.ts";
import { upstreamAt } from "../../support/gateway.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const KB = 1024;
const maxBodyBytes = 200 * KB;
const model = "embedded-chat";

const bodiesInFlight = { maxBytes: 1000 * KB, maxBytesPerAccount: 300 * KB };
const { upstream, gateway } = scriptedStage((baseUrl) => ({ ...upstreamAt(baseUrl), maxBodyBytes, bodiesInFlight }), {
  perTest: true,
});

const answer = {
  ...{ id: "c", object: "chat.completion", created: 1, model },
  choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};
const chunk = { ...answer, object: "chat.completion.chunk", choices: [{ index: 0, delta: { content: "hi" } }] };

const protocols: Readonly<Record<string, (sendCompression: Compression) => Transport>> = {
  "Connect, JSON": (sendCompression) =>
    createConnectTransport({ baseUrl: gateway.rootUrl, httpVersion: "1.1", sendCompression, useBinaryFormat: false }),
  "Connect, binary": (sendCompression) =>
    createConnectTransport({ baseUrl: gateway.rootUrl, httpVersion: "1.1", sendCompression, binaryOptions }),
  gRPC: (sendCompression) => createGrpcTransport({ baseUrl: gateway.rootUrl, sendCompression, binaryOptions }),
  "gRPC, JSON": (sendCompression) =>
    createGrpcTransport({ baseUrl: gateway.rootUrl, sendCompression, useBinaryFormat: false }),
  "gRPC-Web": (sendCompression) =>
    createGrpcWebTransport({ baseUrl: gateway.rootUrl, httpVersion: "1.1", sendCompression, binaryOptions }),
};

/** Asks with a message of so many bytes. Resolves with what was answered, or the details of the refusal. */
async function ask(transport: Transport, bytes: number, form: "whole" | "stream") {
  const client = createClient(InferenceService, transport);
  const options = { headers: { authorization: `Bearer ${gateway.apiKey}` } };
  const json = { model, messages: [{ role: "user", content: "x".repeat(bytes) }] };
  const request = readMessage(CreateChatCompletionRequestSchema, json, { lenient: false });
  try {
    if (form === "whole") await client.createChatCompletion(request, options);
    else for await (const _ of client.streamChatCompletion(request, options));
    return undefined;
  } catch (error) {
    return ConnectError.from(error).findDetails(ErrorDetailSchema)[0] ?? error;
  }
}

for (const [name, transportWith] of Object.entries(protocols)) {
  for (const compression of [compressionGzip, compressionBrotli]) {
    for (const form of ["whole", "stream"] as const) {
      test(`${name} by ${compression.name} is read up to the bound of bodies, and no further: ${form}`, async () => {
        upstream.script = (exchange) => (form === "whole" ? exchange.json(200, answer) : exchange.stream(chunk));
        const transport = transportWith(compression);
        expect(await ask(transport, 190 * KB, form)).toBeUndefined();
        expect(upstream.received.at(-1)?.body.length).toBeGreaterThan(190 * KB);
        const refused = await ask(transport, 3_000 * KB, form);
        expect(refused).toMatchObject({ reason: Reason.REQUEST_TOO_LARGE, httpStatus: 413 });
        expect(upstream.received).toHaveLength(1);
        await eventually(() => expect(gateway.counts().bodyBytes).toBe(0));
      });
    }
  }
}

test("a decompressed body takes the room of its length, and one without room is asked to retry", async () => {
  const transport = protocols["Connect, JSON"]?.(compressionGzip) as Transport;
  const first = ask(transport, 190 * KB, "whole");
  const exchange = await upstream.next();
  expect(gateway.counts().bodyBytes).toBeGreaterThan(190 * KB);
  expect(gateway.counts().bodyBytes).toBeLessThan(192 * KB);
  const refused = await ask(transport, 190 * KB, "whole");
  expect(refused).toMatchObject({ reason: Reason.GATEWAY_BUSY, httpStatus: 503 });
  exchange.json(200, answer);
  expect(await first).toBeUndefined();
});

describe("a body that is not compressed as declared", () => {
  const path = "/modelgateway.v1.InferenceService/CreateChatCompletion";
  const whole = Buffer.from(JSON.stringify({ model, messages: [{ role: "user", contentText: "Hi" }] }));

  async function post(body: Buffer, coding: string) {
    const headers = { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" };
    const sent = { method: "POST", headers: { ...headers, "content-encoding": coding }, body };
    const response = await fetch(`${gateway.rootUrl}${path}`, sent);
    return { status: response.status, code: ((await response.json()) as { code?: string }).code };
  }

  test("is its caller's fault", async () => {
    const fault = { status: 400, code: "invalid_argument" };
    expect(await post(whole, "gzip")).toEqual(fault);
    expect(await post(whole, "br")).toEqual(fault);
    expect(await post(gzipSync(whole).subarray(0, -9), "gzip")).toEqual(fault);
    expect(await post(brotliCompressSync(whole).subarray(0, -4), "br")).toEqual(fault);
    expect(await post(whole, "zstd")).toEqual({ status: 501, code: "unimplemented" });
    expect(gateway.counts().bodyBytes).toBe(0);
  });
});

describe("decompressing", () => {
  const maxBytes = 1000 * KB;
  const bodies = () => createBodyBudget({ maxBytes: 1e9, maxBytesPerAccount: 1e9, maxBytesEach: maxBytes });
  const long = brotliCompressSync(Buffer.alloc(maxBytes));

  test("finishes one long body at a time, and one piece of each other", async () => {
    const budget = bodies();
    const inflate = createInflate();
    let most = 0;
    const { signal } = new AbortController();
    const one = async () => {
      const share = budget.open("one");
      const add = (bytes: number) => {
        share.add(bytes);
        most = Math.max(most, budget.bytes);
      };
      const { pieces, done } = await inflate(long, { coding: "br", maxBytes, share: { ...share, add }, signal });
      share.release();
      done();
      return Buffer.concat(pieces).length;
    };
    expect(await Promise.all(Array.from({ length: 20 }, one))).toEqual(Array(20).fill(maxBytes));
    expect(most).toBeLessThanOrEqual(maxBytes + 19 * 64 * KB);
  });

  test("stops one piece beyond the bound, however long the body would be", async () => {
    const share = bodies().open("one");
    const bomb = gzipSync(Buffer.alloc(100_000 * KB));
    let made = 0;
    const add = (bytes: number) => {
      made += bytes;
    };
    const { signal } = new AbortController();
    const inflating = createInflate()(bomb, { coding: "gzip", maxBytes, share: { ...share, add }, signal });
    await expect(inflating).rejects.toMatchObject({ reason: Reason.REQUEST_TOO_LARGE });
    expect(made).toBeLessThanOrEqual(maxBytes);
  });

  test("continues with the next body when one has been read, or its caller has left", async () => {
    const inflate = createInflate();
    const share = bodies().open("one");
    const [reader, leaver, last] = [new AbortController(), new AbortController(), new AbortController()];
    const over: string[] = [];
    const begun = new Set<string>();
    const begin = async (name: string, { signal }: AbortController) => {
      const add = () => void begun.add(name);
      const inflated = await inflate(long, { coding: "br", maxBytes, share: { ...share, add }, signal });
      over.push(name);
      return inflated;
    };
    const first = await begin("reader", reader);
    const second = begin("leaver", leaver);
    // Who has its first piece first is first in the line.
    await eventually(() => expect(begun).toContain("leaver"));
    const third = begin("last", last);
    await inflate(gzipSync("short"), { coding: "gzip", maxBytes, share, signal: new AbortController().signal });
    expect(over).toEqual(["reader"]);
    first.done();
    await second;
    expect(over).toEqual(["reader", "leaver"]);
    leaver.abort();
    await third;
  });

  test("ends when its caller has left, and passes its lock to the next", async () => {
    const inflate = createInflate();
    const share = bodies().open("one");
    let pieces = 0;
    for (let i = 0; i < 3; i++) {
      const leaver = new AbortController();
      const add = () => {
        if (++pieces % 3 === 0) leaver.abort();
      };
      const left = { ...share, add };
      const leaving = inflate(long, { coding: "br", maxBytes, share: left, signal: leaver.signal });
      await expect(leaving).rejects.toMatchObject({ reason: Reason.CANCELLED });
    }
    const { signal } = new AbortController();
    const { pieces: whole } = await inflate(long, { coding: "br", maxBytes, share, signal });
    expect(Buffer.concat(whole)).toHaveLength(maxBytes);
  });

  test("of a coding that cannot be begun keeps no place from others", async () => {
    const inflate = createInflate();
    const share = bodies().open("one");
    const { signal } = new AbortController();
    for (let i = 0; i < 5; i++)
      await expect(inflate(long, { coding: "none", maxBytes, share, signal })).rejects.toThrow("not known");
    // As where there is no memory for a decompressor.
    const broken = new Proxy(long, {
      get() {
        throw new RangeError("no memory");
      },
    });
    const unreadable = { length: 1, [Symbol.iterator]: () => broken[Symbol.iterator]() } as unknown as Uint8Array;
    for (let i = 0; i < 5; i++)
      await expect(inflate(unreadable, { coding: "deflate", maxBytes, share, signal })).rejects.toThrow("no memory");
    const { pieces } = await inflate(long, { coding: "br", maxBytes, share, signal });
    expect(Buffer.concat(pieces)).toHaveLength(maxBytes);
  }, 5_000);
});
