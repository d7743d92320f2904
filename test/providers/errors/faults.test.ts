/**
 * The fault table, against real sockets, with the gateway as operators run it: for each fault of an upstream, what
 * callers of each family see, what they pay, how often the upstream is called, what the breaker counts, and whether
 * another upstream answers instead. `docs/upstreams.md` describes the same.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Config, ModelConfig, UpstreamConfig } from "../../../src/config/config.ts";
import { eventsOf } from "../../support/clients/endpoints.ts";
import { type HeardAnswer, hear } from "../../support/clients/hear.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { type Books, openAccount, openBooks, type Payer } from "../../support/payer.ts";
import { type ScriptedUpstream, startScriptedUpstream } from "../../support/scripted-upstream.ts";
import {
  faultyAnswer,
  firstWord,
  type Headless,
  type Midway,
  type Moment,
  midway,
  slowAnswer,
  vendorsWords,
} from "../../support/upstreams/faults.ts";
import { cost, paidModel } from "../../support/upstreams/paid-models.ts";
import { answerAsAnthropic, answerAsOpenAi } from "../../support/vendors.ts";

// Most of the time is pauses and time-outs, so all cases run at once.
vi.setConfig({ maxConcurrency: 500 });

/**
 * How an error reads for callers of OpenAI's family, and of Anthropic's. `own` says that the upstream's words are
 * passed on.
 */
interface Told {
  readonly chat: readonly [status: number, type: string, code: string | null];
  readonly messages: readonly [status: number, type: string];
  readonly own?: true;
  readonly retryAfter?: string;
}

const failed: Told = { chat: [502, "server_error", "upstream_error"], messages: [502, "api_error"] };
const failedSaying: Told = { ...failed, own: true };
const late: Told = { chat: [504, "server_error", "timeout"], messages: [504, "timeout_error"] };
const refused: Told = {
  ...{ chat: [400, "invalid_request_error", null], messages: [400, "invalid_request_error"] },
  own: true,
};
const tooMany: Told = {
  chat: [429, "requests", "rate_limit_exceeded"],
  messages: [429, "rate_limit_error"],
  own: true,
};
const overloaded: Told = {
  ...{ chat: [503, "server_error", "service_unavailable"], messages: [529, "overloaded_error"] },
  ...{ own: true, retryAfter: "1" },
};

/** How often one call tries the same target, and whether the breaker counts it. */
type Asked = readonly [times: 1 | 3, breaker: "counts" | "no matter"];

// Before an answer begins, unary or streamed: nothing is charged, and another target answers instead.
const beforeTheHead: Readonly<Record<Headless, readonly [...Asked, Told]>> = {
  "is not there": [3, "counts", failed],
  "resets the connection": [3, "counts", failed],
  "takes the request and never answers": [3, "counts", late],
  "takes too long for its head": [3, "counts", late],
  "answers with 400": [1, "no matter", refused],
  "answers with 401": [1, "counts", failed],
  "answers with 408": [3, "counts", late],
  "answers with 429 and Retry-After": [1, "no matter", { ...tooMany, retryAfter: "30" }],
  "answers with 429": [3, "no matter", { ...tooMany, retryAfter: "1" }],
  "answers with 500": [3, "counts", failedSaying],
  "answers with 500 and a page": [3, "counts", failed],
  "answers with 503": [3, "counts", overloaded],
  "answers with 200 and an error": [3, "counts", failedSaying],
};

// In the middle of a unary answer, and before a stream's first content: as above. After it, the stream ends with the
// family's error frame; what came is charged, there is no retry, and the breaker does not count it.
const inTheMiddle: Readonly<Record<Midway, readonly [whole: Told | "not so", streamed: Told]>> = {
  "resets the connection midway": [failed, failed],
  "falls silent": [late, late],
  "drips for too long": [late, late],
  "ends too early": [failed, failed],
  "says what is no JSON": [failed, failed],
  "says what is no UTF-8": [failed, failed],
  "says an error": ["not so", failedSaying],
  "says more than anybody can hold": [failed, failed],
};

type Family = "chat" | "messages";
type Vendor = "openai" | "anthropic";

const ways = (["chat", "messages"] as const).flatMap((family) =>
  (["openai", "anthropic"] as const).map((vendor) => ({ family, vendor })),
);

