/**
 * The table of charges, row by row, over real sockets: callers and upstreams of both families, unary and streamed. The rows are
 * read by a second connection to the database file, at the moment at which the caller has the last byte.
 */
import { writeFile } from "node:fs/promises";
import type { IncomingHttpHeaders } from "node:http";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import Sqlite from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Config } from "../../../src/config/config.ts";
import { createCounting } from "../../../src/pipeline/charge/count-used.ts";
import { CallerAbort } from "../../../src/runtime/caller-abort.ts";
import { formatDecimal } from "../../../src/runtime/decimal.ts";
import { readLine } from "../../../src/storage/journal/records.ts";
import { createSegments } from "../../../src/storage/journal/segments.ts";
import { openStorage, type Storage } from "../../../src/storage/storage.ts";
import { loadTokenizer } from "../../../src/tokens/tokenizer.ts";
import { readMessage } from "../../../src/wire/read.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { type HeardAnswer, type Hearing, hear } from "../../support/clients/hear.ts";
import { Running, starter, temporaryFolder } from "../../support/command.ts";
import { eventually } from "../../support/eventually.ts";
import type { AccountInit } from "../../support/gateway.ts";
import { repricedRows } from "../../support/money/repriced.ts";
import { openAccount, type Payer, type Standing } from "../../support/payer.ts";
import { eventStream, type ScriptedExchange } from "../../support/scripted-upstream.ts";
import { cost, paidModel, paidModels, price } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import {
  anthropicError,
  anthropicFrames,
  blockEvents,
  chatAnswer,
  chatChunk,
  completionPiece,
  done,
  messageAnswer,
  openaiError,
  openaiFrames,
} from "../../support/vendors.ts";

const { upstream, gateway, books } = scriptedStage((baseUrl) => {
  const config = paidModels(baseUrl);
  // Of models that may reason, a caller who leaves pays for the time before the first content, too: on a busy machine that is much.
  const models = [...config.models, ...dearModels].map((model) => ({ ...model, reasoning: false }));
  return { ...config, models, disconnectDrainMs: 300 };
});

afterAll(async () => {
  expect(await repricedRows(gateway.database)).toMatchObject({ differing: [], withoutPrice: 0 });
});

// Calls.

type Script = (exchange: ScriptedExchange) => void;
type Json = Readonly<Record<string, unknown>>;

interface Asked {
  readonly path: string;
  readonly body: Json;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Call {
  readonly payer: Payer;
  readonly answer: HeardAnswer;
  /** The rows when the caller had the last byte. */
  readonly atEnd: Standing;
}

/** What ends an answer of either form. */
const lastWords = ["data: [DONE]\n\n", '"type":"message_stop"', '"type":"response.completed"'];

function begin(
  payer: Payer,
  { path, body, headers }: Asked,
): {
  hearing: Hearing;
  atEnd: () => Promise<Standing | undefined>;
} {
  let standing: Promise<Standing> | undefined;
  const hearing = hear(gateway, {
    path,
    body,
    apiKey: payer.apiKey,
    ...(headers ? { headers } : {}),
    onPiece(heard, headers) {
      const isWhole = heard.length === Number(headers["content-length"]);
      if (isWhole || lastWords.some((word) => heard.includes(word))) standing ??= books.of(payer);
    },
  });
  return { hearing, atEnd: async () => standing };
}

/** Makes a call with an account of its own. */
async function ask(asked: Asked, init?: AccountInit): Promise<Call> {
  const payer = await openAccount(gateway, init);
  const { hearing, atEnd } = begin(payer, asked);
  const answer = await hearing.answer;
  const standing = await atEnd();
  const isCutOff = answer.status === 200 && answer.text.includes('"error"');
  if (!standing && !isCutOff) throw new Error(`no end was heard: ${answer.text}`);
  return { payer, answer, atEnd: standing ?? (await books.of(payer)) };
}

const conversation = [{ role: "user", content: "Say hello to the caller, please." }];

type Family = "chat" | "messages";
type Vendor = "openai" | "anthropic";

function request(family: Family, vendor: Vendor, stream: boolean, more: Json = {}): Asked {
  const model = vendor === "openai" ? "gpt" : "claude";
  const body = { model, max_tokens: 64, messages: conversation, ...(stream ? { stream } : {}), ...more };
  return { path: family === "chat" ? "/v1/chat/completions" : "/v1/messages", body };
}

/** Every caller before every upstream, whole and streamed. */
const ways = (["chat", "messages"] as const).flatMap((family) =>
  (["openai", "anthropic"] as const).flatMap((vendor) =>
    [false, true].map((stream) => ({
      name: `${family} over ${vendor}, ${stream ? "streamed" : "whole"}`,
      family,
      vendor,
      stream,
    })),
  ),
);
const streamedWays = ways.filter(({ stream }) => stream);

// Answers of upstreams.

const said = "Hello, dear caller: it is a pleasure to be of use.";

/** Parts that overlap: of 100 tokens of input 30 were read from the cache and 15 written to it. */
const openaiUsage = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 15 },
  completion_tokens_details: { reasoning_tokens: 5 },
};

/** Parts that do not. */
const anthropicInput = {
  input_tokens: 55,
  cache_read_input_tokens: 30,
  cache_creation_input_tokens: 25,
  cache_creation: { ephemeral_5m_input_tokens: 15, ephemeral_1h_input_tokens: 10 },
};
const anthropicUsage = { ...anthropicInput, output_tokens: 20, output_tokens_details: { thinking_tokens: 5 } };

