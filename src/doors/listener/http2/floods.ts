/**
 * Ends sessions of HTTP/2 that send more than their streams need: floods of window updates, pings, settings, priorities, empty
 * data. Each such frame costs the process as much as its sender, and Node does not report it.
 *
 * So bytes are counted: all that a connection has received, less the bodies of its streams and an allowance for each stream's
 * head. The rest has a budget that refills. A session beyond it is told to calm down and cut, and its network may open none for a
 * while, because it would only begin again. The same holds where Node ends a session for the streams that it has reset.
 */
import { constants, type ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { originOf } from "../rotation.ts";
import { widestSession } from "./windows.ts";

export interface Http2Floods {
  /** Reports whether a network (`runtime/net/networks.ts`) may open a session now. */
  admits(network: string): boolean;
  /** Counts what a session sends, until it closes. */
  watch(session: ServerHttp2Session, socket: Socket): FloodWatch;
  /** Bars a network for a while, because its session was ended for the streams that it had reset. */
  penalise(network: string): void;
  /** cuts is how many sessions have been cut so far. */
  readonly cuts: number;
  close(): void;
}

/** FloodWatch is told what a session's streams need of what it sends. */
export interface FloodWatch {
  /** Reports a stream that opens. */
  opened(): void;
  /** Reports bytes of a stream's body. */
  came(bytes: number): void;
  /** Reports so many bytes of a stream that has ended, which its client may have sent before it learned of that. */
  late(bytes: number): void;
}

export interface Http2FloodOptions {
  /** penaltyMs is how long a network may open no session after one was cut, in milliseconds. */
  readonly penaltyMs?: number;
}

/**
 * The budget of a session beside its streams: what it may send at once, and how much is added each second. A window update has
 * 13 bytes.
 */
const burstBytes = 262_144;
const bytesPerSecond = 65_536;
/** The allowance for the head of a stream and the frames around its body. In bytes. */
const bytesPerStream = 16_384;
const checkMs = 25;
/** The most networks that are remembered. */
const maxPenalties = 10_000;

interface Watched {
  readonly session: ServerHttp2Session;
  readonly socket: Socket;
  readonly network: string;
  /** The bytes left of its budget; negative when it floods. */
  left: number;
  /** readBytes is how many bytes had been received at the last check, and when that was. */
  readBytes: number;
  checkedAt: number;
  /**
   * lateBytes may still come of streams that have ended, however slow the line: at most what a client may have under way. Node does not tell
   * which of what comes that is.
   */
  lateBytes: number;
}

export function createHttp2Floods({ penaltyMs = 10_000 }: Http2FloodOptions = {}): Http2Floods {
  const watched = new Set<Watched>();
  const penalties = createPenalties(penaltyMs);
  let timer: NodeJS.Timeout | undefined;

  function check(): void {
    const now = performance.now();
    for (const one of watched) {
      refill(one, now);
      if (one.left >= 0) continue;
      watched.delete(one);
      penalties.add(one.network, now);
      one.session.destroy(new Error("it floods"), constants.NGHTTP2_ENHANCE_YOUR_CALM);
      one.socket.destroy();
    }
  }

  function forget(one: Watched): void {
    watched.delete(one);
    if (watched.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  return {
    admits: (network) => !penalties.holds(network),
    watch(session, socket) {
      const { bytesRead: readBytes } = socket;
      const { network } = originOf(socket);
      const one: Watched = {
        session,
        socket,
        network,
        left: burstBytes,
        readBytes,
        checkedAt: performance.now(),
        lateBytes: 0,
      };
      watched.add(one);
      timer ??= setInterval(check, checkMs).unref();
      session.once("close", () => forget(one));
      return {
        opened() {
          one.left += bytesPerStream;
        },
        came(bytes) {
          one.left += bytes;
        },
        late(bytes) {
          one.lateBytes = Math.min(one.lateBytes + bytes, widestSession);
        },
      };
    },
    penalise: (network) => penalties.add(network, performance.now()),
    get cuts() {
      return penalties.count;
    },
    close: () => clearInterval(timer),
  };
}

/** Subtracts what was received since the last check from a session's budget, and adds what the time since then allows. */
function refill(one: Watched, now: number): void {
  const { bytesRead } = one.socket;
  const refilled = one.left + ((now - one.checkedAt) / 1000) * bytesPerSecond - (bytesRead - one.readBytes);
  const late = Math.min(one.lateBytes, Math.max(0, -refilled));
  one.lateBytes -= late;
  one.left = Math.min(refilled + late, burstBytes);
  one.readBytes = bytesRead;
  one.checkedAt = now;
}

/** Remembers the networks that may open no session. */
function createPenalties(penaltyMs: number) {
  /** Until when, by `performance.now()`. */
  const until = new Map<string, number>();
  let count = 0;
  return {
    add(network: string, now: number): void {
      count++;
      if (until.size >= maxPenalties) until.clear();
      until.set(network, now + penaltyMs);
    },
    holds(network: string): boolean {
      const end = until.get(network);
      if (end === undefined) return false;
      if (end > performance.now()) return true;
      until.delete(network);
      return false;
    },
    /** count is how many penalties there have been so far. */
    get count() {
      return count;
    },
  };
}
