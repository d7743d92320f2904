/**
 * The quickest attacks of `npm run test:hostile`, on the gateway as operators run it. What is open, held and charged is judged
 * as there; how late the canary is, only as far as tests that run beside each other let it be told.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { play } from "../hostile/play.ts";
import { rows } from "../hostile/rows/index.ts";
import { openTheatre, type Theatre } from "../hostile/theatre.ts";

const slowerMs = 2_000;
/** Bounds what hangs, and times nothing. */
const patienceMs = 60_000;
let theatre: Theatre;

beforeAll(async () => {
  theatre = await openTheatre({ ms: 1_000, slowerMs, patienceMs });
});

afterAll(() => theatre.close());

for (const row of rows.filter(({ short }) => short)) {
  test(`${row.attack}: ${row.holds}`, async () => {
    const { faults } = await play(row, theatre);
    expect(faults).toEqual([]);
  });
}