const inputCost = 55 * cost.input + 30 * cost.cacheRead + 15 * cost.cacheWrite;
const charges = {
  openai: {
    input: 55,
    cache_read: 30,
    cache_write: 15,
    output: 20,
    reasoning: 5,
    cost: inputCost + 20 * cost.output,
  },
  anthropic: {
    input: 55,
    cache_read: 30,
    cache_write: 25,
    output: 20,
    reasoning: 5,
    cost: inputCost + 10 * cost.cacheWriteHour + 20 * cost.output,
  },
};

/** The beginning of a stream, to its first text, and its end. */
const streams: Readonly<Record<Vendor, (isTold: boolean) => { begin: string; end: string }>> = {
  openai: (isTold) => ({
    begin: openaiFrames(chatChunk({ role: "assistant", content: "" }), chatChunk({ content: said })),
    end:
      openaiFrames(chatChunk({}, "stop"), ...(isTold ? [{ ...chatChunk({}), choices: [], usage: openaiUsage }] : [])) +
      done,
  }),
  anthropic(isTold) {
    const usage = isTold ? { ...anthropicInput, output_tokens: 1 } : undefined;
    const start = { type: "message_start", message: messageAnswer([], null, { usage }) };
    const [open, delta, close] = blockEvents(0, { type: "text", text: "" }, { type: "text_delta", text: said });
    const delta_ = { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null } };
    const end = isTold ? { ...delta_, usage: anthropicUsage } : delta_;
    return {
      begin: anthropicFrames(start, open as Json, delta as Json),
      end: anthropicFrames(close as Json, end, { type: "message_stop" }),
    };
  },
};

function answering(vendor: Vendor, isTold: boolean): Script {
  return (exchange) => {
    const { stream = false } = exchange.asked;
    if (stream) {
      const { begin, end } = streams[vendor](isTold);
      exchange.head(200, eventStream);
      exchange.end(begin + end);
    } else if (vendor === "openai") {
      exchange.json(200, chatAnswer({ content: said }, "stop", { usage: isTold ? openaiUsage : undefined }));
    } else {
      const usage = isTold ? anthropicUsage : undefined;
      exchange.json(200, messageAnswer([{ type: "text", text: said }], "end_turn", { usage }));
    }
  };
}

// The expected rows.

function threefold<C extends Readonly<Record<string, number>>>(charge: C): C {
  return Object.fromEntries(Object.entries(charge).map(([part, count]) => [part, 3 * count])) as C;
}

/** The end of a call whose caller disconnected cannot be awaited by reading its answer. */
async function untilSettled(payer: Payer): Promise<void> {
  await eventually(async () => expect((await books.of(payer)).requests).toHaveLength(1));
}

interface Charge {
  readonly outcome?: Outcome;
  readonly input?: number;
  readonly cache_read?: number;
  readonly cache_write?: number;
  readonly output?: number;
  readonly reasoning?: number;
  readonly characters?: number;
  readonly estimated?: boolean;
  readonly cost: number;
}

const noParts = { input: 0, cache_read: 0, cache_write: 0, output: 0, reasoning: 0, characters: 0 };

/** Compares all rows of the only call of an account. */
function expectBooks(payer: Payer, standing: Standing, { outcome = Outcome.ANSWERED, cost, ...charge }: Charge): void {
  const { estimated = false, ...told } = charge;
  const parts = { ...noParts, ...told };
  expect(standing).toMatchObject({ balance: payer.begunWith - cost, spent: cost, held: 0, keyHeld: 0, holds: 0 });
  expect(standing.requests).toHaveLength(1);
  const [row] = standing.requests;
  expect(row).toMatchObject({ ...parts, outcome, cost, waived: 0, estimated: estimated ? 1 : 0, key_id: payer.keyId });
  expect(standing.hours).toMatchObject([{ ...parts, requests: 1, cost, key_id: payer.keyId, model: row?.model }]);
}

async function expectUntouched(payer: Payer): Promise<void> {
  const nothing = { requests: [], hours: [], spent: 0, held: 0, keyHeld: 0, holds: 0 };
  expect(await books.of(payer)).toEqual({ ...nothing, balance: payer.begunWith });
}

/** The cost that the answer reports: in its headers if it is unary, otherwise in its trailers. */
function toldCost({ headers, trailers }: HeardAnswer): Json {
  const { "x-gateway-cost": cost, "x-gateway-usage": usage } = { ...headers, ...trailers };
  return { cost, usage };
}

/** The gateway's own count, where the upstream reports no usage. */
async function countedHere(): Promise<{ input: number; output: number }> {
  const asked = Wire.ofJson(CreateChatCompletionRequestSchema, { model: "m", messages: conversation });
  const onError = (error: unknown) => {
    throw error;
  };
  const counting = createCounting({ counter: await loadTokenizer(), hurry: new CallerAbort(), onError });
  return { input: await counting.input("chat", asked), output: await counting.output(said) };
}

describe("refused by the gateway: nothing", () => {
  const chat = request("chat", "openai", false);
  const refusals: readonly [string, Asked, number, AccountInit?][] = [
    ["a request that is not sound", request("chat", "openai", false, { messages: [] }), 400],
    ["a model that is not there", request("chat", "openai", false, { model: "nobody" }), 404],
    ["a model that the key may not use", chat, 403, { models: ["claude"] }],
    ["a call that the balance does not cover", chat, 402, { recharge: 100 }],
    ["a call that the key's limit does not cover", chat, 402, { creditLimit: 100 }],
    ["a model without a price", request("chat", "openai", false, { model: "gpt-unpriced" }), 403],
    [
      "a setting that would be dropped, to a strict caller",
      { ...request("chat", "anthropic", false, { logprobs: true }), headers: { "x-gateway-strict": "true" } },
      400,
    ],
  ];
  test.each(refusals)("%s", async (_, asked, status, init) => {
    const before = upstream.received.length;
    const { payer, answer } = await ask(asked, init);
    expect([answer.status, answer.text]).toEqual([status, expect.any(String)]);
    await expectUntouched(payer);
    expect(upstream.received.length).toBe(before);
  });
});

