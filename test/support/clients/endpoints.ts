/**
 * Every endpoint through every door that it has, with answers and refusals brought to one form for comparison.
 *
 *   for (const door of doorsOf(endpoints.embeddings)) await door.call(gateway, { request, stream: false });
 *
 * Two things of the public wire are taken back to what RPC callers read: Anthropic's words for a model that does not
 * exist, and the vendor's own status for an overloaded service. Identifiers of answers differ from call to call.
 */
import type { DescMessage, DescMethod, JsonObject, JsonValue, MessageShape } from "@bufbuild/protobuf";
import { type CallOptions, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { ErrorDetailSchema } from "../../../gen/modelgateway/v1/errors_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { binaryOptions } from "../../../src/wire/json.ts";
import { readMessage } from "../../../src/wire/read.ts";
import { type SseFrame, SseReader } from "../../../src/wire/sse.ts";
import { writeMessage } from "../../../src/wire/write.ts";
import type { TestGateway } from "../gateway.ts";

export type EndpointName =
  | "chat"
  | "messages"
  | "count_tokens"
  | "completions"
  | "responses"
  | "embeddings"
  | "models"
  | "model";

export interface Endpoint {
  readonly name: EndpointName;
  readonly family: "openai" | "anthropic";
  readonly whole: DescMethod;
  readonly stream?: DescMethod;
  /** forms is whether SPEC has its requests as forms. */
  readonly forms: boolean;
  /** Returns where a request goes over HTTP, below the base address; what is not told by the path is the body. */
  readonly path: (request: JsonObject) => string;
  readonly httpMethod: "GET" | "POST";
}

const rpc = InferenceService.method;

function post(name: EndpointName, path: string, more: Partial<Endpoint> & Pick<Endpoint, "whole">): Endpoint {
  return { name, family: "openai", forms: false, path: () => path, httpMethod: "POST", ...more };
}

export const endpoints: Readonly<Record<EndpointName, Endpoint>> = {
  chat: post("chat", "/chat/completions", { whole: rpc.createChatCompletion, stream: rpc.streamChatCompletion }),
  messages: post("messages", "/messages", {
    whole: rpc.createMessage,
    stream: rpc.streamMessage,
    family: "anthropic",
  }),
  count_tokens: post("count_tokens", "/messages/count_tokens", { whole: rpc.countMessageTokens, family: "anthropic" }),
  completions: post("completions", "/completions", {
    whole: rpc.createCompletion,
    stream: rpc.streamCompletion,
    forms: true,
  }),
  responses: post("responses", "/responses", { whole: rpc.createResponse, stream: rpc.streamResponse }),
  embeddings: post("embeddings", "/embeddings", { whole: rpc.createEmbeddings, forms: true }),
  models: {
    ...post("models", "", { whole: rpc.listModels }),
    path: (request) => `/models?${new URLSearchParams(pairsOf(request))}`,
    httpMethod: "GET",
  },
  model: {
    ...post("model", "", { whole: rpc.getModel }),
    path: ({ id }) => `/models/${encodeURIComponent(String(id))}`,
    httpMethod: "GET",
  },
};

/** EndpointOutcome is how a call ended: with its answers, a refusal, or answers and then a refusal. */
export interface EndpointOutcome {
  readonly answers: readonly JsonObject[];
  /** dropped is what the answer says was left out of the request. */
  readonly dropped: string | null;
  readonly refused?: { readonly status: number; readonly message: string; readonly param: string | null };
}

export interface EndpointCall {
  readonly request: JsonObject;
  readonly stream?: boolean;
  readonly apiKey?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface EndpointDoor {
  readonly name: string;
  call(gateway: TestGateway, call: EndpointCall): Promise<EndpointOutcome>;
}

/** Returns the doors of an endpoint; the first is the measure of the others. */
export function doorsOf(endpoint: Endpoint): readonly [EndpointDoor, ...EndpointDoor[]] {
  return [
    { name: "REST, JSON", call: (gateway, call) => restCall(endpoint, gateway, call, asJson) },
    ...(endpoint.forms
      ? [
          restDoor(endpoint, "REST, form", asForm),
          restDoor(endpoint, "REST, form of JSON texts", asFormOfJson),
          restDoor(endpoint, "REST, multipart", asMultipart),
        ]
      : []),
    ...Object.entries(transports).map(([name, transportTo]) => rpcDoor(endpoint, name, transportTo)),
  ];
}

/** The protocols of RPC, by the names of their doors. */
export const transports: Readonly<Record<string, (gateway: TestGateway) => Transport>> = {
  "Connect, JSON": ({ rootUrl }) =>
    createConnectTransport({ baseUrl: rootUrl, httpVersion: "1.1", useBinaryFormat: false }),
  "Connect, binary": ({ rootUrl }) =>
    createConnectTransport({ baseUrl: rootUrl, httpVersion: "1.1", useBinaryFormat: true, binaryOptions }),
  "gRPC over h2c": ({ rootUrl }) => createGrpcTransport({ baseUrl: rootUrl, binaryOptions }),
  "gRPC-Web": ({ rootUrl }) => createGrpcWebTransport({ baseUrl: rootUrl, httpVersion: "1.1", binaryOptions }),
};

function headersOf(gateway: TestGateway, { apiKey = gateway.apiKey, headers }: EndpointCall): Record<string, string> {
  return { ...(apiKey === "" ? {} : { authorization: `Bearer ${apiKey}` }), ...headers };
}

// REST.

type Encode = (request: JsonObject) => {
  readonly headers: Record<string, string>;
  readonly body: NonNullable<RequestInit["body"]>;
};

export const asJson: Encode = (request) => ({
  headers: { "content-type": "application/json" },
  body: JSON.stringify(request),
});

/** Brackets for lists and objects, as most encoders write them. */
export const asForm: Encode = (request) => ({
  headers: {}, // The body brings its type.
  body: new URLSearchParams(pairsOf(request)),
});

/** Lists and objects as one text of JSON, but for what a model reads: that would be a text. */
export const asFormOfJson: Encode = ({ prompt, input, ...settings }) => {
  const read = { ...(prompt === undefined ? {} : { prompt }), ...(input === undefined ? {} : { input }) };
  return { headers: {}, body: new URLSearchParams([...pairsOf(read), ...textsOf(settings)]) };
};

export const asMultipart: Encode = (request) => {
  const body = new FormData();
  for (const [key, text] of pairsOf(request)) body.append(key, text);
  return { headers: {}, body };
};

function pairsOf(request: JsonObject): [key: string, text: string][] {
  const pairs: [string, string][] = [];
  const add = (key: string, value: JsonValue) => {
    if (value === null) return;
    if (Array.isArray(value)) for (const [i, item] of value.entries()) add(`${key}[${i}]`, item);
    else if (typeof value === "object")
      for (const [name, member] of Object.entries(value)) add(`${key}[${name}]`, member);
    else pairs.push([key, String(value)]);
  };
  for (const [key, value] of Object.entries(request)) add(key, value);
  return pairs;
}

function textsOf(request: JsonObject): [key: string, text: string][] {
  const given = Object.entries(request).filter(([, value]) => value !== null);
  return given.map(([key, value]) => [key, typeof value === "object" ? JSON.stringify(value) : String(value)]);
}

function restDoor(endpoint: Endpoint, name: string, encode: Encode): EndpointDoor {
  return { name, call: (gateway, call) => restCall(endpoint, gateway, call, encode) };
}

async function restCall(
  endpoint: Endpoint,
  gateway: TestGateway,
  call: EndpointCall,
  encode: Encode,
): Promise<EndpointOutcome> {
  const { headers, body } = encode(call.stream ? { ...call.request, stream: true } : call.request);
  const response = await fetch(`${gateway.baseUrl}${endpoint.path(call.request)}`, {
    method: endpoint.httpMethod,
    headers: { ...headersOf(gateway, call), ...headers },
    ...(endpoint.httpMethod === "POST" ? { body } : {}),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const dropped = response.headers.get("x-gateway-dropped");
  if (response.status !== 200) return { answers: [], dropped, refused: refusedBody(bytes, response.status) };
  if (!call.stream) return { answers: [settled(JSON.parse(bytes.toString()))], dropped };
  return { ...streamOutcome(eventsOf(bytes)), dropped };
}

/** Reads a whole body of server-sent events. */
export function eventsOf(bytes: Uint8Array): SseFrame[] {
  const reader = new SseReader();
  return [...reader.push(Buffer.from(bytes)), ...reader.end()];
}

function streamOutcome(events: readonly SseFrame[]): Pick<EndpointOutcome, "answers" | "refused"> {
  const payloads = events.map(({ data }) => data.toString());
  if (payloads.at(-1) === "[DONE]") payloads.pop();
  const answers = payloads.map((payload) => settled(JSON.parse(payload) as JsonObject));
  if (!answers.at(-1)?.error) return { answers };
  return { answers: answers.slice(0, -1), refused: refusedBody(Buffer.from(payloads.at(-1) as string), 0) };
}

/** Inside a stream there is no status: the frame's code or type stands for it. */
const statusOfType: Readonly<Record<string, number>> = { api_error: 502, overloaded_error: 503, timeout_error: 504 };

function refusedBody(body: Buffer, status: number): NonNullable<EndpointOutcome["refused"]> {
  const { error } = JSON.parse(body.toString()) as { error: Record<string, string> };
  const { message = "", param = null, type = "", code = "" } = error;
  const told = status || statusOfType[type] || Number(code);
  const [, model, kind] = /^model: (\S*?)(?:( is an? .*)|\. `GET .*)?$/.exec(message) ?? [];
  const listed = "`GET /v1/models` lists those that you may call.";
  const why = kind === undefined ? ` does not exist or you do not have access to it. ${listed}` : `${kind}.`;
  return {
    status: told === 529 ? 503 : told,
    message: model === undefined ? message : `The model \`${model}\`${why}`,
    param,
  };
}

const ownId = /^(msg_|cmpl-|chatcmpl-|resp_|fc_|rs_|ctc_)\w+$/;

/** Takes out what names this answer and its items, and no other. */
function settled(answer: JsonObject): JsonObject {
  const settle = (_: string, value: unknown) => (typeof value === "string" ? value.replace(ownId, "$1…") : value);
  return JSON.parse(JSON.stringify(answer), settle) as JsonObject;
}

// RPC.

type Client = Readonly<
  Record<
    string,
    (
      request: MessageShape<DescMessage>,
      options: CallOptions,
    ) => Promise<MessageShape<DescMessage>> & AsyncIterable<MessageShape<DescMessage>>
  >
>;

function rpcDoor(endpoint: Endpoint, name: string, transportTo: (gateway: TestGateway) => Transport): EndpointDoor {
  return {
    name,
    async call(gateway, call) {
      const client = createClient(InferenceService, transportTo(gateway)) as unknown as Client;
      const { localName, input, output } = (call.stream ? endpoint.stream : endpoint.whole) as DescMethod;
      const invoke = client[localName] as Client[string];
      const request = readMessage(input, call.request, { lenient: false });
      let dropped: string | null = null;
      const onHeader = (headers: Headers) => {
        dropped = headers.get("x-gateway-dropped");
      };
      const options: CallOptions = { headers: headersOf(gateway, call), onHeader };
      const read = (answer: MessageShape<DescMessage>) => settled(writeMessage(output, answer) as JsonObject);
      const answers: JsonObject[] = [];
      try {
        if (call.stream) for await (const piece of invoke(request, options)) answers.push(read(piece));
        else answers.push(read(await invoke(request, options)));
        return { answers, dropped };
      } catch (error) {
        return { answers, dropped, refused: refusedRpc(endpoint, ConnectError.from(error)) };
      }
    },
  };
}

function refusedRpc({ family }: Endpoint, error: ConnectError): NonNullable<EndpointOutcome["refused"]> {
  const [detail] = error.findDetails(ErrorDetailSchema);
  if (!detail) throw new Error(`a refusal without a detail: ${Code[error.code]} ${error.rawMessage}`);
  // Anthropic's error bodies do not tell the field.
  const param = family === "anthropic" ? null : detail.param || null;
  return { status: detail.httpStatus, message: error.rawMessage, param };
}
