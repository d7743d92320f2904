/** Reads the request of a REST call, from its body or its query, and chooses the RPC that it asks for. */
import type { DescMethod } from "@bufbuild/protobuf";
import type { BodyRoom } from "../../call/call.ts";
import { invalidValue } from "../../call/refusals.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import { nextSlice } from "../../runtime/cooperative.ts";
import { andThen, catchError, isPromise, type MaybePromise } from "../../runtime/maybe-promise.ts";
import { freeBytes } from "../../runtime/memory/free-bytes.ts";
import { type JsonObject, longJson } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";
import { type BodyLimits, type HttpRequest, headerText, readBody, requestOf } from "../body/body.ts";
import type { BodyShare } from "../body/body-budget.ts";
import { codingsIn, decoded } from "../body/content-coding.ts";
import { readForm } from "../body/form.ts";
import { doneSince, type Inflate } from "../body/inflate.ts";
import { withListedStrings } from "../body/listed-strings.ts";
import type { ReadCall } from "../serve.ts";
import type { Found, Route } from "./routes.ts";

export interface RequestReading {
  readonly limits: BodyLimits;
  readonly share: BodyShare;
  readonly inflate: Inflate;
  /** Fires when the client disconnects. */
  readonly signal: Signal;
}

type RouteMatch = Pick<Found, "route" | "variables">;

/** readRequest reads the request of a call at this route. Throws a Refusal, now or later. */
export function readRequest(req: HttpRequest, match: RouteMatch, reading: RequestReading): MaybePromise<ReadCall> {
  const { limits, share } = reading;
  const codings = codingsIn(headerText(req, "content-encoding"));
  const body = readBody(req, limits, share);
  if (codings.length > 0) return decodedCall(req, match, body, codings, reading);
  return andThen(body, (bytes) => {
    const read = () => callOf(req, match, bytes, share);
    return bytes.length < longJson ? read() : orFree(bytes, read);
  });
}

/** orFree reads a long body, and frees it where it is refused: nothing of it has gone anywhere yet. */
function orFree(bytes: Buffer, read: () => MaybePromise<ReadCall>): MaybePromise<ReadCall> {
  return catchError(read, (error): never => {
    freeBytes(bytes);
    throw error;
  });
}

/** firstMethod returns the first of a route's RPCs. All of them have the same request message. */
export function firstMethod({ unary, stream }: Route): DescMethod {
  return (unary ?? stream) as DescMethod;
}

async function decodedCall(
  req: HttpRequest,
  match: RouteMatch,
  received: MaybePromise<Buffer>,
  codings: readonly string[],
  { limits, share, inflate, signal }: RequestReading,
): Promise<ReadCall> {
  const decoding = await decoded(await received, codings, { inflate, maxBytes: limits.maxBytes, share, signal });
  const readAt = performance.now();
  try {
    return await callOf(req, match, decoding.body, share);
  } finally {
    doneSince(decoding, readAt);
  }
}

function callOf(req: HttpRequest, { route, variables }: RouteMatch, body: Buffer, room: BodyRoom) {
  const desc = firstMethod(route).input;
  if (route.httpMethod === "GET" || route.httpMethod === "DELETE") {
    const query = readForm(desc, queryOf(req));
    refuseTwice(query, variables);
    const json: JsonObject = { ...query, ...variables };
    return { method: chooseMethod(route, json), request: Wire.ofJson(desc, json) };
  }
  const request = requestOf(desc, headerText(req, "content-type"), body, room);
  return andThen(prepared(request, body.length), (ready) => {
    const read = withListedStrings(ready);
    refuseTwice(read.outline(), variables);
    const named = Object.keys(variables).length === 0 ? read : read.with(variables);
    return { method: chooseMethod(route, named.outline()), request: named };
  });
}

/** refuseTwice throws a Refusal where a request names something else than its path does. */
function refuseTwice(json: JsonObject, variables: Found["variables"]): void {
  for (const name in variables) {
    if (!Object.hasOwn(json, name) || json[name] === variables[name]) continue;
    throw invalidValue(name, "the path has another; leave it out");
  }
}

/**
 * prepared parses a long request cooperatively, and leaves its validation to another turn. A long form goes on as the JSON that it stands
 * for, with its text.
 */
function prepared(request: Wire, length: number): MaybePromise<Wire> {
  const reading = length < longJson ? request : andThen(request.parseInSlices(), () => request.writeInSlices());
  return isPromise(reading) ? reading.then(() => nextSlice()).then(() => request) : request;
}

function queryOf({ url = "" }: HttpRequest): Buffer {
  const query = url.indexOf("?");
  return Buffer.from(query === -1 ? "" : url.slice(query + 1));
}

function chooseMethod(route: Route, json: JsonObject): DescMethod {
  const { unary, stream, selectedBy } = route;
  if (!unary || !stream) return firstMethod(route);
  return json[selectedBy as string] === true ? stream : unary;
}
