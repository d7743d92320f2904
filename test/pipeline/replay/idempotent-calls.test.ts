/**
 * Model calls that are repeated under an `Idempotency-Key` get the first answer again and are charged once, at every door and in
 * every process. A call that was not answered is made anew.
 */

import { randomBytes } from "node:crypto";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { pino } from "pino";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { Role } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { type Gateway, startGateway } from "../../../src/composition/gateway.ts";
import { type Config, loadConfig } from "../../../src/config/config.ts";
import { open, seal } from "../../../src/pipeline/replay/seal.ts";
import { issueKey } from "../../../src/services/keys/issue-key.ts";
import { hear } from "../../support/clients/hear.ts";
import { environment } from "../../support/environment.ts";
import { eventually } from "../../support/eventually.ts";
import { openAccount, type Payer } from "../../support/payer.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { bytesOf } from "../../support/storage/test-database.ts";
import {
  answerAsAny,
  chat,
  type OneRequest,
  oneOfEach,
  responses,
  streamed,
} from "../../support/upstreams/one-of-each.ts";
import { cost, paidModels } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { chatAnswer, chatChunk, openaiFrames } from "../../support/vendors.ts";

const dayMs = 24 * 3_600_000;
/** The cost of the short chat answer. */
const full = 9 * cost.input + 2 * cost.output;
const streamedChat = streamed(chat);

let payer: Payer;
let now: number;

function servedAt(baseUrl: string): Partial<Config> {
  const cache = { maxBytes: 1024 * 1024, keepMs: 1, priceShare: 1 };
  return { ...paidModels(baseUrl), cache, disconnectDrainMs: 300 };
}

const { upstream, gateway, books } = scriptedStage(servedAt, { clock: () => now });

/** Accounts do not share answers: each test has its own. */
beforeEach(async () => {
  now = Date.UTC(2026, 0, 2);
  upstream.script = answerAsAny;
  upstream.received.length = 0;
  payer = await openAccount(gateway);
});

/** Another process of the gateway, over the same database. */
async function startBeside(): Promise<Gateway> {
  const more = { port: 0, drainMs: 0, metrics: undefined, retries: { attempts: 1, share: 0 } };
  const config: Config = { ...loadConfig(undefined, environment), ...servedAt(upstream.baseUrl), ...more };
  const { storage } = gateway;
  return startGateway({ config, storage, log: pino({ level: "silent" }), clock: () => now, random: () => 0 });
}

async function startAnother(): Promise<Gateway> {
  const other = await startBeside();
  onTestFinished(() => other.close());
  return other;
}

interface Asked {
  readonly key?: string;
  readonly by?: Payer;
  readonly at?: Pick<Gateway, "port">;
  readonly headers?: Readonly<Record<string, string>>;
}

function begin({ path, body }: OneRequest = chat, { key = "k-1", by = payer, at = gateway, headers = {} }: Asked = {}) {
  return hear(at, { path, body, headers: { "idempotency-key": key, ...headers }, apiKey: by.apiKey });
}

function ask(request?: OneRequest, asked?: Asked) {
  return begin(request, asked).answer;
}

type Heard = Awaited<ReturnType<typeof ask>>;

const isReplay = ({ headers }: Heard) => headers["x-gateway-replayed"] === "true";
const codeOf = ({ text }: Heard) => (JSON.parse(text) as { error: { code: string } }).error.code;

/** All of an answer that a replay has in common with it. */
const seen = ({ status, bytes, headers }: Heard) => ({
  ...{ status, bytes: bytes.toString("latin1"), type: headers["content-type"] },
  ...{ model: headers["x-gateway-model"], upstream: headers["x-gateway-upstream"] },
});

function rows() {
  return gateway.database.query<{ readonly state: number; readonly expires_at: number; readonly size: number }>(
    "SELECT state, expires_at, size FROM replays WHERE account_id = ?",
    payer.accountId,
  );
}

async function otherKey(init: { models?: readonly string[] } = {}): Promise<Payer> {
  const models = init.models && JSON.stringify(init.models);
  const { accountId } = payer;
  const issued = await issueKey(gateway.storage.keys, { accountId, name: "other", admin: false, now, models });
  return { ...payer, apiKey: issued.secret, keyId: issued.key.id };
}

