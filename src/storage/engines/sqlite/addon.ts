/**
 * Loads SQLite's native addon where the gateway is bundled: from the package's folder, or from inside the executable. The system's
 * loader takes files only: from inside, it is written into a fresh folder that no other user may write into, loaded, and removed.
 *
 * All threads of a process load it from one file, which the system then loads once. A second SQLite in a process knows nothing of the
 * first: when it closes a database it ends the first one's locks, and removes the log that the first goes on writing.
 */
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { isExecutable, isSource, packageBytes, packagePath } from "../../../package/package-files.ts";
import { codeOf, StorageError } from "../../../runtime/write-trouble.ts";

let loaded: object | undefined;

/**
 * addonOptions returns what a database is opened with. `folder` is tried where the system's folder for temporary files takes no programs.
 * Throws the loader's error.
 */
export function addonOptions(folder: string): { readonly nativeBinding?: string } {
  if (isSource) return {};
  if (!isExecutable) return { nativeBinding: packagePath(addonPath()) };
  loaded ??= loadAddon(() => packageBytes(addonPath()), [tmpdir(), folder]);
  // The driver takes an addon that is loaded already; its types know paths only.
  return { nativeBinding: loaded as unknown as string };
}

/** addonPath returns the addon's path in the package: it is named by platform, as `linux-x64`, `linuxmusl-arm64`, `win32-x64`. */
function addonPath(): string {
  return `addons/${process.platform}${isMusl() ? "musl" : ""}-${process.arch}.node`;
}

/** isMusl reports whether this process runs over musl, as in Alpine Linux, in the place of glibc. */
function isMusl(): boolean {
  try {
    return process.platform === "linux" && readFileSync("/proc/self/maps", "latin1").includes("/ld-musl-");
  } catch {
    return false;
  }
}

/** threadsKey names, among what threads of this process are told, the path that the addon was loaded from. */
const threadsKey = "model-gateway: SQLite";

/**
 * loadAddon loads an addon: where another thread has done so, from the same file, or else from bytes, in the first folder that takes them.
 * Throws the loader's error.
 */
export function loadAddon(bytes: () => Uint8Array, folders: readonly string[]): object {
  // Loading it takes a millisecond.
  const { getEnvironmentData, setEnvironmentData } = process.getBuiltinModule("node:worker_threads");
  const path = getEnvironmentData(threadsKey);
  if (typeof path === "string") return loadAt(path);
  const errors: Error[] = [];
  for (const folder of folders) {
    try {
      return loadIn(folder, bytes(), (path) => setEnvironmentData(threadsKey, path));
    } catch (error) {
      errors.push(error as Error);
    }
  }
  throw loadError(errors);
}

const olderSystem =
  "The executable needs glibc 2.34 or newer, libstdc++ and libatomic, as Debian 12 and Ubuntu 22.04 have them";
const noPlace = "Set TMPDIR to a folder that can be written and takes programs (without noexec)";

/**
 * loadError returns what each folder's try ended with, and what to do: the loader itself refuses an addon that was written where it may
 * run.
 */
export function loadError(errors: readonly Error[]): StorageError {
  const isPlace = (error: Error) =>
    codeOf(error) !== "ERR_DLOPEN_FAILED" ||
    /map segment|Operation not permitted|Permission denied/i.test(error.message);
  const remedy = errors.every(isPlace) ? noPlace : olderSystem;
  const messages = errors.map(({ message }) => message).join("; ");
  return new StorageError(`SQLite cannot be loaded on this system: ${messages}. ${remedy}`, { cause: errors[0] });
}

function loadAt(path: string): object {
  const addon = { exports: {} };
  process.dlopen(addon, path, constants.dlopen.RTLD_NOW);
  return addon.exports;
}

/** loadIn calls `onLoaded` with the path from which other threads load the same. */
function loadIn(folder: string, bytes: Uint8Array, onLoaded: (path: string) => void): object {
  const own = mkdtempSync(join(folder, "model-gateway-"));
  const file = join(own, "better_sqlite3.node");
  let fd: number | undefined;
  let isNeeded = false;
  try {
    writeFileSync(file, bytes, { mode: 0o500, flag: "wx" });
    // A file that is open has a path on Linux, also when it is removed.
    if (existsSync("/proc/self/fd")) fd = openSync(file, "r");
    const path = fd === undefined ? file : `/proc/self/fd/${fd}`;
    const addon = loadAt(path);
    onLoaded(path);
    isNeeded = fd === undefined;
    return addon;
  } catch (error) {
    if (fd !== undefined) closeSync(fd);
    throw error;
  } finally {
    if (isNeeded) process.once("exit", () => remove(own));
    else remove(own);
  }
}

/** Windows keeps a library that is loaded: its temporary folder belongs to the user alone. */
function remove(folder: string): void {
  try {
    rmSync(folder, { recursive: true });
  } catch (error) {
    if (process.platform !== "win32") throw error;
  }
}
