/**
 * A text completion of several prompts on a chat model: each prompt is a call at the upstream, a few at a time, and the
 * caller sees one answer, whole or streamed, over upstreams of either family.
 */
import { setTimeout } from "node:timers/promises";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  ChatCompletionChunkSchema,
  type CreateChatCompletionRequestSchema,
} from "../../../gen/modelgateway/v1/chat_pb.ts";
import { CreateCompletionRequestSchema } from "../../../gen/modelgateway/v1/completions_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { type Answer, anyRoom, type Call, here, nobody } from "../../../src/call/call.ts";
import { newCallRecord } from "../../../src/call/call-record.ts";
import type { Form } from "../../../src/call/operations.ts";
import { invalidValue } from "../../../src/call/refusals.ts";
import { defaultTiers } from "../../../src/call/tiers.ts";
import { createCapture } from "../../../src/pipeline/charge/capture.ts";
import { createCounting } from "../../../src/pipeline/charge/count-used.ts";
import { createKeptPrices } from "../../../src/pipeline/charge/kept-prices.ts";
import { createCandidatesFor } from "../../../src/pipeline/complete/candidates.ts";
import { createComplete } from "../../../src/pipeline/complete/complete.ts";
import { interleave } from "../../../src/pipeline/complete/concurrently.ts";
import { createHedge } from "../../../src/pipeline/complete/hedge.ts";
import { createSend } from "../../../src/pipeline/complete/send.ts";
import { createAnthropicProvider } from "../../../src/providers/anthropic/dialect.ts";
import type { Provider } from "../../../src/providers/contract.ts";
import { createOpenAiProvider } from "../../../src/providers/openai/dialect.ts";
import { CallerAbort } from "../../../src/runtime/caller-abort.ts";
import { createCatalog } from "../../../src/targets/catalog.ts";
import { createTargets } from "../../../src/targets/targets.ts";
import { counter } from "../../../src/tokens/counter.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { accelerators } from "../../support/accelerators.ts";
import { asJson, doorsOf, endpoints, eventsOf } from "../../support/clients/endpoints.ts";
import { eventually } from "../../support/eventually.ts";
import { anthropicUpstreamAt, now, startTestGateway, type TestGateway, upstreamAt } from "../../support/gateway.ts";
import { openLedger } from "../../support/money/ledger.ts";
import { eventStream, type ScriptedExchange, startScriptedUpstream } from "../../support/scripted-upstream.ts";
import {
  anthropicFrames,
  blockEvents,
  chatAnswer,
  chatChunk,
  completionPiece,
  done,
  messageAnswer,
  messageEnd,
  messageStart,
  openaiFrames,
  usageChunk,
} from "../../support/vendors.ts";

interface Asked {
  readonly prompt: string;
  readonly n: number;
}

function askedOf({ body }: ScriptedExchange): Asked {
  const { messages, n = 1 } = JSON.parse(body.toString()) as { messages: { content: unknown }[]; n?: number };
  const content = messages[0]?.content;
  const prompt =
    typeof content === "string" ? content : (content as { text: string }[]).map(({ text }) => text).join("");
  return { prompt, n };
}

/** The answer of an upstream of a family to one prompt: a text in two pieces, and usage of 9 and 2 tokens. */
interface Upstream {
  readonly name: string;
  readonly providerAt: (baseUrl: string) => Provider;
  readonly whole: (asked: Asked) => JsonObject;
  /** The first piece, and what is left. */
  readonly begin: (asked: Asked) => string;
  readonly rest: (asked: Asked) => string;
  /** How many choices it can give. */
  readonly n: number;
}

/** Each prompt is answered by a model of its own, at its own time. */
const headFor = (prompt: string) => ({ created: 1_000 + (prompt.codePointAt(0) ?? 0), model: `v-${prompt}` });
const indices = (n: number) => Array.from({ length: n }, (_, k) => k);
const wordsOf = (prompt: string, k: number) => [`<${prompt}`, `:${k}>`] as const;

