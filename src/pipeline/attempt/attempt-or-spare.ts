/**
 * Runs an attempt, and runs it once more at the candidate's spare where the upstream turns out not to serve the operation that
 * its profile names. Both are one attempt to whoever waits for the answer.
 */
import { Refusal } from "../../call/refusals.ts";
import { catchError, type MaybePromise } from "../../runtime/maybe-promise.ts";
import { CallAttempt, type RunAttempt } from "./attempt.ts";

/** attemptOrSpare throws a Refusal, now or later. */
export function attemptOrSpare(attempt: CallAttempt, run: RunAttempt): MaybePromise<CallAttempt> {
  const { modelCall, part, candidate, signal, isHedge } = attempt;
  const { spare, operation, state } = candidate;
  if (!spare) return run(attempt);
  const runSpare = () => run(new CallAttempt(modelCall, part, spare, signal, isHedge));
  if (state.unserved.has(operation)) return runSpare();
  return catchError(
    () => run(attempt),
    (error) => {
      if (!(error instanceof Refusal) || !error.isUnserved) throw error;
      state.unserved.note(operation);
      return runSpare();
    },
  );
}
