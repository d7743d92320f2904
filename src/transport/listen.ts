/**
 * One port for HTTP/1.1 and for HTTP/2 without TLS (h2c with prior knowledge, as gRPC clients speak it).
 *
 * The first bytes of a connection decide: the HTTP/2 preface, or anything else. A connection that stays silent is
 * cut after `sniffTimeoutMs`. `close` stops accepting, lets running requests finish, and cuts what is left when the
 * grace has passed.
 */
import { createServer as createHttp1Server, type RequestListener, type ServerResponse, STATUS_CODES } from "node:http";
import { createServer as createHttp2Server, type ServerHttp2Session } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { createDeadlines } from "../http1/deadlines.ts";
import { keptSeconds } from "../http1/served-answer.ts";
import { ServedConnection, type ServeOptions } from "../http1/served-connection.ts";
import { newId } from "../ids.ts";

export interface ListenOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly handle: RequestListener;
  /** Returns what answers a plain request (`http1/`), past Node's own server; undefined where that is to. */
  readonly handlePlain?: ServeOptions["serve"];
  /** Writes the body for a request that never became one: bad syntax, headers too large or too slow. */
  readonly rejectionBody: (status: number) => Buffer;
  readonly sniffTimeoutMs?: number;
  /** How long the head of an HTTP/1.1 request may take. */
  readonly headersTimeoutMs?: number;
}

export interface Listener {
  readonly host: string;
  readonly port: number;
  /** Resolves when the last connection is gone. */
  close(graceMs: number): Promise<void>;
}

/** The most streams that one HTTP/2 connection has open at a time; clients wait, or open another. */
const maxConcurrentStreams = 250;

/** How many connections wait to be taken: where a thousand clients come at once, none is told to come again. */
const backlog = 16_384;

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

export async function listen(options: ListenOptions): Promise<Listener> {
  const { sniffTimeoutMs = 10_000, headersTimeoutMs = 60_000 } = options;
  const answers = new WeakMap<Socket, ServerResponse>();
  // An answer that was under way when the close began has told its client to keep the connection.
  const tidy = () => http1.listening || http1.closeIdleConnections();
  const handle: RequestListener = (req, res) => {
    answers.set(req.socket, res);
    res.on("close", tidy);
    if (req.httpVersion === "1.1" && req.headers.host === undefined) rejectHeadless(res, options);
    else options.handle(req, res);
  };
  // The HTTP/1.1 server does the listening: one that never listens does not track its connections, and then
  // neither its timeouts nor its graceful close work.
  const http1 = createHttp1Server(
    {
      keepAliveTimeout: keptSeconds * 1_000,
      requestTimeout: 0, // Bodies have a limit of their own. It would take the limit of the headers with it:
      headersTimeout: headersTimeoutMs,
      connectionsCheckingInterval: headersTimeoutMs / 2,
      requireHostHeader: false, // Node's own refusal has no body.
    },
    handle,
  );
  // Its requests and responses have the same shape for all that the doors use.
  const http2 = createHttp2Server(
    { settings: { maxConcurrentStreams } },
    options.handle as unknown as Parameters<typeof createHttp2Server>[1],
  );
  const sessions = trackSessions(http2);
  const undecided = new Set<Socket>();
  const plain = new Set<ServedConnection>();
  const [serveHttp1] = http1.listeners("connection") as ((socket: Socket) => void)[];
  http1.removeAllListeners("connection");
  const handOver = (socket: Socket) => serveHttp1?.call(http1, socket);
  const serveOptions = options.handlePlain && {
    serve: options.handlePlain,
    deadlines: createDeadlines(),
    handOver,
    onOver: (connection: ServedConnection) => void plain.delete(connection),
  };
  http1.on("connection", (socket: Socket) => {
    // A client's address is remembered by whoever asks for it now; once the client has cut the connection, nobody knows it.
    if (socket.remoteAddress === undefined) return void socket.destroy();
    undecided.add(socket);
    socket.once("close", () => undecided.delete(socket));
    sniff(socket, sniffTimeoutMs, (isHttp2) => {
      undecided.delete(socket);
      if (isHttp2) http2.emit("connection", socket);
      else if (serveOptions) plain.add(new ServedConnection(socket, serveOptions));
      else handOver(socket);
    });
  });
  // What is expected beyond `100-continue` is nothing that an answer would wait for; Node's own refusal has no body.
  http1.on("checkExpectation", handle);
  http1.on("connect", (_, socket: Socket) => rejectConnect(socket, options));
  http1.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    rejectRaw(error, socket, answers.get(socket), options);
  });
  await new Promise<void>((resolve, reject) => {
    http1.once("error", reject);
    http1.listen({ port: options.port, host: options.host, backlog }, resolve);
  });
  return {
    host: options.host,
    port: (http1.address() as AddressInfo).port,
    close: (graceMs) =>
      new Promise((resolve) => {
        const cut = setTimeout(() => {
          http1.closeAllConnections();
          for (const session of sessions) session.destroy();
          for (const connection of plain) connection.cut();
        }, graceMs);
        http1.close(() => {
          clearTimeout(cut);
          resolve();
        });
        for (const session of sessions) session.close();
        for (const connection of plain) connection.close();
        for (const socket of undecided) socket.destroy();
      }),
  };
}

