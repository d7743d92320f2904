/** The attempts of a call that another attempt replaced, as the call's row keeps them (`requests.tried`). */
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { AttemptRecord, CallRecord } from "../../call/call-record.ts";
import { keptTokens } from "../../call/usage.ts";

/** FailedAttempt failed before the attempt that counts, or was overtaken by a faster one beside it. */
export interface FailedAttempt {
  readonly upstream: string;
  /** The catalogue's id; unset: the model that answered, or was asked last. */
  readonly model?: string;
  /** at is when it began, in milliseconds since 1970, and how many it took. */
  readonly at: number;
  readonly ms: number;
  /** failure is what failed, in the gateway's own words. */
  readonly failure: string;
  /** outcome is unset where the upstream failed: it says that it rejected the request, or that the caller's own time-out passed. */
  readonly outcome?: AttemptRecord["outcome"];
  /** lost is what its upstream may charge, in millionths of the unit. Set only where it was overtaken. */
  readonly lost?: number;
  /** told is what its upstream reported, by parts that are not 0; `cache_write` has all writes. */
  readonly told?: TokensTold;
}

type TokensTold = Readonly<Partial<ReturnType<typeof keptTokens>>>;

/** The model that answered, and the cost of that: an attempt that was overtaken may have cost as much. */
interface CallCost {
  readonly model: string;
  readonly cost: number;
}

const overtaken = "another attempt was quicker";
const rejected = "it rejected the request";

function toldOf({ told }: AttemptRecord): Pick<FailedAttempt, "told"> {
  if (!told) return {};
  return { told: Object.fromEntries(Object.entries(keptTokens(told)).filter(([, count]) => count > 0)) };
}

/** failedAttemptsOf returns the failed attempts as a JSON list; null for none. The row itself describes the last one. */
export function failedAttemptsOf(
  { attempts, lastAttempt }: Pick<CallRecord, "attempts" | "lastAttempt">,
  call: CallCost,
): string | null {
  const failed = attempts.flatMap((attempt): readonly FailedAttempt[] => {
    const { upstream, begunAt, endedAt = begunAt, outcome, isOvertaken, modelId } = attempt;
    const failure = outcome === Outcome.REJECTED ? rejected : attempt.failure;
    const other = modelId === call.model ? {} : { model: modelId };
    const common = { upstream, at: begunAt, ms: endedAt - begunAt, ...other, ...toldOf(attempt) };
    if (isOvertaken) return [{ ...common, failure: overtaken, lost: call.cost }];
    return failure === undefined || attempt === lastAttempt
      ? []
      : [{ ...common, failure, ...(outcome && { outcome }) }];
  });
  return failed.length === 0 ? null : JSON.stringify(failed);
}
