/**
 * What callers get, and pay, where answers to the same request of the same account are cached: over real sockets, in both families
 * and gRPC. The upstream's count of requests proves which answers came from memory.
 */
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { ChatCompletionChunkSchema, Role } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { CacheConfig } from "../../../src/config/config.ts";
import { millionthsOf, shareOf } from "../../../src/ledger/price.ts";
import { type AnswerCache, createAnswerCache } from "../../../src/pipeline/replay/answer-cache.ts";
import { createRecording, createRoom } from "../../../src/pipeline/replay/recorded-answer.ts";
import { issueKey } from "../../../src/services/keys/issue-key.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { hear } from "../../support/clients/hear.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { type Books, openAccount, openBooks, type Payer } from "../../support/payer.ts";
import {
  eventStream,
  type ScriptedExchange,
  type ScriptedUpstream,
  startScriptedUpstream,
} from "../../support/scripted-upstream.ts";
import {
  answerAsAny,
  chat,
  type OneRequest,
  oneOfEach,
  responses,
  streamed,
} from "../../support/upstreams/one-of-each.ts";
import { cost, paidModels } from "../../support/upstreams/paid-models.ts";
import { chatAnswer, chatChunk, openaiFrames, usageChunk } from "../../support/vendors.ts";

let upstream: ScriptedUpstream;
let gateway: TestGateway;
let books: Books;
let payer: Payer;
let now: number;

const standard: CacheConfig = { maxBytes: 1024 * 1024, keepMs: 60_000, priceShare: 0 };

async function start(cache: CacheConfig | undefined): Promise<() => Promise<void>> {
  const config = { ...paidModels(upstream.baseUrl), cache, disconnectDrainMs: 300 };
  gateway = await startTestGateway(config, { clock: () => now });
  books = openBooks(gateway.database, gateway.storage);
  const started = gateway;
  return async () => {
    expect((await started.storage.reconcile()).findings).toEqual([]);
    await started.close();
  };
}

/** For one test: a gateway of its own. */
async function startAnother(cache: CacheConfig | undefined): Promise<void> {
  const [before, booksBefore] = [gateway, books];
  const stop = await start(cache);
  payer = await openAccount(gateway);
  onTestFinished(async () => {
    await stop();
    [gateway, books] = [before, booksBefore];
  });
}

beforeAll(async () => {
  upstream = await startScriptedUpstream();
  const stop = await start(standard);
  return async () => {
    await stop();
    await upstream.close();
  };
});

/** Accounts do not share answers: each test has its own. */
beforeEach(async () => {
  now = Date.UTC(2026, 0, 2);
  upstream.script = answerAsAny;
  upstream.received.length = 0;
  payer = await openAccount(gateway);
});

function ask({ path, body }: OneRequest = chat, headers: Readonly<Record<string, string>> = {}, by: Payer = payer) {
  return hear(gateway, { path, body, headers, apiKey: by.apiKey }).answer;
}

const streamedChat = streamed(chat);

const cacheOf = ({ headers }: { headers: NodeJS.Dict<string | string[]> }) => headers["x-gateway-cache"];

/** All of an answer that a cached one has in common with it. */
const seen = ({ status, bytes, headers }: Awaited<ReturnType<typeof ask>>) => ({
  ...{ status, bytes: bytes.toString("latin1"), type: headers["content-type"] },
  ...{ model: headers["x-gateway-model"], dropped: headers["x-gateway-dropped"] },
});

