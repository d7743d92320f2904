#!/usr/bin/env node
/** Starts the gateway where npm installed it. Old versions of Node are told so: this file is of a syntax that they read. */
"use strict";

const oldest = 24;

if (Number(process.versions.node.split(".")[0]) < oldest) {
  console.error(`model-gateway needs Node ${oldest} or newer; this is ${process.version}. https://nodejs.org has it.`);
  process.exit(1);
}
require("node:module").enableCompileCache();
require("../dist/server/main.js");
