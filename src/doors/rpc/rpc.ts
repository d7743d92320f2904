/**
 * The RPC door: Connect, gRPC and gRPC-Web → one call → messages.
 *
 * Every RPC of every service goes the same way; there is no code per method. The credential is checked before the
 * body is read. A refusal becomes a ConnectError with an ErrorDetail. What most gRPC clients send is for `grpc-fast.ts`, where
 * that is given. What comes compressed is decompressed here, where it is counted: connect-node reads it plain.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2Stream } from "node:http2";
import { type DescMessage, type DescMethod, type DescService, getOption, type MessageShape } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  createConnectRouter,
  createContextKey,
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
import {
  type Admission,
  type Answer,
  type AnswerHeaders,
  type Arrival,
  here,
  type Peer,
  type Way,
} from "../../call/call.ts";
import { internal, malformedBody, type Refusal } from "../../call/refusals.ts";
import { binaryOptions } from "../../wire/json.ts";
import type { Wire } from "../../wire/wire.ts";
import { discard } from "../body/body.ts";
import type { BodyBudget, BodyShare } from "../body/body-budget.ts";
import type { Inflate } from "../body/inflate.ts";
import { streamOf, wholeOf } from "../rest/answers.ts";
import { type createGrpcDoor, type GrpcVisit, isGrpc } from "./grpc-fast.ts";
import { rpcBody, takePacking } from "./rpc-body.ts";
import { asConnectError, noMessage, type RpcCall, requestOfMessage } from "./rpc-call.ts";

/** A service that is served beside the gateway's own, without a key: health, reflection. */
export interface OpenService<S extends DescService = DescService> {
  readonly service: S;
  readonly implementation: ServiceImpl<S>;
}

export interface RpcOptions {
  readonly way: Way;
  readonly services: readonly DescService[];
  readonly open: readonly OpenService[];
  readonly maxBytes: number;
  /** How long the body of a call may take to arrive. */
  readonly bodyTimeoutMs: number;
  readonly bodies: BodyBudget;
  readonly inflate: Inflate;
  readonly peerOf: (req: IncomingMessage) => Peer;
  /** Ends the open services' endless streams; calls are left to finish. */
  readonly draining: AbortSignal;
  /** Makes the door for gRPC in its plainest form. Without one connect-node serves that, too. */
  readonly createGrpcDoor?: typeof createGrpcDoor | undefined;
}

export interface RpcDoor {
  serves(path: string): boolean;
  handle(req: IncomingMessage, res: ServerResponse, id: string, path: string): Promise<void>;
}

/** The largest message of a service that has RPCs for which nobody need show a key. */
const openMaxBytes = 64 * 1024;

const callId = createContextKey("");
const peerKey = createContextKey(here);
const admittedKey = createContextKey<Admission | undefined>(undefined);
/** The call, once its message has been read. */
const beganKey = createContextKey(false);
const shareKey = createContextKey<BodyShare | undefined>(undefined);
/** A long request, which was read before connect-node reads an empty one in its place. */
const requestKey = createContextKey<Wire | undefined>(undefined);
/** What the caller is told instead of what connect-node made of its message. */
const insteadKey = createContextKey<ConnectError | undefined>(undefined);
/** What connect-node has of the call. Its signal fires with whatever the call fails by. */
const contextKey = createContextKey<HandlerContext | undefined>(undefined);

/** Returns the stream of a response of HTTP/2; undefined for one of HTTP/1.1. */
function http2StreamOf(res: ServerResponse & { readonly stream?: Http2Stream }): Http2Stream | undefined {
  return res.stream;
}

