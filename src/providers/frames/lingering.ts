/**
 * How long a stream is waited for that says nothing more: one that is complete not for long, and one of nothing but comments no
 * longer than one that is silent.
 */
import { stopPulling } from "../../runtime/push-stream.ts";
import type { SseReader } from "../../wire/sse.ts";
import type { StreamTracker } from "../dialect.ts";
import type { Body } from "../upstream/reply.ts";

export interface SilenceWatch {
  /** Takes what a read has completed, and hands it back. */
  note<T>(frames: T): T;
}

/** Tells a body since when nothing has come of an answer. Where something does each time, that costs no look at the clock. */
export function createSilenceWatch(reader: SseReader, source: Pick<Body, "lifeless"> | undefined): SilenceWatch {
  let since = 0;
  return {
    note(frames) {
      if (reader.takeSawData()) since = 0;
      else {
        since ||= performance.now();
        source?.lifeless(since);
      }
      return frames;
    },
  };
}

export interface Linger {
  /** Waits for a complete stream to go on, once what came of it has been taken. Throws `noMore` where it has had its time. */
  begin(taken: Promise<void> | undefined): Promise<void> | undefined;
  /** Stops waiting, for something has come. */
  stop(): void;
  /** Whether its time is over. */
  isOver(): boolean;
}

/** Leaves a body whose stream is complete and does not end, whatever it goes on to say. */
export function createLinger(follower: StreamTracker, source: Pick<Body, "leave"> | undefined): Linger {
  let timer: NodeJS.Timeout | undefined;
  /** When its time is over, by `performance.now()`. */
  let until: number | undefined;
  let isOver = false;
  const wait = () => {
    const ms = follower.lingerMs?.();
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
      if (follower.isOver()) return taken;
      if (taken) return taken.then(wait);
      wait();
      return undefined;
    },
    stop: () => clearTimeout(timer),
    isOver: () => isOver,
  };
}
