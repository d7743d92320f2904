/**
 * `npm run bench`: measures the gateway beside a bare proxy, nginx and Portkey, in turn, round after round. Prints a
 * table of the required bounds and one of all figures. `--help` lists the options.
 */
import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { wrkMissing } from "./clients/wrk.ts";
import type { Figures } from "./figures.ts";
import { largeLoads } from "./large.ts";
import { loads } from "./loads.ts";
import { readOptions, usageOf } from "./options.ts";
import { has, pinSelf, unpinned, watchStolen } from "./processes.ts";
import { folder, runProgram, tell } from "./program.ts";
import { report, valuesOf } from "./report.ts";
import { type Piece, resultsOf } from "./results.ts";
import { steadyLoads } from "./steady.ts";
import { type Stage, setStage } from "./targets.ts";
import { letRun, measure, targetsOf, verify, warmUp } from "./turns.ts";

const args = process.argv.slice(2);
/** quiet is the load of an idle machine, and the share of its time that may be missing without a note. */
const quiet = 0.7;
const littleStolen = 0.02;
/** idleMs: after five seconds without a call the gateway collects what is garbage. */
const idleMs = 8_000;

await runProgram(main);

async function main(): Promise<void> {
  const names = [...loads, ...steadyLoads, ...largeLoads].map(({ name }) => name);
  if (args.includes("--help")) return console.log(usageOf(names));
  const options = readOptions(args, names);
  const isAsked = ({ name }: { readonly name: string }) => options.only?.has(name) ?? true;
  const chosen = loads.filter(isAsked);
  const steady = steadyLoads.filter(isAsked);
  const large = options.targets.has("gateway") ? largeLoads.filter(isAsked) : [];
  if (!has("wrk")) throw new Error(wrkMissing);
  pinSelf();
  const [busy = 0] = loadavg();
  const stolen = watchStolen();
  const staged = [...chosen, ...steady];
  const wanted = new Set(staged.flatMap(({ targets }) => targets.filter((name) => options.targets.has(name))));
  const stage = await setStage({ folder, cache: options.cache, wanted });
  const isWhole = options.only === undefined;
  const idle = isWhole ? await idleMemory(stage, "idle MB") : {};
  for (const load of chosen) for (const target of targetsOf(load, stage)) await verify(load, target);
  await warmUp(chosen, stage, options.seconds);
  const pieces: Piece[] = [];
  /** broken are the loads under which another target failed. */
  const broken = new Set<string>();
  for (let round = 0; round < options.rounds; round++) {
    for (const load of chosen) {
      tell(`round ${round + 1} of ${options.rounds}, ${load.name}`);
      pieces.push(...(await measure(load, stage, round, options.seconds, broken)));
    }
  }
  for (const load of steady) {
    for (const target of targetsOf(load, stage)) {
      tell(`${load.name} on ${target.name}`);
      letRun(target, stage);
      pieces.push(...(await load.run(target, { ...options, upstreams: stage.upstreams })));
    }
  }
  if (isWhole) {
    const figures = { ...idle, ...(await idleMemory(stage, "after all loads MB")) };
    pieces.push({ load: "memory", target: "gateway", round: 0, figures });
  }
  // The gateways of these loads get the cores for themselves.
  await Promise.all([...stage.targets.values()].map(({ program }) => program?.stop()));
  for (const load of large) {
    tell(load.name);
    pieces.push(...(await load.run({ ...options, folder, upstreams: stage.upstreams })));
  }
  tell("done");
  const notes = [
    ...[...stage.notes, ...broken, ...(unpinned ? [`nothing is pinned to a core: ${unpinned}`] : [])],
    ...(busy > quiet ? [`the machine was busy before: a load of ${busy.toFixed(1)}`] : []),
    ...(stolen() > littleStolen
      ? [`its host took ${(100 * stolen()).toFixed(0)} % of its time: trust the ratios`]
      : []),
  ];
  const command = ["npm run bench", ...(args.length > 0 ? ["--", ...args] : [])].join(" ");
  const date = new Date();
  const results = resultsOf(pieces);
  const text = report({ results, loads: [...staged, ...large], notes, command, rounds: options.rounds, date });
  console.log(text);
  const json = JSON.stringify({ date, command, notes, rows: valuesOf(results), pieces }, undefined, 2);
  if (options.json) writeFileSync(options.json, `${json}\n`);
  if (!options.save) return;
  writeFileSync(join(import.meta.dirname, "results.md"), `${text}\n`);
  writeFileSync(join(import.meta.dirname, "results.json"), `${json}\n`);
}

/** idleMemory is the gateway's memory after some seconds without a call, when it has given back what it does not need. */
async function idleMemory({ targets }: Stage, name: string): Promise<Figures> {
  const program = targets.get("gateway")?.program;
  if (!program) return {};
  program.resume();
  await sleep(idleMs);
  return { [name]: program.memory() / 1e6 };
}
