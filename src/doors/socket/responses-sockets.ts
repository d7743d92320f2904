/**
 * Upgrades connections to WebSockets for responses, by `ws`, once the credential of the handshake has been admitted. A handshake
 * counts as a call for its account's rate. A refusal is answered as HTTP, and the connection ends.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { WebSocketServer } from "ws";
import { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import type { AnswerHeaders, Peer } from "../../call/call.ts";
import { asRefusal, responsesSocketNotServed } from "../../call/refusals.ts";
import { CallerAbort } from "../../runtime/caller-abort.ts";
import { andThen } from "../../runtime/maybe-promise.ts";
import { createDeadlines } from "../../runtime/time/deadlines.ts";
import { headerText } from "../body/body.ts";
import { endRaw } from "../listener/raw-answers.ts";
import { createTurns, sessionEndTurns, socketCallTurns } from "../listener/turns.ts";
import { pathOf, plainPath } from "../request-path.ts";
import { refusalAnswer } from "../rest/refusal-answers.ts";
import { type DoorArrival, orRefuse } from "../serve.ts";
import { ResponsesSocket, type ResponsesSocketOptions, type SocketClient } from "./responses-socket.ts";
import { asksForResponsesSocket, handshakeFault } from "./websocket.ts";

export interface ResponsesSocketsOptions extends Omit<ResponsesSocketOptions, "begins" | "ends"> {
  readonly peerOf: (req: IncomingMessage) => Peer;
  readonly isDraining: () => boolean;
}

/** Upgraded is a connection that has become a WebSocket. */
export interface Upgraded {
  readonly isIdle: boolean;
  /** isAnswering is whether a call runs. Without one a part of a request may have arrived. */
  readonly isAnswering: boolean;
  /** Closes the connection after the answer that runs, or at once. */
  close(): void;
  /** Closes the connection, whatever runs. */
  cut(): void;
}

export interface Upgrades {
  /** Reports whether a request asks for an upgrade that is served. */
  wants(req: IncomingMessage): boolean;
  /** Upgrades the connection of a request and calls `onUpgraded`, or refuses it. */
  take(req: IncomingMessage, socket: Socket, head: Buffer, onUpgraded: (upgraded: Upgraded) => void): void;
}

/** The headers of a handshake that concern that request alone. The calls on the connection have all others. */
const notOfCalls: ReadonlySet<string> = new Set(["idempotency-key", "content-type", "content-encoding"]);
/** closeTimeout is how long a client may take to answer a close frame, in milliseconds. */
const closeTimeout = 5_000;
/** mostPieces is how many pieces a message may have: the longest has as many of 8 kB. */
const mostPieces = 2_048;

export function createResponsesSockets(options: ResponsesSocketsOptions): Upgrades {
  const { gateway, method, peerOf, newRequestId, isDraining } = options;
  const handshakes = createHandshakes(options);
  return {
    wants: (req) => asksForResponsesSocket(req, plainPath(pathOf(req.url ?? ""))),
    take(req, socket, head, onUpgraded) {
      const id = newRequestId();
      const abort = new CallerAbort();
      socket.on("error", () => socket.destroy()).once("close", () => abort.abort());
      const header = (name: string) => (notOfCalls.has(name) ? undefined : headerText(req, name));
      const arrival: DoorArrival = { id, method, header, peer: peerOf(req), signal: abort };
      const refuser = {
        arrival,
        hasDisconnected: () => abort.aborted,
        refuse: (error: unknown) => refuse(socket, id, error),
      };
      void orRefuse(gateway, refuser, () => {
        const fault = isDraining() ? responsesSocketNotServed() : handshakeFault(req);
        if (fault) throw fault;
        return andThen(gateway.admit(arrival), ({ caller, headers }) => {
          if (abort.aborted) return;
          const client = { accountId: caller.accountId, peer: arrival.peer, header };
          const upgraded = handshakes.upgrade(req, socket, head, {
            client,
            headers: { "x-request-id": id, ...headers },
          });
          if (upgraded) onUpgraded(upgraded);
        });
      });
    },
  };
}

/** AdmittedHandshake is a handshake whose credential has been admitted. */
interface AdmittedHandshake {
  readonly client: SocketClient;
  /** The headers of the answer. */
  readonly headers: AnswerHeaders;
}

/**
 * createHandshakes returns what completes handshakes: their connections are sockets for responses from then on, and close when they are
 * idle.
 */
function createHandshakes(options: ResponsesSocketsOptions) {
  const ofSockets = { ...options, begins: createTurns(socketCallTurns), ends: createTurns(sessionEndTurns) };
  const deadlines = createDeadlines();
  const headersOf = new WeakMap<IncomingMessage, AnswerHeaders>();
  const server = new WebSocketServer({
    // The types of `ws` do not have it yet.
    ...{ closeTimeout },
    noServer: true,
    clientTracking: false,
    // A message that announces more is refused before any of it is held.
    maxPayload: options.body.maxBytes,
    // What is decompressed would have to be bounded once more.
    perMessageDeflate: false,
    autoPong: false,
    // One frame in a turn of the event loop: a read may bring ten thousand of them.
    allowSynchronousEvents: false,
    // Pieces of a message are read in one go.
    maxFragments: mostPieces,
  });
  server.on("headers", (lines, req) => {
    for (const [name, value] of Object.entries(headersOf.get(req) ?? {})) lines.push(`${name}: ${value}`);
  });
  return {
    upgrade(req: IncomingMessage, socket: Socket, head: Buffer, { client, headers }: AdmittedHandshake) {
      let upgraded: Upgraded | undefined;
      headersOf.set(req, headers);
      // Other protocols that the client would take, and those within, are not served.
      req.headers.upgrade = "websocket";
      delete req.headers["sec-websocket-protocol"];
      server.handleUpgrade(req, socket, head, (ws) => {
        const connection = new ResponsesSocket(ws, socket, client, ofSockets);
        deadlines.watch(connection);
        ws.once("close", () => deadlines.forget(connection));
        upgraded = connection;
        socket.resume();
      });
      return upgraded;
    },
  };
}

/** refuse answers a handshake by HTTP, and ends the connection. */
function refuse(socket: Socket, id: string, error: unknown): void {
  const { status, headers, body } = refusalAnswer(Family.RESPONSES, asRefusal(error), id);
  endRaw(socket, status, { ...headers, ...rawHeaders(id, body) }, body);
}

function rawHeaders(id: string, body: Buffer): Record<string, string> {
  const type = { "content-type": "application/json", "content-length": String(body.length) };
  return { connection: "close", ...type, "x-request-id": id, "request-id": id };
}
