/**
 * Writes answers over HTTP, in the form of the caller's family: unary, as server-sent events or bytes, or as a refusal.
 *
 * The head of a stream is written with its first frame, so that an earlier failure still gets its own status. After a long silence
 * it is written without a frame. A slow reader slows its upstream down.
 */

import type { ServerResponse } from "node:http";
import type { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import type { AnswerHeaders } from "../../call/call.ts";
import { chargeHeaders } from "../../call/charge-headers.ts";
import { asRefusal } from "../../call/refusals.ts";
import type { Fields } from "../../http1/server/index.ts";
import { FieldLines, flattenHead, type HttpAnswer, PlainAnswer } from "../../http1/server/index.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import { forEach, stopPulling } from "../../runtime/push-stream.ts";
import { maxSmall } from "../body/held-answers.ts";
import { drained, written } from "../drained.ts";
import type { StreamAnswer, UnaryAnswer } from "../serve.ts";
import { type Envelope, envelopedAnswer } from "./envelope.ts";
import { framesOf } from "./frames.ts";
import { refusalAnswer, refusalFrame } from "./refusal-answers.ts";

/** Outlet is where an answer is written. */
export interface Outlet {
  readonly res: HttpAnswer;
  /** The request id. */
  readonly id: string;
  readonly family: Family;
  /** The headers that every answer has besides its own; unset where they have been set on `res`. */
  readonly head?: AnswerHeaders;
  /** sent is how many messages of the stream have been written. */
  sent?: number;
}

/**
 * writeRefusal writes a refusal. A stream that has begun ends with the family's error frame, and never with its usual end. What it cost is
 * told behind that.
 */
export function writeRefusal(outlet: Outlet, error: unknown): void {
  const { res, id, family, sent = 0 } = outlet;
  const refusal = asRefusal(error);
  if (res.headersSent) {
    res.addTrailers(costIn(refusal.headers));
    res.end(framesOf(family).error(refusalFrame(family, refusal, id, sent)));
    return;
  }
  const { status, headers, body } = refusalAnswer(family, refusal, id);
  writeBody(outlet, status, headers, body);
}

/** costIn returns the headers that report a cost. */
function costIn(headers: AnswerHeaders): AnswerHeaders {
  return Object.fromEntries(
    chargeHeaders.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])),
  );
}

/**
 * writeUnary writes the answer of a unary RPC, in the envelope if there is one. A long one is waited for until its reader has it: it takes
 * memory as long.
 */
export function writeUnary(
  outlet: Outlet,
  { headers, body }: UnaryAnswer,
  envelope: Envelope | undefined,
): MaybePromise<void> {
  const bytes = envelope ? envelopedAnswer(envelope, body.json()) : body.bytes();
  writeBody(outlet, 200, headers, bytes);
  return bytes.length > maxSmall ? written(outlet.res) : undefined;
}

/** The headers whose values differ from answer to answer. The gateway makes them of characters that need no check. */
const lines = new FieldLines([
  ...["x-request-id", "request-id", "server-timing", "x-gateway-credit-remaining"],
  ...chargeHeaders,
  ...["x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"],
  ...["x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"],
  ...["anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"],
  ...["anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"],
]);
const jsonType = "\r\ncontent-type: application/json";

/** writeBody adds the type and length of the body to the headers. */
function writeBody({ res, head = {} }: Outlet, status: number, headers: AnswerHeaders = {}, body: Buffer): void {
  if (res instanceof PlainAnswer) {
    const isLast = (headers.connection ?? head.connection) === "close";
    res.whole(status, lines.write(head, headers) + jsonType, isLast, body);
    return;
  }
  // In one object: setting the headers one by one takes Node three times as long.
  const fields: Fields = Object.assign({}, head, headers);
  fields["content-type"] = "application/json";
  fields["content-length"] = String(body.length);
  res.writeHead(status, fields);
  res.end(body);
}

/** setHead sets the headers of an answer whose head is written elsewhere or later. */
export function setHead(res: ServerResponse, head: AnswerHeaders): void {
  for (const name in head) res.setHeader(name, head[name] as string);
}

const streamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "x-accel-buffering": "no",
};

/** writeStream writes server-sent events. Fills silence from the beginning of the call on, because most of it is before the first frame. */
export async function writeStream(
  outlet: Outlet,
  answering: MaybePromise<StreamAnswer>,
  keepAliveMs: number,
  signal: Signal,
): Promise<void> {
  const { res, family, head } = outlet;
  const { frames, end, keepAlive } = framesOf(family);
  const open = (headers: AnswerHeaders = {}) => {
    if (res.headersSent) return;
    // The head of an answer to GET forbids caches more than streams need.
    const caching = head?.["cache-control"] ?? "no-cache";
    res.writeHead(200, { ...head, ...headers, ...streamHeaders, "cache-control": caching });
    flattenHead(res);
  };
  let wroteAt = performance.now();
  // One timer checks for silence at the earliest time that it can have lasted: restarting a timer with each frame would cost more.
  const breakSilence = () => {
    if (performance.now() - wroteAt >= keepAliveMs) {
      open();
      if (!res.writableNeedDrain) res.write(keepAlive);
      wroteAt = performance.now();
    }
    silence = setTimeout(breakSilence, wroteAt + keepAliveMs - performance.now());
  };
  let silence = setTimeout(breakSilence, keepAliveMs);
  try {
    const answer = await answering;
    await forEach(answer.frames, (batch) => {
      if (signal.aborted) throw stopPulling;
      open(answer.headers);
      outlet.sent = (outlet.sent ?? 0) + batch.length;
      wroteAt = performance.now();
      return res.write(frames(batch)) ? undefined : drained(res, signal);
    });
    if (signal.aborted) return;
    open(answer.headers);
    writeTrailers(res, answer);
    res.end(end);
  } finally {
    clearTimeout(silence);
  }
}

/** writeBytes writes the bytes in a field of the stream's messages, one after another. */
export async function writeBytes(
  { res, head }: Outlet,
  answering: MaybePromise<StreamAnswer>,
  field: string,
  signal: Signal,
): Promise<void> {
  const answer = await answering;
  const open = (contentType: unknown = "application/octet-stream") => {
    if (!res.headersSent) res.writeHead(200, { ...head, ...answer.headers, "content-type": String(contentType) });
  };
  try {
    for await (const batch of answer.frames) {
      for (const frame of batch) {
        if (signal.aborted) return;
        const piece = frame.message() as unknown as Readonly<Record<string, unknown>>;
        open(piece.contentType);
        if (piece[field] !== undefined && !res.write(piece[field] as Buffer)) await drained(res, signal);
      }
    }
    open();
    writeTrailers(res, answer);
    res.end();
  } catch (error) {
    if (!res.headersSent) throw error;
    // Bytes have no room for an error, but a cut connection cannot be taken for a complete answer.
    res.destroy();
  }
}

function writeTrailers(res: HttpAnswer, { trailers }: StreamAnswer): void {
  if (trailers) res.addTrailers(trailers());
}
