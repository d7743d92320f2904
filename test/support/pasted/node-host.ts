/**
 * Runs the module that each line of its input holds, as a process of its own would, and prints what it wrote and its exit code. The module
 * and the environment are fresh each time; what it imports is loaded once, which is most of what a process takes.
 */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";
import { keepOutput, setEnvironment } from "../run/written-output.ts";
import type { Pasted, PastedOutput } from "./interpreters.ts";

const own = process.stdout.write.bind(process.stdout);
const takeOutput = keepOutput();

let count = 0;

async function run({ code, env, cwd }: Pasted): Promise<PastedOutput> {
  takeOutput();
  process.exitCode = undefined;
  setEnvironment(env);
  process.chdir(cwd);
  // A file, so that its imports are looked for in its folder, as those of a pasted module are in the current one.
  const file = join(cwd, `.pasted-${process.pid}-${++count}.mts`);
  writeFileSync(file, code);
  try {
    await import(pathToFileURL(file).href);
  } catch (error) {
    process.stderr.write(inspect(error));
    process.exitCode = 1;
  } finally {
    rmSync(file);
  }
  return { code: Number(process.exitCode ?? 0), ...takeOutput() };
}

for await (const line of createInterface(process.stdin)) own(`${JSON.stringify(await run(JSON.parse(line)))}\n`);
process.exit(0);
