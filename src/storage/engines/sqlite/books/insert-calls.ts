/** Inserts the rows of calls that have ended. */
import type { Capture } from "../../../columns.ts";
import { type LedgerStatements, requestValues } from "./statements.ts";

/** EndedCall is a call whose row is to be inserted: it costs what it states. */
export interface EndedCall {
  readonly call: Capture;
  /** Set by the insert where the call has a row already, which is left as it is. */
  isKnown: boolean;
}

export type InsertCalls = (calls: readonly EndedCall[]) => void;

export function createInsertCalls({
  insertRequest,
  deleteLost,
}: Pick<LedgerStatements, "insertRequest" | "deleteLost">): InsertCalls {
  function insertOne(ended: EndedCall): void {
    const { call } = ended;
    const values = requestValues({ ...call, waived: 0 });
    // Another process may have recorded the call as lost, after which it held anew.
    const isNew =
      insertRequest.run(...values) === 1 || (deleteLost.run(call.id) === 1 && insertRequest.run(...values) === 1);
    ended.isKnown = !isNew;
  }

  return (calls) => calls.forEach(insertOne);
}
