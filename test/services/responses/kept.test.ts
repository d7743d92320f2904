/**
 * What is kept of responses: whose it is, for how long, how much, and that it is there when its caller goes on from it.
 */
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { type Gateway, startGateway } from "../../../src/composition/gateway.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { newId } from "../../../src/runtime/ids.ts";
import { issueKey } from "../../../src/services/keys/issue-key.ts";
import type { Storage } from "../../../src/storage/storage.ts";
import { binaryOptions, type JsonObject } from "../../../src/wire/json.ts";
import { environment } from "../../support/environment.ts";
import { upstreamAt } from "../../support/gateway.ts";
import { eventStream, type ScriptedUpstream, startScriptedUpstream } from "../../support/scripted-upstream.ts";
import { newTestDatabase, refuseInserts, type TestDatabase } from "../../support/storage/test-database.ts";

const model = "embedded-chat";
const hour = 3_600_000;
let time = Date.UTC(2026, 0, 2, 3, 4, 5);
let database: TestDatabase;
let storage: Storage;
let gateway: Gateway;
let upstream: ScriptedUpstream;
let ada: string;
let bob: string;

async function start(): Promise<void> {
  const config = {
    ...loadConfig(undefined, environment),
    port: 0,
    dataDir: database.dataDir,
    drainMs: 2000,
    keepAliveMs: 100,
  };
  const responses = { keepMs: 24 * hour, maxPerAccount: 5, maxBytes: 4096 };
  const served = { ...upstreamAt(upstream.baseUrl), embeddedModels: true };
  const models = (served.models ?? []).map((one) => ({ ...one, id: "scripted" }));
  storage = await database.open();
  gateway = await startGateway({
    config: { ...config, ...served, models, responses },
    storage,
    log: pino({ level: "silent" }),
    clock: () => time,
  });
}

async function stop(): Promise<void> {
  await gateway.close();
  await storage.close();
}

async function newKey(name: string): Promise<string> {
  const account = { id: newId("acc"), name, created_at: time, postpaid: 1 };
  await storage.accounts.insert(account);
  return (await issueKey(storage.keys, { accountId: account.id, name, admin: false, now: time })).secret;
}

beforeAll(async () => {
  database = await newTestDatabase();
  upstream = await startScriptedUpstream();
  await start();
  ada = await newKey("ada");
  bob = await newKey("bob");
});

afterAll(async () => {
  await stop();
  await upstream.close();
  await database.remove();
});

interface Reply {
  readonly status: number;
  readonly body: { id: string; store: boolean; output: { id: string }[]; error: { code: string; message: string } };
}

