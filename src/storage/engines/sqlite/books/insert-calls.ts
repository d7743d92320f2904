/** Inserts the rows of calls that have ended. */
import type { Capture } from "../../../columns.ts";
import { type LedgerStatements, requestValues } from "./statements.ts";

/** EndedCall is a call whose row is to be inserted: it costs what it states, and what it states as waived is. */
export interface EndedCall {
  readonly call: Capture;
  /** isKnown is set by the insert where the call has a row already, which is left as it is. */
  isKnown: boolean;
  /** hadHold is whether the call had a hold of its own, which has been ended: so it was not captured before. */
  readonly hadHold: boolean;
}

export type InsertCalls = (calls: readonly EndedCall[]) => void;

export function createInsertCalls({
  insertRequest,
  deleteLost,
  keptFrom,
}: Pick<LedgerStatements, "insertRequest" | "deleteLost" | "keptFrom">): InsertCalls {
  function insertOne(ended: EndedCall, kept: string): void {
    const { call, hadHold } = ended;
    const values = requestValues(call);
    if (insertRequest.run(...values) === 1) {
      if (call.id < kept && call.cost > 0 && !hadHold) throw forgottenError(call.id);
      return;
    }
    // Another process may have recorded the call as lost, after which it held anew.
    const isNew = deleteLost.run(call.id) === 1 && insertRequest.run(...values) === 1;
    ended.isKnown = !isNew;
  }

  return (calls) => {
    const kept = keptFrom();
    for (const call of calls) insertOne(call, kept);
  };
}

/**
 * forgottenError is for a line of a journal that comes too late: the caller undoes it, and sets it aside for the operator (`applyEach`).
 */
function forgottenError(id: string): RangeError {
  return new RangeError(
    `${id} is older than calls are kept: it may have been charged before, and was not charged again`,
  );
}
