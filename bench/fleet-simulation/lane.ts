/**
 * A lane of a node's group commit: one transaction under way, and all that comes meanwhile in the next.
 *
 * Items are not simulated one by one. They come independently of the lane, so their number within a time follows Poisson's distribution,
 * and their moments are spread evenly over it. That is exact, and costs as much for a million items as for one.
 */
import type { Calendar } from "./events.ts";
import type { Random } from "./random.ts";
import type { Waits } from "./waits.ts";

export interface LaneOptions {
  readonly calendar: Calendar;
  readonly random: Random;
  /** rates is how many items of each kind come in a second. */
  readonly rates: readonly number[];
  /** The least time between the beginnings of two transactions, in microseconds. */
  readonly gatherUs: number;
  /** waits receives the waiting times of each kind; undefined for a kind that no call waits for. */
  readonly waits: readonly (Waits | undefined)[];
  /** run runs a transaction. `counts` is how many items of each kind it has. */
  readonly run: (counts: readonly number[], done: () => void) => void;
}

/** samples is how many waits of a kind are recorded of each transaction. */
const samples = 4;

export function startLane({ calendar, random, rates, gatherUs, waits, run }: LaneOptions): void {
  const total = rates.reduce((sum, rate) => sum + rate, 0);
  if (total === 0) return;
  const pick = () => {
    let left = random.next() * total;
    const kind = rates.findIndex((rate) => {
      left -= rate;
      return left < 0;
    });
    return kind < 0 ? rates.length - 1 : kind;
  };

  function begin(counts: readonly number[], since: number): void {
    const begun = calendar.now();
    run(counts, () => {
      const ended = calendar.now();
      for (const [kind, count] of counts.entries()) tell(waits[kind], count, { since, begun, ended });
      const pause = begun + gatherUs - ended;
      if (pause > 0) calendar.after(pause, () => goOn(begun));
      else goOn(begun);
    });
  }

  function goOn(since: number): void {
    const meanwhile = (calendar.now() - since) / 1e6;
    const next = rates.map((rate) => random.poisson(rate * meanwhile));
    if (next.some((count) => count > 0)) begin(next, since);
    else wait();
  }

  function tell(kept: Waits | undefined, count: number, times: Times): void {
    if (!kept || count === 0) return;
    const looked = Math.min(count, samples);
    for (let i = 0; i < looked; i++) {
      const came = times.since + random.next() * (times.begun - times.since);
      kept.add(times.ended - came, count / looked);
    }
  }

  function wait(): void {
    calendar.after(random.exponential(1e6 / total), () => {
      const kind = pick();
      begin(
        rates.map((_, i) => (i === kind ? 1 : 0)),
        calendar.now(),
      );
    });
  }

  wait();
}

/** Times is when a transaction's items began to come, when it began, and when it ended. */
interface Times {
  readonly since: number;
  readonly begun: number;
  readonly ended: number;
}
