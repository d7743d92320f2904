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
  /** json is the file for the figures as JSON. */
  readonly json: string | undefined;
  /** save is whether results.md and results.json beside the bench are replaced. */
  readonly save: boolean;
  /** cache is where Portkey and data sets are kept for the next run. */
  readonly cache: string;
}

/** defaults are the values of omitted options. */
const defaults = { rounds: "5", seconds: "0.52" };

/** usageOf is the output of `--help`. */
export const usageOf = (loadNames: readonly string[]) => `npm run bench -- [OPTION…]

  --only LOAD,…       some of the loads: ${loadNames.join(", ")}
  --targets TARGET,…  some of what is measured: ${targetNames.join(", ")}
  --rounds N          how often all of it is measured; ${defaults.rounds} where nothing is said
  --seconds S         how long each piece takes; ${defaults.seconds}
  --json FILE         writes all figures there
  --save              renews bench/results.md and bench/results.json
  --cache FOLDER      where Portkey, which the first run gets by npm, and data sets are kept; node_modules/.cache/bench

One load on two targets takes some seconds: --only chat-1k --targets bare,gateway --rounds 3`;

export const cacheFolder = join(import.meta.dirname, "../node_modules/.cache/bench");

/** readOptions throws an Error that explains the mistake. */
export function readOptions(args: readonly string[], loadNames: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: "string", default: defaults.rounds },
      seconds: { type: "string", default: defaults.seconds },
      only: { type: "string" },
      targets: { type: "string", default: targetNames.join() },
      json: { type: "string" },
      save: { type: "boolean", default: false },
      cache: { type: "string", default: cacheFolder },
    },
  });
  return {
    rounds: positive("--rounds", values.rounds),
    seconds: positive("--seconds", values.seconds),
    only: values.only === undefined ? undefined : names("--only", values.only, loadNames),
    targets: names("--targets", values.targets, targetNames),
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
