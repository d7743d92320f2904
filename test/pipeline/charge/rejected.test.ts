/**
 * A request that the upstream rejects by its own fault is recorded as rejected, by every family, unary and streamed, over HTTP and gRPC;
 * what is the upstream's fault stays failed. Measures of upstreams do not count the former as failures.
 */
import type { DescMessage, JsonObject } from "@bufbuild/protobuf";
import { type Client, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, test } from "vitest";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { readMessage } from "../../../src/wire/read.ts";
import { hear } from "../../support/clients/hear.ts";
import { askRpc, bearer } from "../../support/dashboard/session.ts";
import { now } from "../../support/gateway.ts";
import { openAccount, type Payer } from "../../support/payer.ts";
import { paidModels } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { anthropicError, openaiError } from "../../support/vendors.ts";

const operatorKey = "operator-key-of-the-test-of-rejections";

const { upstream, gateway, books } = scriptedStage((baseUrl) => ({ ...paidModels(baseUrl), operatorKey }));

type Method = keyof typeof InferenceService.method & keyof Client<typeof InferenceService>;

interface Way {
  readonly path: string;
  readonly body: JsonObject;
  readonly unary?: Method;
  readonly streamed: Method;
}

const messages = [{ role: "user", content: "Say hello to the caller, please." }];
const families: Readonly<Record<string, Way>> = {
  chat: {
    ...{ path: "/v1/chat/completions", body: { max_tokens: 64, messages } },
    ...{ unary: "createChatCompletion", streamed: "streamChatCompletion" },
  },
  messages: {
    ...{ path: "/v1/messages", body: { max_tokens: 64, messages } },
    ...{ unary: "createMessage", streamed: "streamMessage" },
  },
  completions: {
    ...{ path: "/v1/completions", body: { max_tokens: 64, prompt: "Say hello" } },
    ...{ unary: "createCompletion", streamed: "streamCompletion" },
  },
  responses: {
    ...{ path: "/v1/responses", body: { max_output_tokens: 64, input: "Say hello" } },
    ...{ unary: "createResponse", streamed: "streamResponse" },
  },
};

const embeddings: Way = { path: "/v1/embeddings", body: { input: "Hello" }, streamed: "createEmbeddings" };
const speech: Way = { path: "/v1/audio/speech", body: { input: "Hello", voice: "alloy" }, streamed: "streamSpeech" };

const ways = [
  ...Object.entries(families).flatMap(([family, way]) =>
    ["gpt", "claude"].map((model) => [`${family} over ${model}`, model, way] as const),
  ),
  ["embeddings", "embed", embeddings] as const,
  ["speech", "voice", speech] as const,
];