const upstreams: readonly Upstream[] = [
  {
    name: "OpenAI's family",
    n: 2,
    providerAt(baseUrl) {
      const provider = createOpenAiProvider({ ...accelerators, baseUrl, apiKey: "k" });
      // As one that serves chat and no text completions.
      return { ...provider, speaks: { chat: provider.speaks.chat as NonNullable<typeof provider.speaks.chat> } };
    },
    whole: ({ prompt, n }) =>
      chatAnswer({}, "stop", {
        choices: indices(n).map((index) => ({
          index,
          message: { role: "assistant", content: wordsOf(prompt, index).join("") },
          finish_reason: "stop",
        })),
      }) as JsonObject,
    begin: ({ prompt, n }) =>
      openaiFrames(
        ...indices(n).map((index) =>
          chatChunk({}, null, {
            ...headFor(prompt),
            choices: [{ index, delta: { content: wordsOf(prompt, index)[0] } }],
          }),
        ),
      ),
    rest: ({ prompt, n }) =>
      openaiFrames(
        ...indices(n).map((index) =>
          chatChunk({}, null, {
            ...headFor(prompt),
            choices: [{ index, delta: { content: wordsOf(prompt, index)[1] }, finish_reason: "stop" }],
          }),
        ),
        usageChunk(),
      ) + done,
  },
  {
    name: "Anthropic's family",
    n: 1,
    providerAt: (baseUrl) => createAnthropicProvider({ baseUrl, apiKey: "k" }),
    whole: ({ prompt }) => messageAnswer([{ type: "text", text: wordsOf(prompt, 0).join("") }]) as JsonObject,
    begin: ({ prompt }) =>
      anthropicFrames(
        messageStart(),
        ...blockEvents(0, { type: "text", text: "" }, { type: "text_delta", text: wordsOf(prompt, 0)[0] }).slice(0, 2),
      ),
    rest: ({ prompt }) =>
      anthropicFrames(
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: wordsOf(prompt, 0)[1] } },
        { type: "content_block_stop", index: 0 },
        ...messageEnd(),
      ),
  },
];

const scripted = await startScriptedUpstream();
const opened: Provider[] = [];

afterEach(async () => {
  await eventually(() => expect(scripted.openRequests).toBe(0));
  scripted.script = undefined;
});

const money = await openLedger({ postpaid: true });
const { inHand: ledger } = money.ledger;

afterAll(async () => {
  await Promise.all(opened.map((provider) => provider.close()));
  await scripted.close();
  await money.close();
});

const model = "some-chat";
const targets = [{ upstream: "far", model: "some-chat", priority: 0, weight: 1 }];
const catalog = createCatalog([{ id: model, aliases: [], family: "some", kind: "chat", targets }]);

type Request = Wire<typeof CreateCompletionRequestSchema>;

function fromJson(json: JsonObject): Request {
  return Wire.ofBytes(CreateCompletionRequestSchema, Buffer.from(JSON.stringify(json)));
}

const settings = {
  tiers: defaultTiers,
  breaker: { failures: 5, openMs: 1000 },
  retries: { attempts: 1, share: 0 },
  hedging: undefined,
  unit: { code: "JPY" },
};

