/**
 * The RPC door: Connect, gRPC and gRPC-Web → one call → messages.
 *
 * Every RPC of every service is implemented by the same two functions. connect-node serves them all, but for what most gRPC
 * clients send: that is for `grpc-fast.ts`, where it is chosen. Compressed requests are decompressed here, where their bytes
 * are counted, and connect-node reads them plain.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2Stream } from "node:http2";
import type { DescMessage, DescService, MessageShape } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  createConnectRouter,
  createContextValues,
  type HandlerContext,
  type ServiceImpl,
} from "@connectrpc/connect";
import {
  compressionBrotli,
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import { access, Caller as Least } from "../../../gen/modelgateway/v1/access_pb.ts";
import type { Peer } from "../../call/call.ts";
import { internal } from "../../call/refusals.ts";
import { methodOption } from "../../runtime/method-option.ts";
import { binaryOptions } from "../../wire/json.ts";
import { withDoubles } from "../../wire/scan/exact-number.ts";
import { discard } from "../body/body.ts";
import type { Inflate } from "../body/inflate.ts";
import { written } from "../drained.ts";
import type { Door, StreamAnswer, UnaryAnswer } from "../serve.ts";
import { ConnectExchange, exchangeIn, exchangeKey } from "./connect-exchange.ts";
import { type createGrpcDoor, isGrpc } from "./grpc-fast.ts";
import { asConnectError } from "./rpc-call.ts";

/** OpenService is served beside the gateway's own services and without a key: health, reflection. */
export interface OpenService<S extends DescService = DescService> {
  readonly service: S;
  readonly implementation: ServiceImpl<S>;
}

export interface RpcOptions extends Door {
  readonly services: readonly DescService[];
  readonly open: readonly OpenService[];
  readonly maxBytes: number;
  /** bodyTimeoutMs is how long the body of a call may take to arrive, in milliseconds. */
  readonly bodyTimeoutMs: number;
  readonly inflate: Inflate;
  readonly peerOf: (req: IncomingMessage) => Peer;
  /** Ends the endless streams of open services. Calls are left to finish. */
  readonly draining: AbortSignal;
  /** Makes the door for plain gRPC. Where it is unset, connect-node serves that, too. */
  readonly createGrpcDoor?: typeof createGrpcDoor | undefined;
}

export interface RpcDoor {
  serves(path: string): boolean;
  /** Reports whether an RPC is served there, and to nobody without a credential. */
  needsCredential(path: string): boolean;
  handle(req: IncomingMessage, res: ServerResponse, id: string, path: string): Promise<void>;
}

/** The largest message of a service that has RPCs without a key. In bytes. */
const openMaxBytes = 64 * 1024;

const compressions = [compressionGzip, compressionBrotli];

export function createRpcDoor(options: RpcOptions): RpcDoor {
  const { services, bodyTimeoutMs, inflate, peerOf } = options;
  const grpc = options.createGrpcDoor?.({ ...options, compressions });
  const methods = methodsOf(services, options.maxBytes);
  const handlers = createHandlers(options);
  return {
    serves: (path) => handlers.has(path),
    needsCredential(path) {
      const method = methods.get(path)?.method;
      return method !== undefined && methodOption(method, access).caller !== Least.ANYONE;
    },
    async handle(req, res, id, path) {
      const own = methods.get(path);
      if (grpc && own && isGrpc(req)) return grpc(req, res, { ...own, id, peer: peerOf(req) });
      if (req.method !== "POST") res.setHeader("allow", "POST");
      // A response of HTTP/2 emits `finish` only once the request's body has been read as well; its stream, when all is written.
      (http2StreamOf(res) ?? res).once("finish", () => discard(req, bodyTimeoutMs));
      const handler = handlers.get(path);
      if (!handler) throw internal(new Error(`no handler at ${path}`));
      const sent = () => sentOn(http2StreamOf(res) ?? res);
      const exchange = own && new ConnectExchange(options, { ...own, id, peer: peerOf(req), inflate, sent });
      const values = createContextValues().set(exchangeKey, exchange);
      const request = universalRequestFromNodeRequest(req, res, undefined, values);
      // The iteration that connect-node begins would destroy the request when it is left early, as of a body over the limit is:
      // what still comes could not be read any more, and the connection would hang.
      const body = req.iterator({ destroyOnReturn: false });
      // A bidirectional stream, as reflection is, has no end of its body to wait for.
      const ends = handler.method.methodKind !== "bidi_streaming";
      const late = ends ? setTimeout(() => req.complete || req.destroy(), bodyTimeoutMs) : undefined;
      const responding = exchange ? exchange.respond(handler, request, body) : handler({ ...request, body });
      const response = await responding.finally(() => clearTimeout(late));
      // connect-node's promise never settles where an answer ends well.
      await universalResponseToNodeResponse(response, res).catch((error) => {
        if (ConnectError.from(error).code !== Code.Aborted) throw error; // Aborted: the client disconnected.
      });
    },
  };
}