describe("every attempt failed before a byte: nothing", () => {
  const failures: readonly [string, number, Script][] = [
    ["the upstream answers with 500", 502, (e) => e.json(500, openaiError("server_error", "oh no"))],
    ["the upstream refuses with 400", 400, (e) => e.json(400, openaiError("invalid_request_error", "no"))],
    ["the upstream resets the connection", 502, (e) => e.reset()],
    [
      "the upstream begins its answer and says nothing in it",
      502,
      (e) => {
        e.head(200, eventStream);
        e.end();
      },
    ],
  ];
  for (const { name, family, vendor, stream } of ways) {
    test.each(failures)(`${name}: %s`, async (_, status, script) => {
      upstream.script = (exchange) => {
        if (vendor === "openai") script(exchange);
        else script({ ...exchange, json: (code) => exchange.json(code, vendorsError(code)) });
      };
      const { payer, answer, atEnd } = await ask(request(family, vendor, stream));
      expect([answer.status, answer.text]).toEqual([status, expect.any(String)]);
      expectBooks(payer, atEnd, { outcome: status === 400 ? Outcome.REJECTED : Outcome.FAILED, cost: 0 });
      expect(atEnd.requests).toMatchObject([{ operation: family, upstream: vendor, first_byte_ms: null }]);
    });
  }

  function vendorsError(code: number): Json {
    return anthropicError(code === 500 ? "api_error" : "invalid_request_error", "no");
  }
});

describe("answered, usage told: its parts, each at its price", () => {
  for (const { name, family, vendor, stream } of ways) {
    test(name, async () => {
      upstream.script = answering(vendor, true);
      const { payer, answer, atEnd } = await ask(request(family, vendor, stream));
      expect(answer.status).toBe(200);
      expect(answer.text).toContain(said);
      const charge = charges[vendor];
      expectBooks(payer, atEnd, charge);
      expect(atEnd.requests).toMatchObject([{ operation: family, model: vendor === "openai" ? "gpt" : "claude" }]);
      const usage = `input=55, cache_read=30, cache_write=${charge.cache_write}, output=20, reasoning=5`;
      expect(toldCost(answer)).toEqual({ cost: formatDecimal(charge.cost), usage });
    });
  }
});

/** Models for twice the price of the others, at the same upstreams. */
const dearModels = (["openai", "anthropic"] as const).map((vendor) => {
  const twice = Object.entries(price).map(([part, amount]) => [part, 2 * (amount as number)]);
  return paidModel(`dear-${vendor}`, vendor, { price: Object.fromEntries(twice) });
});

describe("answered by a fallback: the attempt that answered, at its model's price", () => {
  /** What a first attempt may bring before it fails: none of it is charged. */
  const failures: Readonly<Record<string, (vendor: Vendor, stream: boolean) => Script>> = {
    refuses: () => (exchange) => exchange.json(500, {}),
    "tells its input and breaks off": (vendor, stream) => async (exchange) => {
      if (!stream) return exchange.destroy();
      const [opening = ""] = streams[vendor](true).begin.split(/(?<=\n\n)/);
      exchange.head(200, eventStream);
      await exchange.write(opening);
      exchange.destroy();
    },
  };
  const other: Readonly<Record<Vendor, Vendor>> = { openai: "anthropic", anthropic: "openai" };
  const cheap: Readonly<Record<Vendor, string>> = { openai: "gpt", anthropic: "claude" };
  const steps = ways.flatMap((way) =>
    Object.entries(failures).flatMap(([how, failing]) =>
      [way.vendor, other[way.vendor]].flatMap((before) => [
        { ...way, how, failing, before, from: `dear-${before}`, to: cheap[way.vendor], times: 1 },
        { ...way, how, failing, before, from: cheap[before], to: `dear-${way.vendor}`, times: 2 },
      ]),
    ),
  );
  test.each(steps)("$name: $to, where $from $how", async ({ family, vendor, stream, before, failing, ...step }) => {
    const { from, to, times } = step;
    upstream.script = (exchange) => {
      const { model } = exchange.asked as { model: string };
      (model === `v-${from}` ? failing(before, stream) : answering(vendor, true))(exchange);
    };
    const { payer, answer, atEnd } = await ask(request(family, vendor, stream, { model: from, models: [to] }));
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining(said)]);
    expect(answer.headers).toMatchObject({ "x-gateway-model": to, "x-gateway-attempts": "2" });
    const charge = charges[vendor];
    expectBooks(payer, atEnd, { ...charge, cost: times * charge.cost });
    expect(atEnd.requests).toMatchObject([{ operation: family, model: to, upstream: vendor }]);
    expect(JSON.parse(atEnd.requests[0]?.tried ?? "null")).toMatchObject([{ upstream: before, model: from }]);
    expect(toldCost(answer).cost).toBe(formatDecimal(times * charge.cost));
  });
});

