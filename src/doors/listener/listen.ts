/**
 * One port for HTTP/1.1 and for HTTP/2 without TLS (h2c with prior knowledge, as gRPC clients speak it).
 *
 * The first bytes of a connection decide: the HTTP/2 preface, or anything else. A connection that stays silent is cut after
 * `sniffTimeoutMs`. `close` stops accepting, lets running requests finish, and cuts what is left after the grace.
 *
 * Every connection ends, however its client leaves: by ending its side, by a reset, by silence (`idleMs`), by no longer reading
 * (`stalledMs`), or by vanishing, which the system's probes find out. Where the process may open no more, the connection that has
 * been idle longest makes room, or else one on which nothing runs that a key was admitted for, or whose request still comes.
 */
import type { RequestListener, Server } from "node:http";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import type { ServeOptions } from "../../http1/server/index.ts";
import { createKeepAlive, ServedConnection, takeConnectionListener } from "../../http1/server/index.ts";
import { shortenRounds } from "../../runtime/read-turns.ts";
import { createDeadlines, type Deadlines } from "../../runtime/time/deadlines.ts";
import type { Upgraded, Upgrades } from "../socket/responses-sockets.ts";
import { type ConnectionCounts, type Connections, createConnections, type OpenConnection } from "./connections.ts";
import { isHeadFaulty } from "./faulty-heads.ts";
import type { Http2FloodOptions } from "./http2/floods.ts";
import { createHttp2Sessions, type Http2Sessions } from "./http2/sessions.ts";
import { isKeyless } from "./keyless-work.ts";
import { createNodeServers, type NodeServers, probeMs } from "./node-servers.ts";
import { createPipelinedRequests, type PipelinedRequests } from "./pipelined-requests.ts";
import { type RejectionBody, rejectBare, rejectConnect, rejectRaw } from "./raw-answers.ts";
import { originOf } from "./rotation.ts";
import { sniff } from "./sniff-protocol.ts";
import { createStalledReaders, type StalledReaders } from "./stalled-readers.ts";
import { createTurns, sessionTurns, type Turns } from "./turns.ts";
import { createUpgradedConnections, type UpgradedConnections } from "./upgraded-connections.ts";

export interface ListenOptions {
  /** A socket that is bound already, which other processes may have, too: it is listened on in the place of `host` and `port`. */
  readonly fd?: number | undefined;
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly handle: RequestListener;
  /** Serves plain requests (`http1/`) without Node's own server. Returns undefined for a request that Node's server is to serve. */
  readonly handlePlain?: ServeOptions["serve"] | undefined;
  /** plainOptions is how else plain requests are served. */
  readonly plainOptions?: Pick<ServeOptions, "remembersHeads">;
  /** Upgrades connections to another protocol; undefined where none is served. */
  readonly upgrades?: Upgrades | undefined;
  /** Writes the body of an answer to what never became a request: bad syntax, headers too large or too slow. */
  readonly rejectionBody: RejectionBody;
  /** Milliseconds. */
  readonly sniffTimeoutMs?: number;
  /** headersTimeoutMs is how long the head of an HTTP/1.1 request may take, in milliseconds. */
  readonly headersTimeoutMs?: number;
  /** idleMs is how long a connection may be idle, that is without a request or stream, in milliseconds. */
  readonly idleMs?: number | undefined;
  /** stalledMs is how long a peer may leave the bytes that wait for it unacknowledged, in milliseconds. */
  readonly stalledMs?: number | undefined;
  /** The most connections at a time. By default most of the files that the process may have open. */
  readonly maxConnections?: number | undefined;
  readonly floods?: Http2FloodOptions;
}

export interface Listener {
  readonly host: string;
  readonly port: number;
  /** Returns what is open at this moment. */
  counts(): ConnectionCounts;
  /** Accepts the connections of another bound socket, too, whose process has ended. */
  adopt(fd: number): void;
  /** Accepts no more connections, and serves those that are open as before. */
  stopAccepting(): void;
  /** Resolves when the last connection is gone. */
  close(graceMs: number): Promise<void>;
}

