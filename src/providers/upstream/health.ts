/**
 * The health of the upstreams as this process sees it: running calls, and how the last attempts ended.
 *
 * The last attempts of each upstream are kept in a ring of fixed size, so an attempt costs the same at any load.
 * Nothing that an upstream sent is kept: failures are described in the gateway's own words. A caller's disconnect, a time-out
 * of the caller's own and a refused request are not the upstream's fault. Each attempt's result also goes into its record.
 */
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Answer } from "../../call/call.ts";
import type { Operation } from "../../call/operations.ts";
import { type MaybePromise, thenOrCatch } from "../../runtime/maybe-promise.ts";
import { onEnd } from "../../runtime/push-stream.ts";
import { minuteMs } from "../../runtime/time/durations.ts";
import { type Attempt, type Provider, type Speak, type UpstreamStats, wrapEverySpeak } from "../contract.ts";
import { countsForHealth, faultOf, isRejection } from "../errors/fault.ts";

export interface Health {
  /** Returns the provider with its attempts counted under this name. */
  watch(name: string, provider: Provider): Provider;
  /** Returns the health of an upstream. One that is not watched has no attempts. */
  of(name: string): UpstreamStats;
  /** Forgets an upstream once its last attempt has ended, unless it is watched again by then. */
  forget(name: string): void;
  /** Number of calls that run at all upstreams, also at those that are to be forgotten. */
  running(): number;
}

/** spanMs is how far back attempts count, in milliseconds. */
const spanMs = 15 * minuteMs;
/** The most attempts that count. */
const most = 1000;

/** `clock` returns milliseconds since 1970. */
export function createHealth(clock: () => number): Health {
  const records = new Map<string, Attempts>();
  const leaving = new Set<string>();
  const forgetIdle = () => {
    for (const name of leaving) {
      if (records.get(name)?.running()) continue;
      records.delete(name);
      leaving.delete(name);
    }
  };
  return {
    watch(name, provider) {
      // An upstream that is configured anew is the same to those who look at it.
      const ring = records.get(name) ?? createAttempts();
      records.set(name, ring);
      leaving.delete(name);
      return wrapEverySpeak(provider, (speak) => watched(speak, ring, clock));
    },
    of: (name) => (records.get(name) ?? createAttempts()).since(clock() - spanMs),
    forget(name) {
      leaving.add(name);
      forgetIdle();
    },
    running() {
      forgetIdle();
      return [...records.values()].reduce((sum, ring) => sum + ring.running(), 0);
    },
  };
}

interface Attempts {
  /** Counts an attempt that begins. */
  began(): void;
  /** Counts an attempt that ended. `firstByte` is in milliseconds, -1 where none came. */
  ended(at: number, firstByte: number, failure: string | undefined): void;
  running(): number;
  /** Sums up the attempts that ended at `from` or later. */
  since(from: number): UpstreamStats;
}

/** The ring is allocated with the first attempt: most configured upstreams are never called. */
function createAttempts(): Attempts {
  let ring: { at: Float64Array; firstByte: Float64Array; failed: Uint8Array } | undefined;
  let count = 0;
  let running = 0;
  let lastFailure: UpstreamStats["lastFailure"];
  return {
    began() {
      running++;
    },
    ended(at, firstByte, failure) {
      running--;
      ring ??= { at: new Float64Array(most), firstByte: new Float64Array(most), failed: new Uint8Array(most) };
      const place = count++ % most;
      ring.at[place] = at;
      ring.firstByte[place] = firstByte;
      ring.failed[place] = failure === undefined ? 0 : 1;
      if (failure !== undefined) lastFailure = { words: failure, at };
    },
    running: () => running,
    since(from) {
      const firstBytes: number[] = [];
      let [attempts, failures, lastFailed] = [0, 0, false];
      for (let i = Math.max(0, count - most); ring && i < count; i++) {
        const place = i % most;
        if ((ring.at[place] as number) < from) continue;
        attempts++;
        lastFailed = ring.failed[place] === 1;
        if (lastFailed) failures++;
        if ((ring.firstByte[place] as number) >= 0) firstBytes.push(ring.firstByte[place] as number);
      }
      return { attempts, failures, lastFailed, firstBytes: firstBytes.sort((a, b) => a - b), running, lastFailure };
    },
  };
}

function watched(speak: Speak<Operation>, ring: Attempts, clock: () => number): Speak<Operation> {
  const watchedSpeak = (attempt: Attempt): MaybePromise<Answer> => {
    let firstByte = -1;
    let isOver = false;
    const { record: attemptRecord, signal } = attempt;
    const begunAt = clock();
    const came = (now: number) => {
      firstByte = Math.max(0, now - begunAt);
      attemptRecord.firstByteMs = firstByte;
    };
    const passing = () => {
      if (firstByte < 0) came(clock());
    };
    const end = (error?: unknown, now = clock()) => {
      if (isOver) return;
      isOver = true;
      attemptRecord.endedAt = now;
      const failure = signal.aborted ? undefined : faultOf(error);
      if (failure !== undefined) attemptRecord.failure = failure;
      const counts = countsForHealth(error);
      if (!signal.aborted && !counts) attemptRecord.outcome = Outcome.LEFT;
      else if (!signal.aborted && isRejection(error)) attemptRecord.outcome = Outcome.REJECTED;
      ring.ended(attemptRecord.endedAt, firstByte, counts ? failure : undefined);
    };
    const answered = (answer: Answer): Answer => {
      if (answer.kind === "stream") {
        // Frames that nobody began to read do not end by themselves.
        signal.addEventListener("abort", () => end(), { once: true });
        return { ...answer, frames: onEnd(answer.frames, (error) => end(error), passing) };
      }
      const now = clock();
      came(now);
      end(undefined, now);
      return answer;
    };
    ring.began();
    return thenOrCatch(
      () => speak(attempt) as MaybePromise<Answer>,
      answered,
      (error): never => {
        end(error);
        throw error;
      },
    );
  };
  return watchedSpeak as unknown as Speak<Operation>;
}
