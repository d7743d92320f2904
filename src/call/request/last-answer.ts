/** Finds how far a conversation has been answered: what was shown before need not be shown again. */
import { type CooperativeTask, itemsPerSlice } from "../../runtime/cooperative.ts";

/**
 * lastAnswerIn returns the place of the model's last part that something of the user's or a tool's follows; -1 where there is none. What stands
 * at the end for the model to go on with answers nothing yet.
 */
export function* lastAnswerIn<T>(
  parts: readonly T[],
  isOfModel: (part: T) => boolean,
  isOfOthers: (part: T) => boolean,
): CooperativeTask<number> {
  let isFollowed = false;
  let at = parts.length - 1;
  for (; at >= 0; at--) {
    const part = parts[at] as T;
    if (isFollowed && isOfModel(part)) break;
    isFollowed ||= isOfOthers(part);
    if (at % itemsPerSlice === 0) yield;
  }
  // The caller's own loop begins a slice of its own.
  yield;
  return at;
}
