/**
 * Writes answers over HTTP: whole, as a stream of server-sent events, or as a refusal, in the caller's family's form.
 *
 * The head of a stream is written with its first frame, so that what fails before is a real status; after a long
 * silence it is written all the same. A slow reader is waited for, and so is its upstream.
 */
import type { ServerResponse } from "node:http";
import type { Family } from "../../gen/modelgateway/v1/access_pb.ts";
import type { Answer, AnswerHeaders } from "../call.ts";
import { asRefusal, internal } from "../errors.ts";
import { type Envelope, envelopedAnswer } from "./envelope.ts";
import { framesOf } from "./frames.ts";
import { problem, problemFrame } from "./problems.ts";

/** Where an answer goes. */
export interface Outlet {
  readonly res: ServerResponse;
  /** The request id. */
  readonly id: string;
  readonly family: Family;
  /** How many messages of the stream have been written. */
  sent?: number;
}

/** Writes an error, or ends the stream that has begun: with the family's error frame, and never with its end. */
export function writeProblem({ res, id, family, sent = 0 }: Outlet, error: unknown): void {
  const refusal = asRefusal(error);
  if (res.headersSent) {
    res.end(framesOf(family).error(problemFrame(family, refusal, id, sent)));
    return;
  }
  const { status, headers, body } = problem(family, refusal, id);
  writeBody(res, status, headers, body);
}

/** Writes the answer of a unary RPC, in the envelope if there is one. */
export function writeWhole({ res }: Outlet, answer: Answer, envelope: Envelope | undefined): void {
  if (answer.kind !== "whole") throw internal(new Error("a unary RPC was answered with a stream"));
  const body = envelope ? envelopedAnswer(envelope, answer.body.json()) : answer.body.bytes();
  writeBody(res, 200, answer.headers ?? {}, body);
}

function writeBody(res: ServerResponse, status: number, headers: AnswerHeaders, body: Buffer): void {
  const length = String(body.length);
  res.writeHead(status, { ...headers, "content-type": "application/json", "content-length": length });
  res.end(body);
}

const streamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
  "x-accel-buffering": "no",
};

/** Fills silence from the call's beginning on: most of it comes before the first frame. */
export async function writeStream(
  outlet: Outlet,
  answering: Promise<Answer>,
  keepAliveMs: number,
  gone: AbortSignal,
): Promise<void> {
  const { res, family } = outlet;
  const { frames, end, keepAlive } = framesOf(family);
  const open = (headers: AnswerHeaders = {}) => {
    if (!res.headersSent) res.writeHead(200, { ...headers, ...streamHeaders });
  };
  const silence = setTimeout(() => {
    open();
    if (!res.writableNeedDrain) res.write(keepAlive);
    silence.refresh();
  }, keepAliveMs);
  try {
    const answer = await answering;
    if (answer.kind !== "stream") throw internal(new Error("a streaming RPC was answered whole"));
    for await (const batch of answer.frames) {
      if (gone.aborted) return;
      open(answer.headers);
      outlet.sent = (outlet.sent ?? 0) + batch.length;
      if (!res.write(frames(batch))) await drained(res, gone);
      silence.refresh();
    }
    if (gone.aborted) return;
    open(answer.headers);
    writeTrailers(res, answer);
    res.end(end);
  } finally {
    clearTimeout(silence);
  }
}

/** Writes the bytes that a field of the stream's messages holds, one after another. */
export async function writeBytes(
  { res }: Outlet,
  answering: Promise<Answer>,
  field: string,
  gone: AbortSignal,
): Promise<void> {
  const answer = await answering;
  if (answer.kind !== "stream") throw internal(new Error("a streaming RPC was answered whole"));
  try {
    for await (const batch of answer.frames) {
      for (const frame of batch) {
        if (gone.aborted) return;
        const piece = frame.message() as unknown as Readonly<Record<string, unknown>>;
        if (!res.headersSent) res.writeHead(200, { ...answer.headers, "content-type": String(piece.contentType) });
        if (piece[field] !== undefined && !res.write(piece[field])) await drained(res, gone);
      }
    }
    writeTrailers(res, answer);
    res.end();
  } catch (error) {
    if (!res.headersSent) throw error;
    res.destroy(); // Bytes have no room for an error, but what is cut off cannot be taken for whole.
  }
}

function writeTrailers(res: ServerResponse, { trailers }: Answer & { readonly kind: "stream" }): void {
  if (trailers) res.addTrailers(trailers());
}

/** Waits until a slow reader has caught up, or is gone. */
function drained(res: ServerResponse, gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      res.off("drain", settle);
      res.off("close", settle);
      resolve();
    };
    res.once("drain", settle);
    res.once("close", settle);
    if (gone.aborted) settle();
  });
}
