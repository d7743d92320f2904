/** Parses the bench's command line. */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { targetNames } from "./targets.ts";

export interface Options {
  readonly rounds: number;
  /** seconds is how long each piece is measured. */
  readonly seconds: number;
  /** only are names of loads; undefined: all. */
  readonly only: ReadonlySet<string> | undefined;
  readonly targets: ReadonlySet<string>;
  /** engines is whether the engines are compared, and nothing else. */
  readonly engines: boolean;
  /** memory is whether the gateway's memory is measured alone, under all loads. */
  readonly memory: boolean;
  /** json is the file for the figures as JSON. */
  readonly json: string | undefined;
  /** save is whether the results beside the bench are replaced. */
  readonly save: boolean;
  /** cache is where Portkey and data sets are kept for the next run. */
  readonly cache: string;
}

/** LoadNames are the names of loads that may be asked for, with and without `--engines`. */
export interface LoadNames {
  readonly loads: readonly string[];
  readonly engineLoads: readonly string[];
}

/** defaults are the values of omitted options. */
const defaults = { rounds: "5", seconds: "0.52" };
/** defaultsOfEngines are those of `--engines`: what is compared differs by less. */
const defaultsOfEngines = { rounds: "6", seconds: "1.6" };

/** defaultsOfMemory are those of `--memory`: more rounds of the same loads take no more memory. */
const defaultsOfMemory = { rounds: "2", seconds: "0.52" };

/** usageOf is the output of `--help`. */
export const usageOf = ({ loads, engineLoads }: LoadNames) => `npm run bench -- [OPTION…]

  --engines           compares SQLite in one process with Postgres and Redis, and with several workers, and measures nothing else
  --memory            measures the gateway's memory under all loads, and no other target
  --only LOAD,…       some of the loads: ${loads.join(", ")};
                      with --engines: ${engineLoads.join(", ")}
  --targets TARGET,…  some of what is measured: ${targetNames.join(", ")}
  --rounds N          how often all of it is measured; ${defaults.rounds} where nothing is said, ${defaultsOfEngines.rounds} of engines, ${defaultsOfMemory.rounds} of memory
  --seconds S         how long each piece takes; ${defaults.seconds}, ${defaultsOfEngines.seconds} of engines
  --json FILE         writes all figures there
  --save              renews bench/results.md and bench/results.json; of engines and of memory those by these names
  --cache FOLDER      where Portkey, which the first run gets by npm, and data sets are kept; node_modules/.cache/bench

One load on two targets takes some seconds: --only chat-1k --targets bare,gateway --rounds 3`;

export const cacheFolder = join(import.meta.dirname, "../node_modules/.cache/bench");

/** readOptions throws an Error that explains the mistake. */
export function readOptions(args: readonly string[], known: LoadNames): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      engines: { type: "boolean", default: false },
      memory: { type: "boolean", default: false },
      rounds: { type: "string" },
      seconds: { type: "string" },
      only: { type: "string" },
      targets: { type: "string" },
      json: { type: "string" },
      save: { type: "boolean", default: false },
      cache: { type: "string", default: cacheFolder },
    },
  });
  const { engines, memory } = values;
  if (engines && memory) throw new Error("--engines and --memory: one at a time");
  if (memory && values.targets !== undefined)
    throw new Error("--memory measures the gateway alone: leave --targets out");
  const usual = engines ? defaultsOfEngines : memory ? defaultsOfMemory : defaults;
  const loadNames = engines ? known.engineLoads : known.loads;
  return {
    engines,
    memory,
    rounds: positive("--rounds", values.rounds ?? usual.rounds),
    seconds: positive("--seconds", values.seconds ?? usual.seconds),
    only: values.only === undefined ? undefined : names("--only", values.only, loadNames),
    targets: memory ? new Set(["gateway"]) : names("--targets", values.targets ?? targetNames.join(), targetNames),
    ...{ json: values.json, save: values.save, cache: values.cache },
  };
}

function positive(option: string, text: string): number {
  const value = Number(text);
  if (value > 0) return value;
  throw new Error(`${option}: expected a number above 0`);
}

/** names throws an Error if the list has an unknown name. */
export function names(option: string, text: string, known: readonly string[]): ReadonlySet<string> {
  const given = text.split(",");
  const unknown = given.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`${option}: there is no "${unknown}"; there are ${known.join(", ")}`);
  return new Set(given);
}
