/** Makes the folder that the database is in. */
import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";

/** One by one, for its owner only: Node's own way goes on for ever where a folder that is there takes no other, as /proc. */
export function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have been quicker.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