describe("a request that is repeated", () => {
  for (const [name, request] of Object.entries({ ...oneOfEach, ...responses })) {
    test(`is told the same bytes, and paid once: ${name}`, async () => {
      const first = await ask(request);
      expect([first.status, isReplay(first)]).toEqual([200, false]);
      const asked = upstream.received.length;
      const after = await books.of(payer);
      expect([after.requests.length, after.spent]).toEqual([1, after.requests[0]?.cost]);
      now += dayMs - 1;
      const second = await ask(request);
      expect(seen(second)).toEqual(seen(first));
      expect(isReplay(second)).toBe(true);
      const { headers, trailers } = second;
      expect(headers["x-gateway-original-request-id"]).toBe(first.headers["x-request-id"]);
      expect(headers["x-request-id"]).not.toBe(first.headers["x-request-id"]);
      expect(headers["x-gateway-cost"] ?? trailers["x-gateway-cost"]).toBe("0.00");
      expect(headers["x-gateway-cache"]).toBeUndefined();
      expect(upstream.received).toHaveLength(asked);
      expect(await books.of(payer)).toEqual(after);
    });
  }

  test("counts for its account's rate, and is told of in the log", async () => {
    const left = async () => Number((await ask()).headers["x-ratelimit-remaining-requests"]);
    const [first, second] = [await left(), await left()];
    expect(second).toBe(first - 1);
    const lines = gateway.logged().trim().split("\n");
    const calls = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const own = calls.filter(({ account_id }) => account_id === payer.accountId);
    expect(own.map(({ replayed, model, cost_millionths }) => [replayed, model, cost_millionths])).toEqual([
      [undefined, "gpt", full],
      ["idempotency", "gpt", 0],
    ]);
  });

  test("is the same however its members are ordered, and through whichever door it comes", async () => {
    await ask();
    const turned = { ...chat, body: Object.fromEntries(Object.entries(chat.body).reverse()) };
    expect(isReplay(await ask(turned))).toBe(true);
    const client = createClient(InferenceService, createGrpcTransport({ baseUrl: gateway.rootUrl }));
    const content = { case: "text" as const, value: "Say hello to the caller." };
    const request = { model: "gpt", messages: [{ role: Role.USER, content }] };
    const headers = { authorization: `Bearer ${payer.apiKey}`, "idempotency-key": "k-1" };
    let told: Headers | undefined;
    const onHeader = (metadata: Headers) => {
      told = metadata;
    };
    const answer = await client.createChatCompletion(request, { headers, onHeader });
    expect(answer.choices[0]?.message?.content).toBe("Hello");
    expect(told?.get("x-gateway-replayed")).toBe("true");
    const other = { authorization: `Bearer ${payer.apiKey}`, "idempotency-key": "k-2" };
    const chunks = async () =>
      Array.fromAsync(client.streamChatCompletion(request, { headers: other, onHeader }), (chunk) => chunk);
    expect(await chunks()).toEqual(await chunks());
    expect(told?.get("x-gateway-replayed")).toBe("true");
    expect(isReplay(await ask(streamedChat, { key: "k-2" }))).toBe(true);
    expect(upstream.received).toHaveLength(2);
  });

  test("is made anew after a day, and what is older is deleted in passing", async () => {
    await ask();
    now += dayMs;
    const old = () =>
      gateway.database.query("SELECT count(*) AS count FROM replays WHERE created_at <= ?", now - dayMs);
    expect(await old()).not.toEqual([{ count: 0 }]);
    expect(isReplay(await ask())).toBe(false);
    for (let i = 0; i < 20; i++) await ask(chat, { key: `another-${i}` });
    expect(await old()).toEqual([{ count: 0 }]);
    expect(await rows()).toHaveLength(21);
  });

  test("what is kept of an account is summed up as it comes and goes", async () => {
    const sum = () =>
      gateway.database.query<{ size: number }>("SELECT size FROM replay_sizes WHERE account_id = ?", payer.accountId);
    const kept = async () => (await rows()).reduce((all, { size }) => all + size, 0);
    for (let i = 0; i < 12; i++) await ask(chat, { key: `k-${i}` });
    expect(await kept()).toBeGreaterThan(0);
    expect(await sum()).toEqual([{ size: await kept() }]);
    now += dayMs;
    for (let i = 0; i < 4; i++) await ask(chat, { key: `k-${i}` });
    expect((await rows()).length).toBeLessThan(12);
    expect(await sum()).toEqual([{ size: await kept() }]);
  });

  test("twenty at once are one request to the upstream, one charge and twenty equal answers", async () => {
    for (const request of [chat, streamedChat]) {
      upstream.script = undefined;
      upstream.received.length = 0;
      const { requests } = await books.of(payer);
      const all = Array.from({ length: 20 }, () => ask(request, { key: request === chat ? "whole" : "streamed" }));
      const exchange = await upstream.next();
      upstream.script = answerAsAny;
      answerAsAny(exchange);
      const heard = await Promise.all(all);
      expect(new Set(heard.map((one) => JSON.stringify(seen(one)))).size).toBe(1);
      expect(heard.filter(isReplay)).toHaveLength(19);
      expect(upstream.received).toHaveLength(1);
      expect((await books.of(payer)).requests).toHaveLength(requests.length + 1);
    }
  });

  test("finds its answer from the moment on at which the first has been told all of it", async () => {
    // Long enough that sealing it takes a while.
    const pieces = Array.from({ length: 200 }, () => chatChunk({ content: randomBytes(2048).toString("hex") }));
    upstream.script = (exchange) => exchange.stream(...pieces, chatChunk({}, "stop"));
    let atEnd: ReturnType<typeof rows> | undefined;
    const onPiece = (heard: Buffer) => {
      if (heard.includes('"finish_reason":"stop"')) atEnd ??= rows();
    };
    const headers = { "idempotency-key": "k-1" };
    await hear(gateway, { ...streamedChat, headers, apiKey: payer.apiKey, onPiece }).answer;
    expect(await atEnd).toMatchObject([{ state: 1 }]);
  });

  test("of a response goes on from the response that is kept", async () => {
    const [request] = Object.values(responses) as [OneRequest];
    const { id } = JSON.parse((await ask(request)).text) as { id: string };
    await ask(request);
    const further = { path: request.path, body: { ...request.body, previous_response_id: id } };
    expect((await ask(further, { key: "k-2" })).status).toBe(200);
    expect(isReplay(await ask(further, { key: "k-2" }))).toBe(true);
  });

  test("without a key is made as often as it is asked", async () => {
    const unkeyed = () =>
      hear(gateway, { ...chat, apiKey: payer.apiKey, headers: { "cache-control": "no-store" } }).answer;
    expect([await unkeyed(), await unkeyed()].some(isReplay)).toBe(false);
    expect([upstream.received.length, (await rows()).length]).toEqual([2, 0]);
  });

  test("costs nothing where the first was told from the cache, for a part of the price", async () => {
    await ask(chat, { key: "a" });
    const fromCache = await ask(chat, { key: "b" });
    expect(fromCache.headers["x-gateway-cache"]).toBe("hit");
    now += 10_000;
    expect(isReplay(await ask(chat, { key: "b" }))).toBe(true);
    expect((await books.of(payer)).requests.map(({ cost }) => cost)).toEqual([full, full]);
    expect(upstream.received).toHaveLength(1);
  });
});