describe("the same request of the same account", () => {
  for (const [name, request] of Object.entries(oneOfEach)) {
    test(`is told the same bytes from memory: ${name}`, async () => {
      const first = await ask(request);
      expect([first.status, cacheOf(first)]).toEqual([200, "miss"]);
      const asked = upstream.received.length;
      now += 7_900;
      const second = await ask(request);
      expect(seen(second)).toEqual(seen(first));
      const { headers, trailers } = second;
      expect([cacheOf(second), headers.age, upstream.received.length]).toEqual(["hit", "7", asked]);
      expect(headers["x-gateway-upstream"] ?? headers["x-gateway-attempts"]).toBeUndefined();
      expect(headers["x-gateway-cost"] ?? trailers["x-gateway-cost"]).toBe("0.00");
    });
  }

  test("is free, and written down as a call that asked nobody", async () => {
    await ask();
    const before = await books.of(payer);
    const { headers } = await ask();
    const after = await books.of(payer);
    expect([after.balance, after.held]).toEqual([before.balance, 0]);
    const row = await after.requests.find(({ id }) => id === headers["x-request-id"]);
    expect(row).toMatchObject({ cached: 1, upstream: "", model: "gpt", outcome: Outcome.ANSWERED });
    expect(row).toMatchObject({ input: 0, output: 0, cost: 0, waived: 0, tried: null, operation: "chat" });
    expect(before.requests[0]).toMatchObject({ cached: 0, cost: 9 * cost.input + 2 * cost.output });
  });

  test("is told of in the log as coming from memory", async () => {
    await ask();
    await ask();
    const lines = gateway
      .logged()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const calls = lines.filter(({ account_id }) => account_id === payer.accountId);
    expect(calls.map(({ replayed, attempts, cost_millionths }) => [replayed, attempts, cost_millionths])).toEqual([
      [undefined, 1, 49],
      ["cache", 0, 0],
    ]);
  });

  test("is found by gRPC too, whole and streamed, and tells so in its metadata", async () => {
    const client = createClient(InferenceService, createGrpcTransport({ baseUrl: gateway.rootUrl }));
    const content = { case: "text" as const, value: "Hello" };
    const request = { model: "gpt", messages: [{ role: Role.USER, content }] };
    for (const stream of [false, true]) {
      const states: (string | null)[] = [];
      const costs: (string | null)[] = [];
      const answers: unknown[] = [];
      for (let i = 0; i < 2; i++) {
        const options = {
          headers: { authorization: `Bearer ${payer.apiKey}` },
          onHeader: (headers: Headers) => void states.push(headers.get("x-gateway-cache")),
          onTrailer: (trailers: Headers) => void costs.push(trailers.get("x-gateway-cost")),
        };
        if (!stream) answers.push(await client.createChatCompletion(request, options));
        else answers.push(await Array.fromAsync(client.streamChatCompletion(request, options)));
      }
      expect(states).toEqual(["miss", "hit"]);
      expect(answers[1]).toEqual(answers[0]);
      if (stream) expect(costs).toEqual(["0.000049", "0.00"]);
    }
    expect(upstream.received).toHaveLength(2);
  });

  test("is sent twice where both come at once: neither waits for the other", async () => {
    upstream.script = undefined;
    const both = [ask(), ask()];
    const exchanges = [await upstream.next(), await upstream.next()];
    for (const exchange of exchanges) answerAsAny(exchange);
    expect((await Promise.all(both)).map(cacheOf)).toEqual(["miss", "miss"]);
  });

  test("has its cost told in explain's words beforehand: hit or miss", async () => {
    const explained = async (headers = {}) => {
      const { text } = await ask({ path: "/v1/explain", body: { request: chat.body } }, headers);
      return JSON.parse(text) as { cache: string; refusal?: { reason: string } };
    };
    expect((await explained()).cache).toBe("miss");
    expect((await explained({ "cache-control": "only-if-cached" })).refusal?.reason).toBe("NOT_CACHED");
    await ask();
    expect((await explained()).cache).toBe("hit");
    expect((await explained({ "cache-control": "no-store" })).cache).toBe("");
  });
});

