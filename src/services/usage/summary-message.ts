/** Parses what calls are summed by, and builds the messages of the sums. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  OutcomeSchema,
  RequestGroup,
  type SummarizeRequestsRequest,
  type SummarizeRequestsResponseSchema,
} from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Percentiles } from "../../storage/calls/percentiles.ts";
import type { CallSum, CallTotals, GroupColumn, Summary, SummaryFilter } from "../../storage/calls/summary.ts";
import { enumWords } from "../../wire/plan.ts";
import { usageOfSums } from "./request-message.ts";
import { bucketedSpan, bucketMsOf, requestFilterOf } from "./time-span.ts";

export const summaryLimits = { calls: 200_000, groups: 100 } as const;

const columns: Readonly<Record<RequestGroup, GroupColumn | undefined>> = {
  [RequestGroup.UNSPECIFIED]: undefined,
  [RequestGroup.MODEL]: "model",
  [RequestGroup.KEY]: "key_id",
  [RequestGroup.UPSTREAM]: "upstream",
  [RequestGroup.OUTCOME]: "outcome",
  [RequestGroup.OPERATION]: "operation",
  [RequestGroup.ACCOUNT]: "account_id",
  // By what their keys have: `key-labels.ts`.
  [RequestGroup.TAG]: undefined,
  [RequestGroup.OWNER]: undefined,
};

/** summaryFilterOf returns the storage's filter. Throws a Refusal if the time span is empty or too long. */
export function summaryFilterOf(message: SummarizeRequestsRequest | undefined, now: number) {
  const { filter, bucket, groupBy = RequestGroup.UNSPECIFIED } = message ?? {};
  const bucketMs = bucketMsOf(bucket);
  const span = bucketedSpan(filter ?? {}, bucketMs, now, 1);
  return { ...requestFilterOf(filter), ...span, bucketMs, groupBy: columns[groupBy] };
}

export function summaryMessage(
  { total, groups, sums, completeFrom }: Summary,
  groupBy: SummaryFilter["groupBy"],
): MessageInitShape<typeof SummarizeRequestsResponseSchema> {
  const nameOf = groupBy === "outcome" ? outcomeWord : (group: string) => group;
  return {
    total: totalsMessage(total, ""),
    groups: groups.map((one) => totalsMessage(one, nameOf(one.group))),
    sums: sums.map((one) => sumMessage(one, nameOf(one.group))),
    ...(completeFrom === undefined ? {} : { completeFrom: timestampFromMs(completeFrom) }),
  };
}

const { words: outcomeWords } = enumWords(OutcomeSchema);

function outcomeWord(number: string): string {
  return outcomeWords.get(Number(number)) ?? number;
}

function totalsMessage(totals: CallTotals, group: string) {
  const { requests, errors, cached, sums } = totals;
  const counts = { requests: BigInt(requests), errors: BigInt(errors), cached: BigInt(cached) };
  return {
    ...{ group, ...counts, usage: usageOfSums(sums), cost: BigInt(sums.cost) },
    ...timesMessage(totals),
  };
}

/** timesMessage returns the fields that tell times, in milliseconds, as every message of measured calls has them. */
export function timesMessage({ durationMs, firstByteMs }: Pick<CallTotals, "durationMs" | "firstByteMs">) {
  return {
    ...(durationMs && { durationP50Ms: durationMs.p50, durationP95Ms: durationMs.p95 }),
    ...(firstByteMs && { firstByteP50Ms: firstByteMs.p50, firstByteP95Ms: firstByteMs.p95 }),
  };
}

function sumMessage({ beginsAt, requests, errors, tokens, cost, durationMs }: CallSum, group: string) {
  const counts = { requests: BigInt(requests), errors: BigInt(errors), tokens: BigInt(tokens), cost: BigInt(cost) };
  return { beginsAt: timestampFromMs(beginsAt), group, ...counts, ...p95Of(durationMs) };
}

function p95Of(durationMs: Percentiles | undefined) {
  return durationMs && { durationP95Ms: durationMs.p95 };
}
