/**
 * Applies the caller's time bounds (`x-gateway-timeout`) to embedded models, as to upstreams: for the first part of
 * an answer, between two parts, and in total. There is no connection to bound.
 */
import type { Answer, Frames } from "../call/call.ts";
import type { Operation } from "../call/operations.ts";
import type { Refusal } from "../call/refusals.ts";
import type { Speak } from "../providers/contract.ts";
import { type Timeouts, timedOut } from "../providers/upstream/timeouts.ts";
import { CallerAbort, type Signal } from "../runtime/caller-abort.ts";

export function withTimeouts(speak: Speak<Operation>): Speak<Operation> {
  const bounded = async (attempt: Parameters<typeof speak>[0]): Promise<Answer> => {
    const timer = createTimer(attempt.timeouts, attempt.signal);
    timer.expect("firstByteMs");
    try {
      const answer = (await speak({ ...attempt, signal: timer.signal })) as Answer;
      timer.check();
      if (answer.kind === "stream") return { ...answer, frames: framesWithin(timer, answer.frames) };
      timer.end();
      return answer;
    } catch (error) {
      timer.end();
      throw timer.missed() ?? error;
    }
  };
  const isBounded = ({ firstByteMs, idleMs, totalMs }: Partial<Timeouts>) =>
    (firstByteMs ?? idleMs ?? totalMs) !== undefined;
  return ((attempt) => (isBounded(attempt.timeouts) ? bounded(attempt) : speak(attempt))) as Speak<Operation>;
}

async function* framesWithin(timer: PartTimer, frames: Frames): Frames {
  try {
    for await (const batch of frames) {
      timer.check();
      timer.expect("idleMs");
      yield batch;
    }
  } catch (error) {
    throw timer.missed() ?? error;
  } finally {
    timer.end();
  }
}

interface PartTimer {
  /** Fires when the caller disconnects or a bound passes. */
  readonly signal: Signal;
  /** Starts the bound of another part. */
  expect(part: keyof Timeouts): void;
  /** Throws the refusal of a passed bound. */
  check(): void;
  /** The refusal of the bound that has passed, if any. */
  missed(): Refusal | undefined;
  /** Stops all bounds. */
  end(): void;
}

function createTimer(timeouts: Partial<Timeouts>, caller: Signal): PartTimer {
  const signal = new CallerAbort();
  const leave = () => signal.abort();
  if (caller.aborted) leave();
  caller.addEventListener("abort", leave, { once: true });
  let missed: Refusal | undefined;
  const timerOf = (part: keyof Timeouts): NodeJS.Timeout | undefined => {
    const ms = timeouts[part];
    if (ms === undefined) return undefined;
    return setTimeout(() => {
      missed ??= timedOut(part, { ms, isCallers: true });
      leave();
    }, ms);
  };
  const ofAll = timerOf("totalMs");
  let ofPart: NodeJS.Timeout | undefined;
  return {
    signal,
    expect(part) {
      clearTimeout(ofPart);
      ofPart = timerOf(part);
    },
    check() {
      if (missed) throw missed;
    },
    missed: () => missed,
    end() {
      clearTimeout(ofAll);
      clearTimeout(ofPart);
      caller.removeEventListener("abort", leave);
    },
  };
}
