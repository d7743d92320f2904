import type { ServerResponse } from "node:http";
import {
  create,
  type DescField,
  type DescMessage,
  type DescMethod,
  type JsonObject,
  type JsonValue,
  ScalarType,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { AccountService } from "../../../gen/modelgateway/v1/accounts_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { KeyService } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { SessionService } from "../../../gen/modelgateway/v1/sessions_pb.ts";
import { UsageService } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { compileRoutes, type Route } from "../../../src/doors/rest/routes.ts";
import { readMessage } from "../../../src/wire/read.ts";
import { asForm, asMultipart } from "../../support/clients/endpoints.ts";
import { pick, type Random, randomOf } from "../../support/run/random.ts";
import { goldensOf } from "../../support/translations/goldens.ts";
import {
  anthropicError,
  completionPiece,
  helloChunks,
  helloEvents,
  messageAnswer,
  openaiError,
  usageChunk,
} from "../../support/vendors.ts";
import { enveloped, faultIn, overGrpc, overHttp, type RawAnswer } from "../doors.ts";
import { mutated, mutatedBytes, oddValue } from "../mutate.ts";
import { type FuzzStage, openFuzzStage, type Reply } from "../stage.ts";
import type { FuzzOptions } from "../target.ts";

/** Throws an Error with the seed and the case at the first finding. */
export async function fuzzAnswers({ seconds, seed, cases = Infinity, onCase }: FuzzOptions): Promise<void> {
  const end = performance.now() + seconds * 1000;
  const stage = await openFuzzStage();
  try {
    for (let i = 0; i < cases && (i === 0 || performance.now() < end); i++) {
      const random = randomOf(seed + i);
      const tried = random() < 0.6 ? anyAnswer(random) : anyRequest(random);
      const fault = await faultOf(stage, tried);
      if (fault) throw new Error(`seed ${seed + i}: ${tried.words}\n${fault}`);
      onCase?.(tried.words);
    }
  } finally {
    await stage.close();
  }
}

interface Tried {
  readonly words: string;
  readonly reply?: Reply;
  send(stage: FuzzStage): Promise<RawAnswer>;
}

async function faultOf(stage: FuzzStage, { reply, send }: Tried): Promise<string | undefined> {
  stage.answerBy(reply ?? ((res) => void res.writeHead(500).end()));
  let fault: string | undefined;
  try {
    fault = faultIn(await send(stage));
  } catch (error) {
    fault = `no answer that can be read: ${error} ${(error as Error).cause ?? ""}`;
  }
  // What is logged behind an answer is logged by the next turn.
  await new Promise((resolve) => setImmediate(resolve));
  const logged = stage.takeErrors();
  return fault || logged.length > 0 ? [fault, ...logged].join("\n") : undefined;
}

// What is asked of models.

interface Asked {
  readonly method: DescMethod;
  readonly path: string;
  readonly isStream: boolean;
  /** As the public wire has it. */
  readonly request: JsonObject;
}

const rpc = InferenceService.method;
const operations: readonly (readonly [
  path: string,
  whole: DescMethod,
  stream: DescMethod | undefined,
  requests: readonly JsonObject[],
])[] = [
  ["/v1/chat/completions", rpc.createChatCompletion, rpc.streamChatCompletion, requestsIn("chat-to-messages")],
  ["/v1/messages", rpc.createMessage, rpc.streamMessage, requestsIn("messages-to-chat")],
  [
    "/v1/messages/count_tokens",
    rpc.countMessageTokens,
    undefined,
    [{ messages: [{ role: "user", content: "Hello" }] }],
  ],
  ["/v1/completions", rpc.createCompletion, rpc.streamCompletion, requestsIn("completions-to-chat")],
  ["/v1/responses", rpc.createResponse, rpc.streamResponse, requestsIn("responses-to-chat")],
  [
    "/v1/embeddings",
    rpc.createEmbeddings,
    undefined,
    [{ input: ["a", "b"] }, { input: "a", encoding_format: "base64" }],
  ],
  ["/v1/audio/speech", rpc.createSpeech, rpc.streamSpeech, [{ input: "Hello", voice: "alloy" }]],
];

/** The requests of the translations' goldens, those that are refused too. */
function requestsIn(folder: string): JsonObject[] {
  return goldensOf<JsonObject>(folder).map(({ request }) => request as JsonObject);
}

function anyAsked(random: Random): Asked {
  const [path, whole, stream, requests] = pick(operations, random);
  const isStream = stream !== undefined && random() < 0.5;
  const request: JsonObject = { ...pick(requests, random), model: modelFor(path, random) };
  delete request.stream;
  return { method: isStream ? stream : whole, path, isStream, request };
}

function modelFor(path: string, random: Random): string {
  if (path.endsWith("embeddings")) return "vectors";
  if (path.endsWith("speech")) return "speech";
  return pick(["chat-openai", "chat-anthropic", "chat-openai", "chat-anthropic", "text-openai"], random);
}

type Door = (stage: FuzzStage, asked: Asked, random: Random) => Promise<RawAnswer>;

/** The doors of a model call, the request in the form of each. */
const modelDoors: Readonly<Record<"rest" | "connect" | "grpc" | "grpc-web", Door>> = {
  rest: ({ rootUrl, apiKey }, { path, isStream, request }) => {
    const json = isStream ? { ...request, stream: true } : request;
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
    return overHttp(`${rootUrl}${path}`, { method: "POST", headers, body: JSON.stringify(json) });
  },
  connect: (stage, { method, request }, random) => {
    const message = readMessage(method.input, request, { lenient: true });
    const isJson = random() < 0.5;
    const bytes = isJson ? Buffer.from(JSON.stringify(toJson(method.input, message))) : toBinary(method.input, message);
    return overConnect(stage, stage.apiKey, method, bytes, isJson);
  },
  grpc: ({ rootUrl, apiKey }, { method, request }) => {
    const message = readMessage(method.input, request, { lenient: true });
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/grpc" };
    return overGrpc(rootUrl, pathOf(method), headers, enveloped(toBinary(method.input, message)));
  },
  "grpc-web": ({ rootUrl, apiKey }, { method, request }) => {
    const message = readMessage(method.input, request, { lenient: true });
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/grpc-web+proto" };
    const body = Buffer.from(enveloped(toBinary(method.input, message)));
    return overHttp(`${rootUrl}${pathOf(method)}`, { method: "POST", headers, body });
  },
};

function pathOf({ parent, name }: DescMethod): string {
  return `/${parent.typeName}/${name}`;
}

function overConnect({ rootUrl }: FuzzStage, key: string, method: DescMethod, bytes: Uint8Array, isJson: boolean) {
  const isUnary = method.methodKind === "unary";
  const type = `application/${isUnary ? "" : "connect+"}${isJson ? "json" : "proto"}`;
  const headers = { authorization: `Bearer ${key}`, "content-type": type, "connect-protocol-version": "1" };
  const body = Buffer.from(isUnary ? bytes : enveloped(bytes));
  return overHttp(`${rootUrl}${pathOf(method)}`, { method: "POST", headers, body });
}

// Upstreams' nonsense.

const chat = [...goldensOf<JsonObject>("messages-to-chat"), ...goldensOf<JsonObject>("responses-to-chat")];
const messages = goldensOf<JsonObject>("chat-to-messages");
const listOf = (values: readonly (JsonValue | undefined)[]) => values.filter((value) => value !== undefined);
const wholes: readonly JsonValue[] = [
  ...listOf([...chat, ...messages].map(({ answer }) => answer)),
  ...[messageAnswer([{ type: "text", text: "Hello" }]), completionPiece("Hello", "stop")].map(
    (one) => one as JsonObject,
  ),
  { input_tokens: 9 },
  { object: "list", data: [{ object: "embedding", index: 0, embedding: [0.5, -0.5] }], usage: { prompt_tokens: 1 } },
  { object: "list", data: [{ object: "embedding", index: 0, embedding: "AAAAPwAAAL8=" }], usage: { prompt_tokens: 1 } },
];
const streams: readonly JsonValue[][] = [
  ...listOf([...chat, ...messages].map(({ stream, chunks }) => stream ?? chunks)).filter((one) => Array.isArray(one)),
  [...helloChunks, usageChunk()] as unknown as JsonValue[],
  [...helloEvents] as unknown as JsonValue[],
];
const types = [
  "invalid_request_error",
  "overloaded_error",
  "authentication_error",
  "constructor",
  "toString",
  "__proto__",
];
const statuses = [
  200, 200, 201, 204, 299, 301, 304, 400, 401, 403, 404, 408, 413, 422, 429, 499, 500, 503, 504, 529, 599, 600, 999,
];

function anyAnswer(random: Random): Tried {
  const asked = anyAsked(random);
  const door = pick(Object.entries(modelDoors), random);
  const { words, reply } = anyReply(asked, random);
  const named = `${door[0]} ${asked.path}${asked.isStream ? " (stream)" : ""} of ${asked.request.model}`;
  return {
    words: `${named}: ${JSON.stringify(asked.request)}\nanswered ${words}`,
    reply,
    send: (stage) => door[1](stage, asked, random),
  };
}

function anyReply(asked: Asked, random: Random): { readonly words: string; readonly reply: Reply } {
  const headers = random() < 0.1 ? oddHeaders(random) : {};
  if (random() < 0.25) {
    const type = pick(types, random);
    const error = (random() < 0.5 ? anthropicError(type, "m") : openaiError(type, "m", type)) as JsonObject;
    return replyOf(pick(statuses, random), headers, JSON.stringify(mutated(error, random)));
  }
  const isStream = random() < 0.95 ? asked.isStream : !asked.isStream;
  if (!isStream)
    return replyOf(200, headers, JSON.stringify(mutated(pick(fitting(wholes, asked, random), random), random)));
  const events = mutated(pick(fitting(streams, asked, random), random), random) as JsonValue;
  const list = Array.isArray(events) ? events : [events];
  const frames = list.map((event) => `${eventLine(event, random)}data: ${JSON.stringify(event)}\n\n`).join("");
  const done = random() < 0.8 ? "data: [DONE]\n\n" : "";
  return replyOf(200, { "content-type": "text/event-stream", ...headers }, frames + done);
}

/** Mostly what the upstream that is asked would say. */
function fitting<T extends JsonValue>(all: readonly T[], { request }: Asked, random: Random): readonly T[] {
  if (random() < 0.1) return all;
  const isAnthropic = request.model === "chat-anthropic";
  const fit = all.filter((one) => /"type":"message/.test(JSON.stringify(one)) === isAnthropic);
  return fit.length === 0 ? all : fit;
}

function eventLine(event: JsonValue, random: Random): string {
  const type = (event as JsonObject | null)?.type;
  return typeof type === "string" && random() < 0.7 ? `event: ${type.replace(/[\r\n]/g, "")}\n` : "";
}

function oddHeaders(random: Random): Record<string, string> {
  const name = pick(
    ["retry-after", "x-gateway-dropped", "content-type", "x-request-id", "constructor", "__proto__"],
    random,
  );
  return {
    [name]: pick(
      ["constructor", "-1", "1e9", "NaN", "Infinity", "{}", "a, b", "Wed, 21 Oct 2015 07:28:00 GMT", " "],
      random,
    ),
  };
}

function replyOf(status: number, headers: Record<string, string>, body: string) {
  const reply = (res: ServerResponse) => {
    const isBare = status === 204 || status === 304;
    res.writeHead(status, { "content-type": "application/json", ...headers });
    res.end(isBare ? undefined : body);
  };
  return { words: `${status} ${JSON.stringify(headers)} ${body}`, reply };
}

// Callers' nonsense.

const services = [InferenceService, KeyService, AccountService, UsageService, SessionService, OperatorService];
const methods = services.flatMap((service): readonly DescMethod[] => service.methods);
const routes = compileRoutes(services).all;

function anyRequest(random: Random): Tried {
  if (random() < 0.4) return anyModelRequest(random);
  const method = pick(methods, random);
  return random() < 0.4
    ? restRequest(pick(routes, random), random)
    : rpcRequest(method, messageJson(method.input, random, 0), random);
}

function anyModelRequest(random: Random): Tried {
  const asked = anyAsked(random);
  const request = mutated(asked.request, random);
  const sound = {
    whole: pick(fitting(wholes, asked, random), random),
    stream: pick(fitting(streams, asked, random), random),
  };
  const frames = sound.stream.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  const { reply } = asked.isStream
    ? replyOf(200, { "content-type": "text/event-stream" }, `${frames}data: [DONE]\n\n`)
    : replyOf(200, {}, JSON.stringify(sound.whole));
  const headers = random() < 0.3 ? oddRequestHeaders(random) : {};
  const encode = pick([asJson, asJson, asJson, asForm, asMultipart], random);
  const { isStream, path } = asked;
  const isObject = typeof request === "object" && request !== null && !Array.isArray(request);
  const json = isObject && isStream ? { ...(request as JsonObject), stream: true } : request;
  const words = `REST ${path} ${encode.name} ${JSON.stringify(headers)} ${JSON.stringify(json)}`;
  return {
    words,
    reply,
    send: ({ rootUrl, apiKey }) => {
      const { headers: own, body } = isObject ? encode(json as JsonObject) : asJson(json as JsonObject);
      const all = { authorization: `Bearer ${apiKey}`, ...own, ...headers };
      return overHttp(`${rootUrl}${path}`, { method: "POST", headers: all, body: body as string });
    },
  };
}

function asJson(request: JsonObject) {
  return { headers: { "content-type": "application/json" }, body: JSON.stringify(request) };
}

function oddRequestHeaders(random: Random): Record<string, string> {
  const names = [
    "x-gateway-timeout",
    "x-gateway-strict",
    "idempotency-key",
    "cache-control",
    "anthropic-version",
    "anthropic-beta",
    "x-gateway-key",
    "content-type",
    "traceparent",
    "accept",
    "cookie",
  ];
  const values = [
    "constructor=5",
    "__proto__=1",
    "toString",
    "total=30",
    "true",
    "no-cache, max-age=constructor",
    "{}",
    "-1",
    "text/constructor",
    "gateway_session=constructor",
  ];
  return { [pick(names, random)]: pick(values, random) };
}

function restRequest({ httpMethod, template, unary, stream }: Route, random: Random): Tried {
  const desc = ((unary ?? stream) as DescMethod).input;
  const json = messageJson(desc, random, 0, true) as JsonObject;
  const path = template.segments
    .map((one) => `/${typeof one === "string" ? one : pick(["constructor", "__proto__", "a%00b", "%F0", "x"], random)}`)
    .join("");
  const isBody = httpMethod === "POST";
  const isForm = isBody && random() < 0.4;
  const query = isBody
    ? ""
    : `?${new URLSearchParams(Object.entries(json).map(([key, value]) => [key, typeof value === "object" ? JSON.stringify(value) : String(value)]))}`;
  const { headers, body } = isForm ? asForm(json) : asJson(json);
  const key = pick(["apiKey", "adminKey", "operatorKey"] as const, random);
  return {
    words: `REST ${httpMethod} ${path}${query} ${isForm ? "form" : "json"} by ${key} ${JSON.stringify(json)}`,
    send: (stage) =>
      overHttp(`${stage.rootUrl}${path}${query}`, {
        method: httpMethod,
        headers: { authorization: `Bearer ${stage[key]}`, ...(isBody ? headers : {}) },
        ...(isBody ? { body: body as string } : {}),
      }),
  };
}

function rpcRequest(method: DescMethod, json: JsonValue, random: Random): Tried {
  const key = pick(["apiKey", "adminKey", "operatorKey"] as const, random);
  const sound = Buffer.from(toBinary(method.input, create(method.input, plainInit(method.input, random))));
  const [binary, kind] = [mutatedBytes(sound, random), random()];
  const text = JSON.stringify(json);
  if (kind < 0.4) {
    const bytes = random() < 0.9 ? Buffer.from(text) : mutatedBytes(Buffer.from(text), random);
    return {
      words: `Connect JSON ${method.name} by ${key} ${bytes}`,
      send: (stage) => overConnect(stage, stage[key], method, bytes, true),
    };
  }
  const words = `${method.name} by ${key} ${binary.toString("hex")}`;
  if (kind < 0.6)
    return { words: `Connect ${words}`, send: (stage) => overConnect(stage, stage[key], method, binary, false) };
  const isWeb = kind < 0.8;
  const type = isWeb ? "application/grpc-web+proto" : "application/grpc";
  return {
    words: `${type} ${words}`,
    send: (stage) => {
      const headers = { authorization: `Bearer ${stage[key]}`, "content-type": type };
      const body = Buffer.from(enveloped(binary));
      if (!isWeb) return overGrpc(stage.rootUrl, pathOf(method), headers, body);
      return overHttp(`${stage.rootUrl}${pathOf(method)}`, { method: "POST", headers, body });
    },
  };
}

/** Some of a message's texts and truths. */
function plainInit(desc: DescMessage, random: Random): Record<string, unknown> {
  const init: Record<string, unknown> = {};
  for (const field of desc.fields) {
    if (field.fieldKind !== "scalar" || field.oneof || random() < 0.5) continue;
    if (field.scalar === ScalarType.STRING) init[field.localName] = pick(["a", "constructor", "key_x"], random);
    if (field.scalar === ScalarType.BOOL) init[field.localName] = true;
  }
  return init;
}

/** Some of a message's members, as its type has them or not. `isPublic` chooses the names of the public wire. */
function messageJson(desc: DescMessage, random: Random, depth: number, isPublic = false): JsonValue {
  if (random() < 0.1 && depth > 0) return oddValue(random);
  const json: JsonObject = {};
  for (const field of desc.fields) {
    if (random() < (depth === 0 ? 0.4 : 0.7)) continue;
    const value = random() < 0.3 || depth > 3 ? oddValue(random) : valueFor(field, random, depth, isPublic);
    json[isPublic ? field.name : field.jsonName] = field.fieldKind === "list" && random() < 0.9 ? [value] : value;
  }
  return json;
}

function valueFor(field: DescField, random: Random, depth: number, isPublic: boolean): JsonValue {
  if (field.message && field.fieldKind !== "map") return messageJson(field.message, random, depth + 1, isPublic);
  return pick<JsonValue>(
    ["a", 1, true, "1", "2030-01-01T00:00:00Z", "model:constructor", "constructor", "AAAA"],
    random,
  );
}