describe("another request is asked anew", () => {
  beforeEach(() => ask());

  const others: Readonly<Record<string, readonly [OneRequest, Readonly<Record<string, string>>?]>> = {
    "with another word": [{ ...chat, body: { ...chat.body, messages: [{ role: "user", content: "Say hello." }] } }],
    "with its members in another order": [{ ...chat, body: Object.fromEntries(Object.entries(chat.body).reverse()) }],
    "by the model's other name": [{ ...chat, body: { ...chat.body, model: "gpt-alias" } }],
    streamed: [streamedChat],
    "that would rather be refused than lose anything": [chat, { "x-gateway-strict": "true" }],
    "with a feature of the vendor's switched on": [chat, { "anthropic-beta": "some-2026-01-01" }],
    "in another version of the vendor's API": [chat, { "anthropic-version": "2026-10-21" }],
  };
  for (const [name, [request, headers]] of Object.entries(others)) {
    test(name, async () => {
      expect(cacheOf(await ask(request, headers))).toBe("miss");
      expect(upstream.received).toHaveLength(2);
    });
  }

  test("of another account", async () => {
    expect(cacheOf(await ask(chat, {}, await openAccount(gateway)))).toBe("miss");
    expect(upstream.received).toHaveLength(2);
  });

  test("of an operation that is not kept", async () => {
    const counted = { path: "/v1/messages/count_tokens", body: { ...chat.body, model: "claude" } };
    const response = { path: "/v1/responses", body: { model: "gpt", input: "Hello" } };
    for (const request of [counted, counted, response, response]) {
      const { status, headers } = await ask(request);
      expect([status, headers["x-gateway-cache"]]).toEqual([200, undefined]);
    }
    expect(upstream.received).toHaveLength(5);
  });
});

describe("a key", () => {
  test("that may not use the model gets nothing from memory, though its account's other key has asked", async () => {
    await ask();
    const { accountId } = payer;
    const models = JSON.stringify(["claude"]);
    const issued = await issueKey(gateway.storage.keys, { accountId, name: "other", admin: false, now, models });
    const barred = { ...payer, apiKey: issued.secret, keyId: issued.key.id };
    const { status, text } = await ask(chat, {}, barred);
    expect([status, text.includes("not permitted"), text.includes("Hello")]).toEqual([403, true, false]);
    // Nor where the model is one that it names further on.
    const further = { ...chat, body: { ...chat.body, models: ["claude"] } };
    await ask(further);
    expect((await ask(further, {}, barred)).status).toBe(403);
  });

  test("that pays beforehand gets nothing of a model without a price, though a key that need not has asked", async () => {
    const postpaid = await openAccount(gateway, { postpaid: true });
    const unpriced = { ...chat, body: { ...chat.body, model: "gpt-unpriced" } };
    expect((await ask(unpriced, {}, postpaid)).status).toBe(200);
    expect(cacheOf(await ask(unpriced, {}, postpaid))).toBe("hit");
    const names = { accountId: postpaid.accountId, name: "limited", admin: false, now, creditLimit: 1_000_000 };
    const issued = await issueKey(gateway.storage.keys, names);
    expect((await ask(unpriced, {}, { ...postpaid, apiKey: issued.secret })).status).toBe(403);
  });
});

describe("Cache-Control of the request", () => {
  const told = async (control: string) => {
    const before = upstream.received.length;
    const heard = await ask(chat, { "cache-control": control });
    return [heard.status, cacheOf(heard), upstream.received.length - before];
  };

  test("no-store: neither read nor kept", async () => {
    expect(await told("no-store")).toEqual([200, undefined, 1]);
    expect(await told("max-age=60")).toEqual([200, "miss", 1]);
    expect(await told("No-Store, max-age=60")).toEqual([200, undefined, 1]);
  });

  test("no-cache: not read, and kept", async () => {
    await ask();
    now += 10_000;
    expect(await told("no-cache")).toEqual([200, "miss", 1]);
    const { headers } = await ask();
    expect([headers["x-gateway-cache"], headers.age]).toEqual(["hit", "0"]);
  });

  test("max-age: no older than that", async () => {
    await ask();
    now += 10_000;
    expect(await told("max-age=10")).toEqual([200, "hit", 0]);
    expect(await told('max-age="10"')).toEqual([200, "hit", 0]);
    now += 1;
    expect(await told("max-age=10")).toEqual([200, "miss", 1]);
    expect(await told("max-age=0")).toEqual([200, "miss", 1]);
    expect(await told("max-age=soon")).toEqual([200, "miss", 1]);
  });

  test("only-if-cached: from memory, or refused with 504 and nothing charged", async () => {
    const { status, text } = await ask(chat, { "cache-control": "only-if-cached" });
    expect([status, JSON.parse(text).error.code]).toEqual([504, "not_cached"]);
    expect([upstream.received.length, (await books.of(payer)).requests.length]).toEqual([0, 0]);
    await ask();
    expect(await told("only-if-cached")).toEqual([200, "hit", 0]);
    expect((await told("only-if-cached, no-cache"))[0]).toBe(504);
    expect((await told("only-if-cached, no-store"))[0]).toBe(504);
    now += 30_000;
    expect((await told("only-if-cached, max-age=29"))[0]).toBe(504);
  });
});