describe("another request under the key", () => {
  const other = { ...chat, body: { ...chat.body, seed: 7 } };

  test("is refused, and so is one for the other form, or by another model", async () => {
    await ask();
    for (const request of [other, streamedChat, { ...chat, body: { ...chat.body, model: "claude" } }]) {
      const heard = await ask(request);
      expect([heard.status, heard.headers["x-should-retry"], codeOf(heard)]).toEqual([...[409, "false", "conflict"]]);
    }
    expect([upstream.received.length, (await books.of(payer)).requests.length]).toEqual([1, 1]);
  });

  test("is refused while the first runs, too", async () => {
    upstream.script = undefined;
    const first = ask();
    const exchange = await upstream.next();
    expect((await ask(other)).status).toBe(409);
    answerAsAny(exchange);
    expect((await first).status).toBe(200);
  });

  test("is another's, where the account or the operation is another", async () => {
    await ask();
    expect(isReplay(await ask(chat, { by: await openAccount(gateway) }))).toBe(false);
    expect(isReplay(await ask(oneOfEach.embeddings))).toBe(false);
    expect(upstream.received).toHaveLength(3);
  });
});

describe("a key of the account", () => {
  test("that may not use the model is refused what another was answered, and so is one that is disabled", async () => {
    await ask();
    const barred = await ask(chat, { by: await otherKey({ models: ["claude"] }) });
    expect([barred.status, barred.text.includes("Hello")]).toEqual([403, false]);
    expect(isReplay(await ask(chat, { by: await otherKey() }))).toBe(true);
    await gateway.storage.keys.update(payer.accountId, payer.keyId, { disabled: 1 });
    expect((await ask()).status).toBe(401);
  });

  test("is refused for a header that is no key, by its name", async () => {
    for (const key of ["x".repeat(256), "schlüssel"]) {
      const { status, text } = await ask(chat, { key });
      expect([status, (JSON.parse(text) as { error: { param: string } }).error.param]).toEqual([
        400,
        "idempotency-key",
      ]);
    }
    expect((await ask(chat, { key: "x".repeat(255) })).status).toBe(200);
  });
});

