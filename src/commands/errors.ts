/** The errors of commands that a person can correct: they are reported in one line, without a stack. */

/** UsageError is a mistake in the command line. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** StartError is a condition of the machine. */
export class StartError extends Error {
  override readonly name = "StartError";
}

export const helpHint = "`model-gateway help` shows how to use it.";
