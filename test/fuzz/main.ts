/**
 * `npm run fuzz`: plays the corpus, then makes cases of chance for a time, and ends with 1 at the first difference, which the
 * corpus keeps from then on.
 *
 *   --target NAME   server, client, answers, quick-check; or all, one after another (all)
 *   --seconds n     for each (30)
 *   --seed n        of the first case (by chance)
 */
import { relative } from "node:path";
import { parseArgs } from "node:util";
import { helpFirst } from "../../tools/program-help.ts";
import { readCorpus, saveCase } from "./corpus.ts";
import { Difference } from "./target.ts";
import { loadTarget, targetNames } from "./targets/index.ts";

helpFirst(import.meta.filename);

const { values } = parseArgs({
  options: {
    target: { type: "string", default: "all" },
    seconds: { type: "string", default: "30" },
    seed: { type: "string" },
  },
});
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const seconds = Number(values.seconds);
if (!Number.isSafeInteger(seed) || !(seconds > 0)) throw new Error("--seed is an integer, and --seconds above 0");

/** Returns whether there was no difference. */
async function run(name: string): Promise<boolean> {
  const corpus = readCorpus(name);
  console.log(`${name}: seed ${seed}, ${seconds} s, after ${corpus.length} of the corpus`);
  const target = await loadTarget(name);
  for (const { path, saved } of corpus) {
    const difference = await differenceOf(() => target.replay(saved));
    if (!difference) continue;
    console.log(`${difference.message}\n${name}: this is ${here(path)}; each run begins with it`);
    return false;
  }
  let cases = 0;
  const difference = await differenceOf(() => target.fuzz({ seconds, seed, onCase: () => cases++ }));
  if (!difference) {
    console.log(`${name}: ${cases} cases, no difference`);
    return true;
  }
  const path = saveCase(name, difference.saved);
  console.log(`${difference.message}\n${name}: a difference in the case behind ${cases} others of seed ${seed}`);
  console.log(`It is kept as ${here(path)}; npm run fuzz -- --target ${name} begins with it from now on`);
  return false;
}

const here = (path: string) => relative(process.cwd(), path);

async function differenceOf(play: () => Promise<void>): Promise<Difference | undefined> {
  try {
    await play();
    return undefined;
  } catch (error) {
    if (error instanceof Difference) return error;
    throw error;
  }
}

let hold = true;
for (const name of values.target === "all" ? targetNames : [values.target]) hold = (await run(name)) && hold;
process.exit(hold ? 0 : 1);
