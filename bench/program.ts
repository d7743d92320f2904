/** What every program of the bench does around its work: a folder for what it leaves behind, and an end that leaves nothing. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stopAll } from "./processes.ts";

/** Where a run keeps what is gone when it ends. */
export const folder = mkdtempSync(join(tmpdir(), "gateway-bench-"));

/** Runs the program. However it ends, what it started is ended and its folder gone; what fails is told in one line. */
export async function runProgram(main: () => Promise<void>): Promise<void> {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => void clear().then(() => process.exit(130)));
  }
  try {
    await main();
  } catch (error) {
    console.error(`bench: ${(error as Error).message}`);
    process.exitCode = 1;
  } finally {
    await clear();
  }
}

async function clear(): Promise<void> {
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
}

/** What is going on, in one line of a terminal; to a file it is told line by line. */
export function tell(what: string): void {
  const line = `bench: ${Math.round(performance.now() / 1000)} s, ${what}`;
  process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${line}${what === "done" ? "\n" : ""}` : `${line}\n`);
}