async function ask(apiKey: string, path: string, body?: JsonObject, method = body ? "POST" : "GET"): Promise<Reply> {
  const response = await fetch(`http://127.0.0.1:${gateway.port}${path}`, {
    method,
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: response.status, body: (await response.json()) as Reply["body"] };
}

const create = (apiKey: string, more: JsonObject = {}) =>
  ask(apiKey, "/v1/responses", { model, input: "say: kept", ...more });
const isKept = async (apiKey: string, id: string) => (await ask(apiKey, `/v1/responses/${id}`)).status === 200;

function textOf({ body }: Reply): string {
  return JSON.stringify(body.output);
}

describe("a kept response", () => {
  test("is its account's alone", async () => {
    const { body } = await create(ada);
    expect(await isKept(ada, body.id)).toBe(true);
    expect(await isKept(bob, body.id)).toBe(false);
    const gone = await create(bob, { previous_response_id: body.id });
    expect(gone).toMatchObject({
      status: 400,
      body: {
        error: {
          message: `Previous response with id '${body.id}' not found.`,
          type: "invalid_request_error",
          param: "previous_response_id",
          code: "previous_response_not_found",
        },
      },
    });
    const [item] = body.output;
    const input = [{ type: "item_reference", id: item?.id ?? "" }];
    expect((await create(ada, { input })).status).toBe(200);
    expect((await create(bob, { input })).status).toBe(404);
    expect((await ask(bob, `/v1/responses/${body.id}`, undefined, "DELETE")).status).toBe(404);
    expect((await ask(ada, `/v1/responses/${body.id}`, undefined, "DELETE")).body).toEqual({
      id: body.id,
      object: "response",
      deleted: true,
    });
    expect(await isKept(ada, body.id)).toBe(false);
  });

  test("is there under both paths, and refused as a stream", async () => {
    const { body } = await ask(ada, "/responses", { model, input: "say: short" });
    expect((await ask(ada, `/responses/${body.id}`)).body).toEqual(body);
    expect(await ask(ada, `/v1/responses/${body.id}?stream=true`)).toMatchObject({
      status: 400,
      body: { error: { param: "stream" } },
    });
  });

  test("is there after a restart", async () => {
    const { body } = await create(ada, { input: "Remember 42." });
    await stop();
    await start();
    expect((await ask(ada, `/v1/responses/${body.id}`)).body).toEqual(body);
    const next = await create(ada, { input: "Which?", previous_response_id: body.id });
    expect(textOf(next)).toContain("3 messages");
  });

  test("expires, and is deleted when others come", async () => {
    const { body } = await create(ada);
    time += 24 * hour - 1;
    expect(await isKept(ada, body.id)).toBe(true);
    time += 1;
    expect(await isKept(ada, body.id)).toBe(false);
    expect((await create(ada, { previous_response_id: body.id })).status).toBe(400);
    expect((await ask(ada, `/v1/responses/${body.id}`, undefined, "DELETE")).status).toBe(404);
    expect(await storage.responses.find(await accountOf(ada), [body.id], 0)).toHaveLength(1);
    await create(bob);
    expect(await storage.responses.find(await accountOf(ada), [body.id], 0)).toHaveLength(0);
  });

  test("lives as long as those that go on from it", async () => {
    const first = await create(ada, { input: "One" });
    time += 20 * hour;
    const second = await create(ada, { input: "Two", previous_response_id: first.body.id });
    time += 20 * hour;
    const third = await create(ada, { input: "Three", previous_response_id: second.body.id });
    expect(textOf(third)).toContain("5 messages");
  });

  test("makes room for the account's next ones, and for nobody else's", async () => {
    const others = await create(bob);
    const ids: string[] = [];
    for (let i = 0; i < 7; i++) {
      time += 1;
      ids.push((await create(ada)).body.id);
    }
    expect(await Promise.all(ids.map((id) => isKept(ada, id)))).toEqual([false, false, true, true, true, true, true]);
    expect(await isKept(bob, others.body.id)).toBe(true);
  });

  test("is missed where one before it was deleted", async () => {
    const first = await create(ada, { input: "One" });
    const second = await create(ada, { input: "Two", previous_response_id: first.body.id });
    await ask(ada, `/v1/responses/${first.body.id}`, undefined, "DELETE");
    const third = await create(ada, { input: "Three", previous_response_id: second.body.id });
    expect(third.status).toBe(400);
    expect(third.body.error.message).toContain(first.body.id);
  });
});

describe("nothing is kept", () => {
  test("where the caller says so", async () => {
    const { body } = await create(ada, { store: false });
    expect(body.store).toBe(false);
    expect(await isKept(ada, body.id)).toBe(false);
    expect((await create(ada, { input: [{ type: "item_reference", id: body.output[0]?.id ?? "" }] })).status).toBe(404);
  });

  test("of an answer over the bound, which says so", async () => {
    const { status, body } = await create(ada, { input: `say: ${"word ".repeat(1000)}` });
    expect([status, body.store]).toEqual([200, false]);
    expect(await isKept(ada, body.id)).toBe(false);
  });

  test("of an input over the bound, which can be referred to but not gone on from", async () => {
    const { body } = await create(ada, { input: "word ".repeat(1000) });
    expect(await isKept(ada, body.id)).toBe(true);
    expect((await create(ada, { input: [{ id: body.output[0]?.id ?? "" }] })).status).toBe(200);
    const next = await create(ada, { previous_response_id: body.id });
    expect(next).toMatchObject({ status: 400, body: { error: { param: "previous_response_id" } } });
  });

  test("of an answer that the storage refuses, which is charged once and says so", async () => {
    const accept = await refuseInserts(database, "responses", "no more room");
    const accountId = await accountOf(ada);
    const calls = async () => (await storage.requests.page({ accountId }, undefined, 1000)).length;
    const before = await calls();
    const { status, body } = await create(ada);
    expect([status, body.store]).toEqual([200, false]);
    expect(await isKept(ada, body.id)).toBe(false);
    const events = await stream(ada, { model, input: "say: kept" });
    expect(events.at(-1)).toMatchObject({ event: "response.completed", data: { response: { store: false } } });
    expect((await calls()) - before).toBe(2);
    await accept();
    const next = await create(ada);
    expect([next.body.store, await isKept(ada, next.body.id)]).toEqual([true, true]);
  });

  test("of a stream that breaks", async () => {
    const answering = stream(ada, { model: "scripted", input: "Hi" });
    const exchange = await upstream.next();
    exchange.head(200, eventStream);
    await exchange.write(`data: ${JSON.stringify(chunk({ content: "Hel" }))}\n\n`);
    exchange.destroy();
    const events = await answering;
    expect(events.at(-1)).toMatchObject({
      event: "error",
      data: {
        type: "error",
        code: "upstream_error",
        message: expect.any(String),
        param: null,
        sequence_number: events.length - 1,
      },
    });
    const begun = events[0]?.data.response as JsonObject;
    expect(await isKept(ada, String(begun.id))).toBe(false);
  });
});

const chunk = (delta: JsonObject, finish_reason: string | null = null): JsonObject => ({
  ...{ id: "c", object: "chat.completion.chunk", created: 1, model: "m" },
  choices: [{ index: 0, delta, finish_reason }],
});

/** Reads a stream as it stands on the wire. */
async function stream(apiKey: string, body: JsonObject): Promise<{ event: string; data: JsonObject }[]> {
  const response = await fetch(`http://127.0.0.1:${gateway.port}/v1/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ ...body, stream: true }),
  });
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  const frames = (await response.text()).split("\n\n").filter((frame) => frame !== "" && !frame.startsWith(":"));
  return frames.map((frame) => {
    const [, event = "", data = ""] = /^event: (.*)\ndata: (.*)$/.exec(frame) ?? [];
    return { event, data: JSON.parse(data) as JsonObject };
  });
}

async function accountOf(apiKey: string): Promise<string> {
  const accounts = await storage.accounts.list();
  return (await accounts.find(({ name }) => name === (apiKey === ada ? "ada" : "bob")))?.id ?? "";
}

describe("a stream", () => {
  test("names each event twice and ends in none other, kept by then", async () => {
    const events = await stream(ada, { model, input: "say: one two" });
    for (const { event, data } of events) expect(data.type).toBe(event);
    expect(events.at(-1)?.event).toBe("response.completed");
    const response = events.at(-1)?.data.response as JsonObject;
    expect((await ask(ada, `/v1/responses/${response.id}`)).body).toEqual(response);
  });

  test("is kept alive by comments, which no client takes for an event", async () => {
    const events = await stream(ada, { model, input: "say: slow", metadata: { simulate_delay_ms: "350" } });
    expect(events[0]?.event).toBe("response.created");
  });
});

test("a reference stands for its item, word for word", async () => {
  const answer = (message: JsonObject) => ({
    ...{ id: "c", object: "chat.completion", created: 1, model: "m" },
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "stop" }],
  });
  const call = { id: "call_1", type: "function", function: { name: "f", arguments: '{"a":1}' } };
  upstream.script = (exchange) =>
    exchange.json(200, answer({ content: "Let me see.", reasoning_content: "Hm.", tool_calls: [call] }));
  const first = await create(ada, { model: "scripted", input: "Go" });
  const ids = first.body.output.map(({ id }) => id);
  expect(ids).toHaveLength(3);
  await create(ada, {
    model: "scripted",
    input: [
      { role: "user", content: "Go" },
      ...ids.map((id) => ({ type: "item_reference", id })),
      { type: "function_call_output", call_id: "call_1", output: "4" },
    ],
  });
  upstream.script = undefined;
  expect(upstream.lastAsked.messages).toEqual([
    { role: "user", content: "Go" },
    { role: "assistant", content: "Let me see.", reasoning_content: "Hm.", tool_calls: [call] },
    { role: "tool", tool_call_id: "call_1", content: "4" },
  ]);
});

test("a reference to nothing is refused, and says where it stands", async () => {
  const input = [{ role: "user", content: "Go" }, { type: "item_reference" }];
  const { status, body } = await ask(ada, "/v1/responses", { model: "scripted", input });
  expect(status).toBe(400);
  expect(body.error).toMatchObject({ code: "missing_required_parameter", param: "input[1].id" });
});

test("it is the same over RPC", async () => {
  const baseUrl = `http://127.0.0.1:${gateway.port}`;
  const client = createClient(InferenceService, createGrpcTransport({ baseUrl, binaryOptions }));
  const options = { headers: { authorization: `Bearer ${ada}` } };
  const request = { model, input: { case: "inputText", value: "say: one two" } } as const;
  time += 1;
  const first = await client.createResponse(request, options);
  expect(first.output[0]?.content).toMatchObject({ case: "contentParts", value: { parts: [{ text: "one two" }] } });
  expect((await client.getResponse({ id: first.id }, options)).output).toEqual(first.output);
  time += 1;
  const events = await Array.fromAsync(client.streamResponse({ ...request, previousResponseId: first.id }, options));
  expect(events.map(({ sequenceNumber }) => sequenceNumber)).toEqual(events.map((_, i) => i));
  expect(events.at(-1)).toMatchObject({ type: "response.completed", response: { previousResponseId: first.id } });
  expect(await client.deleteResponse({ id: first.id }, options)).toMatchObject({ deleted: true });
  await expect(client.getResponse({ id: first.id }, options)).rejects.toThrow(/not_found/);
  await expect(client.createResponse({ ...request, previousResponseId: first.id }, options)).rejects.toThrow(
    /not_found.*Previous response/,
  );
});
