/** Tells which version of the gateway this is, as package.json has it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export function version(): string {
  const text = readFileSync(join(import.meta.dirname, "../../package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
