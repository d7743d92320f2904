/**
 * An upstream over HTTP that answers in JSON, or in server-sent events: what the dialects of all vendors share.
 *
 * A request's bytes go on as they came but for what the dialect must set. An answer's bytes and a stream's frames
 * are passed on untouched; each is parsed to see errors and the end of the stream, never rebuilt.
 *
 * The upstream may be another gateway: it is told how strict the caller is, and what it leaves out is passed on.
 */
import type { DescMessage, JsonObject } from "@bufbuild/protobuf";
import type { Answer, AnswerHeaders, Frames } from "../call.ts";
import { Refusal, upstreamFailed } from "../errors.ts";
import type { AttemptFacts } from "../facts.ts";
import { SseReader } from "../wire/sse.ts";
import { Wire } from "../wire/wire.ts";
import { type Form, type Operation, type Output, operations } from "./operations.ts";
import type { Attempt, Meter, Provider, Speak } from "./provider.ts";
import { readWhole, type Upstream, type UpstreamReply } from "./upstream.ts";
import type { UpstreamError } from "./upstream-error.ts";

/** How one family of vendors wants to be spoken to. */
export interface Dialect {
  headers(attempt: Attempt): Record<string, string>;
  /** Writes the request. */
  body(attempt: Attempt): Buffer;
  /** Returns the refusal for an error answer. */
  refusal(error: UpstreamError): Refusal;
  /** Returns the refusal for an error in the place of an answer, which some upstreams send with status 200. */
  errorIn(json: JsonObject, bytes: Buffer): Refusal | undefined;
  /** Tells the meter what a whole answer says that it used. */
  measure(json: JsonObject, meter: Meter): void;
  /** Begins to follow a stream, and to tell the attempt's meter of it. */
  follow(attempt: Attempt): Follower;
}

/** Knows where a stream stands. */
export interface Follower {
  /** Whether these bytes, which need not be JSON, are the word that ends the stream. */
  isEnd(data: Buffer): boolean;
  /** Takes the next frame. Returns what the caller sees of it, or nothing. */
  take<O extends DescMessage>(frame: Wire<O>, json: JsonObject): Wire<O> | undefined;
  /** Whether the end was said. */
  isOver(): boolean;
  /** Whether the answer may end here, though the end was not said. */
  isComplete(): boolean;
}

const maxAnswerBytes = 64 * 1024 * 1024;
const maxErrorBytes = 64 * 1024;

/** Returns how to speak one operation at this path of the upstream. */
export function speakOver<O extends Operation>(upstream: Upstream, dialect: Dialect, path: string): Speak<O> {
  return async <F extends Form>(attempt: Attempt<O, F>) => {
    const reply = await postAttempt(upstream, dialect, path, attempt);
    const desc = operations[attempt.operation][attempt.form] as Output<O, F>;
    return attempt.form === "stream"
      ? streamAnswer(reply, desc, dialect, attempt)
      : wholeAnswer(reply, desc, dialect, attempt);
  };
}

/** Sends the request and sees it accepted. Throws the refusal that the upstream answers with. */
export async function postAttempt(
  upstream: Upstream,
  dialect: Dialect,
  path: string,
  attempt: Attempt,
): Promise<UpstreamReply> {
  const { facts, signal, timeouts } = attempt;
  const strict = attempt.header("x-gateway-strict");
  const headers = {
    ...attempt.traceHeaders,
    ...dialect.headers(attempt),
    ...(strict === undefined ? {} : { "x-gateway-strict": strict }),
    "content-type": "application/json",
    ...from,
    "x-request-id": attempt.id,
  };
  const reply = await waited(facts, upstream.post(path, headers, dialect.body(attempt), { signal, timeouts }));
  if (reply.status === 200) return reply;
  const retryAfter = reply.headers["retry-after"];
  throw dialect.refusal({
    status: reply.status,
    body: await waited(facts, readWhole(reply.body, maxErrorBytes)),
    retryAfter: typeof retryAfter === "string" ? retryAfter : undefined,
    model: attempt.model,
  });
}

const from = { "user-agent": "model-gateway" };

