/**
 * The REST door: one HTTP request → one call; its answer → JSON, or server-sent events.
 *
 * It rewrites and does not handle: the credential is checked on the headers alone, then the body is read, the RPC
 * chosen, and the call goes the same way as one from gRPC. When the client goes away the call's signal fires at once.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { DescMethod } from "@bufbuild/protobuf";
import { Family } from "../../gen/modelgateway/v1/access_pb.ts";
import type { Peer, Way } from "../call.ts";
import { unsupportedMediaType } from "../errors.ts";
import type { JsonObject } from "../wire/json.ts";
import { Wire } from "../wire/wire.ts";
import { writeBytes, writeProblem, writeStream, writeWhole } from "./answers.ts";
import { type BodyLimits, discard, readBody, requestOf } from "./body.ts";
import { readForm } from "./form.ts";
import type { Route } from "./routes.ts";

export interface RestOptions {
  readonly way: Way;
  readonly body: BodyLimits;
  /** Silence on a stream after which a sign of life is sent, in milliseconds. */
  readonly keepAliveMs: number;
  readonly peerOf: (req: IncomingMessage) => Peer;
}

/** A request for a route, with what its path said. */
export interface Visit {
  readonly id: string;
  readonly route: Route;
  readonly variables: Readonly<Record<string, string>>;
}

export type RestDoor = (req: IncomingMessage, res: ServerResponse, visit: Visit) => Promise<void>;

export function createRestDoor({ way, body: limits, keepAliveMs, peerOf }: RestOptions): RestDoor {
  return async (req, res, visit) => {
    const { id, route } = visit;
    const header = (name: string) => headerText(req, name);
    const outlet = { res, id, family: familyOf(route, header) };
    const gone = new AbortController();
    res.once("close", () => {
      // Once all is written nobody can leave any more, and what the upstream still sends may come to its end.
      if (!res.writableEnded) gone.abort();
    });
    try {
      const arrival = { id, method: (route.unary ?? route.stream) as DescMethod, header, peer: peerOf(req) };
      const { caller, headers } = await way.admit(arrival);
      for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
      const { method, request } = await readCall(req, visit, limits).catch((error: unknown) => {
        way.abandon(arrival, caller, error);
        throw error;
      });
      const answering = way.handle({ ...arrival, method, caller, request, signal: gone.signal });
      if (route.bodyField !== "" && !asksForEvents(request)) {
        await writeBytes(outlet, answering, route.bodyField, gone.signal);
      } else if (method.methodKind === "server_streaming") {
        await writeStream(outlet, answering, keepAliveMs, gone.signal);
      } else {
        const answer = await answering;
        if (!gone.signal.aborted) writeWhole(outlet, answer, route.envelope);
      }
    } catch (error) {
      discard(req, limits.timeoutMs);
      if (!gone.signal.aborted) writeProblem(outlet, error);
    }
  };
}

function familyOf({ family, eitherFamily }: Route, header: (name: string) => string | undefined): Family {
  return eitherFamily && header("anthropic-version") ? Family.ANTHROPIC : family;
}

/** Reads the request, and finds out which of the route's RPCs it asks for. */
async function readCall(req: IncomingMessage, { route, variables }: Visit, limits: BodyLimits) {
  const desc = ((route.unary ?? route.stream) as DescMethod).input;
  if (headerText(req, "content-encoding")) throw unsupportedMediaType("bodies without a content-encoding");
  const body = await readBody(req, limits);
  if (route.httpMethod === "GET" || route.httpMethod === "DELETE") {
    const json: JsonObject = { ...readForm(desc, queryOf(req)), ...variables };
    return { method: chooseMethod(route, json), request: Wire.ofJson(desc, json) };
  }
  const request = requestOf(desc, headerText(req, "content-type"), body);
  const named = Object.keys(variables).length === 0 ? request : request.with(variables);
  return { method: chooseMethod(route, named.json()), request: named };
}

/** Whether who asks for bytes would rather have the stream's messages. */
function asksForEvents(request: Wire): boolean {
  const canAsk = request.desc.fields.some((field) => field.name === "stream_format");
  return canAsk && request.json().stream_format === "sse";
}

function queryOf({ url = "" }: IncomingMessage): Buffer {
  const query = url.indexOf("?");
  return Buffer.from(query === -1 ? "" : url.slice(query + 1));
}

function chooseMethod({ unary, stream, selectedBy }: Route, json: JsonObject): DescMethod {
  if (!unary || !stream) return (unary ?? stream) as DescMethod;
  return json[selectedBy as string] === true ? stream : unary;
}

function headerText(req: IncomingMessage, name: string): string | undefined {
  const value = req.headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}
