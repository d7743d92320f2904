/** Node's own servers for HTTP/1.1 and HTTP/2, set up as the listener needs them. */
import {
  createServer as createHttp1Server,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createHttp2Server, type Http2Server, type Http2Stream } from "node:http2";
import type { Socket } from "node:net";
import { isLastAnswer } from "../../http1/server/index.ts";
import { discardInTurns } from "../../runtime/read-turns.ts";
import { isHeadFaulty } from "./faulty-heads.ts";
import { maxConcurrentStreams, maxSessionMemory, streamResets } from "./http2/sessions.ts";
import { type RejectionBody, rejectHead } from "./raw-answers.ts";
import { originOf } from "./rotation.ts";
import { createTurns, otherWeight, requestTurns, type Turns } from "./turns.ts";

export interface NodeServerOptions {
  readonly handle: RequestListener;
  readonly rejectionBody: RejectionBody;
  /** headersTimeoutMs is how long the head of an HTTP/1.1 request may take, in milliseconds. */
  readonly headersTimeoutMs: number;
  /** idleMs is how long an HTTP/1.1 connection may be idle, in milliseconds. */
  readonly idleMs: number;
  /** Reports whether a request asks for an upgrade that is served. */
  readonly isUpgrade: (req: IncomingMessage) => boolean;
}

export interface NodeServers {
  readonly http1: Server;
  readonly http2: Http2Server;
  /** The last answer on a connection of HTTP/1.1. */
  answerOn(socket: Socket): ServerResponse | undefined;
  /** Says that the close has begun: idle connections are closed from now on. */
  closing(): void;
  /** Reports that a connection was accepted. */
  readonly accepted: Turns["accepted"];
}

/** probeMs is how long a connection must be silent before the system probes whether its client is still there, in milliseconds. */
export const probeMs = 60_000;

export function createNodeServers(options: NodeServerOptions): NodeServers {
  const { rejectionBody, headersTimeoutMs, idleMs, isUpgrade } = options;
  const answers = new WeakMap<Socket, ServerResponse>();
  // An answer that ran when the close began has told its client to keep the connection.
  let isClosing = false;
  const closeIfIdle = () => isClosing && http1.closeIdleConnections();
  const turns = createTurns(requestTurns);
  const handleHttp1: RequestListener = (req, res) => {
    const before = answers.get(req.socket);
    // Its answer would not be sent: what it asks for must not be done either. The answer before is whole (`pipelined-requests.ts`).
    if (before && isLastAnswer(before)) return discardInTurns(req);
    answers.set(req.socket, res);
    res.on("close", closeIfIdle);
    if (isHeadFaulty(req)) return rejectHead(res, rejectionBody);
    beginInTurn(turns, req, res, () => options.handle(req, res));
  };
  const http1 = createHttp1Server(
    {
      keepAliveTimeout: idleMs,
      keepAlive: true,
      keepAliveInitialDelay: probeMs,
      // Bodies have a limit of their own. This one would replace the limit of the headers:
      requestTimeout: 0,
      headersTimeout: headersTimeoutMs,
      connectionsCheckingInterval: headersTimeoutMs / 2,
      // Node's own refusal has no body.
      requireHostHeader: false,
      shouldUpgradeCallback: isUpgrade,
    },
    handleHttp1,
  );
  // An answer waits for no expectation but `100-continue`, and Node's own refusal of others has no body.
  http1.on("checkExpectation", handleHttp1);
  // Its requests and responses have all that the doors use.
  const handleHttp2: RequestListener = (req, res) => {
    if (isHeadFaulty(req)) rejectHead(res, rejectionBody);
    else beginInTurn(turns, req, res, () => options.handle(req, res));
  };
  const http2 = createHttp2Server(
    { settings: { maxConcurrentStreams }, maxSessionMemory, ...streamResets },
    handleHttp2 as unknown as Parameters<typeof createHttp2Server>[1],
  );
  http2.on("checkExpectation", handleHttp2);
  http2.on("connect", (_, res: ServerResponse) => rejectHead(res, rejectionBody, 405));
  const closing = () => {
    isClosing = true;
  };
  return { http1, http2, answerOn: (socket) => answers.get(socket), accepted: turns.accepted, closing };
}

/** managing finds the paths of RPCs that call no model: those of health and reflection, too. */
const managing = /^\/(?:modelgateway\.v1\.(?!InferenceService\/)|grpc\.)/;

function mayCallModel({ method, url = "" }: IncomingMessage): boolean {
  return method === "POST" && !managing.test(url);
}

/** A request of either protocol. */
type NodeRequest = IncomingMessage & { readonly stream?: Http2Stream };

/** beginInTurn begins a request in a turn of the event loop, and never one that is over before its turn. */
function beginInTurn(turns: Turns, req: NodeRequest, res: ServerResponse, begin: () => void): void {
  turns.begin({
    begin,
    // The client of HTTP/2 may have reset the stream, and the request not have been told.
    isOver: () => res.destroyed || req.destroyed || req.stream?.aborted === true,
    weight: mayCallModel(req) ? 1 : otherWeight,
    origin: originOf(req.socket, req.stream?.session),
  });
}
