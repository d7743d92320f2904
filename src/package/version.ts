/** Tells which version of the gateway this is, as package.json has it. */
import { packageText } from "./package-files.ts";

export function version(): string {
  return (JSON.parse(packageText("package.json")) as { version: string }).version;
}