function trackSessions(http2: ReturnType<typeof createHttp2Server>): Set<ServerHttp2Session> {
  const sessions = new Set<ServerHttp2Session>();
  http2.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
  });
  http2.on("sessionError", () => {}); // The session closes by itself; there is nobody to tell.
  return sessions;
}

/** Reads until the preface is told from anything else, gives the bytes back to the socket, once, and decides. */
function sniff(socket: Socket, timeoutMs: number, decide: (isHttp2: boolean) => void): void {
  let seen: Buffer = Buffer.alloc(0);
  let late: NodeJS.Immediate | undefined;
  // After a while in which the process was busy timers fire first: what has come meanwhile is read before the cut.
  const timer = setTimeout(() => (late = setImmediate(() => socket.destroy())), timeoutMs);
  const rest = () => {
    clearTimeout(timer);
    clearImmediate(late);
  };
  const drop = () => void socket.destroy();
  const onReadable = () => {
    const chunk = socket.read() as Buffer | null;
    if (chunk) seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const length = Math.min(seen.length, preface.length);
    const same = seen.compare(preface, 0, length, 0, length) === 0;
    if (same && length < preface.length) return;
    rest();
    socket.off("readable", onReadable).off("error", drop).off("end", drop).off("close", rest);
    socket.unshift(seen);
    decide(same);
  };
  socket.on("readable", onReadable);
  socket.once("error", drop);
  socket.once("end", drop);
  // Also where the listener closes: a timer that is left would keep the process.
  socket.once("close", rest);
}

const rejections: ReadonlyMap<string, number> = new Map(
  Object.entries({
    HPE_HEADER_OVERFLOW: 431,
    ERR_HTTP_REQUEST_TIMEOUT: 408,
  }),
);

/** How long a refused client may go on sending before its connection is cut. */
const lingerMs = 1000;

/**
 * Answers on the bare socket what the HTTP/1.1 parser refused, unless another answer has begun there. Then the
 * connection ends, but not at once: while bytes still come in it would be reset, and the client lose the answer.
 */
function rejectRaw(
  error: NodeJS.ErrnoException,
  socket: Socket,
  answer: ServerResponse | undefined,
  { rejectionBody }: ListenOptions,
): void {
  const begun = answer?.headersSent && !answer.writableFinished;
  if (error.code === "ECONNRESET" || begun || socket.destroyed) return void socket.destroy();
  if (socket.writableEnded) return; // The parser fails anew with all that comes after the fault.
  const status = rejections.get(error.code ?? "") ?? 400;
  const body = rejectionBody(status);
  endRaw(socket, status, rejectionHeaders(body), body);
}

/** Answers who takes the gateway for a proxy: Node would close the connection without a word. */
function rejectConnect(socket: Socket, { rejectionBody }: ListenOptions): void {
  socket.on("error", () => socket.destroy()).resume();
  const body = rejectionBody(405);
  endRaw(socket, 405, { allow: "GET, POST, DELETE", ...rejectionHeaders(body) }, body);
}

function endRaw(socket: Socket, status: number, headers: Record<string, string>, body: Buffer): void {
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join("")}\r\n${body}`);
  const cut = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(cut));
}

/** Answers a request that names no host, which HTTP/1.1 asks of every one. */
function rejectHeadless(res: ServerResponse, { rejectionBody }: ListenOptions): void {
  const body = rejectionBody(400);
  res.writeHead(400, rejectionHeaders(body)).end(body);
}

function rejectionHeaders(body: Buffer): Record<string, string> {
  const id = newId("req");
  return {
    connection: "close",
    "content-type": "application/json",
    "content-length": String(body.length),
    "x-request-id": id,
    "request-id": id,
  };
}
