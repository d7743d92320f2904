/**
 * HTTP/2 sessions of a listener: which streams are open, when a session is idle, and which stream's reader has stalled.
 *
 * A session ends when its client ends its side: HTTP/2 knows no half-closed connection, and a client that waits for an answer
 * keeps its own end open. One without streams for `idleMs` is told to go away, and is cut where it does not.
 */
import { constants, type Http2Server, type Http2Stream, type ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { Deadlines, Timed } from "../../runtime/deadlines.ts";
import { createHttp2Floods, type Http2FloodOptions, type Http2Floods } from "./http2-floods.ts";
import type { Reader, StalledReaders } from "./stalled-readers.ts";

export interface Http2SessionOptions {
  readonly idleMs: number;
  readonly deadlines: Deadlines;
  readonly readers: StalledReaders;
  readonly floods?: Http2FloodOptions | undefined;
}

export interface Http2Sessions {
  /** Takes a connection whose first bytes are the preface. Returns what says whether it is idle. */
  take(socket: Socket): () => boolean;
  /** How many streams are open. */
  streams(): number;
  /** How many sessions have been cut so far because they sent what no stream needs. */
  floods(): number;
  /** Tells all sessions to go away, and lets their streams finish. */
  close(): void;
  /** Ends all sessions, whatever runs. */
  cut(): void;
}

/** The most streams that a session has open at a time; clients wait, or open another. */
export const maxConcurrentStreams = 250;
/**
 * How many streams a client may reset at once, and how many a second after that (`NGHTTP2_ENHANCE_YOUR_CALM` beyond): all that
 * a session may have open at a time, as where a batch is given up.
 */
export const streamResets = { streamResetBurst: maxConcurrentStreams, streamResetRate: 20 };

/** How long a client that was told to go away may keep the connection. */
const lingerMs = 1_000;

/** RFC 9113, sections 4.1, 6.5 and 6.7. */
const pingReplyBytes = 17;
const settingsReplyBytes = 9;

export function createHttp2Sessions(server: Http2Server, options: Http2SessionOptions): Http2Sessions {
  const sessions = new Set<ServerHttp2Session>();
  /** The connection that becomes a session at this moment. */
  let taking: Socket | undefined;
  let isIdle = () => true;
  const floods = createHttp2Floods(options.floods);
  let streams = 0;
  const count = (change: number) => {
    streams += change;
  };
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    if (taking) isIdle = watchSession(session, taking, { ...options, count, floods });
  });
  server.on("sessionError", () => {}); // The session closes by itself; there is nobody to tell.
  return {
    take(socket) {
      // The listener's server keeps connections half open, as HTTP/1.1 may need them.
      socket.allowHalfOpen = false;
      if (!floods.admits(socket.remoteAddress ?? "")) {
        socket.destroy();
        return () => true;
      }
      taking = socket;
      server.emit("connection", socket);
      taking = undefined;
      return isIdle;
    },
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

interface Watching {
  readonly idleMs: number;
  readonly deadlines: Deadlines;
  readonly readers: StalledReaders;
  readonly floods: Http2Floods;
  /** Told of streams that open and close. */
  readonly count: (change: number) => void;
}

/** Follows the streams of a session, and ends it when it is idle. Returns what says whether it is. */
function watchSession(
  session: ServerHttp2Session,
  socket: Socket,
  { idleMs, deadlines, readers, floods, count }: Watching,
): () => boolean {
  let open = 0;
  let idleUntil = performance.now() + idleMs;
  const idle: Timed = {
    get deadline() {
      return open > 0 ? Number.POSITIVE_INFINITY : idleUntil;
    },
    onDeadline: () => goAway(session, socket),
  };
  /** What answers the client's own pings and settings tells nothing of its streams. In bytes. */
  let replies = 0;
  session.on("ping", () => {
    replies += pingReplyBytes;
  });
  session.on("remoteSettings", () => {
    replies += settingsReplyBytes;
  });
  const carried = () => socket.bytesWritten - replies;
  const opened = floods.watch(session, socket);
  endResets(session, socket, floods);
  deadlines.watch(idle);
  session.once("close", () => deadlines.forget(idle));
  session.on("stream", (stream) => {
    open++;
    count(1);
    opened(stream);
    const reader = readerOf(stream, socket, carried);
    readers.watch(reader);
    stream.once("finish", () => endUpload(stream));
    stream.once("close", () => {
      readers.forget(reader);
      count(-1);
      if (--open === 0) idleUntil = performance.now() + idleMs;
    });
  });
  return () => open === 0;
}

/** Remembers the address whose session Node has ended because it reset more streams than `streamResets` allow. */
function endResets(session: ServerHttp2Session, socket: Socket, floods: Http2Floods): void {
  const { remoteAddress: address = "" } = socket;
  let aborted = 0;
  session.on("stream", (stream) => {
    // A stream is told of in a later turn than it came, and may have been reset by then.
    if (stream.aborted) aborted++;
    else stream.once("aborted", () => aborted++);
  });
  session.on("error", ({ code }: NodeJS.ErrnoException) => {
    if (code === "ERR_HTTP2_ERROR" && aborted >= streamResets.streamResetBurst) floods.penalise(address);
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

/**
 * Tells a client to stop sending a body that nobody reads: the whole answer has been sent. RFC 9113, section 8.1. Otherwise the
 * stream would stay open for as long as the client likes.
 */
function endUpload(stream: Http2Stream & { readonly endAfterHeaders?: boolean }): void {
  if (stream.destroyed || stream.readableEnded || stream.endAfterHeaders) return;
  const { localClose, remoteClose } = stream.state;
  if (remoteClose === 1) return;
  // Trailers are sent after what the stream calls its finish.
  if (localClose === 1) stream.close(constants.NGHTTP2_NO_ERROR);
  else setTimeout(endUpload, trailersMs, stream).unref();
}

const trailersMs = 10;

/** Ends a session that has no streams; its socket is cut where the client does not end its side. */
function goAway(session: ServerHttp2Session, socket: Socket): void {
  session.close();
  const cut = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(cut));
}
