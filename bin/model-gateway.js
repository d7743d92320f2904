#!/usr/bin/env node
/**
 * Starts the command line, from source or bundled, with what the engine has to be told before it starts. Source needs the Node that
 * the project pins, for the system's own may be too old to run TypeScript. Where the system can do it, this process becomes that one.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants, totalmem } from "node:os";
import { fileURLToPath } from "node:url";

const source = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const bundled = fileURLToPath(new URL("../dist/server/main.js", import.meta.url));
const isSource = existsSync(source);
const needed = isSource ? 26 : 24;
const pinned = fileURLToPath(new URL("../node_modules/.bin/node", import.meta.url));
/** What was compiled once need not be again: a quarter of the start. Where the folder cannot be written, all goes on without. */
const compiled = fileURLToPath(new URL("../node_modules/.cache/compiled", import.meta.url));
const env = { NODE_COMPILE_CACHE: compiled, ...process.env };
/** The sizes in megabytes of V8's young generation, and the memory from which on the large one is taken: src/commands/engine/options.ts. */
const leastYoungMegabytes = 32;
const youngMegabytes = { small: 8, large: 96 };
const roomyBytes = 4 * 2 ** 30;

const isNewEnough = Number(process.versions.node.split(".")[0]) >= needed;
const node = isNewEnough ? process.execPath : isSource && existsSync(pinned) ? pinned : undefined;
if (node) start(node, [...process.execArgv, ...engineOptions(), isSource ? source : bundled, ...process.argv.slice(2)]);
else {
  const remedy = isSource ? "`npm ci` installs it" : "https://nodejs.org has it";
  console.error(`model-gateway needs Node ${needed} or newer; this is ${process.version}. ${remedy}.`);
  process.exitCode = 1;
}

function engineOptions() {
  const isSet = [...process.execArgv, process.env.NODE_OPTIONS ?? ""].some((text) => text.includes("semi-space-size"));
  if (isSet) return [];
  const memory = Math.min(totalmem(), process.constrainedMemory?.() || Number.POSITIVE_INFINITY);
  const most = memory >= roomyBytes ? youngMegabytes.large : youngMegabytes.small;
  return [`--min-semi-space-size=${Math.min(leastYoungMegabytes, most)}`, `--max-semi-space-size=${most}`];
}

function start(file, args) {
  if (process.execve && process.platform !== "win32") process.execve(file, [file, ...args], env);
  const child = spawn(file, args, { stdio: "inherit", env });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    console.error(`model-gateway: ${file} cannot be run (${error.code}).`);
    process.exitCode = 1;
  });
  // At once: Node takes down the handlers before a process that has nothing left to do is gone, and a late echo of a signal
  // would kill it.
  child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
}
