/**
 * Writes answers over HTTP: whole, as a stream of server-sent events, or as a refusal, in the caller's family's form.
 *
 * The head of a stream is written with its first frame, so that what fails before is a real status; after a long
 * silence it is written all the same. A slow reader is waited for, and so is its upstream.
 */
import type { ServerResponse } from "node:http";
import type { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import type { Answer, AnswerHeaders } from "../../call/call.ts";
import { asRefusal, internal } from "../../call/refusals.ts";
import { FieldLines, type Fields, type HttpAnswer, PlainAnswer } from "../../http1/server/index.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import { forEach, stopPulling } from "../../runtime/push-stream.ts";
import type { Wire } from "../../wire/wire.ts";
import { type Envelope, envelopedAnswer } from "./envelope.ts";
import { framesOf } from "./frames.ts";
import { problem, problemFrame } from "./problems.ts";

/** Where an answer goes. */
export interface Outlet {
  readonly res: HttpAnswer;
  /** The request id. */
  readonly id: string;
  readonly family: Family;
  /** What an answer says besides its own headers, unless that has been set already. */
  readonly head?: AnswerHeaders;
  /** How many messages of the stream have been written. */
  sent?: number;
}

/** Returns the answer of a unary RPC. */
export function wholeOf(answer: Answer): Wire {
  if (answer.kind !== "whole") throw internal(new Error("a unary RPC was answered with a stream"));
  return answer.body;
}

/** Returns the answer of a streaming RPC. */
export function streamOf(answer: Answer): Answer & { readonly kind: "stream" } {
  if (answer.kind !== "stream") throw internal(new Error("a streaming RPC was answered whole"));
  return answer;
}

/** Writes an error, or ends the stream that has begun: with the family's error frame, and never with its end. */
export function writeProblem(outlet: Outlet, error: unknown): void {
  const { res, id, family, sent = 0 } = outlet;
  const refusal = asRefusal(error);
  if (res.headersSent) {
    res.end(framesOf(family).error(problemFrame(family, refusal, id, sent)));
    return;
  }
  const { status, headers, body } = problem(family, refusal, id);
  writeBody(outlet, status, headers, body);
}

/** Writes the answer of a unary RPC, in the envelope if there is one. */
export function writeWhole(outlet: Outlet, answer: Answer, envelope: Envelope | undefined): void {
  const body = wholeOf(answer);
  writeBody(outlet, 200, answer.headers, envelope ? envelopedAnswer(envelope, body.json()) : body.bytes());
}

/** The values of these fields are made here of letters, digits and signs, each for one answer only. */
const lines = new FieldLines([
  ...["x-request-id", "request-id", "server-timing", "x-gateway-cost", "x-gateway-usage", "x-gateway-credit-remaining"],
  ...["x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"],
  ...["x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"],
  ...["anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"],
  ...["anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"],
]);
const jsonType = "\r\ncontent-type: application/json";

/** Headers say neither the body's type nor its length. */
function writeBody({ res, head = {} }: Outlet, status: number, headers: AnswerHeaders = {}, body: Buffer): void {
  if (res instanceof PlainAnswer) {
    const isLast = (headers.connection ?? head.connection) === "close";
    res.whole(status, lines.write(head, headers) + jsonType, isLast, body);
    return;
  }
  // All at once: Node takes one object in a third of the time that they take one by one.
  const fields: Fields = Object.assign({}, head, headers);
  fields["content-type"] = "application/json";
  fields["content-length"] = String(body.length);
  res.writeHead(status, fields);
  res.end(body);
}

/** Sets what an answer says whose head is written elsewhere, or later. */
export function setHead(res: ServerResponse, head: AnswerHeaders): void {
  for (const name in head) res.setHeader(name, head[name] as string);
}

const streamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
  "x-accel-buffering": "no",
};

/** Fills silence from the call's beginning on: most of it comes before the first frame. */
export async function writeStream(
  outlet: Outlet,
  answering: MaybePromise<Answer>,
  keepAliveMs: number,
  gone: Signal,
): Promise<void> {
  const { res, family, head } = outlet;
  const { frames, end, keepAlive } = framesOf(family);
  const open = (headers: AnswerHeaders = {}) => {
    if (res.headersSent) return;
    res.writeHead(200, { ...head, ...headers, ...streamHeaders });
    joinHead(res);
  };
  let wroteAt = performance.now();
  // Looks when silence may have lasted for long: a timer that is set anew by each frame would cost more than that.
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
    const answer = streamOf(await answering);
    await forEach(answer.frames, (batch) => {
      if (gone.aborted) throw stopPulling;
      open(answer.headers);
      outlet.sent = (outlet.sent ?? 0) + batch.length;
      wroteAt = performance.now();
      return res.write(frames(batch)) ? undefined : drained(res, gone);
    });
    if (gone.aborted) return;
    open(answer.headers);
    writeTrailers(res, answer);
    res.end(end);
  } finally {
    clearTimeout(silence);
  }
}

/**
 * Node keeps the head of an answer for as long as that lasts, as a tree of some fifty pieces that take three times its memory,
 * until somebody looks into it: so somebody does.
 */
function joinHead(res: HttpAnswer & { readonly _header?: unknown }): void {
  if (typeof res._header === "string") res._header.charCodeAt(0);
}

/** Writes the bytes that a field of the stream's messages holds, one after another. */
export async function writeBytes(
  { res, head }: Outlet,
  answering: MaybePromise<Answer>,
  field: string,
  gone: Signal,
): Promise<void> {
  const answer = streamOf(await answering);
  const open = (contentType: unknown = "application/octet-stream") => {
    if (!res.headersSent) res.writeHead(200, { ...head, ...answer.headers, "content-type": String(contentType) });
  };
  try {
    for await (const batch of answer.frames) {
      for (const frame of batch) {
        if (gone.aborted) return;
        const piece = frame.message() as unknown as Readonly<Record<string, unknown>>;
        open(piece.contentType);
        if (piece[field] !== undefined && !res.write(piece[field] as Buffer)) await drained(res, gone);
      }
    }
    open();
    writeTrailers(res, answer);
    res.end();
  } catch (error) {
    if (!res.headersSent) throw error;
    res.destroy(); // Bytes have no room for an error, but what is cut off cannot be taken for whole.
  }
}

function writeTrailers(res: HttpAnswer, { trailers }: Answer & { readonly kind: "stream" }): void {
  if (trailers) res.addTrailers(trailers());
}

/** Waits until a slow reader has caught up, or is gone. */
export function drained(res: Pick<HttpAnswer, "once" | "off">, gone: Signal): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      res.off("drain", settle);
      res.off("close", settle);
      gone.removeEventListener("abort", settle);
      resolve();
    };
    res.once("drain", settle);
    res.once("close", settle);
    gone.addEventListener("abort", settle, { once: true });
    if (gone.aborted) settle();
  });
}