function completeAt(upstream: Upstream) {
  const provider = upstream.providerAt(scripted.baseUrl);
  opened.push(provider);
  const providers = new Map([["far", provider]]);
  const [clock, random] = [() => now, () => 0];
  const targets = createTargets({ settings: () => settings, clock });
  const send = createSend({ targets, hedge: createHedge(() => 0), clock, random });
  const keptPrices = createKeptPrices({ keep: async () => {}, onError: () => {} });
  const capture = createCapture({ ledger, keptPrices, clock, onUsed: () => {}, onError: () => {} });
  const complete = createComplete({
    ...{
      candidatesFor: createCandidatesFor({ catalog, providers: () => providers, targets, random }),
      send,
      ledger,
      capture,
      clock,
    },
    counting: createCounting({ counter, hurry: new CallerAbort(), onError: () => {} }),
    settings: () => settings,
  });
  return async (form: Form, request: JsonObject | Request, signal = new AbortController().signal): Promise<Answer> => {
    const call: Call<typeof CreateCompletionRequestSchema> = {
      id: "req_1",
      method: InferenceService.method.createCompletion,
      header: () => undefined,
      peer: here,
      caller: { ...nobody, rights: "key", accountId: "acc_1", keyId: "key_1", mustPay: false },
      request: request instanceof Wire ? request : fromJson({ model, ...request }),
      body: anyRoom,
      signal,
      record: newCallRecord(),
    };
    return complete("completions", form, call);
  };
}

function bodyOf(answer: Answer): JsonObject {
  if (answer.kind !== "whole") throw new Error("the answer is not whole");
  return JSON.parse(answer.body.bytes().toString()) as JsonObject;
}

async function piecesOf(answer: Answer, pieces: JsonObject[] = []): Promise<JsonObject[]> {
  if (answer.kind !== "stream") throw new Error("the answer is no stream");
  for await (const batch of answer.frames) pieces.push(...batch.map((piece) => JSON.parse(piece.bytes().toString())));
  return pieces;
}

const choicesOf = ({ choices }: JsonObject) =>
  choices as { index: number; text: string; finish_reason: string | null }[];

/** The texts of a stream by their index, and how often each ends. */
function joined(pieces: readonly JsonObject[]) {
  const texts: string[] = [];
  const ends: number[] = [];
  for (const { index, text, finish_reason } of pieces.flatMap(choicesOf)) {
    texts[index] = (texts[index] ?? "") + text;
    ends[index] = (ends[index] ?? 0) + (finish_reason ? 1 : 0);
  }
  return { texts, ends };
}

const prompts = ["a", "b", "c", "d", "e", "f", "g"];
const textsFor = (n: number) => prompts.flatMap((prompt) => indices(n).map((k) => `<${prompt}:${k}>`));

/** Takes so many requests, in the order of their prompts. */
async function taken(count: number): Promise<ScriptedExchange[]> {
  const exchanges = await Promise.all(indices(count).map(() => scripted.next()));
  return exchanges.sort((a, b) => (askedOf(a).prompt < askedOf(b).prompt ? -1 : 1));
}