/** Whether the caller's family is the upstream's: then the caller gets the error byte for byte. */
const isStraight = ({ family, vendor }: (typeof ways)[number]) => (family === "chat") === (vendor === "openai");

interface Case {
  readonly fault: Headless | Midway;
  readonly moment: Moment;
  readonly family: Family;
  readonly vendor: Vendor;
  readonly stream: boolean;
  readonly told: Told;
  readonly asked: Asked;
}

const headlessCases = Object.entries(beforeTheHead).flatMap(([fault, [times, breaker, told]]) =>
  [false, true].map((stream) => ({
    ...{ fault: fault as Headless, told, stream, asked: [times, breaker] as Asked },
    moment: "before content" as Moment,
  })),
);

const midwayCases = Object.entries(inTheMiddle).flatMap(([fault, [whole, streamed]]) => {
  const again: Asked = [3, "counts"];
  const named = { fault: fault as Midway };
  return [
    ...(whole === "not so" ? [] : [{ ...named, moment: "whole" as Moment, told: whole, stream: false, asked: again }]),
    { ...named, moment: "before content" as Moment, told: streamed, stream: true, asked: again },
    { ...named, moment: "after content" as Moment, told: streamed, stream: true, asked: [1, "no matter"] as Asked },
  ];
});

const isHuge = ({ fault }: Pick<Case, "fault">) => fault === "says more than anybody can hold";

/** Cases of hundreds of megabytes run once per upstream. */
const casesOf = (rows: readonly Omit<Case, "family" | "vendor">[]): readonly Case[] =>
  rows.flatMap((row) => (isHuge(row) ? ways.filter(isStraight) : ways).map((way) => ({ ...row, ...way })));

const nameOf = ({ fault, moment, family, vendor, stream }: Case) => {
  const when = fault in midway && stream ? ` ${moment}` : "";
  return `${fault}${when}: ${family} over ${vendor}, ${stream ? "streamed" : "whole"}`;
};

const early = [...casesOf(headlessCases), ...casesOf(midwayCases.filter(({ moment }) => moment !== "after content"))];
const tooLate = casesOf(midwayCases.filter(({ moment }) => moment === "after content"));

// The stage: an upstream that behaves as the model's name says, under five addresses in the configuration, and a
// healthy one.

let faulty: ScriptedUpstream;
let well: ScriptedUpstream;
let gateway: TestGateway;
let books: Books;

const impatient: UpstreamConfig["timeouts"] = { first_byte_seconds: 0.4, idle_seconds: 0.4, total_seconds: 1 };
/** So that the first content comes in any case, however busy the machine is: what is silent then is cut soon, and what drips at the end. */
const silenceCut: UpstreamConfig["timeouts"] = { first_byte_seconds: 30, idle_seconds: 1.5, total_seconds: 60 };
const endCut: UpstreamConfig["timeouts"] = { first_byte_seconds: 30, idle_seconds: 30, total_seconds: 12 };
const inTime: UpstreamConfig["timeouts"] = { first_byte_seconds: 60, idle_seconds: 60, total_seconds: 120 };
/** Longer than a machine stands still that does much else. */
const openSeconds = 60;
/** Where time matters the gateway waits briefly; elsewhere a busy machine has plenty of time. */
const timed: ReadonlySet<string> = new Set<Headless | Midway>([
  "takes the request and never answers",
  "takes too long for its head",
  "falls silent",
  "drips for too long",
]);

function placeOf({ fault, moment, vendor }: Case): string {
  if (fault === "is not there") return `${vendor}, gone`;
  if (!timed.has(fault)) return `${vendor}, faulty`;
  if (moment !== "after content") return `${vendor}, impatient`;
  return `${vendor}, ${fault === "falls silent" ? "cut when silent" : "cut at the end"}`;
}

/** The name of the model with two targets. */
const orAnother = (one: Case) => `${nameOf(one)}, or another`;

function modelsOf(all: readonly Case[]): ModelConfig[] {
  return all.flatMap((one) => {
    const upstream = placeOf(one);
    const first = (model: string) => ({ upstream, model, priority: 0, weight: 1 });
    const other = { upstream: `${one.vendor}, well`, model: "well", priority: 1, weight: 1 };
    const [alone, two] = [nameOf(one), orAnother(one)];
    return [
      paidModel(alone, upstream, { targets: [first(alone)] }),
      paidModel(two, upstream, { targets: [first(two), other] }),
    ];
  });
}

