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

/** createdBefore makes the error of a command that repeats another under its `--idempotency-key`. `revoke` takes back what that created. */
export function createdBefore(id: string, revoke: string): StartError {
  const remedy = `If nobody has that, run \`${revoke} ${id}\`, and repeat the command under another one`;
  return new StartError(
    `nothing was created: ${id} was before, under this --idempotency-key, and what was printed then is not shown again. ${remedy}`,
  );
}

/** helpHint says where the use of a command is explained. */
export function helpHint(command?: string): string {
  return `\`model-gateway help${command === undefined ? "" : ` ${command}`}\` shows how to use it.`;
}

/** wrongCommand is the mistake of a name that is no command, with the one that was probably meant. */
export function wrongCommand(name: string): UsageError {
  const words = [...firstWords().keys(), ...specs.keys()];
  return new UsageError(`there is no command "${name}".${isMeant(name, words)} ${helpHint()}`);
}

/** wrongAction is the mistake of a group's name with no second word, or an unknown one, with the one that was probably meant. */
export function wrongAction(group: string, word = ""): UsageError {
  const actions = actionsOf(group);
  return new UsageError(`${group} needs one of: ${actions.join(", ")}.${isMeant(word, actions)} ${helpHint(group)}`);
}

/** isMeant asks whether the nearest of some words is meant by one that is none of them. The word is not shown: it may be a pasted secret. */
export function isMeant(word: string, words: Iterable<string>): string {
  const meant = nearestWord(word, words);
  return meant === undefined ? "" : ` Is "${meant}" meant?`;
}
