/** Writes the files that options of commands name. */
import { writeFileSync } from "node:fs";
import { codeOf, fileRemedy } from "../../runtime/write-trouble.ts";
import { UsageError } from "../line/errors.ts";

/** writeNewFile writes a file that does not exist yet; with the mode 0o600 for its owner only. Throws a UsageError that names `option`. */
export function writeNewFile(option: string, path: string, text: string, mode?: number): void {
  try {
    writeFileSync(path, text, { flag: "wx", ...(mode !== undefined && { mode }) });
  } catch (error) {
    const code = codeOf(error);
    const isThere = code === "EEXIST";
    const why = isThere
      ? "it exists already. Choose another name, or remove it"
      : `it cannot be written (${code}): ${fileRemedy(error)}`;
    throw new UsageError(`${option} ${path}: ${why}`);
  }
}
