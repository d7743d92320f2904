/**
 * `npm run bench`: measures the gateway beside a bare proxy, nginx and Portkey, in turn, round after round. Prints a
 * table of the required bounds and one of all figures. `--help` lists the options.
 */
import { rmSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { wrkMissing } from "./clients/wrk.ts";
import { compareEngines } from "./engines/compare.ts";
import { engineLoads } from "./engines/loads.ts";
import type { Figures } from "./figures.ts";
import { largeLoads } from "./large.ts";
import { loads } from "./loads.ts";
import { type Options, readOptions, usageOf } from "./options.ts";
import { has, pinSelf, unpinned, watchStolen } from "./processes.ts";
import { folder, runProgram, tell } from "./program.ts";
import { report, valuesOf } from "./report.ts";
import { resultsOf } from "./results.ts";
import { memoryRows, rows } from "./rows.ts";
import { steadyLoads } from "./steady.ts";
import { type Stage, setStage } from "./targets.ts";
import { letRun, type Measured, measureRounds, targetsOf, verify, warmUp } from "./turns.ts";

const args = process.argv.slice(2);
/** quiet is the load of an idle machine, and the share of its time that may be missing without a note. */
const quiet = 0.7;
const littleStolen = 0.02;
/** idleMs: after five seconds without a call the gateway collects what is garbage. */
const idleMs = 8_000;

/** method is how the usual rounds are compared. */
const method = [
  "Where targets take turns three times in a round, each turn counts as one; what is compared with itself has ten, of two casts of",
  "new processes. Ratios are taken within each.",
].join(" ");

await runProgram(main);

async function main(): Promise<void> {
  const named = (all: readonly { readonly name: string }[]) => all.map(({ name }) => name);
  const known = { loads: named([...loads, ...steadyLoads, ...largeLoads]), engineLoads: named(engineLoads) };
  if (args.includes("--help")) return console.log(usageOf(known));
  const options = readOptions(args, known);
  if (!has("wrk")) throw new Error(wrkMissing);
  pinSelf();
  const [busy = 0] = loadavg();
  const stolen = watchStolen();
  const { file, title, notes, ...measured } = await (options.engines ? compareEngines(options) : measureAll(options));
  tell("done");
  const allNotes = [
    ...notes,
    ...(unpinned ? [`nothing is pinned to a core: ${unpinned}`] : []),
    ...(busy > quiet ? [`the machine was busy before: a load of ${busy.toFixed(1)}`] : []),
    ...(stolen() > littleStolen
      ? [`its host took ${(100 * stolen()).toFixed(0)} % of its time: trust the ratios`]
      : []),
  ];
  const command = ["npm run bench", ...(args.length > 0 ? ["--", ...args] : [])].join(" ");
  const date = new Date();
  const results = resultsOf(measured.pieces);
  const text = report({ ...measured, results, notes: allNotes, command, rounds: options.rounds, date });
  console.log(text);
  const values = valuesOf(results, measured.rows);
  const json = JSON.stringify({ date, command, notes: allNotes, rows: values, pieces: measured.pieces }, undefined, 2);
  if (options.json) writeFileSync(options.json, `${json}\n`);
  if (!options.save) return;
  const heading = title === undefined ? "" : `# ${title}\n\n`;
  writeFileSync(join(import.meta.dirname, `${file}.md`), `${heading}${text}\n`);
  writeFileSync(join(import.meta.dirname, `${file}.json`), `${json}\n`);
  // The whole table has the memory, too, and newer.
  if (file === "results")
    for (const kind of ["md", "json"]) rmSync(join(import.meta.dirname, `memory.${kind}`), { force: true });
}

/** measureAll measures the gateway beside all others. */
async function measureAll(options: Options): Promise<Measured> {
  const isAsked = ({ name }: { readonly name: string }) => options.only?.has(name) ?? true;
  const chosen = loads.filter(isAsked);
  const steady = steadyLoads.filter(isAsked);
  const large = options.targets.has("gateway") ? largeLoads.filter(isAsked) : [];
  const staged = [...chosen, ...steady];
  const wanted = new Set(staged.flatMap(({ targets }) => targets.filter((name) => options.targets.has(name))));
  const stage = await setStage({ folder, cache: options.cache, wanted });
  const isWhole = options.only === undefined;
  const idle = isWhole ? await idleMemory(stage, "idle MB") : {};
  for (const load of chosen) for (const target of targetsOf(load, stage)) await verify(load, target);
  await warmUp(chosen, stage, options.seconds);
  /** broken are the loads under which another target failed. */
  const broken = new Set<string>();
  const pieces = await measureRounds(chosen, stage, options, broken);
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
  const notes = [...stage.notes, ...broken];
  const reported = options.memory
    ? { file: "memory", title: "The gateway's memory", rows: memoryRows }
    : { file: "results", rows };
  return { ...reported, method, pieces, loads: [...staged, ...large], notes };
}

/** idleMemory is the gateway's memory after some seconds without a call, when it has given back what it does not need. */
async function idleMemory({ targets }: Stage, name: string): Promise<Figures> {
  const program = targets.get("gateway")?.program;
  if (!program) return {};
  program.resume();
  await sleep(idleMs);
  return { [name]: program.memory() / 1e6 };
}