/** Counts the time until this is there for the upstream's. */
export async function waited<T>(facts: AttemptFacts, coming: Promise<T>): Promise<T> {
  const begunAt = performance.now();
  try {
    return await coming;
  } finally {
    facts.waitedMs += performance.now() - begunAt;
  }
}

/** Returns how to ask an upstream whether it is well: any answer of success says so. */
export function checkOver(upstream: Upstream, headers: Record<string, string>): NonNullable<Provider["check"]> {
  return async (path, signal) => {
    const { status, body } = await upstream.get(path, { ...headers, ...from }, { signal });
    if (status < 200 || status > 299) throw upstreamFailed(`it answered with status ${status}`);
    for await (const _ of body);
  };
}

/** Returns what the upstream says of its answer that its caller's caller should know. */
export function passedOn({ headers }: UpstreamReply): { readonly headers?: AnswerHeaders } {
  const dropped = headers["x-gateway-dropped"];
  return dropped === undefined ? {} : { headers: { "x-gateway-dropped": String(dropped) } };
}

async function wholeAnswer<O extends DescMessage>(
  reply: UpstreamReply,
  desc: O,
  dialect: Dialect,
  { facts, meter }: Attempt,
): Promise<Answer<O>> {
  const answer = Wire.ofBytes(desc, await waited(facts, readWhole(reply.body, maxAnswerBytes)), true);
  dialect.measure(readJson(answer, dialect), meter);
  return { kind: "whole", body: answer, ...passedOn(reply) };
}

async function streamAnswer<O extends DescMessage>(
  reply: UpstreamReply,
  desc: O,
  dialect: Dialect,
  attempt: Attempt,
): Promise<Answer<O>> {
  const { headers, body } = reply;
  const type = String(headers["content-type"] ?? "");
  if (type.startsWith("text/event-stream"))
    return { kind: "stream", frames: readFrames(body, desc, dialect, attempt), ...passedOn(reply) };
  readJson(Wire.ofBytes(desc, await readWhole(body, maxErrorBytes), true), dialect);
  throw upstreamFailed("it did not answer with a stream");
}

async function* readFrames<O extends DescMessage>(
  body: UpstreamReply["body"],
  desc: O,
  dialect: Dialect,
  attempt: Attempt,
): Frames<O> {
  const follower = dialect.follow(attempt);
  for await (const payloads of payloadsOf(body)) {
    const batch: Wire<O>[] = [];
    let failure: Refusal | undefined;
    let ended = false;
    for (const data of payloads) {
      try {
        const seen = follower.isEnd(data) ? undefined : takeFrame(Wire.ofBytes(desc, data, true), dialect, follower);
        if (seen) batch.push(seen);
        ended = follower.isOver();
        if (ended) break;
      } catch (error) {
        failure = asFailure(error);
        break;
      }
    }
    if (ended) attempt.meter.ended();
    // What came before a failure is the caller's.
    if (batch.length > 0) yield batch;
    if (failure) throw failure;
    if (ended) return;
  }
  if (!follower.isComplete()) throw upstreamFailed("it broke off its answer");
  attempt.meter.ended();
}

function takeFrame<O extends DescMessage>(frame: Wire<O>, dialect: Dialect, follower: Follower): Wire<O> | undefined {
  return follower.take(frame, readJson(frame, dialect));
}

/** Yields the data of the frames that each read brought, and of a last one without its blank line. */
async function* payloadsOf(body: UpstreamReply["body"]): AsyncGenerator<readonly Buffer[]> {
  const reader = new SseReader();
  try {
    for await (const chunks of body) {
      yield chunks.flatMap((chunk) => reader.push(chunk)).map(({ data }) => data);
    }
  } catch (error) {
    throw asFailure(error);
  }
  yield reader.end().map(({ data }) => data);
}

function readJson(answer: Wire, dialect: Dialect): JsonObject {
  let json: JsonObject;
  try {
    json = answer.json();
  } catch (error) {
    throw asFailure(error);
  }
  const refusal = dialect.errorIn(json, answer.bytes());
  if (refusal) throw refusal;
  return json;
}

function asFailure(error: unknown): Refusal {
  return error instanceof Refusal ? error : upstreamFailed("its answer cannot be read", error);
}
