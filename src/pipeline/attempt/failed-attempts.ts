/** The attempts of a call that another attempt replaced, as the call's row keeps them (`requests.tried`). */
import type { AttemptRecord } from "../../call/call-record.ts";

/** A FailedAttempt failed before the attempt that counts, or was overtaken by a faster one beside it. */
export interface FailedAttempt {
  readonly upstream: string;
  /** The catalogue's id; unset: the model that answered, or was asked last. */
  readonly model?: string;
  /** When it began, in milliseconds since 1970, and how many it took. */
  readonly at: number;
  readonly ms: number;
  /** What failed, in the gateway's own words. */
  readonly failure: string;
  /** What its upstream may charge, in millionths of the unit. Set only where it was overtaken. */
  readonly lost?: number;
}

/** The model that answered, and the cost of that: an attempt that was overtaken may have cost as much. */
interface CallCost {
  readonly model: string;
  readonly cost: number;
}

const overtaken = "another attempt was quicker";

/** Returns the failed attempts as a JSON list; null for none. `last` is the attempt that the row itself describes. */
export function failedAttemptsOf(
  attempts: readonly AttemptRecord[],
  last: AttemptRecord | undefined,
  call: CallCost,
): string | null {
  const failed = attempts.flatMap((attempt): readonly FailedAttempt[] => {
    const { upstream, begunAt, endedAt = begunAt, failure, isOvertaken, modelId } = attempt;
    const other = modelId === call.model ? {} : { model: modelId };
    const told = { upstream, at: begunAt, ms: endedAt - begunAt, ...other };
    if (isOvertaken) return [{ ...told, failure: overtaken, lost: call.cost }];
    return failure === undefined || attempt === last ? [] : [{ ...told, failure }];
  });
  return failed.length === 0 ? null : JSON.stringify(failed);
}
