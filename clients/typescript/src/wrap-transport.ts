/**
 * Wraps a transport with what the gateway's clients do on each: they send the key, keep the deadline over all attempts, repeat what may be
 * repeated, and end a stream's call when its reader leaves.
 */
import type { DescMessage, DescMethod, DescMethodStreaming, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type ContextValues, createContextKey, type Transport } from "@connectrpc/connect";
import { headersFrom, readKey } from "./headers.ts";
import type { ApiKey, GatewayOptions } from "./options.ts";
import { isMadeOnce, isRepeatable, pauseAfter } from "./retry.ts";

/** The attempts that a single call may make, where they differ from the transport's. */
export const attemptsKey = /* @__PURE__ */ createContextKey<number | undefined>(undefined);

/** The longest time that a timer takes, in milliseconds: 24 days. */
const maxTimerMs = 2 ** 31 - 1;

/** Call is what the attempts of one call have in common. */
interface Call {
  readonly method: DescMethod;
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number | undefined;
  readonly headers: Headers;
  readonly contextValues: ContextValues | undefined;
}

/** Makes one attempt within `leftMs`; undefined sets no bound. */
type Attempt<T> = (leftMs: number | undefined, headers: Headers) => Promise<T>;

/** Throws for options that cannot be right. */
export function wrapTransport(base: Transport, options: GatewayOptions): Transport {
  checkOptions(options);
  return {
    async unary(method, signal, timeoutMs, header, input, contextValues) {
      const call: Call = { method, signal, timeoutMs, headers: headersOf(options, method, header), contextValues };
      return inAttempts(options, call, (leftMs, headers) =>
        base.unary(method, signal, leftMs, headers, input, contextValues),
      );
    },
    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const headers = headersOf(options, method, header);
      const leaving = linkedAbort(signal);
      const call: Call = { method, signal: leaving.signal, timeoutMs, headers, contextValues };
      try {
        const requests = await requestsOf(method, input);
        return await inAttempts(options, call, async (leftMs, sent) => {
          const response = await base.stream(method, leaving.signal, leftMs, sent, requests, contextValues);
          const iterator = response.message[Symbol.asyncIterator]();
          // An error before the first message may still be mended by another attempt.
          const first = await iterator.next();
          return { ...response, message: messagesOf(first, iterator, leaving.end) };
        });
      } catch (error) {
        leaving.end();
        throw error;
      }
    },
  };
}

