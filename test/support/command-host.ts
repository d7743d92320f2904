/**
 * The process behind `startCommands`: it runs the command line again and again, as `bin/model-gateway.js` would each time anew, and
 * hands back what each wrote and its exit code. `main.ts` is evaluated for every command, what it loads once.
 */
import type { Ended, Variables } from "./command.ts";

interface Asked {
  readonly args: readonly string[];
  readonly env: Variables;
}

let written = { stdout: "", stderr: "" };
for (const name of ["stdout", "stderr"] as const) {
  process[name].setMaxListeners(0); // Each command listens anew.
  process[name].write = ((text: string | Uint8Array, ...rest: readonly unknown[]) => {
    written[name] += Buffer.from(text as string).toString();
    const callback = rest.at(-1);
    if (typeof callback === "function") callback();
    return true;
  }) as typeof process.stdout.write;
}

let count = 0;

async function run({ args, env }: Asked): Promise<Ended> {
  written = { stdout: "", stderr: "" };
  process.exitCode = 0;
  process.argv.splice(2, Number.POSITIVE_INFINITY, ...args);
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] = value;
  await (await import(`../../src/main.ts?${++count}`)).done;
  const code = Number(process.exitCode);
  process.exitCode = 0;
  return { code, signal: null, ...written };
}

let last: Promise<unknown> = Promise.resolve();
process.on("message", (asked: Asked) => {
  last = last.then(async () => process.send?.(await run(asked)));
});
process.once("disconnect", () => process.exit(0));
