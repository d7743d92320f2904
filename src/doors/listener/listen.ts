/**
 * One port for HTTP/1.1 and for HTTP/2 without TLS (h2c with prior knowledge, as gRPC clients speak it).
 *
 * The first bytes of a connection decide: the HTTP/2 preface, or anything else. A connection that stays silent is
 * cut after `sniffTimeoutMs`. `close` stops accepting, lets running requests finish, and cuts what is left when the
 * grace has passed.
 *
 * Every connection ends, whichever way its client leaves: by ending its side, by a reset, by silence (`idleMs`), by no longer
 * reading (`stalledMs`), or by vanishing, which the system's probes find out. Where the process may have no more of them, the
 * one that has been idle longest makes room.
 */
import {
  createServer as createHttp1Server,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import { createServer as createHttp2Server, type Http2Stream } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { createKeepAlive, ServedConnection, type ServeOptions } from "../../http1/server/index.ts";
import { createDeadlines } from "../../runtime/deadlines.ts";
import type { Upgraded, Upgrades } from "../socket/responses-sockets.ts";
import { type ConnectionCounts, createConnections, type OpenConnection } from "./connections.ts";
import type { Http2FloodOptions } from "./http2-floods.ts";
import { createHttp2Sessions, maxConcurrentStreams, streamResets } from "./http2-sessions.ts";
import { rejectConnect, rejectHeadless, rejectPreface, rejectRaw } from "./raw-answers.ts";
import { createRequestTurns } from "./request-turns.ts";
import { sniff } from "./sniff-protocol.ts";
import { createStalledReaders } from "./stalled-readers.ts";

export interface ListenOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly handle: RequestListener;
  /** Returns what answers a plain request (`http1/`), past Node's own server; undefined where that is to. */
  readonly handlePlain?: ServeOptions["serve"] | undefined;
  /** What else plain requests are served with. */
  readonly plainOptions?: Pick<ServeOptions, "remembersHeads">;
  /** Takes over the connections of requests that want another protocol; undefined where none are. */
  readonly upgrades?: Upgrades | undefined;
  /** Writes the body for a request that never became one: bad syntax, headers too large or too slow. */
  readonly rejectionBody: (status: number) => Buffer;
  readonly sniffTimeoutMs?: number;
  /** How long the head of an HTTP/1.1 request may take. */
  readonly headersTimeoutMs?: number;
  /** How long a connection may be idle: without a request, or without a stream. */
  readonly idleMs?: number | undefined;
  /** How long a peer may leave bytes that wait for it unacknowledged. */
  readonly stalledMs?: number | undefined;
  /** The most connections at a time; as many as the process may have files open, but for some, where nobody says. */
  readonly maxConnections?: number | undefined;
  readonly floods?: Http2FloodOptions;
}

export interface Listener {
  readonly host: string;
  readonly port: number;
  /** What is open at this moment. */
  counts(): ConnectionCounts;
  /** Resolves when the last connection is gone. */
  close(graceMs: number): Promise<void>;
}

/** How many connections wait to be taken: where a thousand clients come at once, none is told to come again. */
const backlog = 16_384;

/** How long a connection must be silent before the system asks whether its client is still there. */
const probeMs = 60_000;

/** Whether the client has reset the stream of a request of HTTP/2, which its request may not have heard of. */
function isTakenBack({ stream }: IncomingMessage & { readonly stream?: Http2Stream }): boolean {
  return stream?.aborted === true;
}

