/**
 * Ends sessions of HTTP/2 that send more than their streams need: floods of window updates, pings, settings, priorities, empty
 * data. Each such frame costs the process as much as it costs its sender, and no code of ours sees it come.
 *
 * So what is counted is bytes: what a connection has brought, less the bodies of its streams and what each stream's head may
 * take. The rest has a budget that refills. A session beyond it is told to calm down and is cut, and its address may open
 * none for a while: it would only begin again. So it is where Node has ended a session for the streams that it reset.
 */
import { constants, type Http2Stream, type ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";

export interface Http2Floods {
  /** Whether an address may open a session at this moment. */
  admits(address: string): boolean;
  /** Counts what a session sends, until it closes. Returns what is told of each stream that opens. */
  watch(session: ServerHttp2Session, socket: Socket): (stream: Http2Stream) => void;
  /** Lets an address open none for a while: its session was ended for the streams that it reset. */
  penalise(address: string): void;
  /** How many sessions have been cut. */
  readonly cuts: number;
  close(): void;
}

export interface Http2FloodOptions {
  /** How long an address may open no session after one was cut. */
  readonly penaltyMs?: number;
}

/** What a session may send at once beside its streams, and in each second. In bytes: a window update has 13. */
const burstBytes = 262_144;
const bytesPerSecond = 65_536;
/** What the head of a stream may take, and the frames around its body. */
const bytesPerStream = 16_384;
const lookMs = 25;
/** So many addresses are remembered at most. */
const mostPenalties = 10_000;

interface Watched {
  readonly session: ServerHttp2Session;
  readonly socket: Socket;
  readonly address: string;
  /** What it may still send; falls below 0 when it floods. */
  left: number;
  /** What had come, and when, at the last look. */
  readBytes: number;
  lookedAt: number;
}

export function createHttp2Floods({ penaltyMs = 10_000 }: Http2FloodOptions = {}): Http2Floods {
  const watched = new Set<Watched>();
  /** Until when an address may open none, by `performance.now()`; in the order in which they were cut. */
  const penalties = new Map<string, number>();
  let cuts = 0;
  let timer: NodeJS.Timeout | undefined;

  function look(): void {
    const now = performance.now();
    for (const one of watched) {
      const { bytesRead } = one.socket;
      const refilled = one.left + ((now - one.lookedAt) / 1000) * bytesPerSecond - (bytesRead - one.readBytes);
      one.left = Math.min(refilled, burstBytes);
      one.readBytes = bytesRead;
      one.lookedAt = now;
      if (one.left < 0) cut(one, now);
    }
  }

  function penalise(address: string, now: number): void {
    cuts++;
    if (penalties.size >= mostPenalties) penalties.clear();
    penalties.set(address, now + penaltyMs);
  }

  function cut(one: Watched, now: number): void {
    watched.delete(one);
    penalise(one.address, now);
    one.session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    one.socket.destroy();
  }

  function forget(one: Watched): void {
    watched.delete(one);
    if (watched.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  return {
    admits(address) {
      const until = penalties.get(address);
      if (until === undefined) return true;
      if (until > performance.now()) return false;
      penalties.delete(address);
      return true;
    },
    watch(session, socket) {
      const { bytesRead: readBytes, remoteAddress: address = "" } = socket;
      const one: Watched = { session, socket, address, left: burstBytes, readBytes, lookedAt: performance.now() };
      watched.add(one);
      timer ??= setInterval(look, lookMs).unref();
      session.once("close", () => forget(one));
      return (stream) => {
        one.left += bytesPerStream;
        countBody(stream, (bytes) => {
          one.left += bytes;
        });
      };
    },
    penalise: (address) => penalise(address, performance.now()),
    get cuts() {
      return cuts;
    },
    close: () => clearInterval(timer),
  };
}

/** Has the bytes of a stream's body told as they come. `push` is how every stream of Node's is fed. */
function countBody(stream: Http2Stream, count: (bytes: number) => void): void {
  const push = stream.push.bind(stream);
  stream.push = (piece: Uint8Array | null) => {
    if (piece) count(piece.length);
    return push(piece);
  };
}
