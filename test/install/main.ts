/**
 * `npm run test:install`: tries what `npm run build` made, each way of installing it, and prints a table. Exit code 1 where
 * something is not as it must be.
 */

import { helpFirst } from "../../tools/program-help.ts";
import { countsMoney, type Demo, endsWell, serves, showsDashboard, speaks, startDemo, takesOver } from "./checks.ts";
import { worksInParallel } from "./parallel.ts";
import { forgetPrevious, openWorkshop, previousVersion, type Way, waysIn } from "./ways.ts";

helpFirst(import.meta.filename);

const columns = ["serves", "money", "dashboard", "speech", "SIGTERM", "workers", "upgrade"] as const;
type Column = (typeof columns)[number];
type Row = Record<Column, string>;

const workshop = openWorkshop();
let isWhole = true;
try {
  const { ways, skipped: missing } = waysIn(workshop);
  const previous = previousVersion(workshop.folder);
  if (previous) await (await startDemo(previous)).running.stop();
  const skipped = previous ? missing : [...missing, "upgrade: the history does not reach the version before"];
  const rows: [string, Row][] = [];
  for (const way of ways) rows.push([way.name, await rowOf(way, previous)]);
  console.log(`| way | ${columns.join(" | ")} |\n|---|${columns.map(() => "---|").join("")}`);
  for (const [name, row] of rows) console.log(`| ${name} | ${columns.map((column) => row[column]).join(" | ")} |`);
  for (const what of skipped) console.log(`skipped: ${what}`);
} finally {
  forgetPrevious(workshop.folder);
  workshop.remove();
}
process.exitCode = isWhole ? 0 : 1;

async function rowOf(way: Way, previous: Way | undefined): Promise<Row> {
  const row = {} as Row;
  const demo = await startDemo(way);
  const asked: [Column, (demo: Demo) => Promise<void>][] = [
    ["serves", serves],
    ["money", countsMoney],
    ["dashboard", showsDashboard],
    ["speech", speaks],
    ["SIGTERM", endsWell],
  ];
  try {
    for (const [column, check] of asked) row[column] = await outcome(way, column, () => check(demo));
  } finally {
    await demo.running.stop();
  }
  row.workers = await outcome(way, "workers", () => worksInParallel(way));
  row.upgrade = previous ? await outcome(way, "upgrade", () => takesOver(way, previous)) : "skipped";
  return row;
}

async function outcome(way: Way, column: Column, check: () => Promise<void>): Promise<string> {
  try {
    await check();
    return "yes";
  } catch (error) {
    isWhole = false;
    console.error(`${way.name}, ${column}:`, error);
    return "NO";
  }
}
