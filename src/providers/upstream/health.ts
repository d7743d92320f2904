/**
 * How the upstreams fare, as this process sees it: what runs at each, and how its last attempts ended.
 *
 * Of each upstream the last attempts are kept in a ring of fixed size, so that an attempt costs the same whether an upstream
 * is asked once a day or a thousand times a second. Nothing that an upstream said is kept: what failed is told in the
 * gateway's own words. Who leaves, and whose request is refused, is no fault of the upstream's. What becomes of an attempt is
 * written into its facts, too.
 */
import type { Answer } from "../../call/call.ts";
import type { Operation } from "../../call/operations.ts";
import { type MaybePromise, thenOrCatch } from "../../runtime/maybe-promise.ts";
import { onEnd } from "../../runtime/push-stream.ts";
import { type Attempt, type Provider, type Speak, withEverySpeak } from "../contract.ts";
import { faultOf, isTelling } from "../errors/fault.ts";

/** How an upstream fared over the last while. */
export interface Fared {
  readonly attempts: number;
  readonly failures: number;
  /** Whether the last attempt failed. */
  readonly lastFailed: boolean;
  /** How long the first byte took, in milliseconds: of each answer, the shortest first. */
  readonly firstBytes: readonly number[];
  /** How many calls run at this moment. */
  readonly running: number;
  /** What failed last, however long ago; undefined where nothing did. */
  readonly lastFailure: { readonly words: string; readonly at: number } | undefined;
}

export interface Health {
  /** Has the provider's attempts counted under this name. */
  watch(name: string, provider: Provider): Provider;
  /** Tells how an upstream fared. One that is not watched was never asked. */
  fared(name: string): Fared;
}

/** How far back attempts count. */
const spanMs = 15 * 60_000;
/** How many of them count at most. */
const most = 1000;

/** `clock` tells milliseconds since 1970. */
export function createHealth(clock: () => number): Health {
  const records = new Map<string, Attempts>();
  return {
    watch(name, provider) {
      const record = createAttempts();
      records.set(name, record);
      return withEverySpeak(provider, (speak) => watched(speak, record, clock));
    },
    fared: (name) => (records.get(name) ?? createAttempts()).since(clock() - spanMs),
  };
}

interface Attempts {
  /** Notes that an attempt begins. */
  began(): void;
  /** Notes how it ended; `firstByte` is in milliseconds, -1 where none came. */
  ended(at: number, firstByte: number, failure: string | undefined): void;
  /** Tells of those that ended at this moment or later. */
  since(from: number): Fared;
}

/** The ring is made with the first attempt: most upstreams that are configured are never asked. */
function createAttempts(): Attempts {
  let ring: { at: Float64Array; firstByte: Float64Array; failed: Uint8Array } | undefined;
  let count = 0;
  let running = 0;
  let lastFailure: Fared["lastFailure"];
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

function watched(speak: Speak<Operation>, record: Attempts, clock: () => number): Speak<Operation> {
  const watchedSpeak = (attempt: Attempt): MaybePromise<Answer> => {
    let firstByte = -1;
    let isOver = false;
    const { record: facts, signal } = attempt;
    const begunAt = clock();
    const came = (now: number) => {
      firstByte = Math.max(0, now - begunAt);
      facts.firstByteMs = firstByte;
    };
    const passing = () => {
      if (firstByte < 0) came(clock());
    };
    const end = (error?: unknown, now = clock()) => {
      if (isOver) return;
      isOver = true;
      facts.endedAt = now;
      const failure = signal.aborted ? undefined : faultOf(error);
      if (failure !== undefined) facts.failure = failure;
      record.ended(facts.endedAt, firstByte, isTelling(error) ? failure : undefined);
    };
    const answered = (answer: Answer): Answer => {
      if (answer.kind === "stream") {
        // Frames that nobody began to read have no end of their own.
        signal.addEventListener("abort", () => end(), { once: true });
        return { ...answer, frames: onEnd(answer.frames, (error) => end(error), passing) };
      }
      const now = clock();
      came(now);
      end(undefined, now);
      return answer;
    };
    record.began();
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
