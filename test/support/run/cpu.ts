/**
 * Tells what each test file takes of the CPU: where `TEST_CPU` names a file, a line for each is appended to it, as
 *
 *   12.3 s, of which 8.9 in processes: test/commands/demo/demo.test.ts
 *
 * Time on the clock says little on a machine that does other things, too. Of processes it has those that have ended.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import { afterAll, expect } from "vitest";
import { root } from "../command.ts";

/** A clock tick of the kernel in seconds: `getconf CLK_TCK` is 100 on every Linux. */
const tick = 0.01;

interface Taken {
  /** Seconds of this process, and of those that it has started and that have ended, with theirs. */
  readonly own: number;
  readonly processes: number;
}

/** Has the file that begins now told. */
export function tellCpu(): void {
  const { TEST_CPU: file } = process.env;
  if (file === undefined) return;
  const before = taken();
  afterAll(() => {
    const after = taken();
    const processes = after.processes - before.processes;
    const all = after.own - before.own + processes;
    const path = relative(root, expect.getState().testPath ?? "");
    appendFileSync(file, `${all.toFixed(1)} s, of which ${processes.toFixed(1)} in processes: ${path}\n`);
  });
}

/** proc_pid_stat(5): from the state on, which follows the name in brackets, utime, stime, cutime and cstime are the 12th to the 15th. */
function taken(): Taken {
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)?.split(" ").slice(11, 15).map(Number) ?? [];
  const [user = 0, system = 0, childrenUser = 0, childrenSystem = 0] = fields;
  return { own: (user + system) * tick, processes: (childrenUser + childrenSystem) * tick };
}
