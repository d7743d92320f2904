/**
 * Canaries go through every endpoint and every door, wherever a caller or an upstream may say something: prompts, arguments of
 * tools, names of files, settings, credentials, bodies that nobody can read, errors that quote what was asked. Whatever
 * becomes of the calls, no canary is in the log, the metrics, the traces or the database.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ModelConfig } from "../../src/config/config.ts";
import { asFormOfJson, doorsOf, type EndpointName, endpoints } from "../support/clients/endpoints.ts";
import { askRpc, signIn } from "../support/dashboard/session.ts";
import { remainsOf } from "../support/left-behind.ts";
import { eventStream, type ScriptedExchange } from "../support/scripted-upstream.ts";
import { type OtlpReceiver, startOtlpReceiver } from "../support/telemetry/otlp-receiver.ts";
import { scrape } from "../support/telemetry/scrape.ts";
import { paidModels } from "../support/upstreams/paid-models.ts";
import { scriptedStage } from "../support/upstreams/scripted-stage.ts";
import {
  answerAsAnthropic,
  answerAsOpenAi,
  anthropicError,
  anthropicFrames,
  chatAnswer,
  chatChunk,
  messageAnswer,
  messageStart,
  openaiError,
  openaiFrames,
} from "../support/vendors.ts";

let hatched = 0;
/** A text that is nowhere else. */
const canary = () => `canary-${hatched++} sings a song of its own`;
const secret = () => `sk-canary-${hatched++}-secret`;
const isCanary = /canary/i;

let receiver: OtlpReceiver;
beforeAll(async () => {
  receiver = await startOtlpReceiver();
});
afterAll(async () => {
  expect(receiver.received.length).toBeGreaterThan(0);
  for (const { body } of receiver.received) expect(body).not.toMatch(isCanary);
  await receiver.close();
});

const { upstream, gateway } = scriptedStage(
  (baseUrl) => {
    const config = paidModels(baseUrl);
    return {
      ...config,
      // All that there is to see calls by, and to keep of them, and several attempts at each.
      upstreams: config.upstreams.map((one) => ({ ...one, api_key: secret() })),
      telemetry: { endpoint: receiver.endpoint, headers: { authorization: `Bearer ${secret()}` } },
      cache: { maxBytes: 1_000_000, keepMs: 60_000, priceShare: 0.5 },
      models: config.models.map(inTwoPlaces),
      retries: { attempts: 2, share: 0 },
      operatorKey: `${secret()}-${"o".repeat(40)}`,
    };
  },
  { admin: true, script: (exchange) => exchange.reset() },
);

/** inTwoPlaces makes a failed call be retried once, at once. */
function inTwoPlaces({ targets: [first], ...model }: ModelConfig): ModelConfig {
  return { ...model, targets: first ? [first, { ...first, priority: 1 }] : [] };
}

/** expectNone checks that no canary so far is found anywhere. */
async function expectNone(): Promise<void> {
  const { text } = await scrape(gateway.metricsPort);
  const left = { log: gateway.logged(), metrics: text, database: gateway.database };
  expect((await remainsOf(left)).filter(({ text }) => isCanary.test(text))).toEqual([]);
}

const tool = () => ({ type: "object", properties: { city: { type: "string", description: canary() } } });

/** A request of each endpoint with a canary wherever there is room for one. */
const requests: Readonly<Record<Exclude<EndpointName, "models" | "model">, (model: string) => JsonObject>> = {
  chat: (model) => ({
    model,
    messages: [
      { role: "system", content: canary() },
      { role: "user", content: [{ type: "text", text: canary() }], name: "canary" },
      {
        role: "assistant",
        content: canary(),
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "canary", arguments: `{"a":"${canary()}"}` } },
        ],
      },
      { role: "tool", tool_call_id: "call_1", content: canary() },
    ],
    tools: [{ type: "function", function: { name: "canary", description: canary(), parameters: tool() } }],
    ...{ stop: [canary().slice(0, 12)], user: canary(), metadata: { note: canary() }, max_tokens: 20 },
    unknown_setting: canary(),
  }),
  messages: (model) => ({
    ...{ model, max_tokens: 20, system: canary(), metadata: { user_id: canary() } },
    messages: [
      { role: "user", content: [{ type: "text", text: canary() }] },
      { role: "assistant", content: [{ type: "tool_use", id: "tool_1", name: "canary", input: { a: canary() } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "tool_1", content: canary() }] },
    ],
    tools: [{ name: "canary", description: canary(), input_schema: tool() }],
    stop_sequences: [canary().slice(0, 12)],
  }),
  count_tokens: (model) => ({ model, system: canary(), messages: [{ role: "user", content: canary() }] }),
  completions: (model) => ({ model, prompt: canary(), user: canary(), max_tokens: 20 }),
  responses: (model) => ({
    ...{ model, instructions: canary(), metadata: { note: canary() }, max_output_tokens: 20 },
    input: [
      { role: "user", content: [{ type: "input_text", text: canary() }] },
      { type: "function_call", call_id: "call_1", name: "canary", arguments: `{"a":"${canary()}"}` },
      { type: "function_call_output", call_id: "call_1", output: canary() },
    ],
  }),
  embeddings: () => ({ model: "embed", input: [canary(), canary()], user: canary() }),
};

