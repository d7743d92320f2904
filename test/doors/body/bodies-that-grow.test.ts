/**
 * A small request that expands is bounded like a large one, before it is held: by references, by forms, protobuf and base64, which
 * are shorter than their JSON, and by prompts that each repeat the whole request. Within the bounds, it takes the room that it
 * expands to.
 */
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ErrorDetailSchema, Reason } from "../../../gen/modelgateway/v1/errors_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { readStored } from "../../../src/services/responses/kept.ts";
import type { ResponseStore } from "../../../src/storage/answers/responses.ts";
import type { JsonObject, JsonValue } from "../../../src/wire/json.ts";
import { jsonLength } from "../../../src/wire/scan/json-length.ts";
import { doors } from "../../support/clients/doors.ts";
import { eventually } from "../../support/eventually.ts";
import { anthropicUpstreamAt, now, startTestGateway, type TestGateway, upstreamAt } from "../../support/gateway.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const KB = 1024;
const maxBodyBytes = 200 * KB;
const model = "embedded-chat";

const bodiesInFlight = { maxBytes: 1000 * KB, maxBytesPerAccount: 400 * KB };
const { upstream, gateway } = scriptedStage((baseUrl) => ({ ...upstreamAt(baseUrl), maxBodyBytes, bodiesInFlight }), {
  perTest: true,
});

