/**
 * An upstream over HTTP that answers in JSON, or in server-sent events: what the dialects of all vendors share.
 *
 * A request's bytes go on as they came but for what the dialect must set; so do an answer's bytes and a stream's frames,
 * but for a usage that nobody asked for. Each is parsed to see errors and the end, unless the follower knows it without
 * (`skim`). The upstream may be another gateway: it is told how strict the caller is, and what it leaves out is passed on.
 */
import type { DescMessage, JsonObject } from "@bufbuild/protobuf";
import type { Answer, AnswerHeaders } from "../../call/call.ts";
import { type Form, type Operation, type Output, operations } from "../../call/operations.ts";
import { type Refusal, upstreamFailed } from "../../call/refusals.ts";
import { type Body, type Fields, writeFields } from "../../http1/client/index.ts";
import { andThen, isPromise, type MaybePromise } from "../../runtime/maybe-promise.ts";
import { Wire } from "../../wire/wire.ts";
import type { Attempt, Meter, Provider, Speak } from "../contract.ts";
import type { Place } from "../errors/errors-in-answers.ts";
import { asFailure, understood } from "../errors/fault.ts";
import type { UpstreamError } from "../errors/upstream-error.ts";
import { begunOf, formOf, maxAnswerBytes, mediaTypeOf } from "../frames/answer-form.ts";
import { folded, framesOfWhole, once } from "../frames/other-form.ts";
import { readFrames } from "../frames/read-frames.ts";
import { readJson } from "../frames/read-json.ts";
import { ask, askWhole } from "./ask.ts";
import { readableCodings } from "./content-coding.ts";
import type { UpstreamReply } from "./reply.ts";
import type { Upstream } from "./upstream.ts";
import { readWhole } from "./whole-body.ts";

/** How one family of vendors wants to be spoken to. */
export interface Dialect {
  /** The fields that all requests have (`commonFields`), by the form of the answer. */
  readonly common: Readonly<Record<Form, string>>;
  /** Those of one request. */
  headers?(attempt: Attempt): Fields;
  /** Writes the request. */
  body(attempt: Attempt): Body;
  /** Returns the refusal for an error answer. */
  refusal(error: UpstreamError): Refusal;
  /** Returns the refusal for an error in the place of an answer, or beside it, which some upstreams send with status 200. */
  errorIn(json: JsonObject, bytes: Buffer, operation: Operation, place: Place): Refusal | undefined;
  /** Tells the meter what a whole answer says that it used. */
  measure(json: JsonObject, meter: Meter): void;
  /** Begins to follow a stream, and to tell the attempt's meter of it. */
  follow(attempt: Attempt): Follower;
  /** Returns the frames of a stream that say what a whole answer says; undefined where the operation has no streams. */
  framesOf?(json: JsonObject, operation: Operation): readonly JsonObject[] | undefined;
  /** Returns what makes a whole answer of a stream's frames; undefined where the operation has no streams. */
  folder?(operation: Operation): Folder | undefined;
}

/** Makes a whole answer of a stream. What it throws says that the frames make none. */
export interface Folder {
  add(frame: JsonObject): void;
  whole(): JsonObject;
}

/** Knows where a stream stands. */
export interface Follower {
  /** Whether these bytes, which need not be JSON, are the word that ends the stream. */
  isEnd(data: Buffer): boolean;
  /**
   * Takes the next frame without having it parsed, where that can be, and returns what the caller sees of it. Such a frame
   * neither fails nor ends the stream.
   */
  skim?<O extends DescMessage>(frame: Wire<O>): Wire<O> | undefined;
  /** Takes the next frame. Returns what the caller sees of it, or nothing. */
  take<O extends DescMessage>(frame: Wire<O>, json: JsonObject): Wire<O> | undefined;
  /** Whether the end was said. */
  isOver(): boolean;
  /** Whether the answer may end here, whether the end was said or not. */
  isComplete(): boolean;
  /** For how long, in milliseconds, an end is waited for that need not be said any more; undefined while it must be. */
  lingerMs?(): number | undefined;
  /** Returns the frames that a complete stream lacks at its end. */
  last?<O extends DescMessage>(desc: O): readonly Wire<O>[];
}