type Script = (exchange: ScriptedExchange) => void;

/** quoting quotes the request, as some upstreams do. */
const quoting =
  (status: number): Script =>
  (exchange) => {
    const words = `you said ${exchange.body.toString()}`;
    const isMessages = exchange.path.startsWith("/v1/messages");
    exchange.json(
      status,
      isMessages ? anthropicError("api_error", words) : openaiError("server_error", words, canary()),
    );
  };

const streaming = (exchange: ScriptedExchange, ...pieces: readonly string[]) => {
  exchange.head(200, eventStream);
  exchange.end(pieces.join(""));
};

const bad = (exchange: ScriptedExchange) => {
  const quoted = exchange.body.toString();
  const isMessages = exchange.path.startsWith("/v1/messages");
  const error = isMessages ? anthropicError("overloaded_error", quoted) : openaiError("overloaded", quoted);
  return { quoted, isMessages, frame: isMessages ? anthropicFrames(error) : openaiFrames(error) };
};

/** What an upstream may answer with canaries in it. */
const answers: Readonly<Record<string, Script>> = {
  "answers with what was asked": (exchange) => {
    const { stream = false } = exchange.asked;
    const isMessages = exchange.path === "/v1/messages";
    if (stream || !/chat|messages$/.test(exchange.path)) {
      (isMessages || exchange.path.includes("count") ? answerAsAnthropic : answerAsOpenAi)(exchange);
    } else if (isMessages) exchange.json(200, messageAnswer([{ type: "text", text: canary() }]));
    else exchange.json(200, chatAnswer({ content: canary(), refusal: canary() }, "stop", { odd: canary() }));
  },
  "refuses with 400": quoting(400),
  "refuses the credential": quoting(401),
  "has no such model": quoting(404),
  "has too much to do": quoting(429),
  "fails with 500": quoting(500),
  "answers with 200 and an error": quoting(200),
  "fails with a page": (exchange) => {
    exchange.head(502, { "content-type": "text/html", "x-canary": "canary" });
    exchange.end(`<html>${exchange.body.toString()}</html>`);
  },
  "answers with what is no JSON": (exchange) => {
    exchange.head(200, { "content-type": "application/json" });
    exchange.end(`{"choices": canary ${exchange.body.toString()}`);
  },
  "answers with what is of the wrong type": (exchange) => exchange.json(200, { choices: canary(), content: canary() }),
  "begins a stream with an error": (exchange) => streaming(exchange, bad(exchange).frame),
  "breaks a stream by an error": (exchange) => {
    const { isMessages, frame } = bad(exchange);
    const begun = isMessages ? anthropicFrames(messageStart()) : openaiFrames(chatChunk({ content: canary() }));
    streaming(exchange, begun, frame);
  },
  "streams what is no JSON": (exchange) => streaming(exchange, `data: canary ${bad(exchange).quoted}\n\n`),
  "streams what is of the wrong type": (exchange) =>
    streaming(exchange, `data: {"choices":{"canary":1},"type":{"canary":2},"delta":"canary"}\n\n`),
  "breaks the connection": (exchange) => exchange.reset(),
};

const well: keyof typeof answers = "answers with what was asked";
const names = Object.keys(requests) as (keyof typeof requests)[];

test.each(Object.entries(answers))("every endpoint through every door, where the upstream %s", async (what, script) => {
  upstream.script = script;
  for (const name of names) {
    for (const model of ["gpt", "claude"]) {
      // Behind the doors failures are told alike: two stand for all.
      const doors = doorsOf(endpoints[name]);
      for (const door of what === well ? doors : doors.filter(({ name }) => /REST, JSON|h2c/.test(name))) {
        for (const stream of endpoints[name].stream ? [false, true] : [false]) {
          const headers = { "idempotency-key": `canary-${hatched++}` };
          const asked = door.call(gateway, { request: requests[name](model), stream, headers });
          if (what === well) expect((await asked).refused).toBeUndefined();
          // A client that cannot read what the upstream said has failed as well as one that was told so.
          else await asked.catch(() => {});
        }
      }
    }
  }
  await expectNone();
});

function post(path: string, body: NonNullable<RequestInit["body"]>, headers: Record<string, string> = {}) {
  const credential = { authorization: `Bearer ${gateway.apiKey}` };
  const sent = { method: "POST", headers: { ...credential, "content-type": "application/json", ...headers }, body };
  return fetch(gateway.rootUrl + path, sent).then(
    async (response) => [response.status, await response.text()] as const,
  );
}

const paths = ["chat/completions", "messages", "completions", "responses", "embeddings", "audio/speech"];