describe("a call that was not answered frees its key", () => {
  /** The key is freed behind the answer: in the same process it may be claimed at once, in others a moment later. */
  const noRows = async () => expect(await rows()).toEqual([]);
  const answersAnew = async (request: OneRequest = chat) => {
    upstream.script = answerAsAny;
    const heard = await ask(request);
    expect([heard.status, isReplay(heard)]).toEqual([200, false]);
    expect(isReplay(await ask(request))).toBe(true);
  };

  test("where it was refused, by the upstream or by the gateway", async () => {
    upstream.script = (exchange) => exchange.json(500, { error: { message: "broken" } });
    expect((await ask()).status).toBe(502);
    await eventually(noRows);
    expect((await ask({ ...chat, body: { ...chat.body, model: "nobody-s" } })).status).toBe(404);
    await eventually(noRows);
    await answersAnew();
  });

  test("where its stream broke off: what came is charged, and the repetition too", async () => {
    upstream.script = async (exchange) => {
      exchange.head(200, eventStream);
      await exchange.write(openaiFrames(chatChunk({ content: "Hel" })));
      exchange.destroy();
    };
    expect((await ask(streamedChat)).text).toContain('"error"');
    await answersAnew(streamedChat);
    expect((await books.of(payer)).requests.map(({ outcome }) => outcome)).toEqual([Outcome.BROKEN, Outcome.ANSWERED]);
  });

  test("where its caller left, whole or in the middle of a stream", async () => {
    for (const request of [chat, streamedChat]) {
      upstream.script = undefined;
      const heard = begin(request, { key: "k-1" });
      const exchange = await upstream.next();
      if (request === streamedChat) {
        exchange.head(200, eventStream);
        await exchange.write(openaiFrames(chatChunk({ content: "Hel" })));
        await heard.begun;
      }
      await heard.leave();
      await exchange.left;
      await expect.poll(rows).toEqual([]);
    }
    await answersAnew();
  });

  test("and who waits for it makes it anew; who leaves while waiting leaves the first alone", async () => {
    upstream.script = undefined;
    const first = begin();
    const one = await upstream.next();
    const [second, third] = [begin(), begin()];
    // They are there when one that came after them was refused.
    expect((await ask(streamedChat)).status).toBe(409);
    await third.leave();
    await first.leave();
    await one.left;
    const two = await upstream.next();
    answerAsAny(two);
    const heard = await second.answer;
    expect([heard.status, isReplay(heard), upstream.received.length]).toEqual([200, false, 2]);
    upstream.script = answerAsAny;
    expect(isReplay(await ask())).toBe(true);
  });
});