/** Returns how to speak one operation at this path of the upstream. What it returns throws a Refusal, now or later. */
export function speakOver<O extends Operation>(upstream: Upstream, dialect: Dialect, path: string): Speak<O> {
  return <F extends Form>(attempt: Attempt<O, F>): MaybePromise<Answer<Output<O, F>>> => {
    const desc = operations[attempt.operation][attempt.form] as Output<O, F>;
    const asking = { upstream, dialect, path, attempt };
    if (attempt.form === "stream") return ask(asking, (reply) => streamAnswer(reply, desc, dialect, attempt));
    const fold = (reply: UpstreamReply, body = reply.body) => foldedAnswer(reply, body, desc, dialect, attempt);
    return askWhole(
      asking,
      maxAnswerBytes,
      (bytes, reply) =>
        formOf(bytes) === "events" ? fold(reply, once([bytes])) : wholeAnswer(bytes, reply, desc, dialect, attempt),
      (reply) => (mediaTypeOf(reply) === eventStream ? fold(reply) : undefined),
    );
  };
}

const from = { "user-agent": "model-gateway" };

/** Writes fields that all requests have once and for all. */
export function commonFields(fields: Readonly<Fields>): string {
  return writeFields({ ...fields, ...from, "content-type": "application/json", "accept-encoding": readableCodings });
}

/** Names of fields are the same in any case, and are sent once. */
export function lowerCased(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** What of an upstream's configuration nobody else may read. */
export function secretsOf(
  apiKey: string | undefined,
  headers: Readonly<Record<string, string>> = {},
  query: Readonly<Record<string, string>> = {},
): readonly (string | undefined)[] {
  return [apiKey, ...Object.values(headers), ...Object.values(query)];
}

/** Returns how to ask an upstream whether it is well: any answer of success says so. */
export function checkOver(upstream: Upstream, headers: Record<string, string>): NonNullable<Provider["check"]> {
  return async (path, signal) => {
    const { status, body } = await upstream.get({ path, fields: { ...headers, ...from } }, { signal });
    if (status < 200 || status > 299) throw upstreamFailed(`it answered with status ${status}`);
    for await (const _ of body);
  };
}

/** Returns what the upstream says of its answer that its caller's caller should know. */
export function passedOn({ headers }: UpstreamReply): { readonly headers?: AnswerHeaders } {
  const dropped = headers["x-gateway-dropped"];
  return dropped === undefined ? {} : { headers: { "x-gateway-dropped": [dropped].flat().join(", ") } };
}

function wholeAnswer<O extends DescMessage>(
  bytes: Buffer,
  reply: UpstreamReply,
  desc: O,
  dialect: Dialect,
  { operation, meter }: Attempt,
): MaybePromise<Answer<O>> {
  // Vectors need not be read: they say nothing of errors or usage.
  const isOfVectors = operation === "embeddings";
  const reading = understood(() => Wire.ofBytes(desc, bytes, true).prepared(isOfVectors));
  const read = (answer: Wire<O>): Answer<O> => {
    const json = readJson(answer, dialect, operation, "whole");
    understood(() => dialect.measure(json, meter));
    const { headers } = passedOn(reply);
    return headers ? { kind: "whole", body: answer, headers } : { kind: "whole", body: answer };
  };
  if (!isPromise(reading)) return read(reading);
  return reading.then(read, (error: unknown): never => {
    throw asFailure(error);
  });
}

const eventStream = "text/event-stream";

/** What is not called a stream may be one all the same, or an answer that is whole, or an error. */
function streamAnswer<O extends DescMessage>(
  reply: UpstreamReply,
  desc: O,
  dialect: Dialect,
  attempt: Attempt,
): MaybePromise<Answer<O>> {
  const streamed = (begun: UpstreamReply): Answer<O> => {
    return { kind: "stream", frames: readFrames(begun.body, desc, dialect, attempt, begun.source), ...passedOn(reply) };
  };
  if (mediaTypeOf(reply) === eventStream) return streamed(reply);
  return andThen(begunOf(reply), ({ form, reply: begun }) => {
    if (form === "events") return streamed(begun);
    if (form === "other") {
      begun.leave();
      throw upstreamFailed("it did not answer with a stream");
    }
    return andThen(readWhole(begun, maxAnswerBytes), (bytes) => {
      const { operation, meter } = attempt;
      const reading = framesOfWhole(bytes, { desc, dialect, follower: dialect.follow(attempt), operation, meter });
      return andThen(reading, (frames): Answer<O> => {
        return { kind: "stream", frames: once(frames), ...passedOn(reply) };
      });
    });
  });
}

async function foldedAnswer<O extends DescMessage>(
  reply: UpstreamReply,
  body: UpstreamReply["body"],
  desc: O,
  dialect: Dialect,
  attempt: Attempt,
): Promise<Answer<O>> {
  const folder = dialect.folder?.(attempt.operation);
  if (!folder) {
    reply.leave();
    throw upstreamFailed("it answered with a stream");
  }
  const frames = readFrames(body, desc, dialect, attempt, reply.source);
  const answer = await folded(frames, folder, desc, maxAnswerBytes);
  return { kind: "whole", body: answer, ...passedOn(reply) };
}
