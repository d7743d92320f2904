/** Writes the files that options of commands name. */
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { publish, removeLeft, unusedName } from "../../runtime/files/durable-files.ts";
import { codeOf, fileRemedy } from "../../runtime/write-trouble.ts";
import { UsageError } from "../line/errors.ts";

/**
 * writeNewFile writes a file that does not exist yet; with the mode 0o600 for its owner only. It appears whole, or not at all. Throws a
 * UsageError that names `option`.
 */
export function writeNewFile(option: string, path: string, text: string, mode?: number): void {
  const partial = unusedName(`${path}.partial`);
  try {
    if (existsSync(path)) throw Object.assign(new Error(path), { code: "EEXIST" });
    removeLeft(dirname(path), "partial");
    writeFileSync(partial, text, { flag: "wx", ...(mode !== undefined && { mode }) });
    publish(partial, path, false);
  } catch (error) {
    const code = codeOf(error);
    const isThere = code === "EEXIST";
    const why = isThere
      ? "it exists already. Choose another name, or remove it"
      : `it cannot be written (${code}): ${fileRemedy(error)}`;
    throw new UsageError(`${option} ${path}: ${why}`);
  } finally {
    rmSync(partial, { force: true });
  }
}