beforeAll(async () => {
  const all = [...early, ...tooLate];
  const scripts = new Map(
    all.flatMap((one) => [nameOf(one), orAnother(one)].map((name) => [name, faultyAnswer(one.fault, one.moment)])),
  );
  faulty = await startScriptedUpstream((exchange) => scripts.get(modelIn(exchange.body))?.(exchange));
  well = await startScriptedUpstream((exchange) => {
    if (modelIn(exchange.body) === "slow") void slowAnswer(exchange);
    else if (exchange.path.endsWith("/messages")) answerAsAnthropic(exchange);
    else answerAsOpenAi(exchange);
  });
  const addresses = {
    gone: { base_url: "http://127.0.0.1:1/v1" },
    faulty: { base_url: faulty.baseUrl },
    impatient: { base_url: faulty.baseUrl, timeouts: impatient },
    "cut when silent": { base_url: faulty.baseUrl, timeouts: silenceCut },
    "cut at the end": { base_url: faulty.baseUrl, timeouts: endCut },
    well: { base_url: well.baseUrl, timeouts: inTime },
  };
  const upstreams = (["openai", "anthropic"] as const).flatMap((kind) =>
    Object.entries(addresses).map(([name, address]) => ({ ...address, name: `${kind}, ${name}`, kind, api_key: "k" })),
  );
  const slow = (["openai", "anthropic"] as const).map((vendor) => {
    const targets = [{ upstream: `${vendor}, well`, model: "slow", priority: 0, weight: 1 }];
    return paidModel(`slow ${vendor}`, "slow", { targets });
  });
  const asOperated = { retries: { attempts: 3, share: 0.15 }, breaker: { failures: 5, openMs: openSeconds * 1000 } };
  const config: Partial<Config> = { upstreams, models: [...modelsOf(all), ...slow], embeddedModels: false };
  gateway = await startTestGateway({ ...config, ...asOperated });
  books = openBooks(gateway.database, gateway.storage);
});

afterAll(async () => {
  expect((await gateway.storage.reconcile()).findings).toEqual([]);
  await gateway.close();
  await Promise.all([faulty.close(), well.close()]);
});

const modelIn = (body: Buffer) => (JSON.parse(body.toString()) as { model: string }).model;

/** Number of requests for a case that reached the upstream. */
const timesReceived = (one: Case) => faulty.received.filter(({ body }) => modelIn(body) === nameOf(one)).length;

/** Number of attempts that an account's calls recorded. */
async function attemptsOf(payer: Payer): Promise<number> {
  const { requests } = await books.of(payer);
  return requests.reduce((sum, { tried }) => sum + 1 + (JSON.parse(tried ?? "[]") as unknown[]).length, 0);
}

function ask(payer: Payer, model: string, { family, stream }: Pick<Case, "family" | "stream">): Promise<HeardAnswer> {
  const messages = [{ role: "user", content: "Say hello to the caller, please." }];
  const body = { model, max_tokens: 64, messages, ...(stream ? { stream } : {}) };
  const path = family === "chat" ? "/v1/chat/completions" : "/v1/messages";
  return hear(gateway, { path, apiKey: payer.apiKey, body }).answer;
}

interface ErrorBody {
  readonly type?: string;
  readonly error: { readonly type: string; readonly code?: string | null; readonly message: string };
}

/** A code that the upstream left out stays left out. */
const codeOf = (one: Case) => (one.told.own && isStraight(one) && one.told === failedSaying ? null : one.told.chat[2]);

function expectError(one: Case, answer: HeardAnswer): void {
  const { family, told } = one;
  const json = JSON.parse(answer.text) as ErrorBody;
  expect([answer.status, json.error.type]).toEqual([told[family][0], told[family][1]]);
  if (family === "chat") expect(json.error.code).toBe(codeOf(one));
  else expect(json.type).toBe("error");
  if (told.own) expect(json.error.message).toBe(vendorsWords);
  else expect(json.error.message).not.toContain(vendorsWords);
  expect(answer.headers["retry-after"]).toBe(told.retryAfter);
}

