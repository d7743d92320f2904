/**
 * The executable's main script: loads the gateway's program, which is inside in chunks of text, each by the compiled form that was
 * kept of a run at its build. Compiling them anew takes a quarter of a second; where the engine refuses a kept form, that is done.
 */
"use strict";
const sea = require("node:sea");
const vm = require("node:vm");

/**
 * Returns what loads a chunk by its name, once. `read` returns its text, a function of what a module of CommonJS is given;
 * `readKept` returns its compiled form, if there is one; `onScript` receives each script.
 */
function createLoad({ read, readKept = () => undefined, onScript = () => {}, filename, dirname }) {
  const modules = new Map();
  const requireFrom = (id) => (id.startsWith("./") ? load(id.slice(2)) : require(id));
  function load(name) {
    const known = modules.get(name);
    if (known) return known.exports;
    const loaded = { exports: {} };
    modules.set(name, loaded);
    const script = new vm.Script(read(name), {
      filename: `model-gateway/${name}`,
      cachedData: readKept(name),
      importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
    onScript(name, script);
    script.runInThisContext()(requireFrom, loaded, loaded.exports, filename, dirname);
    return loaded.exports;
  }
  return load;
}

if (sea.isSea()) {
  const kept = new Set(sea.getAssetKeys().filter((key) => key.endsWith(".cache")));
  const readKept = (name) =>
    kept.has(`program/${name}.cache`) ? Buffer.from(sea.getRawAsset(`program/${name}.cache`)) : undefined;
  const read = (name) => Buffer.from(sea.getRawAsset(`program/${name}`)).latin1Slice();
  createLoad({ read, readKept, filename: __filename, dirname: __dirname })("main.js");
} else module.exports = { createLoad };
