/** ConfigError is a configuration with faults: all of them, a line each. */
import type { Fault } from "./document.ts";

export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(faults.map(({ file, line, message }) => `${file}${line ? `:${line}` : ""}: ${message}`).join("\n"));
    this.faults = faults;
  }
}
