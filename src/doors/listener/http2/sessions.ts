/**
 * The HTTP/2 sessions of a listener: their open streams, their idle time, and streams whose readers stall.
 *
 * A session ends when its client ends its side: HTTP/2 has no half-closed connections, and a client that waits for an answer keeps
 * its own end open. A session without streams for `idleMs` gets a GOAWAY, and is cut if its client stays.
 */
import { constants, type Http2Server, type Http2Stream, type ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { Deadlines, Timed } from "../../../runtime/time/deadlines.ts";
import type { OpenConnection } from "../connections.ts";
import { keylessStreams, markUpload, waitingStreams } from "../keyless-work.ts";
import { originOf } from "../rotation.ts";
import type { Reader, StalledReaders } from "../stalled-readers.ts";
import { createTurns, sessionEndTurns, type Turns } from "../turns.ts";
import { createHttp2Floods, type Http2FloodOptions, type Http2Floods } from "./floods.ts";
import { createHttp2Windows, type Http2Windows } from "./windows.ts";

export interface Http2SessionOptions {
  readonly idleMs: number;
  readonly deadlines: Deadlines;
  readonly readers: StalledReaders;
  readonly floods?: Http2FloodOptions | undefined;
}

/** SessionState reports what runs in a session, as `OpenConnection` has it. */
type SessionState = Pick<OpenConnection, "isIdle" | "isKeyless" | "isReceiving">;

const nothingRuns: SessionState = { isIdle: () => true, isKeyless: () => true, isReceiving: () => true };

export interface Http2Sessions {
  /** Begins a session on a connection whose first bytes are the preface. Returns what reports how it stands. */
  take(socket: Socket): SessionState;
  /** Reports that a connection was accepted in this turn: few sessions end in it. */
  accepted(): void;
  /** Returns how many streams are open. */
  streams(): number;
  /** Returns how many sessions have been cut so far as floods. */
  floods(): number;
  /** Sends all sessions a GOAWAY, and lets their streams finish. */
  close(): void;
  /** Ends all sessions, whatever runs. */
  cut(): void;
}

/** The most open streams of a session. Clients wait, or open another session. */
export const maxConcurrentStreams = 250;
/**
 * streamResets is how many streams a client may reset at once, and how many a second after that. Beyond, the session ends with
 * `NGHTTP2_ENHANCE_YOUR_CALM`. At once it may reset all that it can have open, as a client does that gives up a batch.
 */
export const streamResets = { streamResetBurst: maxConcurrentStreams, streamResetRate: 20 };

/**
 * maxSessionMemory is what the streams of a session may hold in memory before further ones are refused, in megabytes. Node's own bound of 10 is
 * reached by three or four answers of which the reader is slow, and a session carries the calls of many callers where a proxy is before the
 * gateway. What a reader does not take ends after `stalledReaderMs`, and what callers send has bounds of its own.
 */
export const maxSessionMemory = 4096;

/** lingerMs is how long a client may keep the connection after a GOAWAY, in milliseconds. */
const lingerMs = 1_000;

/** The sizes of frames that answer the client's own. RFC 9113, sections 4.1, 6.5 and 6.7. */
const pingReplyBytes = 17;
const settingsReplyBytes = 9;
/** The size of a frame with one setting. */
const settingBytes = settingsReplyBytes + 6;

export function createHttp2Sessions(server: Http2Server, options: Http2SessionOptions): Http2Sessions {
  const sessions = new Set<ServerHttp2Session>();
  /** The connection that is becoming a session in this turn. */
  let taking: Socket | undefined;
  let state = nothingRuns;
  const floods = createHttp2Floods(options.floods);
  const windows = createHttp2Windows();
  const ends = createTurns(sessionEndTurns);
  let streams = 0;
  const count = (change: number) => {
    streams += change;
  };
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    if (taking) state = watchSession(session, taking, { ...options, count, floods, windows });
  });
  server.on("sessionError", () => {}); // The session closes by itself.
  return {
    take(socket) {
      if (!floods.admits(originOf(socket).network)) {
        socket.destroy();
        return nothingRuns;
      }
      endInTurn(socket, ends);
      joinHeld(socket);
      taking = socket;
      server.emit("connection", socket);
      taking = undefined;
      return state;
    },
    accepted: ends.accepted,
    streams: () => streams,
    floods: () => floods.cuts,
    close() {
      floods.close();
      for (const session of sessions) session.close();
    },
    cut() {
      for (const session of sessions) session.destroy();
    },
  };
}

/**
 * endInTurn has a connection end once its client has ended its side: the listener's server allows half-open connections, for HTTP/1.1. When
 * hundreds end together, as those of a process that is killed, each waits for its turn: others are served meanwhile.
 */
function endInTurn(socket: Socket, ends: Turns): void {
  const end = { begin: () => void socket.end(), isOver: () => socket.destroyed, origin: originOf(socket) };
  socket.once("end", () => ends.begin(end));
}

/**
 * joinHeld makes one piece of what has come before the session: Node has the session read piece by piece, and throws where one of them ends
 * it and another follows.
 */
function joinHeld(socket: Socket): void {
  const held: Buffer[] = [];
  for (let piece = socket.read(); piece !== null; piece = socket.read()) held.push(piece as Buffer);
  if (held.length > 0) socket.unshift(Buffer.concat(held));
}