export async function listen(options: ListenOptions): Promise<Listener> {
  const { sniffTimeoutMs = 10_000, headersTimeoutMs = 60_000, idleMs = 65_000, stalledMs = 60_000 } = options;
  const answers = new WeakMap<Socket, ServerResponse>();
  // An answer that was under way when the close began has told its client to keep the connection.
  const tidy = () => http1.listening || http1.closeIdleConnections();
  const turns = createRequestTurns();
  const begin: RequestListener = (req, res) =>
    turns.begin(
      () => options.handle(req, res),
      () => res.destroyed || req.destroyed || isTakenBack(req),
    );
  const handle: RequestListener = (req, res) => {
    answers.set(req.socket, res);
    res.on("close", tidy);
    if (req.httpVersion === "1.1" && req.headers.host === undefined) rejectHeadless(res, options);
    else begin(req, res);
  };
  // The HTTP/1.1 server does the listening: one that never listens does not track its connections, and then
  // neither its timeouts nor its graceful close work.
  const http1 = createHttp1Server(
    {
      keepAliveTimeout: idleMs,
      keepAlive: true,
      keepAliveInitialDelay: probeMs,
      requestTimeout: 0, // Bodies have a limit of their own. It would take the limit of the headers with it:
      headersTimeout: headersTimeoutMs,
      connectionsCheckingInterval: headersTimeoutMs / 2,
      requireHostHeader: false, // Node's own refusal has no body.
      shouldUpgradeCallback: (req) => options.upgrades?.wants(req) ?? false,
    },
    handle,
  );
  // Its requests and responses have the same shape for all that the doors use.
  const http2 = createHttp2Server(
    { settings: { maxConcurrentStreams }, ...streamResets },
    begin as unknown as Parameters<typeof createHttp2Server>[1],
  );
  const deadlines = createDeadlines();
  const readers = createStalledReaders({ stalledMs });
  const sessions = createHttp2Sessions(http2, { idleMs, deadlines, readers, floods: options.floods });
  const connections = createConnections(options.maxConnections, readers);
  const plain = new Set<ServedConnection>();
  const known = new WeakMap<Socket, OpenConnection>();
  const upgraded = createUpgraded();
  const [serveHttp1] = http1.listeners("connection") as ((socket: Socket) => void)[];
  http1.removeAllListeners("connection");
  const handOver = (socket: Socket) => serveHttp1?.call(http1, socket);
  const serveOptions = options.handlePlain && {
    ...options.plainOptions,
    serve: options.handlePlain,
    idleMs,
    keepAlive: createKeepAlive(idleMs),
    deadlines,
    handOver,
    onOver: (connection: object) => void plain.delete(connection as ServedConnection),
  };
  http1.on("connection", (socket: Socket) => {
    turns.accepted();
    // A client's address is remembered by whoever asks for it now; once the client has cut the connection, nobody knows it.
    if (socket.remoteAddress === undefined) return void socket.destroy();
    const connection = connections.add(socket);
    known.set(socket, connection);
    sniff(socket, sniffTimeoutMs, (told) => {
      if (told === "broken preface") return rejectPreface(socket, options);
      if (told === "http2") {
        connection.isIdle = sessions.take(socket);
        connection.protocol = "http2";
        return;
      }
      connection.protocol = "http1";
      const isIdleAtNode = () => answers.get(socket)?.writableFinished ?? true;
      connection.isIdle = isIdleAtNode;
      if (!serveOptions) return handOver(socket);
      const served = new ServedConnection(socket, serveOptions);
      plain.add(served);
      connection.isIdle = () => (plain.has(served) ? served.isIdle : isIdleAtNode());
    });
  });
  // What is expected beyond `100-continue` is nothing that an answer would wait for; Node's own refusal has no body.
  http1.on("checkExpectation", handle);
  http1.on("upgrade", (req, socket: Socket, head) => {
    options.upgrades?.take(req, socket, head, (taken) => upgraded.add(taken, socket, known.get(socket)));
  });
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
    counts: () => connections.counts({ streams: sessions.streams(), floods: sessions.floods() }),
    close: (graceMs) =>
      new Promise((resolve) => {
        const cut = setTimeout(() => {
          http1.closeAllConnections();
          sessions.cut();
          for (const connection of plain) connection.cut();
          upgraded.cut();
        }, graceMs);
        http1.close(() => {
          clearTimeout(cut);
          readers.close();
          resolve();
        });
        sessions.close();
        for (const connection of plain) connection.close();
        upgraded.close();
        connections.endUndecided();
      }),
  };
}

/** The connections that were taken over: Node's server knows nothing of them any more. */
function createUpgraded() {
  const open = new Set<Upgraded>();
  let isClosing = false;
  return {
    add(taken: Upgraded, socket: Socket, connection: OpenConnection | undefined): void {
      open.add(taken);
      socket.once("close", () => open.delete(taken));
      if (connection) {
        connection.protocol = "websocket";
        connection.isIdle = () => taken.isIdle;
      }
      if (isClosing) taken.close();
    },
    close(): void {
      isClosing = true;
      for (const taken of open) taken.close();
    },
    cut(): void {
      for (const taken of open) taken.cut();
    },
  };
}
