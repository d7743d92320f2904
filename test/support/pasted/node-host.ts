/**
 * Runs the module that each line of its input holds, as a process of its own would, and prints what it wrote and its exit code. The module
 * and the environment are fresh each time; what it imports is loaded once, which is most of what a process takes.
 */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";
import type { Pasted, PastedOutput } from "./interpreters.ts";

const own = process.stdout.write.bind(process.stdout);
let written = { stdout: "", stderr: "" };
for (const name of ["stdout", "stderr"] as const) {
  process[name].write = ((text: string | Uint8Array, ...rest: readonly unknown[]) => {
    written[name] += Buffer.from(text as string).toString();
    const callback = rest.at(-1);
    if (typeof callback === "function") callback();
    return true;
  }) as typeof process.stdout.write;
}

let count = 0;

async function run({ code, env, cwd }: Pasted): Promise<PastedOutput> {
  written = { stdout: "", stderr: "" };
  process.exitCode = undefined;
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.chdir(cwd);
  // A file, so that its imports are looked for in its folder, as those of a pasted module are in the current one.
  const file = join(cwd, `.pasted-${process.pid}-${++count}.mts`);
  writeFileSync(file, code);
  try {
    await import(pathToFileURL(file).href);
  } catch (error) {
    written.stderr += inspect(error);
    process.exitCode = 1;
  } finally {
    rmSync(file);
  }
  return { code: Number(process.exitCode ?? 0), ...written };
}

for await (const line of createInterface(process.stdin)) own(`${JSON.stringify(await run(JSON.parse(line)))}\n`);
process.exit(0);
