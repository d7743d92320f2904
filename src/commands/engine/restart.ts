/** Starts the process anew with the options of V8 that hold only from its start. */
import { processEnvironment } from "../../config/process-environment.ts";
import { isExecutable } from "../../package/package-files.ts";
import { executableOptions, type Memory, memoryHere, semiSpace, youngOption } from "./options.ts";

/**
 * restartFor becomes a process with the options for this memory, or where none is asked for, and only of the executable, for that of the
 * machine: `bin/model-gateway.js` has seen to it elsewhere. It returns where there is nothing to do: they are set, an operator has set
 * others, or the system cannot replace a process, as Windows cannot. Returns whether they are set.
 */
export function restartFor(asked: Memory | undefined): boolean {
  const environment = processEnvironment();
  const memory = asked ?? (isExecutable ? memoryHere() : undefined);
  if (!memory) return true;
  const wanted = youngOption(memory);
  if (process.execArgv.findLast(isYoung) === wanted) return true;
  const args = isExecutable
    ? executableArguments(process.execArgv, wanted)
    : [...process.execArgv.filter((option) => !isYoung(option)), wanted, ...process.argv.slice(1, 2)];
  if (!args || (environment.NODE_OPTIONS?.includes(semiSpace) && !isExecutable)) return false;
  if (!process.execve || process.platform === "win32") return false;
  const all = [process.execPath, ...args, ...process.argv.slice(2)];
  process.execve(process.execPath, all, environment as NodeJS.ProcessEnv);
  return false;
}

/** sameArguments returns the arguments with which the program is started again as it runs now, before those of a command. */
export function sameArguments(): readonly string[] {
  // A debugger has one process.
  const options = process.execArgv.filter((option) => !option.startsWith("--inspect"));
  if (!isExecutable) return [...options, ...process.argv.slice(1, 2)];
  const operators = process.execArgv.slice(executableOptions().length);
  return operators.length === 0 ? [] : [nodeOptions(operators)];
}

const isYoung = (option: string) => option.startsWith(`${semiSpace}=`);

/**
 * executableArguments returns what has the executable run with an option and with those that its operator gave it, `execArgv` less its own;
 * undefined where the operator has set that one. It takes all of them in one argument, of which the last one holds, as `NODE_OPTIONS` has
 * them.
 */
export function executableArguments(execArgv: readonly string[], wanted: string): string[] | undefined {
  const operators = execArgv.slice(executableOptions().length);
  if (operators.some(isYoung)) return undefined;
  return [nodeOptions([...operators, wanted])];
}

function nodeOptions(options: readonly string[]): string {
  const quoted = options.map((option) => (/[\s"\\]/.test(option) ? `"${option.replace(/["\\]/g, "\\$&")}"` : option));
  return `--node-options=${quoted.join(" ")}`;
}
