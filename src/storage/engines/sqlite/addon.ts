/**
 * Loads SQLite's native addon where the gateway is bundled: from the package's folder, or from inside the executable. The system's
 * loader takes files only: from inside, it is written into a fresh folder that no other user may write into, loaded, and removed.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
  loaded ??= loadFrom([tmpdir(), folder]);
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

function loadFrom(folders: readonly string[]): object {
  const errors: Error[] = [];
  for (const folder of folders) {
    try {
      return loadIn(folder);
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

function loadIn(folder: string): object {
  const own = mkdtempSync(join(folder, "model-gateway-"));
  try {
    const file = join(own, "better_sqlite3.node");
    writeFileSync(file, packageBytes(addonPath()), { mode: 0o500, flag: "wx" });
    const addon = { exports: {} };
    process.dlopen(addon, file, constants.dlopen.RTLD_NOW);
    return addon.exports;
  } finally {
    remove(own);
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