export function createRpcDoor(options: RpcOptions): RpcDoor {
  const { way, services, open, maxBytes, bodyTimeoutMs, bodies, inflate, peerOf, draining } = options;
  const compressions = [compressionGzip, compressionBrotli];
  const grpc = options.createGrpcDoor?.({ way, bodyTimeoutMs, bodies, compressions });
  const visits = new Map<string, Pick<GrpcVisit, "method" | "maxBytes">>();
  const router = createConnectRouter({
    acceptCompression: compressions,
    readMaxBytes: maxBytes,
    binaryOptions,
  });
  const requestGate = async (context: HandlerContext) => {
    const { values, signal } = context;
    try {
      const admitted = values.get(admittedKey) ?? (await way.admit(arrivalOf(context)));
      values.set(admittedKey, admitted).set(contextKey, context);
      if (!values.get(shareKey)) values.set(shareKey, bodies.open(admitted.caller.accountId));
      // Set before the message is read: they are on every answer, and on every error.
      setAll(context.responseHeader, admitted.headers);
    } catch (error) {
      throw asConnectError(error, callOf(context));
    }
    const instead = values.get(insteadKey);
    if (instead) throw instead;
    signal.addEventListener("abort", () => {
      if (values.get(beganKey) && isInternal(signal.reason)) way.broke?.(arrivalOf(context), signal.reason);
    });
  };
  // As in a REST body: what a caller believes to have set is not left out without a word.
  const jsonOptions = { ignoreUnknownFields: false };
  for (const service of services) {
    const anyones = service.methods.some((method) => getOption(method, access).caller === Least.ANYONE);
    const readMaxBytes = anyones ? Math.min(openMaxBytes, maxBytes) : maxBytes;
    router.service(service, implement(service, way), { requestGate, jsonOptions, readMaxBytes });
    for (const method of service.methods) {
      visits.set(`/${service.typeName}/${method.name}`, { method, maxBytes: readMaxBytes });
    }
  }
  for (const { service, implementation } of open) {
    router.service(service, implementation, { shutdownSignal: draining, readMaxBytes: openMaxBytes });
  }
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  return {
    serves: (path) => handlers.has(path),
    async handle(req, res, id, path) {
      const visit = visits.get(path);
      if (grpc && visit && isGrpc(req)) return grpc(req, res, { ...visit, id, peer: peerOf(req) });
      if (req.method !== "POST") res.setHeader("allow", "POST");
      // A response of HTTP/2 emits `finish` only once the request's body has been read, too; its stream when all is written.
      (http2StreamOf(res) ?? res).once("finish", () => discard(req));
      // connect-node's own promise does not settle once an answer has ended well.
      res.once("close", () => values.get(shareKey)?.release());
      const peer = peerOf(req);
      const values = createContextValues().set(callId, id).set(peerKey, peer);
      const handler = handlers.get(path);
      if (!handler) throw internal(new Error(`no handler at ${path}`));
      const request = universalRequestFromNodeRequest(req, res, undefined, values);
      // Left early, as a body over the limit is, the iteration of its own would destroy the request: what still comes
      // could not be read any more, and the connection would hang.
      const came = req.iterator({ destroyOnReturn: false });
      let refused: Refusal | undefined;
      const reading = {
        ...{ inflate, shareOf: () => values.get(shareKey) as BodyShare },
        call: { id, method: handler.method, signal: request.signal },
        onRefused: (refusal: Refusal) => (refused = refusal),
        onRead: (read: Wire) => values.set(requestKey, read),
      };
      const body = visit ? rpcBody(came, takePacking(request.header), { ...reading, maxBytes: visit.maxBytes }) : came;
      // A bidirectional stream, as reflection is, has no end of its body to wait for.
      const ends = handler.method.methodKind !== "bidi_streaming";
      const late = ends ? setTimeout(() => req.complete || req.destroy(), bodyTimeoutMs) : undefined;
      let answer = await handler({ ...request, body }).finally(() => clearTimeout(late));
      const admitted = values.get(admittedKey);
      if (admitted && !values.get(beganKey)) {
        const header = (name: string) => request.header.get(name) ?? undefined;
        way.abandon({ id, method: handler.method, header, peer }, admitted.caller, refused ?? malformedBody(noMessage));
        if (isUnreadable(values.get(contextKey)?.signal.reason)) {
          values.set(insteadKey, new ConnectError(noMessage, Code.InvalidArgument));
          answer = await handler({ ...request, body: nothing() });
        }
      }
      await universalResponseToNodeResponse(answer, res).catch((error) => {
        if (ConnectError.from(error).code !== Code.Aborted) throw error; // Aborted: the caller went away.
      });
    },
  };
}

/** connect-node takes bytes that are no message for an error of its own, and they are the caller's. */
function isUnreadable(error: unknown): boolean {
  return error instanceof ConnectError && error.code === Code.Internal && error.rawMessage.startsWith("parse ");
}

function isInternal(error: unknown): boolean {
  return error instanceof ConnectError && (error.code === Code.Internal || error.code === Code.Unknown);
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** Makes an implementation of every RPC out of the one way that calls go. */
function implement(service: DescService, way: Way): ServiceImpl<DescService> {
  const answer = async (
    method: DescMethod,
    message: MessageShape<DescMessage>,
    context: HandlerContext,
    signal: AbortSignal,
  ) => {
    const { caller } = context.values.get(admittedKey) ?? {};
    const share = context.values.get(shareKey);
    if (!caller || !share) throw internal(new Error("a call without a caller"));
    context.values.set(beganKey, true);
    const request = context.values.get(requestKey) ?? requestOfMessage(method, message, share);
    const answered = await way.handle({ ...arrivalOf(context), caller, request, body: share, signal });
    share.release();
    setAll(context.responseHeader, answered.headers);
    return answered;
  };
  const implementations: Record<string, unknown> = {};
  for (const method of service.methods) {
    implementations[method.localName] =
      method.methodKind === "server_streaming"
        ? async function* (message: MessageShape<DescMessage>, context: HandlerContext) {
            const { signal, over } = untilOver(context.signal);
            try {
              const answered = await answer(method, message, context, signal);
              yield* messagesOf(answered);
              if (answered.kind === "stream") setAll(context.responseTrailer, answered.trailers?.());
              over();
            } catch (error) {
              throw asConnectError(error, callOf(context));
            }
          }
        : async (message: MessageShape<DescMessage>, context: HandlerContext) => {
            try {
              return wholeOf(await answer(method, message, context, context.signal)).message();
            } catch (error) {
              throw asConnectError(error, callOf(context));
            }
          };
  }
  return implementations as ServiceImpl<DescService>;
}

/**
 * Follows a signal until the call is over: a context's fires then, too, and what the upstream still sends after its
 * last message may come to its end.
 */
function untilOver(signal: AbortSignal): { signal: AbortSignal; over: () => void } {
  const controller = new AbortController();
  const onAbort = () => controller.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  return { signal: controller.signal, over: () => signal.removeEventListener("abort", onAbort) };
}

function setAll(target: Headers, headers: AnswerHeaders = {}): void {
  for (const [name, value] of Object.entries(headers)) target.set(name, value);
}

async function* messagesOf(answer: Answer) {
  for await (const batch of streamOf(answer).frames) for (const frame of batch) yield frame.message();
}

function arrivalOf(context: HandlerContext): Arrival {
  const header = (name: string) => context.requestHeader.get(name) ?? undefined;
  const { values, method, signal } = context;
  return { id: values.get(callId), method, header, peer: values.get(peerKey), signal };
}

function callOf({ values, method, signal }: HandlerContext): RpcCall {
  return { id: values.get(callId), method, signal };
}
