/**
 * How busy a target is and how quickly it answers, so that of two the better one can be taken.
 *
 * Latency is an average in which what is older counts less: by half after ten seconds. One that was slow is not taken for
 * slow for ever, though nothing comes there any more: the average fades towards the unknown.
 */
export interface Load {
  began(): void;
  /** Notes that an attempt is over; `ms` is how long its answer let itself be waited for, undefined where it had none. */
  ended(ms: number | undefined): void;
  /** How long a call might have to wait there; less is better. Undefined where that is not known. */
  expected(): number | undefined;
  running(): number;
}

const halfLifeMs = 10_000;
/** After so long without an answer nothing is known any more. */
const forgottenMs = 60_000;

/** `clock` tells milliseconds since 1970. */
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
      // Answers that come at the same moment count alike, and not only the first of them.
      const weight = Math.min(old, 0.9);
      average = (average ?? 0) * weight + ms * (1 - weight);
      at = now;
    },
    expected: () => (average === undefined || clock() - at > forgottenMs ? undefined : average * (running + 1)),
    running: () => running,
  };
}
