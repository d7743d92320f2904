/** Groups sums of usage by model or key and by bucket. Buckets without calls are included, empty. */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { UsageSum } from "../../../../gen/modelgateway/v1/usage_pb.ts";

export interface Part {
  readonly id: string;
  readonly requests: bigint;
  readonly cost: bigint;
}

export interface Split {
  /** parts are the totals of each model or key, the most expensive first. */
  readonly parts: readonly Part[];
  readonly requests: bigint;
  readonly cost: bigint;
  readonly buckets: readonly { readonly at: number; readonly parts: readonly Part[] }[];
}

export type Measure = "cost" | "requests";

export function split(sums: readonly UsageSum[], by: "model" | "keyId", begins: readonly number[]): Split {
  const parts = sums.map((sum) => ({
    at: sum.beginsAt ? timestampMs(sum.beginsAt) : 0,
    id: sum[by] ?? "",
    requests: sum.requests,
    cost: sum.cost,
  }));
  const inBucket = Map.groupBy(parts, ({ at }) => at);
  const whole = [...Map.groupBy(parts, ({ id }) => id)].map(([id, some]) => added(id, some));
  return {
    parts: whole.sort((a, b) => compare(b.cost, a.cost) || compare(b.requests, a.requests)),
    requests: total(parts, "requests"),
    cost: total(parts, "cost"),
    buckets: begins.map((at) => ({ at, parts: inBucket.get(at) ?? [] })),
  };
}

export function total(parts: readonly Part[], measure: Measure): bigint {
  return parts.reduce((sum, part) => sum + part[measure], 0n);
}

/** shareOf returns the share of the whole, 0 to 1. */
export function shareOf(part: bigint, whole: bigint): number {
  return whole === 0n ? 0 : Number((part * 10_000n) / whole) / 10_000;
}

function added(id: string, parts: readonly Part[]): Part {
  return { id, requests: total(parts, "requests"), cost: total(parts, "cost") };
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
