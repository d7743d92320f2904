/**
 * `npm run test:fleet [-- --seconds 300 --seed 1]`: three real gateways over Postgres and Redis, under load while they are killed, paused,
 * and cut off from both; then the proof of all that was told. Prints a table, and ends with 1 where a line of it fails. Ctrl-C ends the
 * load earlier.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { playFleet } from "./fleet.ts";
import { type Deed, makePlan } from "./plan.ts";
import { faultsOf, tableOf } from "./report.ts";
import { missing } from "./stage.ts";

const usage = `npm run test:fleet -- [OPTION…]

  --seconds N    how long the load runs, from 40 on: 300 without it
  --seed N       another order of troubles; the same for the same number and length: 1 without it
  --logs FILE    writes what the gateways logged there
  --calls FILE   writes what clients were told there, and what was done to the nodes, as JSON
  --quiet        does not print each trouble

From 240 seconds on a gateway stands still for 100 s and each server is away for 20 s; in a shorter run these are shorter.`;

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "300" },
    seed: { type: "string", default: "1" },
    logs: { type: "string" },
    calls: { type: "string" },
    quiet: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const [seconds, seed] = [Number(values.seconds), Number(values.seed)];
const lacks = missing();

if (values.help) console.log(usage);
else if (!(seconds >= 40) || !Number.isSafeInteger(seed)) {
  console.error(usage);
  process.exitCode = 2;
} else if (lacks !== undefined) {
  console.error(`This machine lacks ${lacks}.`);
  process.exitCode = 2;
} else await run();

async function run(): Promise<void> {
  const { pauseMs, awayMs } = makePlan(seconds, seed);
  const shortened = pauseMs < 100_000 ? ", shortened: from 240 s of load on it is 100 s and 20 s" : "";
  console.log(
    `${seconds} s of load, seed ${seed}; a pause of ${pauseMs / 1000} s, servers away for ${awayMs / 1000} s${shortened}`,
  );
  const stopped = new AbortController();
  const { signal } = stopped;
  for (const asked of ["SIGINT", "SIGTERM"]) process.once(asked, () => stopped.abort());
  const tell = values.quiet ? () => {} : console.log;
  const onDeed = (ms: number, deed: Deed) => tell(`${(ms / 1000).toFixed(1).padStart(6)} s  ${wordsOf(deed)}`);
  const onPhase = (words: string) => tell(`${(performance.now() / 1000).toFixed(0)} s after the start: ${words}`);
  const { lines, logged, told } = await playFleet({ seconds, seed, signal, onDeed, onPhase });
  if (values.logs !== undefined) writeFileSync(values.logs, logged.join("\n\n"));
  if (values.calls !== undefined) writeFileSync(values.calls, JSON.stringify(told));
  const faults = faultsOf(lines);
  if (faults !== "") console.error(faults);
  console.log(tableOf(lines));
  process.exitCode = faults === "" ? 0 : 1;
}

function wordsOf(deed: Deed): string {
  if (deed.kind === "kill") return `node ${deed.node} is killed`;
  if (deed.kind === "pause") return `node ${deed.node} stands still for ${deed.ms / 1000} s`;
  if (deed.kind === "notices") return `notifications are ${deed.way} for ${deed.ms / 1000} s`;
  const of = `${deed.server} of node ${deed.nodes.join(", ")}`;
  return deed.kind === "cut" ? `${of}: connections are reset` : `${of}: ${deed.way} for ${deed.ms / 1000} s`;
}
