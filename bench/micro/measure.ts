/** Measures a step in nanoseconds: the best of several runs, since other load only adds to it. */

const runs = 7;
const nanosecondsPerRun = 60e6;

/** made keeps the results, so that V8 does not remove the work. */
let made: unknown;

/** measure prints the time of one item. `count` is the number of items in a step. */
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
    // Increases the number of steps until they fill a run. The first ones also warm up.
    if (taken < nanosecondsPerRun) steps = Math.ceil(steps * Math.min(10, (1.2 * nanosecondsPerRun) / taken));
    else {
      best = Math.min(best, taken / steps / count);
      run++;
    }
  }
  if (made === measure) throw new Error("Nothing was measured.");
  console.log(`${name.padEnd(64)}${Math.round(best).toLocaleString("en").padStart(10)} ns`);
}
