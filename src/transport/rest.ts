/**
 * The REST door: one HTTP request → one call → JSON, or server-sent events.
 *
 * It rewrites and does not handle: the credential is checked on the headers alone, then the body is read, the RPC
 * chosen, and the call goes the same way as one from gRPC. The head of a stream is written with its first frame,
 * so that what fails before is a real status; after a long silence it is written all the same, with keep-alive
 * comments. When the client goes away the call's signal fires at once.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { DescMethod } from "@bufbuild/protobuf";
import type { Answer, Way } from "../call.ts";
import { asRefusal, internal, unsupportedMediaType } from "../errors.ts";
import { dataFrames, keepAlive } from "../wire/sse.ts";
import { Wire } from "../wire/wire.ts";
import { type BodyLimits, discard, jsonText, readBody } from "./body.ts";
import { problemBody, problemFrame } from "./problems.ts";
import type { Route } from "./routes.ts";

export interface RestOptions {
  readonly way: Way;
  readonly body: BodyLimits;
  /** Silence on a stream after which a comment is sent, in milliseconds. */
  readonly keepAliveMs: number;
}

export type RestDoor = (
  req: IncomingMessage,
  res: ServerResponse,
  id: string,
  route: Route,
  variables: Variables,
) => Promise<void>;
type Variables = Readonly<Record<string, string>>;

export function createRestDoor({ way, body: limits, keepAliveMs }: RestOptions): RestDoor {
  return async (req, res, id, route, variables) => {
    const gone = new AbortController();
    res.once("close", () => {
      // Once all is written nobody can leave any more, and what the upstream still sends may come to its end.
      if (!res.writableEnded) gone.abort();
    });
    try {
      const header = (name: string) => headerText(req, name);
      const arrival = { id, method: (route.unary ?? route.stream) as DescMethod, header };
      const caller = await way.admit(arrival);
      const { method, request } = await readCall(req, route, variables, limits).catch((error: unknown) => {
        way.abandon(arrival, caller, error);
        throw error;
      });
      const answering = way.handle({ ...arrival, method, caller, request, signal: gone.signal });
      if (method.methodKind === "server_streaming")
        return await writeStream(res, id, answering, keepAliveMs, gone.signal);
      const answer = await answering;
      if (answer.kind !== "whole") throw internal(new Error("a unary RPC was answered with a stream"));
      if (!gone.signal.aborted) writeWhole(res, id, 200, answer.body.bytes());
    } catch (error) {
      discard(req, limits.timeoutMs);
      if (!gone.signal.aborted) writeProblem(res, id, error);
    }
  };
}

/** Reads the body, and finds out which of the route's RPCs it asks for. */
async function readCall(req: IncomingMessage, route: Route, variables: Variables, limits: BodyLimits) {
  if (headerText(req, "content-encoding")) throw unsupportedMediaType("bodies without a content-encoding");
  const body = jsonText(headerText(req, "content-type"), await readBody(req, limits));
  const request = readRequest(route, variables, body);
  return { method: chooseMethod(route, request), request };
}

function readRequest(route: Route, variables: Variables, body: Buffer): Wire {
  const desc = ((route.unary ?? route.stream) as DescMethod).input;
  const request = Wire.ofBytes(desc, body);
  return Object.keys(variables).length === 0 ? request : request.with(variables);
}

function chooseMethod({ unary, stream, selectedBy }: Route, request: Wire): DescMethod {
  if (!unary || !stream) return (unary ?? stream) as DescMethod;
  return request.json()[selectedBy as string] === true ? stream : unary;
}

/** Writes an error, or ends the stream that has begun: with the family's error frame, and never with [DONE]. */
export function writeProblem(res: ServerResponse, id: string, error: unknown): void {
  const refusal = asRefusal(error);
  if (res.headersSent) res.end(dataFrames([problemFrame(refusal)]));
  else writeWhole(res, id, refusal.status, problemBody(refusal), refusal.headers);
}

function writeWhole(
  res: ServerResponse,
  id: string,
  status: number,
  body: Buffer,
  headers: Readonly<Record<string, string>> = {},
) {
  writeHead(res, id, status, { ...headers, "content-type": "application/json", "content-length": String(body.length) });
  res.end(body);
}

function writeHead(res: ServerResponse, id: string, status: number, headers: Readonly<Record<string, string>>): void {
  res.writeHead(status, { ...headers, "x-request-id": id, "request-id": id });
}

const streamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
  "x-accel-buffering": "no",
};
const done = Buffer.from("data: [DONE]\n\n");

/** Fills silence with comments from the call's beginning on: most of it comes before the first frame. */
async function writeStream(
  res: ServerResponse,
  id: string,
  answering: Promise<Answer>,
  keepAliveMs: number,
  gone: AbortSignal,
): Promise<void> {
  const open = () => {
    if (!res.headersSent) writeHead(res, id, 200, streamHeaders);
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
      open();
      if (!res.write(dataFrames(batch.map((frame) => frame.bytes())))) await drained(res, gone);
      silence.refresh();
    }
    if (gone.aborted) return;
    open();
    res.end(done);
  } finally {
    clearTimeout(silence);
  }
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

function headerText(req: IncomingMessage, name: string): string | undefined {
  const value = req.headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}
