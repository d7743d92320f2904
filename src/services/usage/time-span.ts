/** Spans of time as the requests of UsageService state them, in milliseconds since 1970. */
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { Bucket, type RequestFilter } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { invalidValue } from "../../call/refusals.ts";
import { dayMs, hourMs, minuteMs } from "../../runtime/time/durations.ts";
import { asked } from "../asked.ts";

const defaultBuckets = 30;
const maxBuckets = 1000;

export function bucketMsOf(bucket: Bucket | undefined): number {
  if (bucket === Bucket.MINUTE) return minuteMs;
  return bucket === Bucket.HOUR ? hourMs : dayMs;
}

/** requestFilterOf returns the storage's filter. Throws a Refusal if the time span is empty. */
export function requestFilterOf({ keyId, model, upstream, outcomes = [], from, to }: Partial<RequestFilter> = {}) {
  return { keyId: asked(keyId), model: asked(model), upstream: asked(upstream), outcomes, ...span(from, to) };
}

/** span returns the time span in milliseconds. Throws a Refusal if it is empty. */
export function span(from: Timestamp | undefined, to: Timestamp | undefined): { from?: number; to?: number } {
  const [begins, ends] = [from && timestampMs(from), to && timestampMs(to)];
  if (begins !== undefined && ends !== undefined) refuseBackwards(begins, ends);
  return { ...(begins === undefined ? {} : { from: begins }), ...(ends === undefined ? {} : { to: ends }) };
}

/**
 * bucketedSpan returns the span of buckets. The first is whole, unless `from` is given and what is summed is kept more finely, by the
 * grain: then it has what there is since `from`. Throws a Refusal if the span is empty or has too many.
 */
export function bucketedSpan(
  { from, to }: { readonly from?: Timestamp | undefined; readonly to?: Timestamp | undefined },
  bucketMs: number,
  now: number,
  grainMs = bucketMs,
): { from: number; to: number } {
  const ends = to ? timestampMs(to) : now;
  const asked = from ? timestampMs(from) : ends - defaultBuckets * bucketMs;
  refuseBackwards(asked, ends);
  const roundMs = from ? grainMs : bucketMs;
  const begins = Math.floor(asked / roundMs) * roundMs;
  if (ends - begins > (maxBuckets + 1) * bucketMs) {
    throw invalidValue("from", `expected at most ${maxBuckets} buckets before \`to\``);
  }
  return { from: begins, to: ends };
}

function refuseBackwards(from: number, to: number): void {
  if (from >= to) throw invalidValue("from", "expected a moment before `to`");
}
