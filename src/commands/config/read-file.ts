/** Reads the files that are arguments of commands. */
import { readFileSync } from "node:fs";
import { codeOf, fileRemedy } from "../../runtime/write-trouble.ts";
import { UsageError } from "../line/errors.ts";

/** readArgument returns the text of a file that `command` was given. Throws a UsageError. */
export function readArgument(command: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`${command}: ${file} cannot be read (${codeOf(error)}): ${fileRemedy(error)}`);
  }
}