describe("answered to the end by an upstream that never says so: as it was told", () => {
  test.each(["chat", "messages"] as const)("%s", async (family) => {
    const { begin, end } = streams.openai(true);
    upstream.script = (exchange) => {
      exchange.head(200, eventStream);
      exchange.end(begin + end.replace(done, ""));
    };
    const { payer, answer, atEnd } = await ask(request(family, "openai", true));
    expect(answer.text).toMatch(/\[DONE\]|message_stop/);
    expectBooks(payer, atEnd, charges.openai);
  });
});

describe("answered, no usage told: counted by the tokenizer, marked estimated", () => {
  for (const { name, family, vendor, stream } of ways) {
    test(name, async () => {
      upstream.script = answering(vendor, false);
      const { payer, answer, atEnd } = await ask(request(family, vendor, stream));
      expect([answer.status, answer.text]).toEqual([200, expect.stringContaining(said)]);
      const { input, output } = await countedHere();
      const charge = { input, output, estimated: true, cost: input * cost.input + output * cost.output };
      expectBooks(payer, atEnd, charge);
      const usage = `input=${input}, output=${output}, estimated`;
      expect(toldCost(answer)).toEqual({ cost: formatDecimal(charge.cost), usage });
    });
  }
});

/** The upstream's input where it reports it first, otherwise the gateway's count; and the output until then. */
async function partOf(vendor: Vendor): Promise<Omit<Charge, "outcome">> {
  const { input, output } = await countedHere();
  const { output: _, reasoning: __, cost: whole, ...toldInput } = charges.anthropic;
  if (vendor === "openai") {
    return { input, output, estimated: true, cost: input * cost.input + output * cost.output };
  }
  return { ...toldInput, output, estimated: true, cost: whole - 20 * cost.output + output * cost.output };
}

describe("the upstream broke off in the middle: input, and output up to then", () => {
  const errors: Readonly<Record<Vendor, string>> = {
    openai: openaiFrames(openaiError("server_error", "oh no")),
    anthropic: anthropicFrames(anthropicError("api_error", "oh no")),
  };
  const ways = streamedWays.flatMap((way) => [
    { ...way, how: "by the connection", breakOff: (exchange: ScriptedExchange) => exchange.destroy() },
    { ...way, how: "by an error", breakOff: (exchange: ScriptedExchange) => exchange.end(errors[way.vendor]) },
    { ...way, how: "by an end without its word", breakOff: (exchange: ScriptedExchange) => exchange.end() },
  ]);
  for (const { name, family, vendor, how, breakOff } of ways) {
    test(`${name}, ${how}`, async () => {
      upstream.script = async (exchange) => {
        exchange.head(200, eventStream);
        await exchange.write(streams[vendor](true).begin);
        breakOff(exchange);
      };
      const { payer, answer, atEnd } = await ask(request(family, vendor, true));
      expect(answer.text).toContain(said);
      expect(answer.text).not.toMatch(/\[DONE\]|message_stop/);
      const part = await partOf(vendor);
      expectBooks(payer, atEnd, { outcome: Outcome.BROKEN, ...part });
      expect(toldCost(answer)).toMatchObject({ cost: formatDecimal(part.cost) });
    });
  }

  test("of a whole answer that breaks off nothing came, and nothing is charged", async () => {
    upstream.script = async (exchange) => {
      exchange.head(200, { "content-type": "application/json", "content-length": "1000" });
      await exchange.write('{"choices":[{"message":{"content":"Hel');
      exchange.destroy();
    };
    const { payer, answer, atEnd } = await ask(request("chat", "openai", false));
    expect(answer.status).toBe(502);
    expectBooks(payer, atEnd, { outcome: Outcome.FAILED, cost: 0 });
  });
});

describe("the caller left in the middle, and no usage was told in time: input, and output up to then", () => {
  for (const { name, family, vendor } of streamedWays) {
    test(name, async () => {
      const payer = await openAccount(gateway);
      const { hearing } = begin(payer, request(family, vendor, true));
      const exchange = await upstream.next();
      exchange.head(200, eventStream);
      await exchange.write(streams[vendor](true).begin);
      await hearing.begun;
      await hearing.leave();
      await exchange.left;
      await untilSettled(payer);
      expectBooks(payer, await books.of(payer), { outcome: Outcome.LEFT, ...(await partOf(vendor)) });
    });
  }
});

describe("the caller left before the first byte: nothing, and the upstream is let go", () => {
  for (const { name, family, vendor, stream } of ways) {
    for (const [moment, head] of [
      ["before the upstream's head", false],
      ["after the upstream's head", true],
    ] as const) {
      test(`${name}, ${moment}`, async () => {
        const payer = await openAccount(gateway);
        const { hearing } = begin(payer, request(family, vendor, stream));
        const exchange = await upstream.next();
        expect(await books.of(payer)).toMatchObject({ holds: 1, balance: payer.begunWith });
        expect((await books.of(payer)).held).toBeGreaterThan(0);
        if (head) exchange.head(200, stream ? eventStream : { "content-type": "application/json" });
        await hearing.leave();
        await exchange.left;
        await untilSettled(payer);
        expectBooks(payer, await books.of(payer), { outcome: Outcome.LEFT, cost: 0 });
      });
    }
  }
});

