/** What the executable says where it cannot load SQLite. */
import { expect, test } from "vitest";
import { loadError } from "../../../../src/storage/engines/sqlite/addon.ts";

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
