/** The mistakes that end a command in one line. */
import { actionsOf } from "./table.ts";

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

/** wrongAction is the mistake of a group's name with no second word, or an unknown one. */
export function wrongAction(group: string): UsageError {
  return new UsageError(`${group} needs one of: ${actionsOf(group).join(", ")}. ${helpHint(group)}`);
}
