/**
 * Bounds how many calls of models a key has running at a time. A call beyond that is refused at once. A place is held from before a call
 * looks for its model until its answer has ended, however it ends: complete, failed, or left by its caller.
 */
import { atEnd } from "../../call/answer-end.ts";
import type { Answer, Call } from "../../call/call.ts";
import type { Form, Operation } from "../../call/operations.ts";
import { tooManyRunning } from "../../call/refusals.ts";
import type { KeyPlaces } from "../../limits/key-places.ts";
import { andThen, type MaybePromise, thenOrCatch } from "../../runtime/maybe-promise.ts";
import { onlyOnce } from "../../runtime/push-stream.ts";
import { type Complete, forward } from "./complete.ts";

export function withKeyConcurrency(complete: Complete, places: KeyPlaces): Complete {
  return ((asked: Operation, form: Form, call: Call) => {
    const { limits, keyId } = call.caller;
    const most = limits?.maxConcurrent;
    if (most === undefined) return forward(complete, asked, form, call);
    return andThen(places.tryTake(keyId, most), (isTaken) => {
      if (!isTaken) throw tooManyRunning(most);
      return holding(
        call,
        onlyOnce(() => places.release(keyId)),
        () => forward(complete, asked, form, call),
      );
    });
  }) as Complete;
}

/** holding does the work of a call, and gives its place back at the end of its answer. */
function holding(call: Call, release: () => void, work: () => MaybePromise<Answer>): MaybePromise<Answer> {
  return thenOrCatch(
    work,
    (answer) => atEnd(answer, call.signal, release),
    (error): never => {
      release();
      throw error;
    },
  );
}