describe("who wants only what is kept is refused with 504, and not charged,", () => {
  const messages = [{ role: "user", content: "Hello" }];
  const counted = { path: "/v1/messages/count_tokens", body: { model: "claude", messages } };
  const onlyKept = { "cache-control": "only-if-cached" };

  const expectNothingAsked = async (requests: Readonly<Record<string, OneRequest>>) => {
    for (const [name, request] of Object.entries(requests)) {
      const { status, text } = await ask(request, onlyKept);
      expect([name, status, text]).toEqual([name, 504, expect.stringContaining("wants no other")]);
      const explained = await ask(
        { path: "/v1/explain", body: { path: request.path, request: request.body } },
        onlyKept,
      );
      expect(JSON.parse(explained.text)).toMatchObject({ refusal: { status: 504, reason: "NOT_CACHED" } });
    }
    expect([upstream.received.length, (await books.of(payer)).requests]).toEqual([0, []]);
  };

  test("where there is no cache", async () => {
    await startAnother(undefined);
    await expectNothingAsked({ ...oneOfEach, ...responses, counted });
    const unknown = await ask({ ...chat, body: { ...chat.body, model: "nobody" } }, onlyKept);
    expect(unknown.status).toBe(404);
    expect((await ask(chat, { "cache-control": "no-cache" })).status).toBe(200);
  });

  test("where answers of that kind are not kept", () => expectNothingAsked({ ...responses, counted }));
});