test.each(paths)("a body that cannot be read, and one of wrong types: %s", async (path) => {
  for (const body of [
    `{"model": "gpt", "messages": [{"role": "user", "content": "${canary()}"`,
    `"${canary()}"`,
    JSON.stringify({ model: "gpt", messages: canary(), prompt: { canary: canary() }, input: { canary: 1 } }),
    JSON.stringify({ model: "gpt", messages: [{ role: canary(), content: canary() }], temperature: canary() }),
    JSON.stringify({ model: canary(), messages: [], input: canary(), prompt: canary(), voice: canary() }),
    JSON.stringify({ model: "gpt", models: [canary()], messages: [{ role: "user", content: canary() }] }),
    JSON.stringify({ [canary()]: { [canary()]: canary() } }),
  ]) {
    expect((await post(`/v1/${path}`, body))[0]).toBeGreaterThanOrEqual(400);
    await post(`/v1/${path}`, body, { "content-type": "application/canary" });
    await post(`/v1/${path}`, body, { "content-type": "multipart/form-data; boundary=canary" });
    await post("/v1/explain", JSON.stringify({ path: `/v1/${path}`, request: { canary: body } }));
  }
  await expectNone();
});

test("speech, as bytes and as events, and one that fails", async () => {
  for (const script of [
    (exchange: ScriptedExchange) => {
      exchange.head(200, { "content-type": "audio/mpeg" });
      exchange.end(canary());
    },
    quoting(500),
  ]) {
    upstream.script = script;
    for (const stream_format of ["audio", "sse"]) {
      const body = { model: "voice", voice: "alloy", input: canary(), instructions: canary(), stream_format };
      await post("/v1/audio/speech", JSON.stringify(body));
      await post("/v1/audio/speech", asFormOfJson(body).body, { "content-type": "application/x-www-form-urlencoded" });
    }
  }
  await expectNone();
});

test("what a call would meet, explained", async () => {
  for (const [name, path] of [
    ["chat", "/v1/chat/completions"],
    ["messages", "/v1/messages"],
    ["responses", "/v1/responses"],
  ] as const) {
    for (const model of ["gpt", "claude", "nobody"]) {
      await post("/v1/explain", JSON.stringify({ path, request: requests[name](model), strict: model === "gpt" }));
    }
  }
  await post("/v1/explain", JSON.stringify({ path: `/canary?${canary()}`, request: {} }));
  await expectNone();
});

test("credentials that open nothing, wherever they are shown, and paths that do not exist", async () => {
  for (const headers of [
    { authorization: `Bearer ${secret()}` },
    { authorization: secret() },
    { authorization: `Basic ${btoa(`canary:${secret()}`)}` },
    { "x-api-key": secret() },
    { "api-key": secret() },
    { "x-gateway-key": secret(), cookie: `gateway_session=${secret()}`, "x-gateway-session": "1" },
    { traceparent: secret(), tracestate: `canary=${secret()}`, "x-request-id": secret(), "user-agent": canary() },
    { "x-gateway-timeout": canary(), "x-gateway-strict": canary(), "idempotency-key": canary() },
    { "x-forwarded-for": secret(), "x-forwarded-host": secret() },
  ] as Record<string, string>[]) {
    await post("/v1/chat/completions", JSON.stringify(requests.chat("gpt")), headers);
    await post("/v1/messages", JSON.stringify(requests.messages("claude")), headers);
  }
  const bearer = { headers: { authorization: `Bearer ${gateway.apiKey}` } };
  for (const path of [`/v1/models/${secret()}`, `/v1/responses/${secret()}`, `/${secret()}?key=${secret()}`]) {
    await fetch(gateway.rootUrl + path, bearer);
  }
  await expectNone();
});

test("keys that are made, turned and deleted, passwords and codes", async () => {
  const keys = "/api/v1/user/admin";
  const [status, text] = await post(`${keys}/create-api-token`, JSON.stringify({ name: "plain" }));
  expect(status).toBe(200);
  const { id, secret: made } = (JSON.parse(text) as { data: { id: string; secret: string } }).data;
  await post("/v1/chat/completions", JSON.stringify(requests.chat("gpt")), { authorization: `Bearer ${made}` });
  const [, turned] = await post(`${keys}/rotate-api-token`, JSON.stringify({ id }));
  const { secret: again } = (JSON.parse(turned) as { data: { secret: string } }).data;
  await post(`${keys}/delete-api-token`, JSON.stringify({ id }));
  await post(`${keys}/delete-api-token`, JSON.stringify({ id: secret() }));
  const person = await signIn(gateway, Date.UTC(2026, 0, 2, 3, 4, 5));
  const anybody = { "x-gateway-session": "1" };
  const { email } = await person;
  await askRpc(gateway, "SessionService.SignIn", { email, password: canary(), code: secret() }, anybody);
  await askRpc(gateway, "SessionService.Register", { email, password: canary(), link: secret() }, anybody);
  await askRpc(gateway, "AccountService.RedeemCode", { code: secret() }, (await person).headers);
  await askRpc(gateway, "OperatorService.ListAccounts", {}, { authorization: `Bearer ${secret()}` });
  const left = { log: gateway.logged(), metrics: "", database: gateway.database };
  for (const shown of [made, again, String((await person).headers.cookie?.split("=")[1])]) {
    expect(shown.length).toBeGreaterThan(20);
    expect((await remainsOf(left)).filter(({ text }) => text.includes(shown))).toEqual([]);
  }
  await expectNone();
});
