/**
 * What a REST caller reads, byte by byte, whatever the upstream sends: unary answers, streams, and their failures.
 */
import { connect } from "node:net";
import { setTimeout } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import { startTestGateway, type TestGateway, upstreamAt } from "../../support/gateway.ts";
import { heldMemory } from "../../support/run/garbage.ts";
import {
  eventStream,
  type ScriptedExchange,
  type ScriptedUpstream,
  startScriptedUpstream,
} from "../../support/scripted-upstream.ts";
import { chatAnswer, openaiFrames } from "../../support/vendors.ts";

const hello = { model: "embedded-chat", messages: [{ role: "user", content: "Hello" }] };
const done = "data: [DONE]\n\n";
const keepAlive = ": keep-alive\n\n";

function chunk(delta: object, finish: string | null = null, more: object = {}) {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }];
  return { id: "c1", object: "chat.completion.chunk", created: 1, model: "far-model", choices, ...more };
}

const first = chunk({ role: "assistant", content: "" });
const hel = chunk({ content: "Hel" });
const lo = chunk({ content: "lo" });
const stop = chunk({}, "stop");
const usage = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 };
const usageChunk = { ...first, choices: [], usage };

function post(gateway: TestGateway, body: object | string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${gateway.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...init,
  });
}

/** What is to be read next: at least until `enough`, or all there is. */
async function readUntil(reader: ReadableStreamDefaultReader<Uint8Array>, enough: string): Promise<string> {
  let text = "";
  while (!text.includes(enough)) {
    const { done, value } = await reader.read();
    if (done) break;
    text += Buffer.from(value).toString();
  }
  return text;
}

function readerOf(response: Response): ReadableStreamDefaultReader<Uint8Array> {
  return (response.body as ReadableStream<Uint8Array>).getReader();
}

const failed = (message: RegExp) => ({ message: expect.stringMatching(message), type: "server_error", param: null });

/** Splits what was read into what came before the error frame that ends it, and that error. */
function brokenOff(text: string): { before: string; error: object } {
  const last = text.lastIndexOf("data: ");
  const end = "\nevent: error\n\n";
  expect(text.endsWith(end)).toBe(true);
  return { before: text.slice(0, last), error: JSON.parse(text.slice(last + 6, -end.length)).error };
}

describe("over the embedded model", () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await startTestGateway();
  });

  afterAll(() => gateway.close());

  async function streamed(request: object) {
    const response = await post(gateway, { ...hello, stream: true, ...request });
    const text = await response.text();
    expect(text).toMatch(/^(data: [^\n\r]+\n\n)+$/); // No event lines, no comments, one line a frame.
    expect(text.endsWith(done)).toBe(true);
    const payloads = text.split("\n\n").slice(0, -2);
    return { response, chunks: payloads.map((payload) => JSON.parse(payload.slice("data: ".length))) };
  }

  test("a stream has its headers, and its chunks are of one answer", async () => {
    const { response, chunks } = await streamed({ n: 2 });
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
      "x-accel-buffering": "no",
      "x-request-id": expect.stringMatching(/^req_/),
    });
    expect(response.headers.has("content-encoding")).toBe(false);
    expect(
      new Set(chunks.map(({ id, created, model, object }) => JSON.stringify([id, created, model, object]))).size,
    ).toBe(1);
    expect(chunks[0].object).toBe("chat.completion.chunk");
    for (const index of [0, 1]) {
      const choices = chunks.flatMap((chunk) => chunk.choices).filter((choice) => choice.index === index);
      expect(choices[0].delta.role).toBe("assistant");
      expect(choices.filter(({ finish_reason }) => finish_reason !== null)).toHaveLength(1);
      expect(choices.at(-1).finish_reason).not.toBeNull();
    }
  });

  test("a stream says nothing of usage unless asked", async () => {
    const { chunks } = await streamed({});
    for (const chunk of chunks) expect(chunk).not.toHaveProperty("usage");
    expect(chunks.every(({ choices }) => choices.length > 0)).toBe(true);
  });

  test("a stream tells usage in an extra chunk at its end when asked, and null before", async () => {
    const { chunks } = await streamed({ stream_options: { include_usage: true } });
    const last = chunks.pop();
    expect(last).toMatchObject({ choices: [], usage: { total_tokens: expect.any(Number) } });
    expect(chunks.length).toBeGreaterThan(2);
    for (const chunk of chunks) expect(chunk).toMatchObject({ usage: null, choices: [{}] });
  });

  test("the frames come as they are made, not at the end", async () => {
    const response = await post(gateway, { ...hello, stream: true, metadata: { simulate_token_delay_ms: "600000" } });
    const reader = readerOf(response);
    expect(await readUntil(reader, "\n\n")).toMatch(/^data: \{/);
    await reader.cancel();
  });
});

