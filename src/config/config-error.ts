/** The error of a configuration that is wrong. */
import type { Fault } from "./document.ts";

/** ConfigError has all faults that were found, a line each in its message. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(faults.map(({ file, line, message }) => `${file}${line ? `:${line}` : ""}: ${message}`).join("\n"));
    this.faults = faults;
  }
}
