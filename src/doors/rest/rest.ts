/**
 * The REST door: one HTTP request → one call; its answer → JSON, or server-sent events.
 *
 * It rewrites and does not handle: the credential is checked on the headers alone, then the body is read, the RPC
 * chosen, and the call goes the same way as one from gRPC. When the client goes away the call's signal fires at once.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import type { Admission, BodyRoom, Caller, Gateway, Peer } from "../../call/call.ts";
import type { HttpAnswer } from "../../http1/server/index.ts";
import { CallerAbort, type Signal } from "../../runtime/caller-abort.ts";
import { nextSlice } from "../../runtime/cooperative.ts";
import { andThen, catchError, isPromise, type MaybePromise, thenOrCatch } from "../../runtime/maybe-promise.ts";
import { type JsonObject, longJson } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";
import { type BodyLimits, discard, type HttpRequest, headerText, readBody, requestOf } from "../body/body.ts";
import type { BodyBudget, BodyShare } from "../body/body-budget.ts";
import { codingsIn, decoded } from "../body/content-coding.ts";
import { readForm } from "../body/form.ts";
import { doneSince, type Inflate } from "../body/inflate.ts";
import { withListedStrings } from "../body/listed-strings.ts";
import { writeBytes, writeProblem, writeStream, writeWhole } from "./answers.ts";
import type { Route } from "./routes.ts";

export interface RestOptions {
  readonly way: Gateway;
  readonly body: BodyLimits;
  readonly bodies: BodyBudget;
  readonly inflate: Inflate;
  /** Silence on a stream after which a sign of life is sent, in milliseconds. */
  readonly keepAliveMs: number;
  readonly peerOf: (req: HttpRequest) => Peer;
}

/** A request for a route, with what its path said. */
export interface Visit {
  readonly id: string;
  /** What every answer to it says; more is added to it on the way. */
  readonly head: Record<string, string>;
  readonly route: Route;
  readonly variables: Readonly<Record<string, string>>;
}

/** Whatever a call fails by is told to its caller: what this throws, now or later, is a fault in telling it. */
export type RestDoor = (req: HttpRequest, res: HttpAnswer, visit: Visit) => MaybePromise<void>;

export function createRestDoor(options: RestOptions): RestDoor {
  const { way, body: limits, bodies, inflate, keepAliveMs, peerOf } = options;
  return (req, res, visit) => {
    const { id, route, head } = visit;
    const header = (name: string) => headerText(req, name);
    const outlet = { res, id, family: familyOf(route, header), head };
    const gone = new CallerAbort();
    res.on("close", () => {
      // Once all is written nobody can leave any more, and what the upstream still sends may come to its end.
      if (!res.writableEnded) gone.abort();
    });
    const peer = peerOf(req);
    const sameHeaders = "sameHeaders" in req ? req.sameHeaders : undefined;
    const first = (route.unary ?? route.stream) as DescMethod;
    const arrival = { id, method: first, header, sameHeaders, peer, signal: gone };
    const answer = (caller: Caller, { method, request }: ReadCall, share: BodyShare): MaybePromise<void> => {
      const asked = { id, method, header, peer, caller, request, body: share, signal: gone };
      const answering = releasing(share, () => way.handle(asked));
      if (method.methodKind === "unary")
        return andThen(answering, (whole) => {
          if (!gone.aborted) writeWhole(outlet, whole, route.envelope);
        });
      return route.bodyField !== "" && !asksForEvents(request)
        ? writeBytes(outlet, answering, route.bodyField, gone)
        : writeStream(outlet, answering, keepAliveMs, gone);
    };
    const admitted = ({ caller, headers }: Admission): MaybePromise<void> => {
      Object.assign(head, headers);
      const share = bodies.open(caller.accountId);
      return thenOrCatch(
        () => readCall(req, visit, { limits, share, inflate, signal: gone }),
        (asked) => answer(caller, asked, share),
        (error): never => {
          share.release();
          way.abandon(arrival, caller, error);
          throw error;
        },
      );
    };
    return catchError(
      () => andThen(way.admit(arrival), admitted),
      (error) => {
        discard(req, limits.timeoutMs);
        // Once the caller has left, what a door meets tells of nothing else.
        if (gone.aborted) return;
        way.broke?.(arrival, error);
        writeProblem(outlet, error);
      },
    );
  };
}