const saying = (content: string) => ({
  ...{ id: "c", object: "chat.completion", created: 1, model },
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

interface Made {
  readonly status: number;
  readonly body: { readonly id: string; readonly output: { readonly id: string }[]; readonly error?: JsonObject };
}

async function post(body: JsonObject): Promise<Made> {
  const response = await fetch(`${gateway.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model, ...body }),
  });
  return { status: response.status, body: (await response.json()) as Made["body"] };
}

/** Has an answer kept that is so long. */
async function keep(bytes: number, more: JsonObject = {}): Promise<{ id: string; item: string }> {
  upstream.script = (exchange) => exchange.json(200, saying("x".repeat(bytes)));
  const { body } = await post({ input: "Hi", ...more });
  return { id: body.id, item: body.output[0]?.id ?? "" };
}

const references = (id: string, count: number) => Array(count).fill({ type: "item_reference", id });

describe("references", () => {
  test("are expanded up to the bound of bodies", async () => {
    const { item } = await keep(20 * KB);
    const { status } = await post({ input: references(item, 9), store: false });
    expect(status).toBe(200);
    expect(upstream.received.at(-1)?.body.length).toBeGreaterThan(180 * KB);
  });

  test("are refused beyond it, and nothing is sent", async () => {
    const { item } = await keep(20 * KB);
    const { length } = upstream.received;
    for (const count of [10, 400, 2000]) {
      expect(await post({ input: references(item, count), store: false })).toMatchObject({
        status: 413,
        body: { error: { param: "input", message: expect.stringContaining(`the limit of ${maxBodyBytes} bytes`) } },
      });
    }
    expect(upstream.received).toHaveLength(length);
  });

  test("are refused alike over RPC", async () => {
    const { item } = await keep(20 * KB);
    const transport = createConnectTransport({ baseUrl: gateway.rootUrl, httpVersion: "1.1" });
    const items = Array.from({ length: 400 }, () => ({ id: item }));
    const request = { model, input: { case: "inputItems", value: { items } } } as const;
    const headers = { authorization: `Bearer ${gateway.apiKey}` };
    const error = await createClient(InferenceService, transport)
      .createResponse(request, { headers })
      .catch((error) => error);
    expect(error.findDetails(ErrorDetailSchema)[0]).toMatchObject({ reason: Reason.REQUEST_TOO_LARGE, param: "input" });
  });

  test("take the room of what they expand to, until the call is answered", async () => {
    const { item } = await keep(20 * KB);
    upstream.script = undefined;
    const first = post({ input: references(item, 8), store: false });
    const exchange = await upstream.next();
    expect(gateway.counts().bodyBytes).toBeGreaterThan(160 * KB);
    const second = post({ input: references(item, 8), store: false });
    const other = await upstream.next();
    expect(await post({ input: references(item, 8), store: false })).toMatchObject({
      status: 503,
      body: { error: { message: expect.stringContaining("the account has under way") } },
    });
    exchange.json(200, saying("1"));
    other.json(200, saying("2"));
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
    await eventually(() => expect(gateway.counts().bodyBytes).toBe(0));
  });
});

describe("a conversation that is continued", () => {
  test("is refused when it has grown beyond the bound of bodies", async () => {
    let previous: JsonObject = {};
    const statuses: number[] = [];
    for (let turn = 0; turn < 9; turn++) {
      upstream.script = (exchange) => exchange.json(200, saying("x".repeat(20 * KB)));
      const { status, body } = await post({ input: "y".repeat(5 * KB), ...previous });
      statuses.push(status);
      if (status !== 200) expect(body.error).toMatchObject({ param: "previous_response_id" });
      else previous = { previous_response_id: body.id };
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 200, 200, 413]);
    expect(upstream.received).toHaveLength(8);
  });

  test("counts what was said in it once, whatever its responses repeat", async () => {
    const instructions = "z".repeat(60 * KB);
    let previous: JsonObject = {};
    for (let turn = 0; turn < 5; turn++) {
      const { id } = await keep(KB, { instructions, ...previous });
      previous = { previous_response_id: id };
    }
    const line = await gateway.storage.responses.line(gateway.accountId, String(previous.previous_response_id), now);
    expect(line.reduce((sum, { bytes }) => sum + bytes, 0)).toBeGreaterThan(maxBodyBytes);
    expect((await post({ input: "Go on", ...previous })).status).toBe(200);
  });
});

test("no more than the bound is read from storage for a request", async () => {
  const find = () => Promise.reject(new Error("it was read"));
  const kept = { store: { find } as unknown as ResponseStore, accountId: "acc", now: 0 };
  const sized = Array.from({ length: 65 }, (_, i) => ({ id: `resp_${i}`, bytes: KB * KB }));
  const reading = readStored(kept, sized, "input").next();
  await expect(reading).rejects.toMatchObject({ reason: Reason.REQUEST_TOO_LARGE, param: "input" });
});

describe("a request whose JSON is longer than its body", () => {
  /** Each is six bytes in JSON. */
  const controls = (count: number) => "\u0001".repeat(count);

  async function postForm(path: string, type: string, body: string) {
    const headers = { authorization: `Bearer ${gateway.apiKey}`, "content-type": type };
    const response = await fetch(`${gateway.baseUrl}${path}`, { method: "POST", headers, body });
    return { status: response.status, text: await response.text() };
  }

  const completion = {
    ...{ id: "c", object: "text_completion", created: 1, model },
    choices: [{ index: 0, text: "hi", logprobs: null, finish_reason: "stop" }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
  const multipart = (text: string) =>
    `--b\r\ncontent-disposition: form-data; name="prompt"\r\n\r\n${text}\r\n--b--\r\n`;
  const forms: readonly (readonly [name: string, type: string, formOf: (text: string) => string])[] = [
    ["a form", "application/x-www-form-urlencoded", (text) => `model=${model}&prompt=${text}`],
    ["a form in parts", "multipart/form-data; boundary=b", multipart],
  ];

  for (const [name, type, formOf] of forms) {
    test(`is counted as its JSON, with ${name}`, async () => {
      upstream.script = (exchange) => exchange.json(200, completion);
      expect((await postForm("/completions", type, formOf(controls(33 * KB)))).status).toBe(200);
      const refused = await postForm("/completions", type, formOf(controls(36 * KB)));
      expect(refused).toMatchObject({ status: 413, text: expect.stringContaining("the limit of 204800 bytes") });
      expect(upstream.received).toHaveLength(1);
    });
  }

  for (const { name, chat } of doors.filter(({ name }) => name !== "REST")) {
    test(`is counted as its JSON, through ${name}`, async () => {
      upstream.script = (exchange) => exchange.json(200, saying("hi"));
      // Twice as many bytes in JSON, and as many in all else.
      const asking = (count: number) => ({
        ...{ request: { model, messages: [{ role: "user", content: `"`.repeat(count) }] }, stream: false },
      });
      expect((await chat(gateway, asking(95 * KB))).refused).toBeUndefined();
      const { refused } = await chat(gateway, asking(110 * KB));
      expect(refused?.status).toBe(413);
      expect(upstream.received).toHaveLength(1);
    });
  }

  test("is counted as its JSON, with a file in base64 whose text goes upstream", async () => {
    const anthropic = await startTestGateway({ ...anthropicUpstreamAt(upstream.baseUrl), maxBodyBytes });
    upstream.script = (exchange) => exchange.json(200, message);
    const asking = (count: number) => {
      const file_data = `data:text/plain;base64,${Buffer.from(controls(count)).toString("base64")}`;
      const content = [{ type: "file", file: { filename: "a.txt", file_data } }];
      return { request: { model, messages: [{ role: "user", content }] }, stream: false };
    };
    const [rest] = doors;
    expect((await rest?.chat(anthropic, asking(33 * KB)))?.refused).toBeUndefined();
    expect((await rest?.chat(anthropic, asking(36 * KB)))?.refused?.status).toBe(413);
    expect(upstream.received).toHaveLength(1);
    await anthropic.close();
  });

  const message = {
    ...{ id: "msg_1", type: "message", role: "assistant", model, stop_reason: "end_turn", stop_sequence: null },
    ...{ content: [{ type: "text", text: "hi" }], usage: { input_tokens: 1, output_tokens: 1 } },
  };
});