async function sentOn(response: ServerResponse | Http2Stream): Promise<void> {
  if (!response.writableFinished && !response.destroyed) await written(response);
}

/** http2StreamOf returns the stream of a response of HTTP/2; undefined for one of HTTP/1.1. */
function http2StreamOf(res: ServerResponse & { readonly stream?: Http2Stream }): Http2Stream | undefined {
  return res.stream;
}

/** methodsOf returns the RPCs of the gateway's own services by their paths, each with the largest message that it takes. */
function methodsOf(services: readonly DescService[], maxBytes: number) {
  return new Map(
    services.flatMap((service) => {
      const most = maxBytesOf(service, maxBytes);
      return service.methods.map((method) => [`/${service.typeName}/${method.name}`, { method, maxBytes: most }]);
    }),
  );
}

function maxBytesOf(service: DescService, maxBytes: number): number {
  const isOpen = service.methods.some((method) => methodOption(method, access).caller === Least.ANYONE);
  return isOpen ? Math.min(openMaxBytes, maxBytes) : maxBytes;
}

/** createHandlers returns connect-node's handlers by their paths. */
function createHandlers({ services, open, maxBytes, draining }: RpcOptions) {
  const router = createConnectRouter({ acceptCompression: compressions, readMaxBytes: maxBytes, binaryOptions });
  const requestGate = (context: HandlerContext) => exchangeIn(context.values).begin(context);
  // As in a REST body, an unknown field is refused: its caller believes to have set something.
  const jsonOptions = { ignoreUnknownFields: false };
  for (const service of services) {
    router.service(service, implement(service), {
      requestGate,
      jsonOptions,
      readMaxBytes: maxBytesOf(service, maxBytes),
    });
  }
  for (const { service, implementation } of open) {
    router.service(service, implementation, { shutdownSignal: draining, readMaxBytes: openMaxBytes });
  }
  return new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
}

type Message = MessageShape<DescMessage>;

/** Implements every RPC of a service by the exchange of the call. */
function implement(service: DescService): ServiceImpl<DescService> {
  const implementations: Record<string, unknown> = {};
  for (const method of service.methods) {
    implementations[method.localName] = method.methodKind === "server_streaming" ? answerStream : answerUnary;
  }
  return implementations as ServiceImpl<DescService>;
}

async function answerUnary(message: Message, context: HandlerContext): Promise<Message> {
  const exchange = exchangeIn(context.values);
  try {
    const answer = (await exchange.answer(message)) as UnaryAnswer;
    return withDoubles(answer.body.message());
  } catch (error) {
    throw asConnectError(error, { ...exchange.arrival, signal: context.signal });
  }
}

async function* answerStream(message: Message, context: HandlerContext): AsyncGenerator<Message> {
  const exchange = exchangeIn(context.values);
  try {
    const answer = (await exchange.answer(message)) as StreamAnswer;
    for await (const batch of answer.frames) for (const frame of batch) yield withDoubles(frame.message());
    exchange.end(answer);
  } catch (error) {
    throw asConnectError(error, { ...exchange.arrival, signal: context.signal });
  }
}