/** The queue of connections to be accepted. It is long, so that a thousand clients at once are all accepted. */
const backlog = 16_384;

/** Parts is what a listener is made of. */
interface Parts extends NodeServers {
  readonly deadlines: Deadlines;
  readonly readers: StalledReaders;
  readonly sessions: Http2Sessions;
  readonly connections: Connections;
  /** The connections of HTTP/1.1 that `http1/` serves. */
  readonly plain: Set<ServedConnection>;
  readonly upgraded: UpgradedConnections;
  readonly idleMs: number;
}

export async function listen(options: ListenOptions): Promise<Listener> {
  const parts = createParts(options);
  const { http1, connections, sessions } = parts;
  const { known, turns, leave } = acceptConnections(parts, options);
  http1.on("upgrade", (req, socket: Socket, head) => {
    const first = Buffer.concat([head, leave(socket)]);
    if (isHeadFaulty(req)) return void rejectBare(socket, options.rejectionBody);
    const onUpgraded = (upgraded: Upgraded) => parts.upgraded.add(upgraded, socket, known.get(socket));
    beginInTurn(turns, socket, () => options.upgrades?.take(req, socket, first, onUpgraded));
  });
  http1.on("connect", (_, socket: Socket) => {
    leave(socket);
    rejectConnect(socket, options.rejectionBody);
  });
  http1.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    rejectRaw(error, socket, parts.answerOn(socket), options.rejectionBody);
  });
  await opened(http1, options);
  const adopted = createAdopted(http1);
  return {
    host: options.host,
    port: (http1.address() as AddressInfo).port,
    counts: () => connections.counts({ streams: sessions.streams(), floods: sessions.floods() }),
    adopt: adopted.add,
    stopAccepting() {
      adopted.stopAccepting();
      // Node's own `close` of a server for HTTP would close idle connections with it.
      if (http1.listening) NetServer.prototype.close.call(http1);
    },
    async close(graceMs) {
      adopted.stopAccepting();
      await Promise.all([close(parts, graceMs), adopted.closed()]);
    },
  };
}

/** As Node's server for HTTP accepts connections. */
const socketOptions = { allowHalfOpen: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: probeMs };

/** createAdopted accepts connections of other sockets for a server. */
function createAdopted(http1: Server) {
  const servers: NetServer[] = [];
  const over: Promise<void>[] = [];
  return {
    add(fd: number): void {
      const server = new NetServer(socketOptions, (socket) => http1.emit("connection", socket));
      servers.push(server.listen({ fd }, backlog));
    },
    stopAccepting(): void {
      over.push(...servers.splice(0).map((server) => new Promise<void>((resolve) => server.close(() => resolve()))));
    },
    /** Resolves when the last of their connections is gone. */
    closed: () => Promise.all(over),
  };
}

function createParts(options: ListenOptions): Parts {
  const { headersTimeoutMs = 60_000, idleMs = 65_000, stalledMs = 60_000, upgrades } = options;
  const isUpgrade: Upgrades["wants"] = (req) => upgrades?.wants(req) ?? false;
  const servers = createNodeServers({ ...options, headersTimeoutMs, idleMs, isUpgrade });
  const deadlines = createDeadlines();
  const readers = createStalledReaders({ stalledMs });
  return {
    ...servers,
    deadlines,
    readers,
    idleMs,
    sessions: createHttp2Sessions(servers.http2, { idleMs, deadlines, readers, floods: options.floods }),
    connections: createConnections(options.maxConnections, readers),
    plain: new Set(),
    upgraded: createUpgradedConnections(),
  };
}

interface Accepted {
  /** known has what is known of each open connection. */
  readonly known: WeakMap<Socket, OpenConnection>;
  /** turns are those in which sessions of HTTP/2 and WebSockets begin. */
  readonly turns: Turns;
  readonly leave: PipelinedRequests["leave"];
}

/**
 * acceptConnections hands each new connection to the server of its protocol.
 *
 * The HTTP/1.1 server does the listening: one that never listens does not track its connections, and then neither its timeouts nor
 * its graceful close work.
 */
