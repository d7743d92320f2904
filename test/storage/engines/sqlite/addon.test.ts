/** How the executable loads SQLite, and what it says where it cannot. */
import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import Sqlite from "better-sqlite3";
import { expect, test } from "vitest";
import { loadError } from "../../../../src/storage/engines/sqlite/addon.ts";
import { temporaryFolder } from "../../../support/command.ts";

const failed = (code: string, message: string) => Object.assign(new Error(message), { code });
const full = failed("ENOSPC", "ENOSPC: no space left on device, write");
const noPrograms = failed("ERR_DLOPEN_FAILED", "/x/a.node: failed to map segment from shared object");
const old = failed("ERR_DLOPEN_FAILED", "/lib/libc.so.6: version `GLIBC_2.34' not found (required by /x/a.node)");

test.each([
  ["no folder takes it", [full, noPrograms], "Set TMPDIR to a folder that can be written and takes programs"],
  ["the system is too old", [old, old], "The executable needs glibc 2.34 or newer"],
  ["the system is too old, and one folder full", [full, old], "The executable needs glibc 2.34 or newer"],
])("says what to do where %s, with what happened in each folder", (_, errors, remedy) => {
  const { message } = loadError(errors);
  for (const error of errors) expect(message).toContain(error.message);
  expect(message).toContain(remedy);
});

test("all threads load it once: what is written behind a thread's closing of the same database stays", async () => {
  const folder = await temporaryFolder();
  try {
    const program = fileURLToPath(new URL("../../../support/storage/addon-threads.ts", import.meta.url));
    const killed = await promisify(execFile)(process.execPath, [program, folder.path]).catch((error) => error);
    expect([killed.signal, killed.stderr]).toEqual(["SIGKILL", ""]);
    const database = new Sqlite(join(folder.path, "gateway.db"));
    expect(database.prepare("SELECT x FROM t").all()).toEqual([{ x: 1 }]);
    database.close();
    // The file that it was loaded from is gone, where one that is open has a path.
    if (existsSync("/proc/self/fd"))
      expect(readdirSync(folder.path).filter((name) => !name.startsWith("gateway.db"))).toEqual([]);
  } finally {
    await folder.remove();
  }
});
