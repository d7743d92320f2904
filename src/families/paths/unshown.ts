/**
 * Shows files and blocks that the other API has no form for. In the turn that is to be answered they are refused, because the model would
 * answer as if it had seen them. In turns that have been answered they are replaced by a text that says so, and named to the caller: a
 * refusal would come again in every turn of a conversation that goes on with another model.
 */
import { Reason } from "../../../gen/modelgateway/v1/errors_pb.ts";
import { Refusal } from "../../call/refusal.ts";
import { unshown } from "../../call/request/told-blocks.ts";
import { type CooperativeTask, itemsPerSlice } from "../../runtime/cooperative.ts";
import type { JsonObject } from "../../wire/json.ts";

/** Named receives the paths of what is left out. */
export interface Named {
  add(path: string): void;
}

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

/** shownOrNamed returns the parts that `make` makes of what stands at `path`; where nothing can, and `named` is there, a text that says so. */
export function shownOrNamed(path: string, named: Named | undefined, make: () => JsonObject[]): JsonObject[] {
  if (!named) return make();
  try {
    return make();
  } catch (error) {
    if (!(error instanceof Refusal) || error.reason !== Reason.INVALID_VALUE) throw error;
    named.add(path);
    return [{ type: "text", text: unshown }];
  }
}