describe("over an upstream", () => {
  let upstream: ScriptedUpstream;
  let gateway: TestGateway;

  beforeEach(async () => {
    upstream = await startScriptedUpstream();
    gateway = await startTestGateway(upstreamAt(upstream.baseUrl, "sk-of-the-upstream"));
  });

  afterEach(async () => {
    await upstream.close();
    await gateway.close();
  });

  async function withConfig(config: Partial<Config>) {
    await gateway.close();
    gateway = await startTestGateway({ ...upstreamAt(upstream.baseUrl), ...config });
  }

  /** Streams through an upstream that answers by this script, and returns all that the caller reads. */
  async function streamThrough(script: (exchange: ScriptedExchange) => void, request: object = {}) {
    upstream.script = script;
    const response = await post(gateway, { ...hello, stream: true, ...request });
    return { status: response.status, type: response.headers.get("content-type"), text: await response.text() };
  }

  function answering(...pieces: readonly (string | Buffer)[]) {
    return async (exchange: ScriptedExchange) => {
      exchange.head(200, eventStream);
      for (const piece of pieces) await exchange.write(piece);
      exchange.end();
    };
  }

  describe("a stream", () => {
    const answer = openaiFrames(first, hel, lo, stop);

    test("passes as it came", async () => {
      const odd = `{ "id":"a","object":"o","created":1,"model":"m", "choices" :[{"index":0,"delta":{"x":"é\\u00e9"},"finish_reason":"stop"}], "n":12345678901234567890, "sig":"A/b=" }`;
      const text = `data: ${odd}\n\n${done}`;
      expect(await streamThrough(answering(text))).toMatchObject({ status: 200, text });
    });

    const oddities: Record<string, string> = {
      "with CRLF": `${answer}${done}`.replaceAll("\n", "\r\n"),
      "with CR": `${answer}${done}`.replaceAll("\n", "\r"),
      "with comments, event lines and ids": `: hello\n\nevent: x\nid: 1\n${answer}: bye\n\nevent: ping\n\n${done}`,
      "without the space after data:": `${answer}${done}`.replaceAll("data: ", "data:"),
      "with a [DONE] amid spaces": `${answer}data:  [DONE] \n\n`,
      "with no [DONE] after the finish": answer,
      "whose last frame lacks its blank line": answer.trimEnd(),
      "with more after [DONE]": `${answer}${done}${openaiFrames(hel)}`,
    };

    for (const [name, sent] of Object.entries(oddities)) {
      test(`${name} is read, and written as it should be`, async () => {
        expect(await streamThrough(answering(sent))).toMatchObject({ status: 200, text: answer + done });
      });
    }

    test("with JSON on several lines becomes one line a frame", async () => {
      const text = JSON.stringify(stop, null, 1).replaceAll("\n", "\ndata: ");
      const answered = await streamThrough(answering(`data: ${text}\n\n${done}`));
      expect(answered.text).toMatch(/^data: [^\n]+\n\ndata: \[DONE\]\n\n$/);
      expect(JSON.parse(answered.text.slice(6, answered.text.indexOf("\n\n")))).toEqual(stop);
    });

    test("cut at every byte is the same stream", async () => {
      const text = `${openaiFrames(first, chunk({ content: "é世👋" }), stop)}${done}`;
      const bytes = Buffer.from(text);
      const cuts = [...bytes.keys()].filter((at) => at > 0);
      // Two pieces at each place, and one byte at a time.
      for (const at of cuts) {
        const answered = await streamThrough(answering(bytes.subarray(0, at), bytes.subarray(at)));
        expect(answered.text, `cut at ${at}`).toBe(text);
      }
      const single = [...bytes].map((byte) => Buffer.from([byte]));
      expect((await streamThrough(answering(...single))).text).toBe(text);
    });

    test("hides the usage that only the gateway asked for", async () => {
      const nulls = [first, hel, stop].map((chunk) => ({ ...chunk, usage: null }));
      const extra = await streamThrough(answering(openaiFrames(...nulls, usageChunk), done));
      expect(extra.text).toBe(openaiFrames(first, hel, stop) + done);
      const within = await streamThrough(answering(openaiFrames(first, hel, { ...stop, usage }), done));
      expect(within.text).toBe(openaiFrames(first, hel, stop) + done);
      for (const { body } of upstream.received) {
        expect(JSON.parse(body.toString()).stream_options).toEqual({ include_usage: true });
      }
    });

    test("shows the usage that was asked for, wherever the upstream tells it", async () => {
      const asked = { stream_options: { include_usage: true } };
      for (const payloads of [
        [{ ...first, usage: null }, { ...stop, usage: null }, usageChunk],
        [first, { ...stop, usage }],
      ]) {
        const answered = await streamThrough(answering(openaiFrames(...payloads), done), asked);
        expect(answered.text).toBe(openaiFrames(...payloads) + done);
      }
    });

    test("asks for usage without taking away what the caller asked for", async () => {
      await streamThrough(answering(answer, done), {
        stream_options: { include_usage: false, include_obfuscation: true },
      });
      expect(JSON.parse(String(upstream.received[0]?.body)).stream_options).toEqual({
        include_usage: true,
        include_obfuscation: true,
      });
    });
  });

  describe("an error", () => {
    const errorBody = {
      error: { message: "The upstream's own words", type: "server_error", param: null, code: "odd" },
    };

    for (const [name, script, words] of [
      ["that the upstream answers with", (exchange) => exchange.json(500, errorBody), /own words/],
      ["in the first frame", answering(openaiFrames(errorBody)), /own words/],
      ["instead of the stream, with status 200", (exchange) => exchange.json(200, errorBody), /own words/],
      [
        "page instead of the stream, with status 200",
        (exchange) => exchange.json(200, "<html>"),
        /did not answer with a stream/,
      ],
      ["for an answer of nothing in one piece", (exchange) => exchange.json(200, { choices: [] }), /is empty/],
      ["of a stream without a frame", answering(""), /broke off/],
      ["of a stream with only comments", answering(": hello\n\n"), /broke off/],
      ["of a first frame that is no JSON", answering("data: <html>\n\n"), /cannot be read/],
      [
        "of a stream that breaks before its first frame",
        (exchange) => {
          exchange.head(200, eventStream);
          exchange.destroy();
        },
        /connection to it broke/,
      ],
    ] as readonly (readonly [string, (exchange: ScriptedExchange) => void, RegExp])[]) {
      test(`${name} is a real status before the first frame`, async () => {
        const answered = await streamThrough(script);
        expect(answered).toMatchObject({ status: 502, type: "application/json" });
        expect(JSON.parse(answered.text).error).toMatchObject(failed(words));
      });
    }

    for (const [name, end, words] of [
      ["frame of the upstream's", (exchange) => exchange.end(openaiFrames(errorBody)), /own words/],
      ["for the end of a stream without a finish", (exchange) => exchange.end(), /broke off/],
      ["for a [DONE] that only comes near", (exchange) => exchange.end("data: [DON\n\n"), /cannot be read/],
      [
        "for a frame that is cut",
        (exchange) => exchange.end('data: {"choices":[{"finish_reason":"stop"'),
        /cannot be read/,
      ],
      ["for a frame that is no JSON", (exchange) => exchange.end("data: <html>\n\n"), /cannot be read/],
      ["for a closed connection", (exchange) => exchange.destroy(), /connection to it broke/],
      ["for a reset connection", (exchange) => exchange.reset(), /connection to it broke/],
    ] as readonly (readonly [string, (exchange: ScriptedExchange) => void, RegExp])[]) {
      test(`${name} ends a stream that has begun, without [DONE]`, async () => {
        const response = post(gateway, { ...hello, stream: true });
        const exchange = await upstream.next();
        exchange.head(200, eventStream);
        await exchange.write(openaiFrames(first, hel));
        const reader = readerOf(await response);
        let text = await readUntil(reader, "Hel");
        end(exchange);
        text += await readUntil(reader, done);
        const { before, error } = brokenOff(text);
        expect(before).toBe(openaiFrames(first, hel));
        expect(error).toMatchObject(failed(words));
        expect((error as { code: string }).code).not.toBeNull();
      });
    }

    test("after a finished choice is one all the same while another choice is not finished", async () => {
      const other = { ...hel, choices: [{ index: 1, delta: { role: "assistant" }, finish_reason: null }] };
      const { text } = await streamThrough(answering(openaiFrames(first, hel, other, stop)), { n: 2 });
      const { before, error } = brokenOff(text);
      expect(before).toBe(openaiFrames(first, hel, other, stop));
      expect(error).toMatchObject(failed(/broke off/));
    });

    test("does not cost the caller the frames that came in the same piece before it", async () => {
      const { text } = await streamThrough(answering(openaiFrames(first, hel, errorBody)));
      expect(brokenOff(text)).toEqual({ before: openaiFrames(first, hel), error: errorBody.error });
    });

    const statuses: Record<string, readonly [status: number, seen: number, passed: boolean]> = {
      "refuses the gateway's key": [401, 502, false],
      "refuses the gateway's permission": [403, 502, false],
      "takes too long": [504, 504, false],
      fails: [500, 502, true],
      "has a broken gateway of its own": [502, 502, true],
      "is overloaded": [503, 503, true],
      "does not know the model": [404, 404, true],
      "refuses the request": [400, 400, true],
      "cannot process the request": [422, 422, true],
      "is asked too often": [429, 429, true],
    };

    for (const [name, [status, seen, passed]] of Object.entries(statuses)) {
      test(`of an upstream that ${name} (${status}) reaches the caller as ${seen}`, async () => {
        upstream.script = (exchange) => exchange.json(status, errorBody, { "retry-after": "7", "set-cookie": "a=b" });
        for (const stream of [false, true]) {
          const response = await post(gateway, { ...hello, stream });
          expect(response.status).toBe(seen);
          expect(response.headers.get("retry-after")).toBe(passed ? "7" : null);
          expect(response.headers.get("set-cookie")).toBeNull();
          const body = await response.json();
          if (passed) expect(body).toEqual(errorBody);
          else expect(JSON.stringify(body)).not.toContain("own words");
        }
      });
    }

    test("page that is no JSON reaches the caller as 502, without its text", async () => {
      upstream.script = (exchange) => {
        exchange.head(500, { "content-type": "text/html" });
        exchange.end("<html>secret</html>");
      };
      const response = await post(gateway, hello);
      expect(response.status).toBe(502);
      const body = await response.text();
      expect(JSON.parse(body).error).toMatchObject(failed(/status 500/));
      expect(body).not.toContain("secret");
    });

    for (const [name, body] of Object.entries({
      "no JSON": "<html>",
      "a list": "[]",
      cut: '{"choices":[',
      empty: "",
    })) {
      test(`of an answer that is ${name} is a 502`, async () => {
        upstream.script = (exchange) => {
          exchange.head(200);
          exchange.end(body);
        };
        const response = await post(gateway, hello);
        expect(response.status).toBe(502);
        expect(JSON.parse(await response.text()).error).toMatchObject(failed(/cannot be read/));
      });
    }

    test("in an answer with status 200 is a 502 in the upstream's words", async () => {
      upstream.script = (exchange) => exchange.json(200, errorBody);
      const response = await post(gateway, hello);
      expect(response.status).toBe(502);
      expect(await response.json()).toEqual(errorBody);
    });

    test("of an answer that breaks off is a 502", async () => {
      upstream.script = async (exchange) => {
        exchange.head(200, { "content-type": "application/json" });
        await exchange.write('{"choices":[');
        exchange.destroy();
      };
      const response = await post(gateway, hello);
      expect(response.status).toBe(502);
      expect(JSON.parse(await response.text()).error).toMatchObject(failed(/connection to it broke/));
    });

    test("of a redirect is a 502: it is not followed", async () => {
      upstream.script = (exchange) => {
        exchange.head(307, { location: "/elsewhere" });
        exchange.end();
      };
      expect((await post(gateway, hello)).status).toBe(502);
      expect(upstream.received).toHaveLength(1);
    });

    test("of an upstream that refuses the connection is a 502", async () => {
      const port = upstream.port;
      await upstream.close();
      const response = await post(gateway, hello);
      expect(response.status).toBe(502);
      const body = await response.text();
      expect(JSON.parse(body).error).toMatchObject(failed(/cannot be reached/));
      expect(body).not.toContain(String(port));
      upstream = await startScriptedUpstream();
    });

    test("does not cost the connection to the upstream", async () => {
      for (const script of [
        (exchange: ScriptedExchange) => exchange.json(400, errorBody),
        (exchange: ScriptedExchange) => exchange.json(200, errorBody),
        answering(openaiFrames(errorBody)),
      ]) {
        const { text } = await streamThrough(script);
        expect(JSON.parse(text)).toEqual(errorBody);
      }
      expect(upstream.connections).toBe(1);
    });

    test("that is a huge page does not hold its connection", async () => {
      upstream.script = undefined;
      const response = post(gateway, { ...hello, stream: true });
      const exchange = await upstream.next();
      exchange.head(200, { "content-type": "text/html" });
      const piece = Buffer.alloc(64 * 1024);
      while (await exchange.write(piece)); // Until the gateway has enough of it.
      await exchange.left;
      expect((await response).status).toBe(502);
    });
  });

  describe("silence", () => {
    test("before the first frame is filled with comments, and the head is sent", async () => {
      await withConfig({ keepAliveMs: 20 });
      const response = post(gateway, { ...hello, stream: true });
      const exchange = await upstream.next(); // It does not even answer.
      const reader = readerOf(await response);
      let text = await readUntil(reader, keepAlive + keepAlive);
      exchange.stream(first, stop);
      text += await readUntil(reader, done);
      expect(text.replaceAll(keepAlive, "")).toBe(openaiFrames(first, stop) + done);
    });

    test("between frames is filled with comments", async () => {
      await withConfig({ keepAliveMs: 20 });
      const response = post(gateway, { ...hello, stream: true });
      const exchange = await upstream.next();
      exchange.head(200, eventStream);
      await exchange.write(openaiFrames(first));
      const reader = readerOf(await response);
      let text = await readUntil(reader, keepAlive + keepAlive);
      exchange.end(openaiFrames(stop) + done);
      text += await readUntil(reader, done);
      expect(text.replaceAll(keepAlive, "")).toBe(openaiFrames(first, stop) + done);
      expect(text.lastIndexOf(keepAlive)).toBeLessThan(text.indexOf(openaiFrames(stop)));
    });

    test("that ends in an error is an error frame, for the head is sent", async () => {
      await withConfig({ keepAliveMs: 20 });
      const response = post(gateway, { ...hello, stream: true });
      const exchange = await upstream.next();
      const answered = await response;
      expect(answered.status).toBe(200);
      exchange.json(429, {
        error: { message: "Too many", type: "requests", param: null, code: "rate_limit_exceeded" },
      });
      const { before, error } = brokenOff(await answered.text());
      expect(before.replaceAll(keepAlive, "")).toBe("");
      expect(error).toMatchObject({ message: "Too many", code: "rate_limit_exceeded" });
    });

    test("is not filled in a whole answer", async () => {
      await withConfig({ keepAliveMs: 1 });
      const response = post(gateway, hello);
      const exchange = await upstream.next();
      await setTimeout(50); // Many times the silence after which a stream gets a comment.
      exchange.json(200, chatAnswer({ content: "Hi" }));
      expect(await (await response).text()).toBe(JSON.stringify(chatAnswer({ content: "Hi" })));
    });
  });

  describe("a request", () => {
    const raw = `{ "big": 12345678901234567890123,  "z":1.10, "a":{"b" : [1e2 ,"\\u00e9é"]},\n "model":"near-model", "messages":[{"role":"user","content":"Hi","vendor":true}] ,"seed":9007199254740991 }`;

    test("reaches the upstream as it came, but for the model's name", async () => {
      upstream.script = (exchange) => exchange.json(200, chatAnswer({ content: "Hi" }));
      await withConfig(renamed());
      await post(gateway, raw);
      expect(String(upstream.received[0]?.body)).toBe(raw.replace('"near-model"', '"far-model"'));
    });

    test("for a stream reaches the upstream as it came, but for the model's name and the usage", async () => {
      upstream.script = (exchange) => exchange.stream(first, stop);
      await withConfig(renamed());
      const streaming = raw.replace("{", '{"stream": true,');
      await (await post(gateway, streaming)).text();
      const expected = streaming
        .replace('"near-model"', '"far-model"')
        .replace(/ \}$/, ' ,"stream_options":{"include_usage":true}}');
      const sent = String(upstream.received[0]?.body);
      expect(sent.replace(/\s/g, "")).toBe(expected.replace(/\s/g, ""));
      expect(sent.startsWith(expected.slice(0, -50))).toBe(true);
    });

    test("goes with the upstream's credential and with nothing of the caller's", async () => {
      upstream.script = (exchange) => exchange.json(200, chatAnswer({ content: "Hi" }));
      const headers = {
        authorization: "Bearer sk-foreign",
        "x-api-key": gateway.apiKey,
        cookie: "session=1",
        "x-stainless-lang": "js",
        "openai-organization": "org",
        "x-forwarded-for": "10.0.0.1",
      };
      const response = await post(gateway, hello, { headers });
      expect(response.status).toBe(200);
      const [exchange] = upstream.received;
      expect(exchange?.headers).toEqual({
        host: `127.0.0.1:${upstream.port}`,
        connection: "keep-alive",
        authorization: "Bearer sk-of-the-upstream",
        "content-type": "application/json",
        "content-length": String(exchange?.body.length),
        accept: "application/json",
        "accept-encoding": "gzip, deflate, br, zstd",
        "user-agent": "model-gateway",
        "x-request-id": response.headers.get("x-request-id"),
      });
      expect(exchange).toMatchObject({ method: "POST", path: "/v1/chat/completions" });
    });

    function renamed(): Partial<Config> {
      const { models = [] } = upstreamAt(upstream.baseUrl);
      return {
        models: models.map((model) => ({
          ...model,
          id: "near-model",
          targets: model.targets.map((target) => ({ ...target, model: "far-model" })),
        })),
      };
    }
  });

  test("a whole answer passes byte for byte", async () => {
    const text = `\n{ "id":"a","object":"o","created":1,"model":"m", "choices":[{"index":0,"message":{"role":"assistant","content":"é\\u00e9","vendor_sig":"A/b="},"finish_reason" :"stop"}] ,"n":12345678901234567890, "usage":{"prompt_tokens" : 1, "completion_tokens":2} }\n`;
    upstream.script = (exchange) => {
      exchange.head(200, { "content-type": "application/json", "x-far": "1" });
      exchange.end(text);
    };
    const response = await post(gateway, hello);
    expect(await response.text()).toBe(text);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("x-far")).toBeNull();
  });

  test("a stream leaves its connection to the upstream for the next call", async () => {
    for (let i = 0; i < 5; i++) {
      const response = post(gateway, { ...hello, stream: true });
      const exchange = await upstream.next();
      exchange.head(200, eventStream);
      await exchange.write(openaiFrames(first, stop) + done);
      // The caller has the whole answer before HTTP has its end.
      expect(await (await response).text()).toBe(openaiFrames(first, stop) + done);
      exchange.end();
    }
    // A call may come before the end of the one before, and needs a connection of its own; none is broken off.
    expect(upstream.connections).toBeLessThan(4);
    expect(upstream.openConnections).toBe(upstream.connections);
  });

  test("a caller who does not read stops the upstream, and reads the whole stream later", async () => {
    const mebibyte = 1024 * 1024;
    const total = 96 * mebibyte;
    const piece = Buffer.from(openaiFrames(chunk({ content: "x".repeat(32 * 1024) })));
    const pieces = Math.ceil(total / piece.length);
    const { arrayBuffers: before } = await heldMemory();

    const socket = connect(gateway.port, "127.0.0.1");
    const body = JSON.stringify({ ...hello, stream: true });
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${gateway.apiKey}\r\n` +
        `content-length: ${body.length}\r\n\r\n${body}`,
    );
    const exchange = await upstream.next();
    exchange.head(200, eventStream);
    let taken = 0;
    const writing = (async () => {
      for (let i = 0; i < pieces; i++, taken += piece.length) await exchange.write(piece);
      exchange.end(openaiFrames(stop) + done);
    })();

    // The upstream has stopped when nothing more was taken for a while; without back-pressure all would be taken.
    for (let last = -1; last !== taken; ) {
      last = taken;
      await setTimeout(300);
    }
    // The most that is taken lies in buffers of the system's, up to 10 MiB a connection.
    expect(taken).toBeLessThan(32 * mebibyte);
    expect((await heldMemory()).arrayBuffers - before).toBeLessThan(24 * mebibyte);

    let read = 0;
    let tail = "";
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      read += chunk.length;
      tail = (tail + chunk.toString("latin1")).slice(-200);
    }
    await writing;
    expect(read).toBeGreaterThan(pieces * piece.length);
    expect(tail).toContain(`${openaiFrames(stop).slice(-40)}`);
    expect(tail).toContain(done);
  });
});