/** anthropicTypes are Anthropic's types of errors, which say more than its status does. */
const anthropicTypes: Readonly<Record<number, string>> = {
  ...{ 401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error" },
  ...{ 408: "timeout_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error" },
  ...{ 503: "overloaded_error", 529: "overloaded_error" },
};

/** answerWith has the upstream refuse every request so. */
function answerWith(status: number): void {
  upstream.script = (exchange) => {
    if (!exchange.path.endsWith("/messages")) exchange.json(status, openaiError("an_error", "no"));
    else exchange.json(status, anthropicError(anthropicTypes[status] ?? "invalid_request_error", "no"));
  };
}

/** askHttp makes the calls over HTTP, unary and, where there is such, streamed. Returns how many. */
async function askHttp({ apiKey }: Payer, model: string, { path, body, unary }: Way): Promise<number> {
  const forms = unary ? [{}, { stream: true }] : [{}];
  for (const form of forms) {
    const { status } = await hear(gateway, { path, apiKey, body: { model, ...body, ...form } }).answer;
    expect(status).toBeGreaterThanOrEqual(400);
  }
  return forms.length;
}

/** askGrpc makes the calls over gRPC. Returns how many. */
async function askGrpc({ apiKey }: Payer, model: string, { body, unary, streamed }: Way): Promise<number> {
  const client = createClient(InferenceService, createGrpcTransport({ baseUrl: gateway.rootUrl }));
  const methods = unary ? [unary, streamed] : [streamed];
  for (const name of methods) {
    const schema: DescMessage = InferenceService.method[name].input;
    const message = readMessage(schema, { model, ...body }, { lenient: false });
    const ask = client[name] as (message: unknown, options: object) => Promise<unknown> | AsyncIterable<unknown>;
    const asking = ask(message, { headers: { authorization: `Bearer ${apiKey}` } });
    const told = Symbol.asyncIterator in asking ? Array.fromAsync(asking) : asking;
    await expect(told).rejects.toBeInstanceOf(ConnectError);
  }
  return methods.length;
}

async function expectOutcome(payer: Payer, calls: number, outcome: Outcome): Promise<void> {
  const { requests, ...standing } = await books.of(payer);
  expect(standing).toMatchObject({ balance: payer.begunWith, spent: 0, held: 0, keyHeld: 0, holds: 0 });
  expect(requests.map((row) => ({ outcome: row.outcome, cost: row.cost, tried: row.tried }))).toEqual(
    Array.from({ length: calls }, () => ({ outcome, cost: 0, tried: null })),
  );
}

test.each(ways)("%s: what the upstream rejects is no failure of its, over HTTP and gRPC", async (_, model, way) => {
  answerWith(400);
  const payer = await openAccount(gateway);
  const calls = (await askHttp(payer, model, way)) + (await askGrpc(payer, model, way));
  await expectOutcome(payer, calls, Outcome.REJECTED);
});

test.each([404, 409, 413, 415, 422])("a status of %s is the caller's fault", async (status) => {
  answerWith(status);
  const payer = await openAccount(gateway);
  for (const [, model, way] of ways.slice(0, 4))
    await expectOutcome(payer, await askHttp(payer, model, way).then(() => rowsOf(payer)), Outcome.REJECTED);
});

test.each([401, 402, 403, 408, 429, 500, 503, 529])("a status of %s is not", async (status) => {
  answerWith(status);
  const payer = await openAccount(gateway);
  for (const [, model, way] of ways.slice(0, 4))
    await expectOutcome(payer, await askHttp(payer, model, way).then(() => rowsOf(payer)), Outcome.FAILED);
});

const rowsOf = async (payer: Payer) => (await books.of(payer)).requests.length;

test("the operator's measures and the caller's usage tell rejected requests from failures", async () => {
  const payer = await openAccount(gateway, { admin: true });
  const span = { from: new Date(now - 3_600_000).toISOString(), to: new Date(now + 3_600_000).toISOString() };
  const measured = async () => {
    const request = { ...span, bucket: "BUCKET_HOUR", upstream: "openai" };
    const { json } = await askRpc(gateway, "OperatorService/MeasureAttempts", request, bearer(operatorKey));
    const { attempts = 0, failures = 0 } = json.total as { attempts?: string; failures?: string };
    return [Number(attempts), Number(failures)];
  };
  const [attempts = 0, failures = 0] = await measured();
  const { chat } = families;
  if (!chat) throw new Error("there is no chat");
  answerWith(422);
  await askHttp(payer, "gpt", chat);
  answerWith(500);
  await askHttp(payer, "gpt", chat);
  await rowsOf(payer);
  expect(await measured()).toEqual([attempts + 4, failures + 2]);
  const rejected = { filter: { ...span, outcomes: ["OUTCOME_REJECTED"] } };
  const { json } = await askRpc(gateway, "UsageService.SummarizeRequests", rejected, bearer(payer.apiKey));
  expect(json.total).toMatchObject({ requests: "2" });
  const csv = await fetch(`${gateway.rootUrl}/api/v1/usage/requests.csv`, { headers: bearer(payer.apiKey) });
  expect((await csv.text()).match(/,rejected,/g)).toHaveLength(2);
});