describe("what is not kept", () => {
  const missesTwice = async (request: OneRequest = chat) => {
    await ask(request).catch(() => {});
    upstream.script = answerAsAny;
    const { headers } = await ask(request);
    expect(headers["x-gateway-cache"]).toBe("miss");
  };

  test("a refusal", async () => {
    upstream.script = (exchange) => exchange.json(500, { error: { message: "broken" } });
    await missesTwice();
  });

  test("an answer with which the model gave up", async () => {
    upstream.script = (exchange) => exchange.json(200, chatAnswer({ content: "No" }, "content_filter"));
    await missesTwice();
  });

  test("a stream that broke off", async () => {
    upstream.script = async (exchange) => {
      exchange.head(200, eventStream);
      await exchange.write(openaiFrames(chatChunk({ content: "Hel" })));
      exchange.destroy();
    };
    await missesTwice(streamedChat);
  });

  test("a stream that its caller left, and nothing runs on for it", async () => {
    upstream.script = undefined;
    const heard = hear(gateway, { ...streamedChat, apiKey: payer.apiKey });
    const exchange = await upstream.next();
    exchange.head(200, eventStream);
    await exchange.write(openaiFrames(chatChunk({ content: "Hel" })));
    await heard.begun;
    await heard.leave();
    await exchange.left;
    upstream.script = answerAsAny;
    expect(cacheOf(await ask(streamedChat))).toBe("miss");
  });

  test("what is older than the configured time", async () => {
    await ask();
    now += 60_000;
    expect(cacheOf(await ask())).toBe("hit");
    now += 1;
    expect(cacheOf(await ask())).toBe("miss");
  });

  test("an answer of more than an eighth of the room, whole or streamed", async () => {
    await startAnother({ ...standard, maxBytes: 32 * 1024 });
    const long = (length: number) => (exchange: ScriptedExchange) => {
      const { stream } = exchange.asked;
      const content = "x".repeat(length);
      if (stream) exchange.stream(chatChunk({ content }), chatChunk({}, "stop"));
      else exchange.json(200, chatAnswer({ content }));
    };
    for (const request of [chat, streamedChat]) {
      upstream.script = long(4096);
      expect([cacheOf(await ask(request)), cacheOf(await ask(request))]).toEqual(["miss", "miss"]);
      upstream.script = long(3072);
      await ask(request);
      expect(cacheOf(await ask(request))).toBe("hit");
    }
  });

  test("what was not asked for longest, where the room is full", async () => {
    await startAnother({ ...standard, maxBytes: 8 * 1024 });
    const about = (topic: number) => ({
      ...chat,
      body: { ...chat.body, messages: [{ role: "user", content: `Topic ${topic}` }] },
    });
    for (let topic = 0; topic < 20; topic++) {
      await ask(about(topic));
      await ask(about(0));
    }
    expect(cacheOf(await ask(about(0)))).toBe("hit");
    expect(cacheOf(await ask(about(1)))).toBe("miss");
    expect(cacheOf(await ask(about(19)))).toBe("hit");
  });
});

describe("a price for what comes from memory", () => {
  const full = 9 * cost.input + 2 * cost.output;

  test("is the configured part of what it cost at first, rounded up, and charged as any call is", async () => {
    await startAnother({ ...standard, priceShare: 0.1 });
    for (const request of [chat, streamedChat]) {
      const before = (await books.of(payer)).balance;
      await ask(request);
      const { headers, trailers } = await ask(request);
      const part = Math.ceil(full / 10);
      expect(headers["x-gateway-cost"] ?? trailers["x-gateway-cost"]).toBe(`0.00000${part}`);
      const after = await books.of(payer);
      expect(after.balance).toBe(before - full - part);
      expect(after.requests.at(-1)).toMatchObject({ cached: 1, cost: part, waived: 0 });
      expect([after.held, after.keyHeld, after.holds]).toEqual([0, 0, 0]);
    }
  });

  test("is reserved before: who has not got it is refused, and nobody is overdrawn by many at once", async () => {
    await startAnother({ ...standard, priceShare: 1 });
    await ask(chat);
    const { balance } = await books.of(payer);
    const { accountId } = payer;
    const names = { accountId, name: "limited", admin: false, now, creditLimit: 3 * full + 1 };
    const issued = await issueKey(gateway.storage.keys, names);
    const limited = { ...payer, apiKey: issued.secret, keyId: issued.key.id };
    const all = await Promise.all(Array.from({ length: 10 }, () => ask(chat, {}, limited)));
    expect(all.map(({ status }) => status).sort()).toEqual([200, 200, 200, ...Array(7).fill(402)]);
    expect(await books.of(limited)).toMatchObject({
      spent: 3 * full,
      keyHeld: 0,
      held: 0,
      balance: balance - 3 * full,
    });
    expect(upstream.received).toHaveLength(1);
  });

  test("is a part of whole millionths, however small the part", () => {
    const partOf = (cost: number, share: number) => shareOf(cost, millionthsOf(share));
    expect([partOf(30, 0.1), partOf(31, 0.1), partOf(1, 0.000001), partOf(7, 0), partOf(7, 1)]).toEqual([
      3, 4, 1, 0, 7,
    ]);
  });

  test("is paid in full by who leaves in the middle", async () => {
    await startAnother({ ...standard, maxBytes: 256 * 1024 * 1024, priceShare: 1 });
    const pieces = Array.from({ length: 12 }, () => chatChunk({ content: "x".repeat(1_000_000) }));
    upstream.script = async (exchange) => {
      exchange.head(200, eventStream);
      for (const piece of pieces) await exchange.write(openaiFrames(piece));
      exchange.end(`${openaiFrames(chatChunk({}, "stop"), usageChunk())}data: [DONE]\n\n`);
    };
    const leave = new AbortController();
    const fetched = () =>
      fetch(gateway.rootUrl + streamedChat.path, {
        method: "POST",
        headers: { authorization: `Bearer ${payer.apiKey}`, "content-type": "application/json" },
        body: JSON.stringify(streamedChat.body),
        signal: leave.signal,
      });
    await (await fetched()).arrayBuffer();
    // More than the buffers of two sockets hold: the answer to a client that reads nothing waits, unfinished.
    await fetched();
    leave.abort();
    await expect.poll(async () => (await books.of(payer)).requests.length).toBe(2);
    const [first, left] = (await books.of(payer)).requests;
    expect(left).toMatchObject({ cached: 1, outcome: Outcome.LEFT, cost: first?.cost });
    expect([(await books.of(payer)).held, upstream.received.length]).toEqual([0, 1]);
  });
});

