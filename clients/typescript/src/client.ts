/** A service's RPCs as functions: promises of one message, or iterations over the messages of a stream. */
import type {
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import {
  type CallOptions as ConnectCallOptions,
  type ContextValues,
  createContextValues,
  makeAnyClient,
  type Transport,
} from "@connectrpc/connect";
import { headersFrom } from "./headers.ts";
import { attemptsKey } from "./wrap-transport.ts";

export interface CallOptions extends ConnectCallOptions {
  /** Makes the call safe to repeat: within a day the same request under the same key gets the same answer, and is charged once. */
  idempotencyKey?: string;
  /** attempts is how often this call is sent at most; 1 sends it once. */
  attempts?: number;
}

/** GatewayClient has a function for each RPC of a service. */
export type GatewayClient<S extends DescService> = {
  [P in keyof S["method"]]: S["method"][P] extends DescMethodUnary<infer I, infer O>
    ? (request: MessageInitShape<I>, options?: CallOptions) => Promise<MessageShape<O>>
    : S["method"][P] extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageInitShape<I>, options?: CallOptions) => AsyncIterable<MessageShape<O>>
      : never;
};

/**
 * Functions of one message reject, and iterations throw, a ConnectError; `refusalOf` reads the gateway's reason in it. A stream
 * is asked for when its iteration begins, can be iterated once, and ends its call when its reader leaves the loop.
 */
export function createClient<S extends DescService>(service: S, transport: Transport): GatewayClient<S> {
  return makeAnyClient(service, (method) => {
    if (method.methodKind === "unary") {
      return (request: MessageInitShape<DescMessage>, options?: CallOptions) =>
        answerOf(transport, method, request, options);
    }
    if (method.methodKind !== "server_streaming") return null;
    return (request: MessageInitShape<DescMessage>, options?: CallOptions) =>
      answersOf(transport, method, request, options);
  }) as GatewayClient<S>;
}

async function answerOf<I extends DescMessage, O extends DescMessage>(
  transport: Transport,
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  options: CallOptions = {},
): Promise<MessageShape<O>> {
  const { signal, timeoutMs } = options;
  const response = await transport.unary(method, signal, timeoutMs, headersOf(options), request, valuesOf(options));
  options.onHeader?.(response.header);
  options.onTrailer?.(response.trailer);
  return response.message;
}

async function* answersOf<I extends DescMessage, O extends DescMessage>(
  transport: Transport,
  method: DescMethodServerStreaming<I, O>,
  request: MessageInitShape<I>,
  options: CallOptions = {},
): AsyncGenerator<MessageShape<O>, void, undefined> {
  const { signal, timeoutMs } = options;
  const requests = (async function* () {
    yield request;
  })();
  const response = await transport.stream(method, signal, timeoutMs, headersOf(options), requests, valuesOf(options));
  options.onHeader?.(response.header);
  yield* response.message;
  options.onTrailer?.(response.trailer);
}

function headersOf({ headers, idempotencyKey }: CallOptions): HeadersInit | undefined {
  if (idempotencyKey === undefined) return headers;
  return headersFrom(headers, { "idempotency-key": idempotencyKey });
}

/** Leaves the caller's own values as they are: they may be those of other calls, too. */
function valuesOf({ attempts, contextValues = createContextValues() }: CallOptions): ContextValues {
  if (attempts === undefined) return contextValues;
  return {
    get: (key) => (key.id === attemptsKey.id ? (attempts as never) : contextValues.get(key)),
    set(key, value) {
      contextValues.set(key, value);
      return this;
    },
    delete(key) {
      contextValues.delete(key);
      return this;
    },
  };
}
