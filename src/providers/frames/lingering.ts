/**
 * Bounds how long a stream may stay open without saying anything: a complete stream for a short while, a stream of
 * comments no longer than a silent one.
 */
import { stopPulling } from "../../runtime/push-stream.ts";
import type { SseReader } from "../../wire/sse.ts";
import type { StreamTracker } from "../dialect.ts";
import type { Body } from "../upstream/reply.ts";

export interface SilenceWatch {
  /** Notes a read. `mayCount` is whether its data may be a sign of life: keep-alives are none. */
  note(mayCount: boolean): void;
}

/** createSilenceWatch tells a body since when no data has come. While data comes the clock is not read. */
export function createSilenceWatch(reader: SseReader, source: Pick<Body, "lifeless"> | undefined): SilenceWatch {
  let since = 0;
  return {
    note(mayCount) {
      if (reader.takeSawData() && mayCount) since = 0;
      else {
        since ||= performance.now();
        source?.lifeless(since);
      }
    },
  };
}

export interface Linger {
  /**
   * Waits for a complete stream to go on, once its frames have been taken. Throws `stopPulling` when its time is
   * over.
   */
  begin(taken: Promise<void> | undefined): Promise<void> | undefined;
  /** Stops waiting: something has come. */
  stop(): void;
  /** Reports whether the time is over. */
  isOver(): boolean;
}

/** Leaves a body whose stream is complete and does not end. */
export function createLinger(tracker: StreamTracker, source: Pick<Body, "leave"> | undefined): Linger {
  let timer: NodeJS.Timeout | undefined;
  /** The end of the wait, by `performance.now()`. */
  let until: number | undefined;
  let isOver = false;
  const wait = () => {
    const ms = tracker.lingerMs?.();
    if (ms === undefined) {
      until = undefined;
      return;
    }
    const now = performance.now();
    until = Math.min(until ?? Number.POSITIVE_INFINITY, now + ms);
    isOver = now >= until;
    if (isOver) throw stopPulling;
    timer = setTimeout(leave, until - now);
  };
  const leave = () => {
    isOver = true;
    source?.leave();
  };
  return {
    begin(taken) {
      if (tracker.isOver()) return taken;
      if (taken) return taken.then(wait);
      wait();
      return undefined;
    },
    stop: () => clearTimeout(timer),
    isOver: () => isOver,
  };
}
