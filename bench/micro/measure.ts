/** Times a step in nanoseconds: the best of several runs, for whatever else the machine does only adds to it. */

const runs = 7;
const nanosecondsPerRun = 60e6;

/** Holds what was made, so that it must be made. */
let made: unknown;

/** `count` is how many pieces a step has. Prints the time of one. */
export async function measure(name: string, step: (i: number) => unknown, count = 1): Promise<void> {
  let steps = 1;
  let best = Number.POSITIVE_INFINITY;
  for (let run = 0; run < runs; ) {
    const begun = process.hrtime.bigint();
    for (let i = 0; i < steps; i++) {
      const going = step(i);
      made = going instanceof Promise ? await going : going;
    }
    const taken = Number(process.hrtime.bigint() - begun);
    // As many steps as fill a run; the first ones also warm up.
    if (taken < nanosecondsPerRun) steps = Math.ceil(steps * Math.min(10, (1.2 * nanosecondsPerRun) / taken));
    else {
      best = Math.min(best, taken / steps / count);
      run++;
    }
  }
  if (made === measure) throw new Error("Nothing was measured.");
  console.log(`${name.padEnd(64)}${Math.round(best).toLocaleString("en").padStart(10)} ns`);
}
