/** Starts the process anew with the options of V8 that hold only from its start. */
import { processEnvironment } from "../../config/process-environment.ts";
import { isExecutable } from "../../package/package-files.ts";
import { type Memory, memoryHere, semiSpace, youngOption } from "./options.ts";

/**
 * Becomes a process with the options for this memory, or where none is asked for, and only of the executable, for that of the
 * machine: `bin/model-gateway.js` has seen to it elsewhere. It returns where there is nothing to do: they are set, an operator has
 * set others, or the system cannot replace a process, as Windows cannot. Returns whether they are set.
 */
export function restartFor(asked: Memory | undefined, environment = processEnvironment()): boolean {
  const memory = asked ?? (isExecutable ? memoryHere() : undefined);
  if (!memory) return true;
  const wanted = youngOption(memory);
  const isYoung = (option: string) => option.startsWith(`${semiSpace}=`);
  if (process.execArgv.findLast(isYoung) === wanted) return true;
  if (environment.NODE_OPTIONS?.includes(semiSpace) && !isExecutable) return false;
  if (!process.execve || process.platform === "win32") return false;
  // The executable takes options of its own only in this form, and the last one holds.
  const args = isExecutable
    ? [`--node-options=${wanted}`, ...process.argv.slice(2)]
    : [...process.execArgv.filter((option) => !isYoung(option)), wanted, ...process.argv.slice(1)];
  process.execve(process.execPath, [process.execPath, ...args], environment as NodeJS.ProcessEnv);
  return false;
}
