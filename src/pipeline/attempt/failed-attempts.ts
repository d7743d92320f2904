/**
 * The attempts in whose place another was made, as they are written down with the call (`requests.tried`).
 */
import type { AttemptRecord } from "../../call/call-record.ts";

/** An attempt that failed before the one that counts, or beside which another was quicker. */
export interface FailedAttempt {
  readonly upstream: string;
  /** The catalogue's id; unset: the model that answered, or was asked last. */
  readonly model?: string;
  /** When it began, and how long it took, in milliseconds. */
  readonly at: number;
  readonly ms: number;
  /** What failed, in the gateway's own words. */
  readonly failure: string;
  /** Set where it was given up because another was quicker: what its upstream may charge for it, in millionths of the unit. */
  readonly lost?: number;
}

/** The model that answered, and what that cost: an attempt beside it may have cost as much. */
interface CallCost {
  readonly model: string;
  readonly cost: number;
}

const overtaken = "another attempt was quicker";

/** Returns a JSON list, or null where there were none. `last` is the attempt that the call itself tells of. */
export function failedAttemptsOf(
  attempts: readonly AttemptRecord[],
  last: AttemptRecord | undefined,
  call: CallCost,
): string | null {
  const tried = attempts.flatMap((attempt): readonly FailedAttempt[] => {
    const { upstream, begunAt, endedAt = begunAt, failure, isOvertaken, modelId } = attempt;
    const other = modelId === call.model ? {} : { model: modelId };
    const told = { upstream, at: begunAt, ms: endedAt - begunAt, ...other };
    if (isOvertaken) return [{ ...told, failure: overtaken, lost: call.cost }];
    return failure === undefined || attempt === last ? [] : [{ ...told, failure }];
  });
  return tried.length === 0 ? null : JSON.stringify(tried);
}
