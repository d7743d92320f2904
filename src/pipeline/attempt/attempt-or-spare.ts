/** Asks a target by another operation where its upstream turns out not to have the one of its profile: in the same call. */
import type { Call } from "../../call/call.ts";
import type { Form, Input, Operation } from "../../call/operations.ts";
import { Refusal } from "../../call/refusals.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import { catchError, type MaybePromise } from "../../runtime/maybe-promise.ts";
import type { Candidate } from "../complete/candidates.ts";
import { type Answered, type AttemptOptions, attemptAt } from "./attempt.ts";

/** As `attemptAt`. */
export function attemptOrSpare<O extends Operation, F extends Form>(
  lead: Candidate,
  part: Call<Input<O>>,
  signal: Signal,
  isHedge: boolean,
  options: AttemptOptions<F>,
): MaybePromise<Answered<O, F>> {
  const { spare, operation, state } = lead;
  const by = (one: Candidate) => attemptAt<O, F>(one, part, signal, isHedge, options);
  if (!spare) return by(lead);
  if (state.unserved.has(operation)) return by(spare);
  const unserved = (error: unknown) => {
    if (!(error instanceof Refusal) || !error.isUnserved) throw error;
    state.unserved.note(operation);
    return by(spare);
  };
  return catchError(() => by(lead), unserved);
}