function familyOf({ family, eitherFamily }: Route, header: (name: string) => string | undefined): Family {
  return eitherFamily && header("anthropic-version") ? Family.ANTHROPIC : family;
}

/** Gives the body's bytes back as soon as the call is answered, or refused: a stream needs them no more. */
function releasing<T>(share: BodyShare, work: () => MaybePromise<T>): MaybePromise<T> {
  return thenOrCatch(
    work,
    (made) => {
      share.release();
      return made;
    },
    (error): never => {
      share.release();
      throw error;
    },
  );
}

interface ReadCall {
  readonly method: DescMethod;
  readonly request: Wire;
}

interface Reading {
  readonly limits: BodyLimits;
  readonly share: BodyShare;
  readonly inflate: Inflate;
  /** Fires when the caller goes away. */
  readonly signal: Signal;
}

/** Reads the request, and finds out which of the route's RPCs it asks for. Throws a Refusal, now or later. */
function readCall(req: HttpRequest, visit: Visit, reading: Reading): MaybePromise<ReadCall> {
  const { limits, share } = reading;
  const codings = codingsIn(headerText(req, "content-encoding"));
  const body = readBody(req, limits, share);
  if (codings.length > 0) return decodedCall(req, visit, body, codings, reading);
  return andThen(body, (bytes) => callOf(req, visit, bytes, share));
}

async function decodedCall(
  req: HttpRequest,
  visit: Visit,
  came: MaybePromise<Buffer>,
  codings: readonly string[],
  { limits, share, inflate, signal }: Reading,
): Promise<ReadCall> {
  const decoding = await decoded(await came, codings, { inflate, maxBytes: limits.maxBytes, share, signal });
  const readAt = performance.now();
  try {
    return await callOf(req, visit, decoding.body, share);
  } finally {
    doneSince(decoding, readAt);
  }
}

function callOf(req: HttpRequest, { route, variables }: Visit, body: Buffer, room: BodyRoom): MaybePromise<ReadCall> {
  const desc = ((route.unary ?? route.stream) as DescMethod).input;
  if (route.httpMethod === "GET" || route.httpMethod === "DELETE") {
    const json: JsonObject = { ...readForm(desc, queryOf(req)), ...variables };
    return { method: chooseMethod(route, json), request: Wire.ofJson(desc, json) };
  }
  const request = requestOf(desc, headerText(req, "content-type"), body, room);
  return andThen(prepared(request, body.length), (came) => {
    const read = withListedStrings(came);
    const named = Object.keys(variables).length === 0 ? read : read.with(variables);
    return { method: chooseMethod(route, named.outline()), request: named };
  });
}

/** What has been read in turns is checked in another. A long form goes on as the JSON that it stands for, with its text. */
function prepared(request: Wire, length: number): MaybePromise<Wire> {
  const reading = length < longJson ? request : andThen(request.prepared(), () => request.written());
  return isPromise(reading) ? reading.then(() => nextSlice()).then(() => request) : request;
}

/** Whether who asks for bytes would rather have the stream's messages. */
function asksForEvents(request: Wire): boolean {
  const canAsk = request.desc.fields.some((field) => field.name === "stream_format");
  return canAsk && request.outline().stream_format === "sse";
}

function queryOf({ url = "" }: HttpRequest): Buffer {
  const query = url.indexOf("?");
  return Buffer.from(query === -1 ? "" : url.slice(query + 1));
}

function chooseMethod({ unary, stream, selectedBy }: Route, json: JsonObject): DescMethod {
  if (!unary || !stream) return (unary ?? stream) as DescMethod;
  return json[selectedBy as string] === true ? stream : unary;
}