for (const upstream of upstreams) {
  const { n } = upstream;
  const complete = completeAt(upstream);
  const answerWhole = (exchange: ScriptedExchange) => exchange.json(200, upstream.whole(askedOf(exchange)));
  const begin = (exchange: ScriptedExchange) => {
    exchange.head(200, eventStream);
    return exchange.write(upstream.begin(askedOf(exchange)));
  };
  const rest = (exchange: ScriptedExchange) => exchange.end(upstream.rest(askedOf(exchange)));
  const answerInPieces = async (exchange: ScriptedExchange) => {
    await begin(exchange);
    rest(exchange);
  };

  describe(`several prompts over an upstream of ${upstream.name}`, () => {
    test("are answered whole, choice by choice in the order of the prompts, with all their usage", async () => {
      const answering = complete("whole", { prompt: prompts, n });
      // In the order of the prompts, whichever is answered first.
      const first = await taken(4);
      for (const exchange of first.reverse()) answerWhole(exchange);
      scripted.script = answerWhole;
      const { id, object, created, usage, ...answer } = bodyOf(await answering);
      expect({ id, object }).toEqual({ id: "cmpl-1", object: "text_completion" });
      expect(created).toBeTypeOf("number");
      expect(choicesOf(answer).map(({ index, text }) => [index, text])).toEqual([...textsFor(n).entries()]);
      const times = prompts.length;
      expect(usage).toMatchObject({ prompt_tokens: 9 * times, completion_tokens: 2 * times, total_tokens: 11 * times });
    });

    test("are asked for four at a time, and no more", async () => {
      const answering = complete("whole", { prompt: prompts });
      const running = await taken(4);
      for (let asked = 4; asked < prompts.length; asked++) {
        expect(scripted.openRequests).toBe(4);
        answerWhole(running.shift() as ScriptedExchange);
        running.push(await scripted.next());
        expect(askedOf(running.at(-1) as ScriptedExchange).prompt).toBe(prompts[asked]);
      }
      for (const exchange of running) answerWhole(exchange);
      expect(choicesOf(bodyOf(await answering))).toHaveLength(prompts.length);
    });

    test("are streamed as they come, all with one head, and the usage once, last", async () => {
      scripted.script = (exchange) => void answerInPieces(exchange);
      const request = { prompt: prompts, n, stream_options: { include_usage: true } };
      const pieces = await piecesOf(await complete("stream", request));
      const { texts, ends } = joined(pieces);
      expect(texts).toEqual(textsFor(n));
      expect(ends).toEqual(texts.map(() => 1));
      expect(new Set(pieces.map(({ id, created, model }) => `${id} ${created} ${model}`)).size).toBe(1);
      const times = prompts.length;
      const usage = { prompt_tokens: 9 * times, completion_tokens: 2 * times, total_tokens: 11 * times };
      expect(pieces.at(-1)).toMatchObject({ object: "text_completion", choices: [], usage });
      for (const { choices, usage } of pieces.slice(0, -1)) {
        expect(choices).not.toEqual([]);
        expect(usage).toBeNull();
      }
    });

    test("are streamed without usage where nobody asked for it", async () => {
      scripted.script = (exchange) => void answerInPieces(exchange);
      const pieces = await piecesOf(await complete("stream", { prompt: ["a", "b"] }));
      expect(joined(pieces).texts).toEqual(["<a:0>", "<b:0>"]);
      for (const piece of pieces) expect(piece).not.toHaveProperty("usage");
    });

    test("come in turn: what is there is handed on, though another prompt is silent", async () => {
      const answering = complete("stream", { prompt: ["a", "b"], n });
      const [a, b] = (await taken(2)) as [ScriptedExchange, ScriptedExchange];
      a.head(200, eventStream);
      await begin(b);
      const answer = await answering;
      if (answer.kind !== "stream") throw new Error("the answer is no stream");
      const frames = answer.frames[Symbol.asyncIterator]();
      const [piece] = (await frames.next()).value ?? [];
      expect(choicesOf(JSON.parse(piece?.bytes().toString() ?? "{}"))).toMatchObject([{ index: n, text: "<b" }]);
      rest(b);
      await a.write(upstream.begin(askedOf(a)));
      rest(a);
      while (!(await frames.next()).done);
    });

    test("are refused as the upstream refuses one of them, and the others are given up", async () => {
      for (const form of ["whole", "stream"] as const) {
        const answering = complete(form, { prompt: prompts });
        const refused = answering.catch((error: unknown) => error);
        const [a, b, c, d] = (await taken(4)) as [
          ScriptedExchange,
          ScriptedExchange,
          ScriptedExchange,
          ScriptedExchange,
        ];
        if (form === "stream") await begin(a);
        b.json(429, { error: { message: "slow down", type: "rate_limit_error" } }, { "retry-after": "7" });
        await Promise.all([a.left, c.left, d.left]);
        expect(await refused).toMatchObject({ status: 429, message: expect.stringContaining("slow down") });
      }
    });

    test("end in the failure of one that breaks, and the others are given up", async () => {
      const answering = complete("stream", { prompt: prompts });
      const [a, b, c, d] = (await taken(4)) as [ScriptedExchange, ScriptedExchange, ScriptedExchange, ScriptedExchange];
      for (const exchange of [a, b, c, d]) await begin(exchange);
      const pieces: JsonObject[] = [];
      const reading = piecesOf(await answering, pieces).catch((error: unknown) => error);
      await eventually(() => expect(pieces.flatMap(choicesOf)).toHaveLength(4));
      c.destroy();
      await Promise.all([a.left, b.left, d.left]);
      expect(await reading).toMatchObject({ status: 502 });
      expect(joined(pieces).ends).toEqual([0, 0, 0, 0]);
    });

    test("end in the refusal of one that is asked for later", async () => {
      const answering = complete("stream", { prompt: prompts });
      const first = await taken(4);
      for (const exchange of first) await begin(exchange);
      const reading = piecesOf(await answering).catch((error: unknown) => error);
      const [a, ...others] = first as [ScriptedExchange, ...ScriptedExchange[]];
      rest(a);
      const fifth = await scripted.next();
      expect(askedOf(fifth).prompt).toBe("e");
      fifth.json(400, { error: { message: "not that one", type: "invalid_request_error" } });
      await Promise.all(others.map(({ left }) => left));
      expect(await reading).toMatchObject({ status: 400, message: expect.stringContaining("not that one") });
    });

    test("are all let go when their caller leaves, whole or streamed, begun or not", async () => {
      for (const form of ["whole", "stream"] as const) {
        const leaving = new AbortController();
        const answering = complete(form, { prompt: prompts }, leaving.signal).catch((error: unknown) => error);
        const exchanges = await taken(4);
        leaving.abort();
        await Promise.all(exchanges.map(({ left }) => left));
        expect(await answering).toMatchObject({ status: 499 });
      }
      const answering = complete("stream", { prompt: prompts });
      const exchanges = await taken(4);
      for (const exchange of exchanges) await begin(exchange);
      const answer = await answering;
      if (answer.kind !== "stream") throw new Error("the answer is no stream");
      for await (const _ of answer.frames) break;
      await Promise.all(exchanges.map(({ left }) => left));
    });

    test("are not asked for at all where one of them is no text", async () => {
      const before = scripted.received.length;
      const refused = async () => complete("whole", { prompt: ["a", "b", "c", "d", "e", [1, 2]] });
      await expect(refused()).rejects.toMatchObject({ status: 400, param: "prompt" });
      expect(scripted.received.length).toBe(before);
    });

    test("tell what was left out of them, once", async () => {
      scripted.script = answerWhole;
      const answer = await complete("whole", { prompt: ["a", "b"], suffix: "!" });
      expect(answer.headers).toMatchObject({ "x-gateway-dropped": "suffix" });
    });

    test("are echoed each before its own text, empty ones too", async () => {
      scripted.script = answerWhole;
      const answer = bodyOf(await complete("whole", { prompt: ["a", "b"], echo: true }));
      expect(choicesOf(answer).map(({ text }) => text)).toEqual(["a<a:0>", "b<b:0>"]);
      const withEmpty = bodyOf(await complete("whole", { prompt: ["x", [], "y", ""], echo: true }));
      expect(choicesOf(withEmpty).map(({ text }) => text[0])).toEqual(["x", "<", "y", "<"]);
    });
  });
}

