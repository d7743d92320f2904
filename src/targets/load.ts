/**
 * Load tracks how many calls a target has and how long its answers take, so that the better of two targets can be chosen.
 *
 * Latency is an exponentially weighted average with a half-life of ten seconds. It is forgotten after a minute without an answer,
 * so that a target that was slow once, and gets no calls since, is tried again.
 */
export interface Load {
  began(): void;
  /** Notes that an attempt has ended. `ms` is the time until its answer; undefined where it had none. */
  ended(ms: number | undefined): void;
  /** Estimates how long a call would wait at the target, in milliseconds; undefined where nothing is known. */
  expected(): number | undefined;
  running(): number;
}

const halfLifeMs = 10_000;
/** After so long without an answer, nothing is known. */
const forgottenMs = 60_000;

/** createLoad tracks the load of a target. `clock` returns milliseconds since 1970. */
export function createLoad(clock: () => number): Load {
  let running = 0;
  let average: number | undefined;
  let at = 0;
  return {
    began() {
      running++;
    },
    ended(ms) {
      running--;
      if (ms === undefined) return;
      const now = clock();
      const old = average === undefined || now - at > forgottenMs ? 0 : 0.5 ** ((now - at) / halfLifeMs);
      // Several answers at the same moment must all count, not only the first.
      const weight = Math.min(old, 0.9);
      average = (average ?? 0) * weight + ms * (1 - weight);
      at = now;
    },
    expected: () => (average === undefined || clock() - at > forgottenMs ? undefined : average * (running + 1)),
    running: () => running,
  };
}
