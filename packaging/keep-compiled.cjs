/**
 * Runs a command of the bundled program, and keeps the compiled form of each chunk that it loads, with the functions that it used and
 * those of the form that was kept before. `serve` ends a moment after it serves.
 *
 * usage: node FLAGS keep-compiled.cjs PROGRAM_FOLDER FILENAME COMMAND… FILENAME is the file that the program takes itself for. The engine
 * takes a form only with the same flags, version and architecture.
 */
"use strict";
const { existsSync, readFileSync, writeFileSync } = require("node:fs");
const { dirname, join } = require("node:path");
const { createLoad } = require("./executable-main.cjs");

const [folder, filename, ...command] = process.argv.slice(2);
const settledMs = 700;
process.argv = [process.execPath, filename, ...command];

const scripts = new Map();
const fileOf = (name) => join(folder, `${name}.cache`);
const load = createLoad({
  read: (name) => readFileSync(join(folder, name), "latin1"),
  readKept: (name) => (existsSync(fileOf(name)) ? readFileSync(fileOf(name)) : undefined),
  onScript: (name, script) => scripts.set(name, script),
  filename,
  dirname: dirname(filename),
});
process.on("exit", () => {
  for (const [name, script] of scripts) writeFileSync(fileOf(name), script.createCachedData());
});
// The flags that serving sets once all is loaded would have the forms refused at a start, which is without them.
require("node:v8").setFlagsFromString = () => {};
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = (text, ...rest) => {
  // What follows the start is to be kept, too: the rules of requests are compiled then.
  if (String(text).includes(" serves at ")) setTimeout(() => process.exit(), settledMs);
  return write(text, ...rest);
};
load("main.js");
