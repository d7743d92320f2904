/**
 * `npm run test:hostile`: attacks the gateway in all the ways that its rows know, beside a canary, and prints what held. Ends
 * with 1 where something did not.
 *
 *   --only a,b     only rows whose names begin so
 *   --seconds n    how long attacks last that are bounded by time alone (3)
 *   --table FILE   writes the table as Markdown, too
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { helpFirst } from "../../tools/program-help.ts";
import { type AtRest, atRest, type Played, play } from "./play.ts";
import { figuresTable, lineOf } from "./report.ts";
import { rows } from "./rows/index.ts";
import { openTheatre } from "./theatre.ts";

helpFirst(import.meta.filename);

const { values } = parseArgs({
  options: { only: { type: "string" }, seconds: { type: "string", default: "3" }, table: { type: "string" } },
});
const names = values.only?.split(",");
const chosen = rows.filter(({ name }) => !names || names.some((start) => name.startsWith(start)));
if (chosen.length === 0) throw new Error(`there is no such row; there are ${rows.map(({ name }) => name).join(", ")}`);

/** How much slower the canary may be under attack, in milliseconds. */
const slowerMs = 100;
/** How long callers wait at most who are to be served, in milliseconds. */
const patienceMs = 3_000;
const theatre = await openTheatre({ ms: Number(values.seconds) * 1000, slowerMs, patienceMs });
let isStopped = false;
for (const asked of ["SIGINT", "SIGTERM"]) process.on(asked, () => (isStopped = true));

const played: Played[] = [];
let rest: AtRest | undefined;
const begunAt = performance.now();
try {
  for (const row of chosen) {
    if (isStopped) break;
    const one = await play(row, theatre);
    played.push(one);
    console.log(lineOf(one));
  }
  rest = await atRest(theatre);
} finally {
  await theatre.close();
}

const table = figuresTable(played);
console.log(`\n${table}`);
if (values.table) writeFileSync(values.table, table);
const failed = played.filter(({ faults }) => faults.length > 0);
const seconds = (performance.now() - begunAt) / 1000;
if (rest) {
  const how = rest.isCollected ? "a full collection" : "some seconds without calls";
  console.log(
    `resident after all rows and ${how}: ${rest.after.toFixed(0)} MB, before the first ${rest.before.toFixed(0)} MB`,
  );
}
console.log(`${played.length} rows in ${seconds.toFixed(0)} s, ${failed.length} do not hold`);
process.exit(failed.length > 0 || rest?.isFreed === false || isStopped ? 1 : 0);
