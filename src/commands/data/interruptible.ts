/** Lets a signal end work on files in a way that leaves none of it behind. */
import { StartError } from "../line/errors.ts";

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * interruptible runs work that throws its signal's reason as soon as it may, once the process is asked to end. `state` says what was done
 * until then.
 */
export async function interruptible<T>(
  work: (signal: AbortSignal) => Promise<T>,
  state = "nothing was changed",
): Promise<T> {
  const asked = new AbortController();
  const end = (name: NodeJS.Signals) => asked.abort(new StartError(`it was stopped by ${name}, and ${state}`));
  for (const name of signals) process.on(name, end);
  try {
    return await work(asked.signal);
  } catch (error) {
    // Streams throw an error of their own.
    throw asked.signal.aborted ? asked.signal.reason : error;
  } finally {
    for (const name of signals) process.off(name, end);
  }
}