describe("with several processes", () => {
  test("one that is started later tells what the one before was answered", async () => {
    const before = await startBeside();
    const first = await ask(streamedChat, { at: before });
    await before.close();
    const after = await startAnother();
    const second = await ask(streamedChat, { at: after });
    expect([isReplay(second), seen(second)]).toEqual([true, seen(first)]);
    expect(upstream.received).toHaveLength(1);
  });

  test("a repetition at another is refused while the first runs, and told its answer later", async () => {
    const other = await startAnother();
    upstream.script = undefined;
    const first = ask();
    const exchange = await upstream.next();
    const early = await ask(chat, { at: other });
    expect([early.status, early.headers["retry-after"], early.text.includes("still runs")]).toEqual([409, "1", true]);
    answerAsAny(exchange);
    await first;
    expect(isReplay(await ask(chat, { at: other }))).toBe(true);
    expect(upstream.received).toHaveLength(1);
  });

  test.each([2, 48])(
    "one that lives keeps what it has begun where the clock is set forward by %i hours",
    async (hours) => {
      const other = await startAnother();
      upstream.script = undefined;
      const first = ask();
      const exchange = await upstream.next();
      now += hours * 3_600_000;
      // Each claim has some old ones forgotten.
      upstream.script = answerAsAny;
      for (let i = 0; i < 3; i++) await ask(chat, { key: `another-${i}`, at: other, by: await openAccount(gateway) });
      expect((await ask(chat, { at: other, headers: { "x-gateway-timeout": "5" } })).status).toBe(409);
      answerAsAny(exchange);
      expect((await first).status).toBe(200);
      expect((await ask(chat, { at: other })).headers["x-gateway-original-request-id"]).toBe(
        (await first).headers["x-request-id"],
      );
      expect(upstream.received).toHaveLength(4);
      expect(await rows()).toMatchObject([{ state: 1 }]);
    },
  );

  test("what one that died had begun is anybody's after ninety seconds, and its late answer changes nothing", async () => {
    const other = await startAnother();
    upstream.script = undefined;
    const first = ask();
    const exchange = await upstream.next();
    // From here on nobody sees that this gateway lives.
    await gateway.database.forgetProcesses();
    now += 89_999;
    expect((await ask(chat, { at: other })).status).toBe(409);
    now += 1;
    upstream.script = answerAsAny;
    const second = await ask(chat, { at: other });
    expect([second.status, isReplay(second)]).toEqual([200, false]);
    exchange.json(200, chatAnswer({ content: "Late" }));
    expect((await first).text).toContain("Late");
    expect((await ask()).text).toContain("Hello");
    expect(await rows()).toHaveLength(1);
  });

  test("one that lives keeps what it has begun, for as long as it takes", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    upstream.script = undefined;
    const first = ask();
    const exchange = await upstream.next();
    for (let i = 0; i < 10; i++) {
      now += 20_000;
      vi.advanceTimersByTime(20_000);
      await eventually(async () => expect(await rows()).toMatchObject([{ state: 0, expires_at: now + 90_000 }]));
    }
    answerAsAny(exchange);
    await first;
    const timers = vi.getTimerCount();
    upstream.script = answerAsAny;
    await ask(chat, { key: "k-2" });
    expect(vi.getTimerCount()).toBe(timers);
  });
});