/** Nothing is charged for these calls, and nothing held. The upstream's fault is told from the caller's own. */
async function expectFree(payer: Payer, calls: number, { told }: Case): Promise<void> {
  const { requests, ...standing } = await books.of(payer);
  expect(standing).toMatchObject({ balance: payer.begunWith, spent: 0, held: 0, keyHeld: 0, holds: 0 });
  const outcome = told === refused ? Outcome.REJECTED : Outcome.FAILED;
  expect(requests.map(({ outcome, cost }) => ({ outcome, cost }))).toEqual(
    Array.from({ length: calls }, () => ({ outcome, cost: 0 })),
  );
}

const isLeftAlone = ({ text }: HeardAnswer) => text.includes("is left alone");

/** What consecutive calls see until the breaker opens; six at most. */
async function expectAlone(one: Case): Promise<void> {
  const payer = await openAccount(gateway);
  const answer = await ask(payer, nameOf(one), one);
  expectError(one, answer);
  await expectFree(payer, 1, one);
  const [times, breaker] = one.asked;
  expect(await attemptsOf(payer)).toBe(times);
  if (breaker === "no matter") {
    const answers = await Promise.all(Array.from({ length: 5 }, () => ask(payer, nameOf(one), one)));
    expect(answers.filter(isLeftAlone)).toEqual([]);
    expect(await attemptsOf(payer)).toBe(timesReceived(one));
    return;
  }
  let last = answer;
  for (let calls = 1; calls < 6 && !isLeftAlone(last); calls++) last = await ask(payer, nameOf(one), one);
  expect(isLeftAlone(last)).toBe(true);
  expect(last.status).toBe(one.family === "chat" ? 503 : 529);
  expect(Number(last.headers["retry-after"])).toBeGreaterThan(openSeconds / 2);
  expect(Number(last.headers["retry-after"])).toBeLessThanOrEqual(openSeconds);
  expect(await attemptsOf(payer)).toBe(5);
  // A request may be aborted before the upstream reads it.
  expect(timesReceived(one)).toBeLessThanOrEqual(5);
  await expectFree(payer, (await books.of(payer)).requests.length, one);
}

/** Another target answers, and its answer is charged. The caller's own mistakes are reported at once. */
async function expectReplaced(one: Case): Promise<void> {
  const payer = await openAccount(gateway);
  const answer = await ask(payer, orAnother(one), one);
  if (one.told === refused) {
    expectError(one, answer);
    return;
  }
  const { "x-gateway-upstream": upstream, "x-gateway-attempts": attempts } = answer.headers;
  expect([answer.status, upstream, attempts]).toEqual([200, `${one.vendor}, well`, "2"]);
  expect(wordsOf(one, answer)).toEqual({ said: "Hello", isWhole: true, error: undefined });
  const { requests, spent, holds, held } = await books.of(payer);
  expect(requests).toMatchObject([{ upstream, outcome: Outcome.ANSWERED, input: 9, output: 2, cost: spent }]);
  expect({ spent, holds, held }).toEqual({ spent: 9 * cost.input + 2 * cost.output, holds: 0, held: 0 });
  expect(JSON.parse(requests[0]?.tried ?? "null")).toMatchObject([{ upstream: placeOf(one) }]);
}

/** The stream ends with an error frame, and what came of it is charged. */
async function expectBroken(one: Case): Promise<void> {
  const payer = await openAccount(gateway);
  const answer = await ask(payer, orAnother(one), one);
  const { "x-gateway-upstream": upstream, "x-gateway-attempts": attempts } = answer.headers;
  expect([answer.status, upstream, attempts]).toEqual([200, placeOf(one), "1"]);
  const { said, isWhole, error } = wordsOf(one, answer);
  expect([said, isWhole]).toEqual([firstWord, false]);
  const [status, type] = one.told[one.family];
  expect(error?.type).toBe(type);
  if (one.told.own) expect(error?.message).toBe(vendorsWords);
  // The status is in the code, where clients look for it.
  if (one.family === "chat" && !(one.told.own && isStraight(one))) expect(error?.code).toBe(String(status));
  const { requests, spent, balance, ...standing } = await books.of(payer);
  expect(standing).toMatchObject({ held: 0, keyHeld: 0, holds: 0 });
  expect(requests).toMatchObject([{ upstream, outcome: Outcome.BROKEN, cost: spent, tried: null }]);
  expect([spent > 0, balance]).toEqual([true, payer.begunWith - spent]);
  expect(requests[0]?.output).toBeGreaterThan(0);
}

