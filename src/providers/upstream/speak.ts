/**
 * Speaks to an upstream over HTTP that answers in JSON or server-sent events. All dialects share it.
 *
 * A request's bytes pass through except for what the dialect must set, and so do an answer's bytes and a stream's
 * frames, except for usage that the caller did not ask for. Each frame is parsed to detect errors and the end, unless
 * the tracker takes it unparsed. The upstream may be another gateway: it learns how strict the caller is, and the
 * headers that name what it dropped are forwarded.
 */
import type { DescMessage, JsonObject } from "@bufbuild/protobuf";
import type { Answer, AnswerHeaders } from "../../call/call.ts";
import { type Form, type Operation, type Output, operations } from "../../call/operations.ts";
import { upstreamFailed, upstreamFailedByStatus } from "../../call/refusals.ts";
import { type Fields, writeFields } from "../../http1/client/index.ts";
import { andThen, isPromise, type MaybePromise } from "../../runtime/maybe-promise.ts";
import { isObjectLines } from "../../wire/sse.ts";
import { Wire } from "../../wire/wire.ts";
import type { Attempt, Provider, Speak } from "../contract.ts";
import type { Dialect } from "../dialect.ts";
import { asFailure, readOrFail } from "../errors/fault.ts";
import { maxAnswerBytes, mediaTypeOf, sniffForm, sniffReply, withoutMark } from "../frames/answer-form.ts";
import { accumulate, framesOfAnswer, single } from "../frames/other-form.ts";
import { readAnswer } from "../frames/read-answer.ts";
import { readFrames } from "../frames/read-frames.ts";
import { hasAllVectors, lacksVectors } from "../frames/vectors.ts";
import { ask, askWhole } from "./ask.ts";
import { readableCodings } from "./content-coding.ts";
import type { UpstreamReply } from "./reply.ts";
import type { Upstream } from "./upstream.ts";
import { readWhole } from "./whole-body.ts";

/** speakOver returns the function that speaks one operation at this path of the upstream. That function throws a Refusal, now or later. */
export function speakOver<O extends Operation>(upstream: Upstream, dialect: Dialect, path: string): Speak<O> {
  return <F extends Form>(attempt: Attempt<O, F>): MaybePromise<Answer<Output<O, F>>> => {
    const desc = operations[attempt.operation][attempt.form] as Output<O, F>;
    const call = { upstream, dialect, path, attempt };
    if (attempt.form === "stream") return ask(call, (reply) => streamAnswer(reply, desc, dialect, attempt));
    const accumulated = (reply: UpstreamReply, body = reply.body) =>
      accumulatedAnswer(reply, body, desc, dialect, attempt);
    return askWhole(
      call,
      maxAnswerBytes,
      (bytes, reply) =>
        sniffForm(bytes) === "events" || isObjectLines(bytes)
          ? accumulated(reply, single([bytes]))
          : wholeAnswer(bytes, reply, desc, dialect, attempt),
      (reply) => (mediaTypeOf(reply) === eventStream ? accumulated(reply) : undefined),
    );
  };
}

const from = { "user-agent": "model-gateway" };

/** commonFields writes the header fields that all requests share. */
export function commonFields(fields: Readonly<Fields>): string {
  return writeFields({ ...fields, ...from, "content-type": "application/json", "accept-encoding": readableCodings });
}

/** secretsOf returns the values of an upstream's configuration that must stay secret. */
export function secretsOf(
  apiKey: string | undefined,
  headers: Readonly<Record<string, string>> = {},
  query: Readonly<Record<string, string>> = {},
): readonly (string | undefined)[] {
  // A server may quote a token without its scheme.
  const token = apiKey?.replace(/^bearer\s+/i, "");
  return [apiKey, token, ...credentialsIn([], headers, query)];
}

/** credentialsIn returns the credentials that an upstream's configuration has: keys, headers and queries. */
export function credentialsIn(
  apiKeys: readonly string[],
  headers: Readonly<Record<string, string>> = {},
  query: Readonly<Record<string, string>> = {},
): readonly string[] {
  return [...apiKeys, ...Object.values(headers), ...Object.values(query)];
}