test("an answer that ended where its key's credit did is not told to who has more, and one that ended before is", async () => {
  const { accountId } = payer;
  const poor = async () => {
    const issued = await issueKey(gateway.storage.keys, {
      accountId,
      name: "poor",
      admin: false,
      now,
      creditLimit: 1000,
    });
    return { ...payer, apiKey: issued.secret, keyId: issued.key.id };
  };
  const unbounded = (content: string) => ({
    path: "/v1/chat/completions",
    body: { model: "gpt", messages: [{ role: "user", content }] },
  });
  let left = 0;
  upstream.script = (exchange) => {
    const { max_tokens, max_completion_tokens = max_tokens } = exchange.asked;
    const output = max_completion_tokens - left;
    const usage = { prompt_tokens: 9, completion_tokens: output, total_tokens: 9 + output };
    exchange.json(200, chatAnswer({ content: "Hello" }, left === 0 ? "length" : "stop", { usage }));
  };
  expect((await ask(unbounded("a"), {}, await poor())).status).toBe(200);
  left = 1;
  expect((await ask(unbounded("b"), {}, await poor())).status).toBe(200);
  upstream.script = answerAsAny;
  expect([cacheOf(await ask(unbounded("a"))), cacheOf(await ask(unbounded("b")))]).toEqual(["miss", "hit"]);
});

test("nothing is kept, and no header tells of it, where the configuration does not ask for it", async () => {
  await startAnother(undefined);
  for (let i = 0; i < 2; i++) expect(cacheOf(await ask())).toBeUndefined();
  expect(upstream.received).toHaveLength(2);
});

test("streams that run beside each other are recorded in no more room than there is, and give it back", () => {
  const room = createRoom(3000);
  const frames = (length: number) => [Wire.ofJson(ChatCompletionChunkSchema, { id: "x".repeat(length) })];
  const [one, other] = [createRecording(10_000, room), createRecording(10_000, room)];
  one.add(frames(1000));
  other.add(frames(1000));
  other.add(frames(1000));
  expect([one.answer() === undefined, other.answer() === undefined]).toEqual([false, true]);
  one.end();
  expect(room.take(3000)).toBe(true);
});

test("the room tells how much it holds", () => {
  const settings = { cache: { maxBytes: 10_000, keepMs: 1000 } };
  const cache = createAnswerCache({ settings: () => settings, clock: () => now })() as AnswerCache;
  const kept = { recorded: Buffer.alloc(1000), model: "m", isPriced: true, cost: 1, dropped: undefined, at: now };
  for (let i = 0; i < 100; i++) cache.keep(String(i), kept);
  expect([cache.entries(), cache.bytes()]).toEqual([6, 6 * 1512]);
  expect(cache.maxAnswerBytes).toBe(1250);
});