describe("several prompts through the doors", () => {
  let anthropic: TestGateway;
  let openai: TestGateway;
  const [, family] = upstreams as [Upstream, Upstream];
  const request = { model: "embedded-chat", prompt: ["a", "b", "c", "d", "e"] };
  const post = (gateway: TestGateway, body: JsonObject, signal?: AbortSignal) =>
    fetch(`${gateway.baseUrl}/completions`, {
      method: "POST",
      ...asJson(body),
      headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
      ...(signal ? { signal } : {}),
    });

  beforeAll(async () => {
    anthropic = await startTestGateway({ ...anthropicUpstreamAt(scripted.baseUrl), disconnectDrainMs: 300 });
    openai = await startTestGateway(upstreamAt(scripted.baseUrl));
  });

  afterAll(async () => {
    await anthropic.close();
    await openai.close();
  });

  test("are answered alike by every door, whole and streamed", async () => {
    for (const stream of [false, true]) {
      scripted.script = (exchange) => {
        if (!stream) return exchange.json(200, family.whole(askedOf(exchange)));
        exchange.head(200, eventStream);
        exchange.end(family.begin(askedOf(exchange)) + family.rest(askedOf(exchange)));
      };
      for (const door of doorsOf(endpoints.completions)) {
        const { answers, refused } = await door.call(anthropic, { request, stream });
        expect(refused, door.name).toBeUndefined();
        expect(joined(answers), door.name).toEqual({
          texts: request.prompt.map((prompt) => `<${prompt}:0>`),
          ends: request.prompt.map(() => 1),
        });
      }
    }
  });

  test("are refused with a status before the first frame, and with the family's error frame after it", async () => {
    const refusing = post(anthropic, { ...request, stream: true });
    const [first, ...waiting] = await taken(4);
    first?.json(429, { type: "error", error: { type: "rate_limit_error", message: "slow down" } });
    expect((await refusing).status).toBe(429);
    await Promise.all(waiting.map(({ left }) => left));

    const breaking = post(anthropic, { ...request, stream: true });
    const [broken, ...others] = await taken(4);
    for (const exchange of [broken as ScriptedExchange, ...others]) {
      exchange.head(200, eventStream);
      await exchange.write(family.begin(askedOf(exchange)));
    }
    const response = await breaking;
    expect(response.status).toBe(200);
    broken?.destroy();
    await Promise.all(others.map(({ left }) => left));
    const payloads = eventsOf(new Uint8Array(await response.arrayBuffer())).map(({ data }) => data.toString());
    expect(JSON.parse(payloads.at(-1) ?? "")).toMatchObject({ error: { type: "server_error", code: "502" } });
  });

  test("are let go when the client hangs up, and logged as one call", async () => {
    const leaving = new AbortController();
    const response = post(anthropic, { ...request, stream: true }, leaving.signal).catch(() => undefined);
    const exchanges = await taken(4);
    for (const exchange of exchanges) {
      exchange.head(200, eventStream);
      await exchange.write(family.begin(askedOf(exchange)));
    }
    const id = (await response)?.headers.get("x-request-id");
    leaving.abort();
    await Promise.all(exchanges.map(({ left }) => left));
    expect(new Set(exchanges.map(({ headers }) => headers["x-request-id"]))).toEqual(new Set([id]));
    await eventually(() => expect(anthropic.logged()).toContain(`${id}`));
    expect(anthropic.logged().split(`${id}`)).toHaveLength(2);
  });

  test("go on untouched, in one call, where the upstream serves text completions", async () => {
    const body = `{"model" : "embedded-chat","prompt":["a" , "b",[1,2]], "n":2.0,"seed":1e0}`;
    const response = fetch(`${openai.baseUrl}/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${openai.apiKey}`, "content-type": "application/json" },
      body,
    });
    const exchange = await scripted.next();
    expect([exchange.path, exchange.body.toString()]).toEqual(["/v1/completions", body]);
    const usage = { prompt_tokens: 4, completion_tokens: 1, total_tokens: 5 };
    const answer = completionPiece("Hello", "stop", { usage });
    exchange.json(200, answer);
    expect(await (await response).json()).toEqual(answer);
  });

  test("keep their back-pressure: a client that does not read stops all the upstreams", async () => {
    const bare = completeAt(family);
    const answering = bare("stream", { prompt: ["a", "b"] });
    const exchanges = await taken(2);
    const delta = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "x".repeat(60_000) } };
    const written = [0, 0];
    const streaming = exchanges.map(async (exchange, i) => {
      exchange.head(200, eventStream);
      await exchange.write(family.begin(askedOf(exchange)));
      for (; written[i] !== 500; (written[i] as number)++) if (!(await exchange.write(anthropicFrames(delta)))) return;
      exchange.end(family.rest(askedOf(exchange)));
    });
    const answer = await answering;
    if (answer.kind !== "stream") throw new Error("the answer is no stream");
    const frames = answer.frames[Symbol.asyncIterator]();
    await frames.next();
    // They have stopped when nothing more is read for a while. Without back-pressure all would be read.
    let before: string;
    do {
      before = written.join();
      await setTimeout(300);
    } while (written.join() !== before);
    // Each offers 30 MB; the sockets' buffers hold a few.
    for (const count of written) expect(count).toBeLessThan(400);
    while (!(await frames.next()).done);
    await Promise.all(streaming);
    expect(written).toEqual([500, 500]);
  });
});

