/**
 * `npm run bench`: the gateway beside a bare proxy, nginx and Portkey, in turn, round after round. Prints a table of what
 * it must reach and one of all figures. `--help` tells the options.
 */
import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { open, requestBytes } from "./clients/http.ts";
import { wrkMissing } from "./clients/wrk.ts";
import { largeLoads } from "./large.ts";
import { type Load, loads, type MeasureContext } from "./loads.ts";
import { readOptions, usageOf } from "./options.ts";
import { has, pinSelf, unpinned, watchStolen } from "./processes.ts";
import { folder, runProgram } from "./program.ts";
import { report, valuesOf } from "./report.ts";
import { type Piece, resultsOf } from "./results.ts";
import { steady } from "./steady.ts";
import { type Stage, setStage, type Target } from "./targets.ts";

const args = process.argv.slice(2);
/** The load of a machine that does nothing else, and which part of its time may be missing without a word. */
const quiet = 0.7;
const littleStolen = 0.02;
/**
 * How many times as long as a piece is measured a target runs a load beforehand: the first of its kind, and others; and how many
 * times as long as that where streams are paced, of which few run in a second.
 */
const warmings = { first: 8, other: 1, paced: 2 };
/** What part of the time that it is measured a target has before that to find its connections again. */
const again = 1 / 5;
/** What part of that time a slice takes, where there are several. */
const sliceLength = 0.4;
/** Loads that a target of others broke under. */
const broken = new Set<string>();

await runProgram(main);

async function main(): Promise<void> {
  const names = [...loads, steady, ...largeLoads].map(({ name }) => name);
  if (args.includes("--help")) return console.log(usageOf(names));
  const options = readOptions(args, names);
  const isAsked = ({ name }: { readonly name: string }) => options.only?.has(name) ?? true;
  const chosen = loads.filter(isAsked);
  const isSteady = isAsked(steady);
  const large = options.targets.has("gateway") ? largeLoads.filter(isAsked) : [];
  if (!has("wrk")) throw new Error(wrkMissing);
  pinSelf();
  const [busy = 0] = loadavg();
  const stolen = watchStolen();
  const staged = [...chosen, ...(isSteady ? [steady] : [])];
  const wanted = new Set(staged.flatMap(({ targets }) => targets.filter((name) => options.targets.has(name))));
  const stage = await setStage({ folder, cache: options.cache, wanted });
  for (const load of chosen) for (const target of targetsOf(load, stage)) await verify(load, target);
  await warmUp(chosen, stage, options.seconds);
  const pieces: Piece[] = [];
  for (let round = 0; round < options.rounds; round++) {
    for (const load of chosen) {
      tell(`round ${round + 1} of ${options.rounds}, ${load.name}`);
      pieces.push(...(await measure(load, stage, round, options.seconds)));
    }
  }
  for (const target of isSteady ? targetsOf(steady, stage) : []) {
    tell(`${steady.name} on ${target.name}`);
    letRun(target, stage);
    pieces.push(...(await steady.run(target, { ...options, upstreams: stage.upstreams })));
  }
  // They get the cores for themselves.
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

/** What is going on, in one line of a terminal; to a file it is told line by line. */
function tell(what: string): void {
  const line = `bench: ${Math.round(performance.now() / 1000)} s, ${what}`;
  process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${line}${what === "done" ? "\n" : ""}` : `${line}\n`);
}

function targetsOf({ targets }: Pick<Load, "targets">, stage: Stage): Target[] {
  return targets.flatMap((name) => stage.targets.get(name) ?? []);
}

/**
 * Runs until most of what runs often is compiled: that takes an engine some ten seconds, and is no cost of a call. The first load
 * comes once more at the end, for what the engine has learned by all others has it compile anew.
 */
async function warmUp(chosen: readonly Load[], stage: Stage, seconds: number): Promise<void> {
  const warm = new Set<string>();
  for (const [place, load] of [...chosen, ...chosen.slice(0, 1)].entries()) {
    const isFirst = !warm.has(load.kind) || place === chosen.length;
    const times = (isFirst ? warmings.first : warmings.other) * (load.kind === "paced" ? warmings.paced : 1);
    const context = contextOf(stage, times * seconds);
    warm.add(load.kind);
    for (const target of targetsOf(load, stage)) {
      if (!target.program || target.name === "nginx") continue;
      tell(`warming ${target.name}, ${load.name}`);
      letRun(target, stage);
      await load.measure(target, context).catch(() => {}); // What fails fails again when it is measured.
    }
  }
}

/** All others stand still meanwhile: what an engine clears up after its load would be felt by the next, on the same core. */
function letRun(target: Target, { targets }: Stage): void {
  for (const { program } of targets.values()) program?.pause();
  target.program?.resume();
}

function contextOf({ upstreams }: Stage, seconds: number): MeasureContext {
  return { seconds, warmSeconds: again * seconds, folder, upstreams };
}

/** The targets of a load in turn, slice after slice, each of which counts as a round; each round begins with another. */
async function measure(load: Load, stage: Stage, round: number, seconds: number): Promise<Piece[]> {
  const targets = targetsOf(load, stage);
  const turned = targets.map((_, i) => targets[(i + round) % targets.length] as Target);
  const pieces: Piece[] = [];
  const context = contextOf(stage, load.lasting * (load.slices === 1 ? seconds : sliceLength * seconds));
  const turns = Array.from({ length: load.slices }, (_, slice) => turned.map((target) => ({ slice, target }))).flat();
  for (const { slice, target } of turns) {
    letRun(target, stage);
    try {
      const figures = await load.measure(target, context);
      pieces.push({ load: load.name, target: target.name, round: round * load.slices + slice, figures });
    } catch (error) {
      const what = `${load.name} on ${target.name}: ${(error as Error).message}`;
      if (target.name !== "portkey") throw new Error(what, { cause: error });
      // What others cannot carry is told, and not taken for ours.
      broken.add(what);
    }
  }
  return pieces;
}

/** Asks once, and looks at the answer. Throws where it is not what it should be. */
async function verify({ name, sent }: Load, target: Target): Promise<void> {
  if (!sent) return;
  const connection = await open(target.ports[sent.upstream]);
  const bytes = requestBytes(sent.path, target.headers(sent.upstream), sent.body);
  const { status, text } = await connection.ask(bytes);
  connection.close();
  const isRight = status === 200 && text.length > 500 && text.includes(sent.expects);
  if (!isRight) throw new Error(`${target.name} answers ${name} with ${status}: ${text.slice(0, 300)}`);
}