function acceptConnections(parts: Parts, options: ListenOptions): Accepted {
  const { http1, connections, sessions, accepted } = parts;
  const { sniffTimeoutMs = 10_000, rejectionBody } = options;
  const known = new WeakMap<Socket, OpenConnection>();
  const nodes = createPipelinedRequests(takeConnectionListener(http1), parts.answerOn);
  const serveHttp1 = createServeHttp1(parts, nodes.serve, options);
  const turns = createTurns(sessionTurns);
  http1.on("connection", (socket: Socket) => {
    accepted();
    turns.accepted();
    nodes.accepted();
    sessions.accepted();
    shortenRounds();
    // A client that has already cut the connection has no address, which limits and logs need.
    if (socket.remoteAddress === undefined) return void socket.destroy();
    const connection = connections.add(socket);
    known.set(socket, connection);
    sniff(socket, sniffTimeoutMs, (found) => {
      if (found === "broken preface") rejectBare(socket, rejectionBody);
      else if (found === "http2") {
        // A connection that waits for its session is not idle. Where room is needed, it is closed before one that has just ended a call.
        connection.isIdle = () => false;
        beginInTurn(turns, socket, () => takeSession(sessions, socket, connection));
      } else serveHttp1(socket, connection);
    });
  });
  return { known, turns, leave: nodes.leave };
}

/** beginInTurn has a connection wait for its turn, if it is still there by then. */
function beginInTurn(turns: Turns, socket: Socket, begin: () => void): void {
  const drop = () => void socket.destroy();
  socket.once("error", drop);
  const beginNow = () => {
    socket.off("error", drop);
    begin();
  };
  turns.begin({ begin: beginNow, isOver: () => socket.destroyed, origin: originOf(socket) });
}

function takeSession(sessions: Http2Sessions, socket: Socket, connection: OpenConnection): void {
  Object.assign(connection, sessions.take(socket));
  connection.protocol = "http2";
}

/**
 * createServeHttp1 returns what serves a connection of HTTP/1.1: `http1/` as long as its requests are plain, where that is on, and Node
 * otherwise.
 */
function createServeHttp1(parts: Parts, handOver: (socket: Socket) => void, options: ListenOptions) {
  const { handlePlain, plainOptions } = options;
  const { answerOn, plain, deadlines, idleMs } = parts;
  const serveOptions = handlePlain && {
    ...plainOptions,
    serve: handlePlain,
    idleMs,
    keepAlive: createKeepAlive(idleMs),
    deadlines,
    handOver,
    onOver: (connection: object) => void plain.delete(connection as ServedConnection),
  };
  return (socket: Socket, connection: OpenConnection) => {
    const isIdleAtNode = () => answerOn(socket)?.writableFinished ?? true;
    const isKeylessAtNode = () => {
      const answer = answerOn(socket);
      return answer === undefined || answer.writableFinished || isKeyless(answer);
    };
    const isReceivingAtNode = () => answerOn(socket)?.req.complete === false;
    connection.protocol = "http1";
    connection.isIdle = isIdleAtNode;
    connection.isKeyless = isKeylessAtNode;
    connection.isReceiving = isReceivingAtNode;
    if (!serveOptions) return void handOver(socket);
    const served = new ServedConnection(socket, serveOptions);
    plain.add(served);
    connection.isIdle = () => (plain.has(served) ? served.isIdle : isIdleAtNode());
    connection.isKeyless = () => (plain.has(served) ? served.isUnadmitted : isKeylessAtNode());
    connection.isReceiving = () => (plain.has(served) ? served.isReceiving : isReceivingAtNode());
  };
}

function opened(http1: Server, { fd, port, host }: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    http1.once("error", reject);
    if (fd === undefined) http1.listen({ port, host, backlog }, resolve);
    else http1.listen({ fd }, backlog, resolve);
  });
}

function close(parts: Parts, graceMs: number): Promise<void> {
  const { http1, sessions, plain, upgraded, connections, readers } = parts;
  parts.closing();
  return new Promise((resolve) => {
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
  });
}
