/** The mistakes that end a command in one line. */
import { nearestWord } from "../../runtime/words/nearest-word.ts";
import { actionsOf, firstWords, specs } from "./table.ts";

/** UsageError is a mistake in the command line. It is reported in one line, without a stack; exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** StartError is a condition of the machine that the person can correct. It is reported in one line, too; exit code 1. */
export class StartError extends Error {
  override readonly name = "StartError";
}

/** helpHint says where the use of a command is explained. */
export function helpHint(command?: string): string {
  return `\`model-gateway help${command === undefined ? "" : ` ${command}`}\` shows how to use it.`;
}

/** wrongCommand is the mistake of a name that is no command, with the one that was probably meant. */
export function wrongCommand(name: string): UsageError {
  const meant = nearestWord(name, new Set([...firstWords().keys(), ...specs.keys()]));
  const hint = meant === undefined ? "" : ` Is "${meant}" meant?`;
  return new UsageError(`there is no command "${name}".${hint} ${helpHint()}`);
}

/** wrongAction is the mistake of a group's name with no second word, or an unknown one. */
export function wrongAction(group: string): UsageError {
  return new UsageError(`${group} needs one of: ${actionsOf(group).join(", ")}. ${helpHint(group)}`);
}