const openaiNothing = {
  ...openaiUsage,
  completion_tokens: 0,
  total_tokens: 100,
  completion_tokens_details: undefined,
};
/** filtered is an answer that a filter stopped before it began, with usage of its input or without. */
const filtered: Readonly<Record<Vendor, (isTold: boolean) => Script>> = {
  openai: (isTold) => (exchange) => {
    const { stream = false } = exchange.asked;
    const usage = isTold ? openaiNothing : undefined;
    if (!stream) exchange.json(200, chatAnswer({ content: "" }, "content_filter", { usage }));
    else if (!usage) exchange.stream(chatChunk({}, "content_filter"));
    else exchange.stream(chatChunk({}, "content_filter"), { ...chatChunk({}), choices: [], usage });
  },
  anthropic: (isTold) => (exchange) => {
    const { stream = false } = exchange.asked;
    const usage = isTold ? { ...anthropicInput, output_tokens: 0 } : undefined;
    if (!stream) return exchange.json(200, messageAnswer([], "refusal", { usage }));
    exchange.head(200, eventStream);
    exchange.end(
      anthropicFrames(
        { type: "message_start", message: messageAnswer([], null, { usage }) },
        { type: "message_delta", delta: { stop_reason: "refusal", stop_sequence: null }, usage },
        { type: "message_stop" },
      ),
    );
  },
};

describe("stopped by a filter with no output at all: the input that was told, and nothing where none was", () => {
  for (const { name, family, vendor, stream } of ways) {
    test(`${name}, told`, async () => {
      upstream.script = filtered[vendor](true);
      const { payer, answer, atEnd } = await ask(request(family, vendor, stream));
      expect(answer.status).toBe(200);
      const { output, reasoning, cost: whole, ...input } = charges[vendor];
      const charged = whole - 20 * cost.output;
      expectBooks(payer, atEnd, { ...input, cost: charged });
      expect(toldCost(answer)).toMatchObject({ cost: formatDecimal(charged) });
    });

    test(`${name}, untold`, async () => {
      upstream.script = filtered[vendor](false);
      const { payer, answer, atEnd } = await ask(request(family, vendor, stream));
      expect(answer.status).toBe(200);
      const { input } = await countedHere();
      expectBooks(payer, atEnd, { input, estimated: true, cost: 0 });
    });
  }

  test("but what it put out before the filter stopped it is charged", async () => {
    upstream.script = (e) => e.json(200, chatAnswer({ content: said }, "content_filter", { usage: openaiUsage }));
    const { payer, atEnd } = await ask(request("chat", "openai", false));
    expectBooks(payer, atEnd, charges.openai);
  });
});

describe("refused by its upstream's filter as an error with usage: the input that was told", () => {
  const usage = { prompt_tokens: 100, completion_tokens: 0, total_tokens: 100 };
  const refusal = {
    error: { message: "It was filtered.", type: "invalid_request_error", code: "content_filter" },
    usage,
  };
  const charge = { outcome: Outcome.REJECTED, input: 100, cost: 100 * cost.input };

  test.each([false, true])("chat over openai, streamed: %s", async (stream) => {
    upstream.script = (exchange) => {
      if (!stream) return exchange.json(200, refusal);
      exchange.head(200, eventStream);
      exchange.end(openaiFrames(refusal));
    };
    const { payer, answer, atEnd } = await ask(request("chat", "openai", stream));
    expect([answer.status, answer.headers["x-gateway-cost"]]).toEqual([400, formatDecimal(charge.cost)]);
    expectBooks(payer, atEnd, charge);
  });

  test("but nothing where the upstream itself failed, whatever it told", async () => {
    const failure = { error: { message: "oh no", type: "server_error" }, usage };
    upstream.script = (exchange) => exchange.json(200, failure);
    const { payer, answer, atEnd } = await ask(request("chat", "openai", false));
    expect(answer.status).toBe(502);
    expectBooks(payer, atEnd, { outcome: Outcome.FAILED, cost: 0 });
  });

  test("and of a stream that breaks off by an error, the usage that the error tells", async () => {
    upstream.script = async (exchange) => {
      exchange.head(200, eventStream);
      await exchange.write(streams.openai(false).begin);
      exchange.end(openaiFrames({ error: { message: "oh no", type: "server_error" }, usage: openaiUsage }));
    };
    const { payer, atEnd } = await ask(request("chat", "openai", true));
    expectBooks(payer, atEnd, { outcome: Outcome.BROKEN, ...charges.openai, estimated: false });
  });
});

describe("speech: by the character", () => {
  const body = { model: "voice", input: "Grüße 👋 to all", voice: "nova" };
  const characters = [...body.input].length;
  const speech: Script = (exchange) => {
    exchange.head(200, { "content-type": "audio/mpeg" });
    exchange.end(Buffer.from("not really a sound"));
  };
  test.each([
    ["as bytes", {}],
    ["as events", { stream_format: "sse" }],
  ])("%s", async (_, more) => {
    upstream.script = speech;
    const payer = await openAccount(gateway);
    const answer = await begin(payer, { path: "/v1/audio/speech", body: { ...body, ...more } }).hearing.answer;
    expect(answer.status).toBe(200);
    const charge = { characters, cost: characters * cost.characters };
    expectBooks(payer, await books.of(payer), charge);
    const usage = `characters=${characters}`;
    expect(toldCost(answer)).toEqual({ cost: formatDecimal(charge.cost), usage });
  });

  test("all of them where the caller leaves in the middle, none before", async () => {
    for (const inTheMiddle of [true, false]) {
      const payer = await openAccount(gateway);
      const { hearing } = begin(payer, { path: "/v1/audio/speech", body });
      const exchange = await upstream.next();
      exchange.head(200, { "content-type": "audio/mpeg" });
      if (inTheMiddle) {
        await exchange.write("half a s");
        await hearing.begun;
      }
      await hearing.leave();
      await exchange.left;
      await untilSettled(payer);
      const charge = inTheMiddle ? { characters, cost: characters * cost.characters } : { cost: 0 };
      expectBooks(payer, await books.of(payer), { outcome: Outcome.LEFT, ...charge });
    }
  });
});