interface Watching {
  readonly idleMs: number;
  readonly deadlines: Deadlines;
  readonly readers: StalledReaders;
  readonly floods: Http2Floods;
  readonly windows: Http2Windows;
  /** Called with 1 or −1 when a stream opens or closes. */
  readonly count: (change: number) => void;
}

/** watchSession follows the streams of a session, and ends it when it has been idle for too long. Returns what reports how it stands. */
function watchSession(
  session: ServerHttp2Session,
  socket: Socket,
  { idleMs, deadlines, readers, floods, windows, count }: Watching,
): SessionState {
  let open = 0;
  let idleUntil = performance.now() + idleMs;
  const idle: Timed = {
    get deadline() {
      return open > 0 ? Number.POSITIVE_INFINITY : idleUntil;
    },
    onDeadline: () => goAway(session, socket),
  };
  /** Bytes written in answer to the client's own pings and settings, and as settings. They show no progress of its streams. */
  let replies = 0;
  session.on("ping", () => {
    replies += pingReplyBytes;
  });
  session.on("remoteSettings", () => {
    replies += settingsReplyBytes;
  });
  const carried = () => socket.bytesWritten - replies;
  const flood = floods.watch(session, socket);
  const window = windows.watch(session, () => {
    replies += settingBytes;
  });
  penaliseResets(session, socket, floods);
  deadlines.watch(idle);
  session.once("close", () => deadlines.forget(idle));
  session.on("stream", (stream, _, flags) => {
    if ((flags & constants.NGHTTP2_FLAG_END_STREAM) === 0) markUpload(stream);
    open++;
    count(1);
    flood.opened();
    const came = window.opened(stream);
    countBody(stream, (bytes) => {
      flood.came(bytes);
      came(bytes);
    });
    const reader = readerOf(stream, socket, carried);
    readers.watch(reader);
    beforeReset(stream, () => flood.late(window.late()));
    stream.once("finish", () => endUpload(stream));
    stream.once("close", () => {
      readers.forget(reader);
      window.closed(stream);
      count(-1);
      if (--open === 0) idleUntil = performance.now() + idleMs;
    });
  });
  return {
    isIdle: () => open === 0,
    isKeyless: () => open <= keylessStreams(session),
    isReceiving: () => open <= waitingStreams(session),
  };
}

/** Penalises the network of a session that Node ends because it reset more streams than `streamResets` allow. */
function penaliseResets(session: ServerHttp2Session, socket: Socket, floods: Http2Floods): void {
  const { network } = originOf(socket);
  let aborted = 0;
  session.on("stream", (stream) => {
    // Node emits a stream in a later turn than its frame arrived. It may have been reset by then.
    if (stream.aborted) aborted++;
    else stream.once("aborted", () => aborted++);
  });
  session.on("error", ({ code }: NodeJS.ErrnoException) => {
    if (code === "ERR_HTTP2_ERROR" && aborted >= streamResets.streamResetBurst) floods.penalise(network);
  });
}

function readerOf(stream: Http2Stream, socket: Socket, carried: () => number): Reader {
  return {
    socket,
    waiting: () => (stream.destroyed ? 0 : stream.bufferSize),
    carried,
    cut() {
      stream.close(constants.NGHTTP2_CANCEL);
      stream.destroy();
    },
  };
}

/** isUploaded reports whether nothing more of a stream's body comes: its client has sent all of it, or one side has reset the stream. */
function isUploaded(stream: Http2Stream): boolean {
  return stream.closed || stream.state.remoteClose === 1;
}

/**
 * beforeReset calls `report` where a stream is reset before its body has come: by `endUpload`, or by Node after an answer to a request that
 * nobody has read. Either does so by its `close`, and what comes afterwards is not reported.
 */
function beforeReset(stream: Http2Stream, report: () => void): void {
  const close = stream.close.bind(stream);
  stream.close = (code, callback) => {
    if (!isUploaded(stream)) report();
    close(code, callback);
  };
}

/**
 * endUpload asks a client to stop sending a body after its whole answer has been sent (RFC 9113, section 8.1). Otherwise the stream would
 * stay open for as long as the client likes.
 */
function endUpload(stream: Http2Stream): void {
  if (isUploaded(stream)) return;
  // Node sends trailers after the stream has emitted `finish`.
  if (stream.state.localClose === 1) stream.close(constants.NGHTTP2_NO_ERROR);
  else setTimeout(endUpload, trailersMs, stream).unref();
}

/** trailersMs is how long to wait for trailers to be sent before looking again, in milliseconds. */
const trailersMs = 10;

/** goAway ends a session that has no streams. Its socket is cut if the client does not end its side. */
function goAway(session: ServerHttp2Session, socket: Socket): void {
  session.close();
  const cut = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(cut));
}

/**
 * countBody counts the bytes of a stream's body as they arrive. Node feeds every stream by its `push`. What came with its head may be
 * there already.
 */
function countBody(stream: Http2Stream, count: (bytes: number) => void): void {
  if (stream.readableLength > 0) count(stream.readableLength);
  const push = stream.push.bind(stream);
  stream.push = (piece: Uint8Array | null) => {
    if (piece) count(piece.length);
    return push(piece);
  };
}
