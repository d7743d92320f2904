#!/usr/bin/env node
/**
 * Starts the command line with the Node that the project pins, for the system's own may be too old to run TypeScript, and with what
 * the engine has to be told before it starts. Where the system can do it, this process becomes that one.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants, totalmem } from "node:os";
import { fileURLToPath } from "node:url";

const needed = 26;
const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const pinned = fileURLToPath(new URL("../node_modules/.bin/node", import.meta.url));
/** What was compiled once need not be again: a quarter of the start. Where the folder cannot be written, all goes on without. */
const compiled = fileURLToPath(new URL("../node_modules/.cache/compiled", import.meta.url));
const env = { NODE_COMPILE_CACHE: compiled, ...process.env };
/**
 * How many megabytes are filled before what is young is looked through. What a thousand calls hold that wait for their upstreams
 * outlives the engine's own measure, a third of this: it was copied twice, grew old, and all of the heap was looked through for it.
 * Whoever has set it, or has little memory, keeps what they have.
 */
const youngMegabytes = 96;
const roomyBytes = 4 * 2 ** 30;

const isNewEnough = Number(process.versions.node.split(".")[0]) >= needed;
const node = isNewEnough ? process.execPath : existsSync(pinned) ? pinned : undefined;
if (node) start(node, [...process.execArgv, ...engineOptions(), main, ...process.argv.slice(2)]);
else {
  console.error(`model-gateway needs Node ${needed} or newer; this is ${process.version}. \`npm ci\` installs it.`);
  process.exitCode = 1;
}

function engineOptions() {
  const isSet = [...process.execArgv, process.env.NODE_OPTIONS ?? ""].some((text) => text.includes("semi-space-size"));
  const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  if (isSet || memory < roomyBytes) return [];
  return ["min", "max"].map((bound) => `--${bound}-semi-space-size=${youngMegabytes}`);
}

function start(file, args) {
  if (process.execve && process.platform !== "win32") process.execve(file, [file, ...args], env);
  const child = spawn(file, args, { stdio: "inherit", env });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    console.error(`model-gateway: ${file} cannot be run (${error.code}). \`npm ci\` installs it anew.`);
    process.exitCode = 1;
  });
  // At once: Node takes down the handlers before a process that has nothing left to do is gone, and a late echo of a signal
  // would kill it.
  child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
}