/** checkOver returns the health check of an upstream: any answer of success passes. */
export function checkOver(upstream: Upstream, headers: Record<string, string>): NonNullable<Provider["check"]> {
  return async (path, signal) => {
    const { status, body } = await upstream.get({ path, fields: { ...headers, ...from } }, { signal });
    if (status < 200 || status > 299) throw upstreamFailedByStatus(status);
    for await (const _ of body);
  };
}

/** forwardedHeaders returns the headers of an upstream's answer that the caller should see. */
export function forwardedHeaders({ headers }: UpstreamReply): { readonly headers?: AnswerHeaders } {
  const dropped = headers["x-gateway-dropped"];
  return dropped === undefined ? {} : { headers: { "x-gateway-dropped": [dropped].flat().join(", ") } };
}

function wholeAnswer<O extends DescMessage>(
  bytes: Buffer,
  reply: UpstreamReply,
  desc: O,
  dialect: Dialect,
  attempt: Attempt,
): MaybePromise<Answer<O>> {
  const { operation, meter } = attempt;
  // Vectors are not read: they hold no errors and no usage.
  const isOfVectors = operation === "embeddings";
  const reading = readOrFail(() => Wire.ofBytes(desc, withoutMark(bytes), true).parseInSlices(isOfVectors));
  const read = (sent: Wire<O>): Answer<O> => {
    const takeFault = (fault: JsonObject) => dialect.track(attempt).takeFault?.(fault);
    const { answer, json } = readAnswer(sent, dialect, operation, takeFault);
    if (isOfVectors && !hasAllVectors(json, attempt.request.outline())) {
      takeFault(json);
      throw upstreamFailed(lacksVectors);
    }
    readOrFail(() => dialect.measure(json, meter));
    // Its upstream bills also an answer that nobody can use: the attempt's record has what it told.
    const { headers } = forwardedHeaders(reply);
    const lacking = dialect.head?.(json, attempt);
    const body = lacking ? answer.with(lacking) : answer;
    return headers ? { kind: "whole", body, headers } : { kind: "whole", body };
  };
  if (!isPromise(reading)) return read(reading);
  return reading.then(read, (error: unknown): never => {
    throw asFailure(error);
  });
}

const eventStream = "text/event-stream";

/** streamAnswer returns a stream. The reply may be one without saying so, or a unary answer, or an error. */
function streamAnswer<O extends DescMessage>(
  reply: UpstreamReply,
  desc: O,
  dialect: Dialect,
  attempt: Attempt,
): MaybePromise<Answer<O>> {
  const streamed = (begun: UpstreamReply): Answer<O> => {
    return {
      kind: "stream",
      frames: readFrames(begun.body, desc, dialect, attempt, begun.source),
      ...forwardedHeaders(reply),
    };
  };
  if (mediaTypeOf(reply) === eventStream) return streamed(reply);
  return andThen(sniffReply(reply), ({ form, reply: begun }) => {
    if (form === "events") return streamed(begun);
    if (form === "other") {
      begun.leave();
      throw upstreamFailed("it did not answer with a stream");
    }
    return andThen(readWhole(begun, maxAnswerBytes, attempt.room?.openAnswer()), (bytes): MaybePromise<Answer<O>> => {
      const { operation, meter } = attempt;
      if (isObjectLines(bytes)) {
        const frames = readFrames(single([bytes]), desc, dialect, attempt);
        return { kind: "stream", frames, ...forwardedHeaders(reply) };
      }
      const reading = framesOfAnswer(bytes, { desc, dialect, tracker: dialect.track(attempt), operation, meter });
      return andThen(reading, (frames): Answer<O> => {
        return { kind: "stream", frames: single(frames), ...forwardedHeaders(reply) };
      });
    });
  });
}

async function accumulatedAnswer<O extends DescMessage>(
  reply: UpstreamReply,
  body: UpstreamReply["body"],
  desc: O,
  dialect: Dialect,
  attempt: Attempt,
): Promise<Answer<O>> {
  const accumulator = dialect.accumulator?.(attempt.operation);
  if (!accumulator) {
    reply.leave();
    throw upstreamFailed("it answered with a stream");
  }
  const frames = readFrames(body, desc, dialect, attempt, reply.source);
  const answer = await accumulate(frames, accumulator, desc, maxAnswerBytes, attempt.room?.openAnswer());
  return { kind: "whole", body: answer, ...forwardedHeaders(reply) };
}