describe("embeddings: by the token of input", () => {
  const texts = ["one", "two words", "and three words"];
  const asked = { path: "/v1/embeddings", body: { model: "embed", input: texts } };
  const data = texts.map((_, index) => ({ object: "embedding", index, embedding: [0.5] }));

  test("told", async () => {
    const usage = { prompt_tokens: 7, total_tokens: 7 };
    upstream.script = (exchange) => exchange.json(200, { object: "list", model: "v", data, usage });
    const { payer, answer, atEnd } = await ask(asked);
    expectBooks(payer, atEnd, { input: 7, cost: 7 * cost.input });
    expect(toldCost(answer)).toEqual({ cost: formatDecimal(7 * cost.input), usage: "input=7" });
  });

  test("counted where none is told, marked estimated", async () => {
    upstream.script = (exchange) => exchange.json(200, { object: "list", model: "v", data });
    const { payer, atEnd } = await ask(asked);
    const input = await (await loadTokenizer()).countAll(texts, new CallerAbort());
    expectBooks(payer, atEnd, { input, estimated: true, cost: input * cost.input });
  });
});

describe("completions of several prompts and choices: one call, reserved and charged once", () => {
  const asked = { prompt: ["One", "Two", "Three"], max_tokens: 8 };

  test("asked of an upstream that has them itself", async () => {
    const choice = { text: said, index: 0, logprobs: null, finish_reason: "stop" };
    const choices = Array.from({ length: 6 }, (_, index) => ({ ...choice, index }));
    upstream.script = (e) => e.json(200, completionPiece("", "stop", { choices, usage: openaiUsage }));
    const { payer, atEnd } = await ask({ path: "/v1/completions", body: { model: "davinci", ...asked, n: 2 } });
    expectBooks(payer, atEnd, charges.openai);
  });

  test.each(
    (["openai", "anthropic"] as const).flatMap((vendor) => [false, true].map((stream) => ({ vendor, stream }))),
  )("asked one by one of $vendor, streamed: $stream", async ({ vendor, stream }) => {
    const before = upstream.received.length;
    upstream.script = answering(vendor, true);
    const body = { model: vendor === "openai" ? "gpt" : "claude", ...asked, ...(stream ? { stream } : {}) };
    const { payer, answer, atEnd } = await ask({ path: "/v1/completions", body });
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining(said)]);
    expect(upstream.received.length - before).toBe(3);
    expectBooks(payer, atEnd, threefold(charges[vendor]));
    expect(toldCost(answer)).toMatchObject({ cost: formatDecimal(3 * charges[vendor].cost) });
  });

  test("where one of eight prompts of a whole answer fails, the seven are charged, and the caller is told", async () => {
    const failing = Promise.withResolvers<ScriptedExchange>();
    let answered = 0;
    upstream.script = async (exchange) => {
      if (exchange.body.includes("Eight")) return failing.resolve(exchange);
      answering("anthropic", true)(exchange);
      if (++answered === 7) (await failing.promise).json(500, anthropicError("api_error", "no"));
    };
    const prompt = ["One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight"];
    const { payer, answer, atEnd } = await ask({
      path: "/v1/completions",
      body: { model: "claude", ...asked, prompt },
    });
    expect(answer.status).toBe(502);
    const seven = Object.fromEntries(Object.entries(charges.anthropic).map(([part, count]) => [part, 7 * count]));
    expectBooks(payer, atEnd, { outcome: Outcome.BROKEN, ...(seven as unknown as Charge) });
    expect(toldCost(answer)).toMatchObject({ cost: formatDecimal(7 * charges.anthropic.cost) });
  });

  test("where all prompts of a whole answer fail nothing is charged, and no hold is left", async () => {
    upstream.script = (exchange) => exchange.json(500, anthropicError("api_error", "no"));
    const { payer, answer, atEnd } = await ask({ path: "/v1/completions", body: { model: "claude", ...asked } });
    expect([answer.status, answer.headers["x-gateway-cost"]]).toEqual([502, undefined]);
    expectBooks(payer, atEnd, { outcome: Outcome.FAILED, cost: 0 });
  });

  test.each(
    (["openai", "anthropic"] as const).flatMap((vendor) => [false, true].map((stream) => ({ vendor, stream }))),
  )(
    "where a filter stopped one of $vendor's that told nothing, the others: streamed $stream",
    async ({ vendor, stream }) => {
      upstream.script = (exchange) => {
        if (!exchange.body.includes("Two")) answering(vendor, true)(exchange);
        else filtered[vendor](false)(exchange);
      };
      const body = { model: vendor === "openai" ? "gpt" : "claude", ...asked, ...(stream ? { stream } : {}) };
      const { payer, answer, atEnd } = await ask({ path: "/v1/completions", body });
      expect(answer.status).toBe(200);
      const two = Object.fromEntries(Object.entries(charges[vendor]).map(([part, count]) => [part, 2 * count]));
      expectBooks(payer, atEnd, two as unknown as Charge);
      expect(toldCost(answer)).toMatchObject({ cost: formatDecimal(2 * charges[vendor].cost) });
    },
  );

  test("where one prompt of a stream breaks off, what all of them used is charged", async () => {
    const payer = await openAccount(gateway);
    let heard = "";
    const hearing = hear(gateway, {
      path: "/v1/completions",
      apiKey: payer.apiKey,
      body: { model: "claude", ...asked, stream: true },
      onPiece: (bytes) => (heard = bytes.toString()),
    });
    for (let i = 0; i < 3; i++) {
      const exchange = await upstream.next();
      if (!exchange.body.includes("Two")) answering("anthropic", true)(exchange);
      else {
        exchange.head(200, eventStream);
        await exchange.write(streams.anthropic(true).begin);
        void eventually(() => expect(heard.match(/"finish_reason":"stop"/g)).toHaveLength(2)).then(exchange.destroy);
      }
    }
    const { text } = await hearing.answer;
    expect(text).not.toContain("[DONE]");
    const { output, cost, estimated: _, ...parts } = await partOf("anthropic");
    expectBooks(payer, await books.of(payer), {
      outcome: Outcome.BROKEN,
      ...threefold(parts),
      estimated: true,
      output: 40 + (output ?? 0),
      reasoning: 10,
      cost: 2 * charges.anthropic.cost + cost,
    });
  });
});