interface Heard {
  readonly said: string;
  readonly isWhole: boolean;
  readonly error: ErrorBody["error"] | undefined;
}

interface Piece extends Partial<ErrorBody> {
  readonly delta?: { readonly text?: string };
  readonly content?: readonly { readonly text: string }[];
  readonly choices?: readonly Partial<Record<"delta" | "message", { readonly content?: string }>>[];
}

/** Returns the text of an answer of any form and family. */
function wordsOf({ stream }: Pick<Case, "stream">, { bytes, text }: HeardAnswer): Heard {
  const payloads = stream ? eventsOf(bytes).map(({ data }) => data.toString()) : [text];
  const pieces = payloads.filter((data) => data !== "[DONE]").map((data) => JSON.parse(data) as Piece);
  const said = pieces.map(({ delta, content, choices = [] }) => {
    const [{ delta: part = {}, message = part } = {}] = choices;
    return delta?.text ?? content?.map(({ text }) => text).join("") ?? message.content ?? "";
  });
  const isWhole = !stream || payloads.at(-1) === "[DONE]" || pieces.at(-1)?.type === "message_stop";
  return { said: said.join(""), isWhole, error: pieces.at(-1)?.error };
}

const isTimed = ({ fault }: Case) => timed.has(fault);
const isOrdinary = (one: Case) => !isTimed(one) && !isHuge(one);

const before = "an upstream that fails before anything of its answer was told";
const after = "an upstream that fails after the first content of its stream";
const title = "$fault ($moment): $family over $vendor, streamed: $stream";

describe.concurrent(before, () => {
  test.for(early.filter(isOrdinary))(`${title}, with no other`, (one) => expectAlone(one));
  test.for(early.filter(isOrdinary))(`${title}, with another`, (one) => expectReplaced(one));
});

describe.concurrent(after, () => {
  test.for(tooLate.filter(isOrdinary))("$fault: $family over $vendor", (one) => expectBroken(one));

  test.for(tooLate.filter(({ fault }) => fault === "ends too early"))(
    "$fault, again and again, and is not left alone: $family over $vendor",
    async (one) => {
      const payer = await openAccount(gateway);
      for (let calls = 0; calls < 6; calls++) {
        const { status, text } = await ask(payer, nameOf(one), one);
        expect([status, text]).toEqual([200, expect.stringContaining(firstWord)]);
      }
    },
  );
});

// One after another: these cases are large, and the next ones are timed.
describe("an endless answer is broken off, and fills no memory", () => {
  test.each(early.filter(isHuge))("$moment: $family over $vendor, with no other", (one) => expectAlone(one));
  test.each(early.filter(isHuge))("$moment: $family over $vendor, with another", (one) => expectReplaced(one));
  test.each(tooLate.filter(isHuge))("$moment: $family over $vendor", (one) => expectBroken(one));
});

describe.concurrent(`${before} in time`, () => {
  test.for(early.filter(isTimed))(`${title}, with no other`, (one) => expectAlone(one));
  test.for(early.filter(isTimed))(`${title}, with another`, (one) => expectReplaced(one));
});

describe.concurrent(`${after}, by taking too long`, () => {
  test.for(tooLate.filter(isTimed))("$fault: $family over $vendor", (one) => expectBroken(one));
});

describe.concurrent("an upstream that is slow, and within all bounds, is waited for", () => {
  test.for(ways.flatMap((way) => [false, true].map((stream) => ({ ...way, stream }))))(
    "$family over $vendor, streamed: $stream",
    async (one) => {
      const payer = await openAccount(gateway);
      const answer = await ask(payer, `slow ${one.vendor}`, one);
      expect([answer.status, answer.headers["x-gateway-attempts"]]).toEqual([200, "1"]);
      expect(wordsOf(one, answer)).toEqual({ said: "Hello", isWhole: true, error: undefined });
      expect((await books.of(payer)).requests).toMatchObject([{ outcome: Outcome.ANSWERED, input: 9, output: 2 }]);
    },
  );
});