describe("prompts of a completion on a chat model", () => {
  let onChat: TestGateway;

  beforeEach(async () => {
    const served = upstreamAt(upstream.baseUrl);
    const models = (served.models ?? []).map((one) => ({ ...one, completions: "chat" as const }));
    onChat = await startTestGateway({ ...served, models, maxBodyBytes });
    upstream.script = (exchange) => exchange.json(200, saying("hi"));
  });

  afterEach(() => onChat.close());

  async function complete(body: JsonObject) {
    const headers = { authorization: `Bearer ${onChat.apiKey}`, "content-type": "application/json" };
    const sent = { method: "POST", headers, body: JSON.stringify({ model, ...body }) };
    const response = await fetch(`${onChat.baseUrl}/completions`, sent);
    return { status: response.status, body: (await response.json()) as { error?: JsonObject } };
  }

  test("may add up to a body, each with the rest of the request", async () => {
    const metadata = { note: "x".repeat(10 * KB) };
    expect((await complete({ prompt: Array(19).fill("Hi"), metadata })).status).toBe(200);
    expect(upstream.received).toHaveLength(19);
    const refused = await complete({ prompt: Array(20).fill("Hi"), metadata });
    expect(refused).toMatchObject({ status: 413, body: { error: { param: "prompt" } } });
    expect(upstream.received).toHaveLength(19);
  });

  test("may add up to a body where each choice repeats them", async () => {
    const prompt = "x".repeat(20 * KB);
    expect((await complete({ prompt, echo: true, n: 10 })).status).toBe(200);
    const refused = await complete({ prompt, echo: true, n: 11 });
    expect(refused).toMatchObject({ status: 413, body: { error: { param: "n" } } });
    expect((await complete({ prompt, n: 11 })).status).toBe(200);
  });
});

test("the length of JSON is known without writing it", () => {
  const any = fc.jsonValue({
    stringUnit: fc.oneof(fc.constantFrom('"', "\\", "\u0001", "\n", "é", "€"), fc.string({ unit: "grapheme" })),
  });
  fc.assert(
    fc.property(any, (value) => {
      const json = JSON.parse(JSON.stringify(value)) as JsonValue;
      const length = Buffer.byteLength(JSON.stringify(json));
      expect(jsonLength(json, Number.POSITIVE_INFINITY)).toBe(length);
      expect(jsonLength(json, length - 1)).toBeGreaterThan(length - 1);
    }),
    { seed: 30, numRuns: 2000 },
  );
});
