/** What the command line of the bench may say. */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { targetNames } from "./targets.ts";

export interface Options {
  readonly rounds: number;
  /** How long each piece is measured. */
  readonly seconds: number;
  /** Names of loads; all where undefined. */
  readonly only: ReadonlySet<string> | undefined;
  readonly targets: ReadonlySet<string>;
  /** Where the figures are written as JSON. */
  readonly json: string | undefined;
  /** Whether results.md and results.json beside the bench are renewed. */
  readonly save: boolean;
  /** Where Portkey and data sets are kept for the next run. */
  readonly cache: string;
}

/** What holds where nothing is said. */
const defaults = { rounds: "5", seconds: "0.52" };

/** What `--help` says. */
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

/** Throws an Error that says what is wrong. */
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

/** Throws an Error where a list has a name that is none of these. */
export function names(option: string, text: string, known: readonly string[]): ReadonlySet<string> {
  const given = text.split(",");
  const unknown = given.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`${option}: there is no "${unknown}"; there are ${known.join(", ")}`);
  return new Set(given);
}
