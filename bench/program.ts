/** Runs a program of the bench: makes a folder for its files, and removes it at the end. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stopAll } from "./processes.ts";

/** folder is removed when the run ends. */
export const folder = mkdtempSync(join(tmpdir(), "gateway-bench-"));

/**
 * runProgram runs the program. However it ends, its processes are stopped and its folder is removed; a failure is
 * reported in one line.
 */
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

/** tell shows the progress in one line of a terminal; to a file it writes line by line. */
export function tell(what: string): void {
  const line = `bench: ${Math.round(performance.now() / 1000)} s, ${what}`;
  process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${line}${what === "done" ? "\n" : ""}` : `${line}\n`);
}
