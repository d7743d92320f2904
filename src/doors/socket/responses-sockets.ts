/**
 * Takes connections over whose clients ask for a WebSocket, by `ws`: once the credential of the handshake has been admitted,
 * which counts as a call for its account's rate. What is refused is answered as HTTP, and the connection ends.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { WebSocketServer } from "ws";
import { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import type { AnswerHeaders, Arrival, Caller, Peer } from "../../call/call.ts";
import { asRefusal, responsesSocketNotServed } from "../../call/refusals.ts";
import { CallerAbort } from "../../runtime/caller-abort.ts";
import { createDeadlines } from "../../runtime/deadlines.ts";
import { andThen, catchError } from "../../runtime/maybe-promise.ts";
import { headerText } from "../body/body.ts";
import { endRaw } from "../listener/raw-answers.ts";
import { pathOf, plainPath } from "../request-path.ts";
import { problem } from "../rest/problems.ts";
import { ResponsesSocket, type ResponsesSocketOptions } from "./responses-socket.ts";
import { asksForResponsesSocket, handshakeFault } from "./websocket.ts";

export interface ResponsesSocketsOptions extends ResponsesSocketOptions {
  readonly peerOf: (req: IncomingMessage) => Peer;
  readonly isDraining: () => boolean;
}

/** A connection that was taken over. */
export interface Upgraded {
  readonly isIdle: boolean;
  /** Ends it when its answer has ended, or at once. */
  close(): void;
  /** Ends it, whatever runs. */
  cut(): void;
}

export interface Upgrades {
  /** Whether a request is to take its connection over. */
  wants(req: IncomingMessage): boolean;
  /** Takes it over, or refuses it. `took` is told once it is taken over. */
  take(req: IncomingMessage, socket: Socket, head: Buffer, took: (upgraded: Upgraded) => void): void;
}

/** Headers of the handshake that speak of one request alone, or of its body. */
const notOfCalls: ReadonlySet<string> = new Set(["idempotency-key", "content-type", "content-encoding"]);
/** How long a client may take to answer the frame that closes its connection. */
const closeTimeout = 5_000;

export function createResponsesSockets(options: ResponsesSocketsOptions): Upgrades {
  const { way, method, body, peerOf, newRequestId, isDraining } = options;
  const deadlines = createDeadlines();
  const told = new WeakMap<IncomingMessage, AnswerHeaders>();
  const server = new WebSocketServer({
    // Its types do not know it yet.
    ...{ closeTimeout },
    noServer: true,
    clientTracking: false,
    // A message that says that it is longer is refused before any of it is held.
    maxPayload: body.maxBytes,
    // What is decompressed would have to be bounded once more.
    perMessageDeflate: false,
    autoPong: false,
  });
  server.on("headers", (lines, req) => {
    for (const [name, value] of Object.entries(told.get(req) ?? {})) lines.push(`${name}: ${value}`);
  });

  function upgrade(
    req: IncomingMessage,
    socket: Socket,
    head: Buffer,
    caller: Caller,
    arrival: Arrival,
  ): Upgraded | undefined {
    let upgraded: Upgraded | undefined;
    // Other protocols that it would take, and those within, are not served.
    req.headers.upgrade = "websocket";
    delete req.headers["sec-websocket-protocol"];
    server.handleUpgrade(req, socket, head, (ws) => {
      const { accountId } = caller;
      const { peer, header } = arrival;
      const connection = new ResponsesSocket(ws, socket, { accountId, peer, header }, options);
      deadlines.watch(connection);
      ws.once("close", () => deadlines.forget(connection));
      upgraded = connection;
    });
    return upgraded;
  }

  return {
    wants: (req) => asksForResponsesSocket(req, plainPath(pathOf(req.url ?? ""))),
    take(req, socket, head, took) {
      const id = newRequestId();
      const gone = new CallerAbort();
      socket.on("error", () => socket.destroy()).once("close", () => gone.abort());
      const header = (name: string) => (notOfCalls.has(name) ? undefined : headerText(req, name));
      const arrival: Arrival = { id, method, header, peer: peerOf(req), signal: gone };
      const refuse = (error: unknown) => {
        if (gone.aborted) return;
        way.broke?.(arrival, error);
        const { status, headers, body } = problem(Family.RESPONSES, asRefusal(error), id);
        endRaw(socket, status, { ...headers, ...rawHeaders(id, body) }, body);
      };
      const fault = isDraining() ? responsesSocketNotServed() : handshakeFault(req);
      if (fault) return refuse(fault);
      const admitted = () =>
        andThen(way.admit(arrival), ({ caller, headers }) => {
          if (gone.aborted) return;
          told.set(req, { "x-request-id": id, ...headers });
          const upgraded = upgrade(req, socket, head, caller, arrival);
          if (upgraded) took(upgraded);
        });
      void catchError(admitted, refuse);
    },
  };
}

function rawHeaders(id: string, body: Buffer): Record<string, string> {
  const type = { "content-type": "application/json", "content-length": String(body.length) };
  return { connection: "close", ...type, "x-request-id": id, "request-id": id };
}