describe("responses: as the chat that they are", () => {
  test.each(
    (["openai", "anthropic"] as const).flatMap((vendor) => [false, true].map((stream) => ({ vendor, stream }))),
  )("over $vendor, streamed: $stream", async ({ vendor, stream }) => {
    upstream.script = answering(vendor, true);
    const model = vendor === "openai" ? "gpt" : "claude";
    const body = { model, input: "Say hello.", max_output_tokens: 64, ...(stream ? { stream } : {}) };
    const { payer, answer, atEnd } = await ask({ path: "/v1/responses", body });
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining(said)]);
    expectBooks(payer, atEnd, charges[vendor]);
    expect(atEnd.requests).toMatchObject([{ operation: "responses" }]);
    expect(toldCost(answer)).toMatchObject({ cost: formatDecimal(charges[vendor].cost) });
  });
});

describe("counting tokens: free, also without any credit", () => {
  test.each(["openai", "anthropic"] as const)("over %s", async (vendor) => {
    upstream.script = (exchange) => exchange.json(200, { input_tokens: 9 });
    const { body } = request("messages", vendor, false);
    const payer = await openAccount(gateway, { recharge: 0 });
    const { max_tokens: _, ...counted } = body as Json & { max_tokens: number };
    const { hearing } = begin(payer, { path: "/v1/messages/count_tokens", body: counted });
    const answer = await hearing.answer;
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text).input_tokens).toBeGreaterThan(0);
    await expectUntouched(payer);
  });
});

describe("images: reserved at what the dearest model makes of one, charged at what is told", () => {
  const data = "A".repeat(4 * 1024 * 1024);
  const image = { type: "image_url", image_url: { url: `data:image/png;base64,${data}` } };
  const asked = request("chat", "openai", false, { messages: [{ role: "user", content: [image] }] });

  test("the bytes of a picture are not taken for tokens", async () => {
    upstream.script = answering("openai", true);
    const { payer, atEnd } = await ask(asked, { recharge: 1_000_000 });
    expectBooks(payer, atEnd, charges.openai);
  });

  test("a picture that the credit does not cover is refused", async () => {
    const { payer, answer } = await ask(asked, { recharge: 65_536 * cost.input });
    expect(answer.status).toBe(402);
    await expectUntouched(payer);
  });
});

/** Credit for a few calls only, so that the database decides on each. */
const scarce = 20_000;

describe("settled before the caller has the last byte, however long that takes", () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let storage: Storage;
  let server: Running;
  let port: number;

  beforeAll(async () => {
    folder = await temporaryFolder();
    const config = join(folder.path, "gateway.yaml");
    // JSON is YAML.
    await writeFile(config, JSON.stringify(fileOf(paidModels(upstream.baseUrl))));
    storage = await openStorage(join(folder.path, "gateway.db"));
    const args = [starter, "serve", "--config", config];
    server = new Running(process.execPath, args, { PORT: "0", DATA_DIR: folder.path });
    const [, url = ""] = await server.shows(/serves at (\S+)/);
    port = Number(new URL(url).port);
  });

  afterAll(async () => {
    await server.stop();
    await storage.close();
    await folder.remove();
  });

  function fileOf({ upstreams, models = [] }: Partial<Config>) {
    const perUnit = (price: object) =>
      Object.fromEntries(Object.entries(price).map(([part, amount]) => [part, formatDecimal(amount)]));
    return {
      upstreams,
      models: models.map(({ price, ...model }) => ({ ...model, ...(price && { price: perUnit(price) }) })),
    };
  }

  /** Whether a call's charge survives its process: in its table or in the journal. */
  function isCharged(requestId: string): boolean {
    const database = join(folder.path, "gateway.db");
    const files = createSegments(`${database}.notes`, false);
    const lines = files.nodes().flatMap((node) => files.read(node)?.lines ?? []);
    const entries = lines.flatMap(({ text }) => {
      const read = readLine(text);
      return read.kind === "record" ? read.record.entries : [];
    });
    const sqlite = new Sqlite(database, { readonly: true });
    const row = sqlite.prepare("SELECT cost FROM requests WHERE id = ? AND cost > 0").get(requestId);
    sqlite.close();
    return row !== undefined || entries.some((entry) => entry.kind === "settle" && entry.call.id === requestId);
  }

  for (const { name, family, vendor, stream } of ways) {
    test(`${name}, of ample credit`, async () => {
      const payer = await openAccount({ storage });
      const { path, body } = request(family, vendor, stream);
      const charged: boolean[] = [];
      const onPiece = (bytes: Buffer, headers: IncomingHttpHeaders) => {
        const isWhole = bytes.length === Number(headers["content-length"]);
        const isEnd = isWhole || lastWords.some((word) => bytes.includes(word));
        if (isEnd && charged.length === 0) charged.push(isCharged(String(headers["x-request-id"])));
      };
      const hearing = hear({ port }, { path, body, apiKey: payer.apiKey, onPiece });
      answering(vendor, true)(await upstream.next());
      expect((await hearing.answer).status).toBe(200);
      expect(charged).toEqual([true]);
    });

    test(`${name}, of scarce credit`, async () => {
      const payer = await openAccount({ storage }, { recharge: scarce });
      const heard = { end: false, whileLocked: false };
      const { path, body } = request(family, vendor, stream);
      const lock = new Sqlite(join(folder.path, "gateway.db"));
      const hearing = hear(
        { port },
        {
          path,
          body,
          apiKey: payer.apiKey,
          onPiece(bytes, headers) {
            const isWhole = bytes.length === Number(headers["content-length"]);
            heard.end ||= isWhole || lastWords.some((word) => bytes.includes(word));
            heard.whileLocked ||= heard.end && lock.inTransaction;
          },
        },
      );
      const exchange = await upstream.next();
      lock.exec("BEGIN IMMEDIATE");
      answering(vendor, true)(exchange);
      // An answer that did not wait for the capture would end now, while nothing can be written.
      await delay(200);
      lock.exec("ROLLBACK");
      lock.close();
      expect((await hearing.answer).status).toBe(200);
      expect(heard).toEqual({ end: true, whileLocked: false });
    });
  }
});

