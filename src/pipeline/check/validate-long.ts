/** Validates a long request. This file loads no validator: commands of the line do without it for most requests. */
import { type CooperativeTask, nextSlice, runInSlices } from "../../runtime/cooperative.ts";
import type { Deferred } from "../../runtime/maybe-promise.ts";
import type { Wire } from "../../wire/wire.ts";
import type { QuickCheck, Validate } from "./validate.ts";

/** validateLong validates a long request in time slices. Rejects with what `validate` would throw. */
export function validateLong(request: Wire, validate: Validate, quickCheck?: QuickCheck): Deferred<void> {
  const checked = runInSlices(quickCheck?.isLongSurelyValid(request.desc, request.outline()) ?? unsure());
  return checked.then((isSure) => {
    if (isSure) return;
    // Parsing into a message is the long part, and is done in slices too.
    const understood = runInSlices(request.readLongMessage()).then(() => nextSlice());
    return understood.then(() => validate(request, true));
  });
}

// biome-ignore lint/correctness/useYield: it takes the place of a cooperative task.
function* unsure(): CooperativeTask<boolean> {
  return false;
}
