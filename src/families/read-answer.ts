/** Reads an upstream's answer, or a frame of one, as its message. */
import { upstreamFailed } from "../call/refusals.ts";
import { WireFault } from "../wire/fault.ts";

/** Returns the message. Throws a Refusal where the upstream sent something else: that is no fault of the caller's. */
export function readAnswer<M>(answer: { message(): M }): M {
  try {
    return answer.message();
  } catch (error) {
    throw error instanceof WireFault ? upstreamFailed("its answer cannot be read", error) : error;
  }
}
