#!/usr/bin/env node
/**
 * Starts the command line with the Node that the project pins: the system's own may be too old to run TypeScript.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import module from "node:module";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";

const needed = 26;
const main = new URL("../src/main.ts", import.meta.url);
const pinned = fileURLToPath(new URL("../node_modules/.bin/node", import.meta.url));
/** What was compiled once need not be again: a quarter of the start. Where the folder cannot be written, all goes on without. */
const compiled = fileURLToPath(new URL("../node_modules/.cache/compiled", import.meta.url));

if (Number(process.versions.node.split(".")[0]) >= needed) {
  module.enableCompileCache(compiled);
  await import(main.href);
} else if (existsSync(pinned)) {
  const child = spawn(pinned, [fileURLToPath(main), ...process.argv.slice(2)], {
    stdio: "inherit",
    env: { NODE_COMPILE_CACHE: compiled, ...process.env },
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    console.error(`model-gateway: ${pinned} cannot be run (${error.code}). \`npm ci\` installs it anew.`);
    process.exitCode = 1;
  });
  // At once: Node takes down the handlers before a process that has nothing left to do is gone, and a late echo of a signal
  // would kill it.
  child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
} else {
  console.error(`model-gateway needs Node ${needed} or newer; this is ${process.version}. \`npm ci\` installs it.`);
  process.exitCode = 1;
}