describe("through the RPC doors: the same charge, told in headers and trailers", () => {
  const transports: Readonly<Record<string, (baseUrl: string) => Transport>> = {
    Connect: (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" }),
    gRPC: (baseUrl) => createGrpcTransport({ baseUrl }),
    "gRPC-Web": (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
  };
  for (const [name, transportTo] of Object.entries(transports)) {
    test.each(["openai", "anthropic"] as const)(`${name}, over %s`, async (vendor) => {
      upstream.script = answering(vendor, true);
      const client = createClient(InferenceService, transportTo(gateway.rootUrl));
      const { body } = request("chat", vendor, false);
      const message = readMessage(CreateChatCompletionRequestSchema, body as JsonObject, { lenient: false });
      const { cost: sum } = charges[vendor];
      for (const stream of [false, true]) {
        const payer = await openAccount(gateway);
        let told: string | null = null;
        const read = (headers: Headers) => {
          told ??= headers.get("x-gateway-cost");
        };
        const options = {
          headers: { authorization: `Bearer ${payer.apiKey}` },
          ...(stream ? { onTrailer: read } : { onHeader: read }),
        };
        if (!stream) await client.createChatCompletion(message, options);
        else for await (const _ of client.streamChatCompletion(message, options));
        expectBooks(payer, await books.of(payer), charges[vendor]);
        expect(told).toBe(formatDecimal(sum));
      }
    });

    test(`${name}: what a stream cost that broke off is told with its error`, async () => {
      upstream.script = async (exchange) => {
        exchange.head(200, eventStream);
        await exchange.write(streams.openai(true).begin);
        exchange.destroy();
      };
      const client = createClient(InferenceService, transportTo(gateway.rootUrl));
      const { body } = request("chat", "openai", false);
      const message = readMessage(CreateChatCompletionRequestSchema, body as JsonObject, { lenient: false });
      const payer = await openAccount(gateway);
      const options = { headers: { authorization: `Bearer ${payer.apiKey}` } };
      const failed = await Array.fromAsync(client.streamChatCompletion(message, options)).catch(ConnectError.from);
      const part = await partOf("openai");
      expectBooks(payer, await books.of(payer), { outcome: Outcome.BROKEN, ...part });
      expect((failed as ConnectError).metadata.get("x-gateway-cost")).toBe(formatDecimal(part.cost));
    });

    test(`${name}: who leaves in the middle pays for what came, and whose time is up before nothing`, async () => {
      const client = createClient(InferenceService, transportTo(gateway.rootUrl));
      const { body } = request("chat", "openai", false);
      const message = readMessage(CreateChatCompletionRequestSchema, body as JsonObject, { lenient: false });
      upstream.script = (exchange) => {
        exchange.head(200, eventStream);
        void exchange.write(streams.openai(true).begin);
      };
      const leaver = await openAccount(gateway);
      const leaving = new AbortController();
      const patient = { headers: { authorization: `Bearer ${leaver.apiKey}` }, signal: leaving.signal };
      const read = async () => {
        for await (const { choices } of client.streamChatCompletion(message, patient)) {
          if (choices[0]?.delta?.content) leaving.abort();
        }
      };
      await expect(read()).rejects.toThrow();
      await untilSettled(leaver);
      expectBooks(leaver, await books.of(leaver), { outcome: Outcome.LEFT, ...(await partOf("openai")) });

      upstream.script = (exchange) => exchange.head(200, eventStream);
      const late = await openAccount(gateway);
      const options = { headers: { authorization: `Bearer ${late.apiKey}` }, timeoutMs: 100 };
      await expect(Array.fromAsync(client.streamChatCompletion(message, options))).rejects.toThrow();
      await untilSettled(late);
      expectBooks(late, await books.of(late), { outcome: Outcome.LEFT, cost: 0 });
    });
  }
});