function checkOptions({ baseUrl, apiKey, headers, timeoutMs, retries }: GatewayOptions): void {
  if (/\/v1\/*$/.test(baseUrl)) {
    throw new TypeError(`The address of the gateway is needed without "/v1": ${baseUrl.replace(/\/v1\/*$/, "")}`);
  }
  if (typeof apiKey === "string") readKey(apiKey);
  headersFrom(headers);
  // No comparison holds for NaN, as of a variable that is not set: it would mean for ever.
  for (const [name, value] of Object.entries({ timeoutMs, ...retries })) {
    if (value !== undefined && !(value >= 0)) throw new TypeError(`${name}: expected a number, 0 or more: ${value}`);
  }
}

function headersOf({ headers, idempotencyKeys }: GatewayOptions, method: DescMethod, own?: HeadersInit): Headers {
  const all = headersFrom(headers, own);
  const lacksKey = idempotencyKeys && isMadeOnce(method) && !all.has("idempotency-key");
  if (lacksKey) all.set("idempotency-key", randomKey());
  return all;
}

/** Returns 128 random bits as text. `crypto.randomUUID` is missing in pages without TLS. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function inAttempts<T>(options: GatewayOptions, call: Call, make: Attempt<T>): Promise<T> {
  const timeoutMs = call.timeoutMs ?? options.timeoutMs ?? 600_000;
  if (Number.isNaN(timeoutMs)) throw new TypeError("timeoutMs: expected a number");
  const endsAt = timeoutMs > 0 ? performance.now() + timeoutMs : Number.POSITIVE_INFINITY;
  const attempts = call.contextValues?.get(attemptsKey) ?? options.retries?.attempts;
  const retries = { ...options.retries, attempts };
  let last: unknown;
  for (let attempt = 1; ; attempt++) {
    try {
      const headers = await within(endsAt, call.signal, withCredential(call.headers, options.apiKey));
      return await make(leftUntil(endsAt), headers);
    } catch (error) {
      const isLate = error instanceof ConnectError && error.code === Code.DeadlineExceeded;
      // The reader of a deadline's error learns for what the time was spent.
      if (isLate && last !== undefined) error.cause = last;
      if (call.signal?.aborted) throw error;
      const pauseMs = pauseAfter({ error, attempt, isRepeatable: isRepeatable(call.method, call.headers) }, retries);
      if (pauseMs === undefined || performance.now() + pauseMs >= endsAt) throw error;
      last = error;
      await pause(pauseMs, call.signal);
    }
  }
}

/** Returns the milliseconds until a time, at least 1, as transports send them; undefined where there is no such time. */
function leftUntil(endsAt: number): number | undefined {
  if (endsAt === Number.POSITIVE_INFINITY) return undefined;
  return Math.min(maxTimerMs, Math.max(1, Math.ceil(endsAt - performance.now())));
}

async function withCredential(headers: Headers, apiKey: ApiKey | undefined): Promise<Headers> {
  const sent = new Headers(headers);
  if (apiKey === undefined || sent.has("authorization") || sent.has("x-api-key")) return sent;
  sent.set("authorization", `Bearer ${readKey(typeof apiKey === "string" ? apiKey : await apiKey())}`);
  return sent;
}

/** Resolves after a time. Rejects with the signal's reason as soon as that fires. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = () => {
      clearTimeout(timer);
      reject(ConnectError.from(signal?.reason, Code.Canceled));
    };
    const end = () => {
      signal?.removeEventListener("abort", cancel);
      resolve();
    };
    const timer = setTimeout(end, Math.min(maxTimerMs, ms));
    signal?.addEventListener("abort", cancel, { once: true });
  });
}

/** Waits for work that knows no deadline and no signal. Rejects with a ConnectError as soon as either ends the call. */
function within<T>(endsAt: number, signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  const late = new ConnectError("the operation timed out", Code.DeadlineExceeded);
  return new Promise<T>((resolve, reject) => {
    const cancel = () => end(() => reject(ConnectError.from(signal?.reason, Code.Canceled)));
    const leftMs = leftUntil(endsAt);
    const timer = leftMs === undefined ? undefined : setTimeout(() => end(() => reject(late)), leftMs);
    const end = (settle: () => void) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
      settle();
    };
    work.then(
      (result) => end(() => resolve(result)),
      (error) => end(() => reject(error)),
    );
    if (signal?.aborted) cancel();
    else signal?.addEventListener("abort", cancel, { once: true });
  });
}

/** Returns what can be read once for each attempt: of an RPC with one request, that request. */
async function requestsOf<I extends DescMessage>(
  method: DescMethodStreaming<I>,
  input: AsyncIterable<MessageInitShape<I>>,
): Promise<AsyncIterable<MessageInitShape<I>>> {
  if (method.methodKind !== "server_streaming") return input;
  const requests: MessageInitShape<I>[] = [];
  for await (const request of input) requests.push(request);
  return {
    async *[Symbol.asyncIterator]() {
      yield* requests;
    },
  };
}

interface LinkedAbort {
  readonly signal: AbortSignal;
  /** Aborts what still runs, and lets go of the other signal. */
  readonly end: () => void;
}

function linkedAbort(other: AbortSignal | undefined): LinkedAbort {
  const controller = new AbortController();
  const abort = () => controller.abort(other?.reason);
  if (other?.aborted) abort();
  else other?.addEventListener("abort", abort, { once: true });
  return {
    signal: controller.signal,
    end() {
      other?.removeEventListener("abort", abort);
      controller.abort();
    },
  };
}

/** Passes on the messages of a stream. However its reader leaves it, the call ends with it. */
async function* messagesOf<O extends DescMessage>(
  first: IteratorResult<MessageShape<O>>,
  iterator: AsyncIterator<MessageShape<O>>,
  end: () => void,
): AsyncGenerator<MessageShape<O>, void, undefined> {
  try {
    for (let result = first; !result.done; result = await iterator.next()) yield result.value;
  } finally {
    end();
    // The transport drops the timer of its deadline when it is asked once more.
    iterator.next().catch(() => {});
  }
}
