/**
 * Shows files and blocks that the other API has no form for. In the turn that is to be answered they are refused, because the model would
 * answer as if it had seen them. In turns that have been answered they are replaced by a text that says so, and named to the caller: a
 * refusal would come again in every turn of a conversation that goes on with another model.
 */
import { Reason } from "../../../gen/modelgateway/v1/errors_pb.ts";
import { Refusal } from "../../call/refusal.ts";
import { unshown } from "../../call/request/told-blocks.ts";
import type { JsonObject } from "../../wire/json.ts";

/** Named receives the paths of what is left out. */
export interface Named {
  add(path: string): void;
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
