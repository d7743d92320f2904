/**
 * The same chat call through every door, with answers and refusals brought to one form for comparison. Ids are compared, too;
 * `endpoints.ts` does the same for every endpoint, without them.
 */
import { fromBinary, type JsonObject, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { type CallOptions, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { credentials, Client as GrpcClient, Metadata, type ServiceError } from "@grpc/grpc-js";
import {
  ChatCompletionChunkSchema,
  ChatCompletionSchema,
  CreateChatCompletionRequestSchema,
} from "../../../gen/modelgateway/v1/chat_pb.ts";
import { ErrorDetailSchema } from "../../../gen/modelgateway/v1/errors_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { binaryOptions } from "../../../src/wire/json.ts";
import { readMessage } from "../../../src/wire/read.ts";
import { SseReader } from "../../../src/wire/sse.ts";
import { writeMessage } from "../../../src/wire/write.ts";
import type { TestGateway } from "../gateway.ts";
import { transports } from "./endpoints.ts";

/** Outcome is how a call ended: with its answers, a refusal, or answers and then a refusal. */
export interface Outcome {
  readonly answers: readonly JsonObject[];
  readonly refused?: { readonly status: number; readonly message: string; readonly param: string | null };
}

export interface ChatCall {
  readonly request: JsonObject;
  readonly stream: boolean;
  readonly apiKey?: string | undefined;
  /** Sent besides, as headers or metadata. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Door {
  readonly name: string;
  chat(gateway: TestGateway, call: ChatCall): Promise<Outcome>;
}

export const doors: readonly Door[] = [
  { name: "REST", chat: restChat },
  ...Object.entries(transports).map(([name, transportTo]) => rpcDoor(name, transportTo)),
  { name: "gRPC by grpc-js", chat: grpcJsChat },
];

function authorization(gateway: TestGateway, { apiKey = gateway.apiKey, headers }: ChatCall): Record<string, string> {
  return { ...(apiKey === "" ? {} : { authorization: `Bearer ${apiKey}` }), ...headers };
}

async function restChat(gateway: TestGateway, call: ChatCall): Promise<Outcome> {
  const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { ...authorization(gateway, call), "content-type": "application/json" },
    body: JSON.stringify(call.stream ? { ...call.request, stream: true } : call.request),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  if (response.status !== 200) return { answers: [], refused: refusedBody(bytes, response.status) };
  if (!call.stream) return { answers: [JSON.parse(bytes.toString()) as JsonObject] };
  const reader = new SseReader();
  const payloads = [...reader.push(bytes), ...reader.end()].map(({ data }) => data);
  const last = payloads.at(-1)?.toString();
  if (last !== "[DONE]") {
    const answers = payloads.slice(0, -1).map((data) => JSON.parse(data.toString()) as JsonObject);
    return { answers, refused: refusedBody(payloads.at(-1) ?? Buffer.from("{}"), 0) };
  }
  return { answers: payloads.slice(0, -1).map((data) => JSON.parse(data.toString()) as JsonObject) };
}

/** Inside a stream there is no status; the frame's code stands for it where it is a number. */
function refusedBody(body: Buffer, status: number): NonNullable<Outcome["refused"]> {
  const { error } = JSON.parse(body.toString()) as { error: { message: string; param: string | null; code: string } };
  return { status: status || Number(error.code), message: error.message, param: error.param };
}

function rpcDoor(name: string, transportTo: (gateway: TestGateway) => Transport): Door {
  return {
    name,
    async chat(gateway, call) {
      const client = createClient(InferenceService, transportTo(gateway));
      const request = readMessage(CreateChatCompletionRequestSchema, call.request, { lenient: false });
      const options: CallOptions = { headers: authorization(gateway, call) };
      const answers: JsonObject[] = [];
      try {
        if (!call.stream) {
          const answer = await client.createChatCompletion(request, options);
          return { answers: [writeMessage(ChatCompletionSchema, answer) as JsonObject] };
        }
        for await (const chunk of client.streamChatCompletion(request, options)) {
          answers.push(writeMessage(ChatCompletionChunkSchema, chunk) as JsonObject);
        }
        return { answers };
      } catch (error) {
        return { answers, refused: refusedRpc(ConnectError.from(error)) };
      }
    },
  };
}

function refusedRpc(error: ConnectError): NonNullable<Outcome["refused"]> {
  const [detail] = error.findDetails(ErrorDetailSchema);
  if (!detail) throw new Error(`a refusal without a detail: ${Code[error.code]} ${error.rawMessage}`);
  return { status: detail.httpStatus, message: error.rawMessage, param: detail.param || null };
}

/** The client that most other languages' gRPC clients are like, with bytes of our own making. */
async function grpcJsChat(gateway: TestGateway, call: ChatCall): Promise<Outcome> {
  const client = new GrpcClient(`127.0.0.1:${gateway.port}`, credentials.createInsecure());
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(authorization(gateway, call))) metadata.set(key, value);
  const input = CreateChatCompletionRequestSchema;
  const request = readMessage(input, call.request, { lenient: false });
  const serialize = (message: MessageShape<typeof input>) => Buffer.from(toBinary(input, message));
  const answers: JsonObject[] = [];
  try {
    if (call.stream) {
      const desc = ChatCompletionChunkSchema;
      const path = `/${InferenceService.typeName}/StreamChatCompletion`;
      const read = (bytes: Buffer) => fromBinary(desc, bytes, binaryOptions);
      const stream = client.makeServerStreamRequest(path, serialize, read, request, metadata);
      for await (const chunk of stream) answers.push(writeMessage(desc, chunk) as JsonObject);
    } else {
      const desc = ChatCompletionSchema;
      const path = `/${InferenceService.typeName}/CreateChatCompletion`;
      const read = (bytes: Buffer) => fromBinary(desc, bytes, binaryOptions);
      const answer = await new Promise<MessageShape<typeof desc>>((resolve, reject) => {
        client.makeUnaryRequest(path, serialize, read, request, metadata, (error, value) =>
          error || !value ? reject(error) : resolve(value),
        );
      });
      answers.push(writeMessage(desc, answer) as JsonObject);
    }
    return { answers };
  } catch (error) {
    return { answers, refused: refusedGrpcJs(error as ServiceError) };
  } finally {
    client.close();
  }
}

function refusedGrpcJs({ code, details, metadata }: ServiceError): NonNullable<Outcome["refused"]> {
  const [status] = metadata.get("grpc-status-details-bin");
  const trailer = new Headers({ "grpc-status": String(code), "grpc-message": details });
  trailer.set("grpc-status-details-bin", (status as Buffer).toString("base64"));
  const error = findTrailerError(trailer);
  if (!error) throw new Error(`a refusal without a status: ${details}`);
  return refusedRpc(error);
}