describe("a call that is charged before its answer could be stored", () => {
  const failing = () => {
    const keep = vi.spyOn(gateway.storage.replays, "keep").mockRejectedValue(new Error("connection lost"));
    onTestFinished(() => keep.mockRestore());
    return keep;
  };

  test("keeps its key, and its answer is stored before the repetition asks for it", async () => {
    for (const request of [chat, streamedChat]) {
      const other = await startAnother();
      const key = String(request === chat);
      const keep = failing();
      const first = await ask(request, { key, at: other });
      expect([first.status, (await ask(request, { key })).status]).toEqual([200, 409]);
      expect((await ask(request, { key, at: other })).status).toBe(500);
      keep.mockRestore();
      const second = await ask(request, { key, at: other });
      expect([isReplay(second), seen(second)]).toEqual([true, seen(first)]);
      expect(isReplay(await ask(request, { key }))).toBe(true);
    }
    expect([upstream.received.length, (await books.of(payer)).requests.length]).toEqual([2, 2]);
  });

  test("is not made again where its process died before it was: a repetition is refused, and not charged", async () => {
    const died = await startBeside();
    failing();
    expect((await ask(chat, { at: died })).status).toBe(200);
    await died.close();
    await gateway.database.forgetProcesses();
    await gateway.database.countDeadlines();
    now += 90_000;
    for (let i = 0; i < 2; i++) {
      const { status, headers, text } = await ask();
      expect([status, headers["x-should-retry"], text.includes("answered and charged")]).toEqual([409, "false", true]);
    }
    expect((await ask(streamedChat)).text).toContain("another request");
    expect([upstream.received.length, (await books.of(payer)).requests.length]).toEqual([1, 1]);
  });
});

describe("what is kept", () => {
  const mebibyte = Array.from({ length: 1024 }, () => "x".repeat(1021));
  const longAnswer = (mebibytes: number) => {
    const padding = Array.from({ length: mebibytes }, () => mebibyte);
    return chatAnswer({ content: "Hello" }, "stop", { padding });
  };

  test("is at most 16 MiB long: beyond that a repetition is refused, and not charged", async () => {
    const askAtLength = (key: string) =>
      fetch(gateway.rootUrl + chat.path, {
        method: "POST",
        headers: {
          ...{ authorization: `Bearer ${payer.apiKey}`, "content-type": "application/json" },
          "idempotency-key": key,
        },
        body: JSON.stringify(chat.body),
      });
    upstream.script = (exchange) => exchange.json(200, longAnswer(16));
    expect((await askAtLength("k-1")).status).toBe(200);
    const refused = await askAtLength("k-1");
    expect([refused.status, (await refused.text()).includes("too long")]).toEqual([409, true]);
    expect(upstream.received).toHaveLength(1);
    expect(await rows()).toMatchObject([{ state: 2, size: 0 }]);
    upstream.script = (exchange) => exchange.json(200, longAnswer(15));
    const long = await (await askAtLength("k-2")).text();
    const again = await askAtLength("k-2");
    expect([again.headers.get("x-gateway-replayed"), (await again.text()) === long]).toEqual(["true", true]);
  });

  test("tells nobody what was asked or answered, nor under which key", async () => {
    const words = { prompt: "grandmother-of-pearl", answer: "unrepeatable-answer", key: "once-and-never-again" };
    const body = { model: "gpt", messages: [{ role: "user", content: words.prompt }] };
    const content = words.answer;
    for (const stream of [false, true]) {
      upstream.script = (exchange) =>
        stream
          ? exchange.stream(chatChunk({ content }), chatChunk({}, "stop"))
          : exchange.json(200, chatAnswer({ content }));
      const request = { path: chat.path, body: { ...body, stream } };
      const key = `${words.key}-${stream}`;
      await ask(request, { key });
      expect((await ask(request, { key })).text).toContain(content);
    }
    const all = await bytesOf(gateway.database);
    // The same search finds what is stored unencrypted.
    expect(all.includes(payer.accountId)).toBe(true);
    for (const word of Object.values(words)) expect([word, all.includes(word)]).toEqual([word, false]);
    for (const word of Object.values(words)) expect(gateway.logged()).not.toContain(word);
  });

  test("opens only with what it was sealed with, in the place that it was sealed for", async () => {
    const secret = Buffer.alloc(32, 1);
    for (const text of ["short", "long ".repeat(10_000)]) {
      const sealed = await seal(Buffer.from(text), secret, "here");
      if (text !== "short") expect(sealed.length).toBeLessThan(1000);
      expect((await open(sealed, secret, "here", 50_000)).toString()).toBe(text);
      await expect(open(sealed, Buffer.alloc(32, 2), "here", 50_000)).rejects.toThrow();
      await expect(open(sealed, secret, "there", 50_000)).rejects.toThrow();
      expect(await seal(Buffer.from(text), secret, "here")).not.toEqual(sealed);
    }
  });
});
