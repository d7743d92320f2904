/**
 * The process behind `startCommands`: it runs the command line again and again, as `bin/model-gateway.js` would each time anew, and
 * hands back what each wrote and its exit code. `main.ts` is evaluated for every command, what it loads once.
 */
import type { Ended, Variables } from "./command.ts";
import { keepOutput, setEnvironment } from "./run/written-output.ts";

interface Asked {
  readonly args: readonly string[];
  readonly env: Variables;
}

const takeOutput = keepOutput();
// Each command listens anew.
for (const stream of [process.stdout, process.stderr]) stream.setMaxListeners(0);

let count = 0;

async function run({ args, env }: Asked): Promise<Ended> {
  takeOutput();
  process.exitCode = 0;
  process.argv.splice(2, Number.POSITIVE_INFINITY, ...args);
  setEnvironment(env);
  await (await import(`../../src/main.ts?${++count}`)).done;
  const code = Number(process.exitCode);
  process.exitCode = 0;
  return { code, signal: null, ...takeOutput() };
}

let last: Promise<unknown> = Promise.resolve();
process.on("message", (asked: Asked) => {
  last = last.then(async () => process.send?.(await run(asked)));
});
process.once("disconnect", () => process.exit(0));