describe("streams that are interleaved", () => {
  test("have their turns, however fast one of them is", async () => {
    async function* count(name: string) {
      for (let i = 0; i < 100; i++) yield name;
    }
    const heard: string[] = [];
    for await (const name of interleave([count("a"), count("b"), count("c")], 2, () => {})) heard.push(name);
    expect(heard).toHaveLength(300);
    const early = heard.slice(0, 100);
    for (const name of ["a", "b"]) expect(early.filter((one) => one === name).length).toBeGreaterThan(40);
    expect(heard.indexOf("c")).toBeGreaterThanOrEqual(190);
  });

  test("are at most one step ahead of their reader, and all closed when it leaves", async () => {
    const steps = { a: 0, b: 0, c: 0 };
    const closed: string[] = [];
    let stopped = 0;
    async function* count(name: keyof typeof steps) {
      try {
        for (;;) yield ++steps[name];
      } finally {
        closed.push(name);
      }
    }
    let reads = 0;
    for await (const _ of interleave([count("a"), count("b"), count("c")], 2, () => stopped++)) {
      if (++reads === 10) break;
    }
    expect(steps.a + steps.b).toBeLessThanOrEqual(12);
    expect(steps.c).toBe(0);
    expect(closed.sort()).toEqual(["a", "b"]);
    expect(stopped).toBe(1);
  });
});

test("a stream that was accepted beside a refused one is begun and closed, so that whatever watches it sees its end", async () => {
  const [family] = upstreams as [Upstream, Upstream];
  const seen: string[] = [];
  async function* endless(prompt: string) {
    try {
      for (;;) yield [Wire.ofJson(ChatCompletionChunkSchema, chatChunk({ content: prompt }) as JsonObject, true)];
    } finally {
      seen.push(`${prompt} is closed`);
    }
  }
  const speak = async ({ request }: { request: Wire<typeof CreateChatCompletionRequestSchema> }) => {
    const prompt = (request.json().messages as { content: string }[])[0]?.content ?? "";
    if (prompt === "c") throw invalidValue("prompt", "no");
    return { kind: "stream", frames: endless(prompt) };
  };
  const speaks = { chat: speak } as unknown as Provider["speaks"];
  const complete = completeAt({ ...family, providerAt: () => ({ kind: "openai", speaks, close: async () => {} }) });
  await expect(complete("stream", { prompt: prompts })).rejects.toMatchObject({ status: 400 });
  expect(seen.sort()).toEqual(["a is closed", "b is closed", "d is closed"]);
});

test("a request that came as a message is split alike", async () => {
  const [family] = upstreams as [Upstream, Upstream];
  scripted.script = (exchange) => exchange.json(200, family.whole(askedOf(exchange)));
  const items = ["a", "b"].map((value) => ({ item: { case: "text" as const, value } }));
  const message = create(CreateCompletionRequestSchema, { model, prompt: { case: "promptList", value: { items } } });
  const answer = await completeAt(family)("whole", Wire.ofMessage(CreateCompletionRequestSchema, message));
  expect(choicesOf(bodyOf(answer)).map(({ index, text }) => [index, text])).toEqual([
    [0, "<a:0>"],
    [1, "<b:0>"],
  ]);
});
