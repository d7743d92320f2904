/** Groups sums by model, key or what else, and by bucket. Buckets without calls are included, empty. */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { RequestSum, RequestTotals, UsageSum } from "../../../gen/modelgateway/v1/usage_pb.ts";

export interface Part {
  readonly id: string;
  readonly requests: bigint;
  readonly cost: bigint;
  readonly tokens: bigint;
  readonly errors: bigint;
}

export interface Split {
  /** parts are the totals of each model, key or other group, the most expensive first. */
  readonly parts: readonly Part[];
  readonly total: Omit<Part, "id">;
  readonly buckets: readonly { readonly at: number; readonly parts: readonly Part[] }[];
}

export type Measure = "cost" | "requests" | "tokens" | "errors";

/** split groups the sums of ListUsage, which know no errors. */
export function split(sums: readonly UsageSum[], by: "model" | "keyId", begins: readonly number[]): Split {
  const cells = sums.map((sum) => ({
    ...{ at: sum.beginsAt ? timestampMs(sum.beginsAt) : 0, id: sum[by] ?? "" },
    ...{ requests: sum.requests, cost: sum.cost, tokens: tokensOf(sum), errors: 0n },
  }));
  return splitCells(cells, begins);
}

/** splitSummary groups the sums of SummarizeRequests. */
export function splitSummary(
  { sums, groups }: { readonly sums: readonly RequestSum[]; readonly groups: readonly RequestTotals[] },
  begins: readonly number[],
): Split {
  const cells = sums.map(({ beginsAt, group, requests, cost, tokens, errors }) => ({
    ...{ at: beginsAt ? timestampMs(beginsAt) : 0, id: group, requests, cost, tokens, errors },
  }));
  // In the gateway's own order, for a group may cost nothing.
  const order = new Map(groups.map(({ group }, place) => [group, place]));
  const { parts, ...rest } = splitCells(cells, begins);
  return { ...rest, parts: [...parts].sort((a, b) => (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0)) };
}

/** tokensOf returns the number of tokens, input and output. */
export function tokensOf({ usage }: Pick<UsageSum | RequestTotals, "usage">): bigint {
  if (!usage) return 0n;
  return usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens + usage.outputTokens;
}

export function total(parts: readonly Part[], measure: Measure): bigint {
  return parts.reduce((sum, part) => sum + part[measure], 0n);
}

/** shareOf returns the share of the whole, 0 to 1. */
export function shareOf(part: bigint, whole: bigint): number {
  return whole === 0n ? 0 : Number((part * 10_000n) / whole) / 10_000;
}

/** splitCells groups what is of one bucket and group each. */
export function splitCells(cells: readonly (Part & { readonly at: number })[], begins: readonly number[]): Split {
  const inBucket = Map.groupBy(cells, ({ at }) => at);
  const parts = [...Map.groupBy(cells, ({ id }) => id)].map(([id, some]) => ({ id, ...added(some) }));
  return {
    parts: parts.sort((a, b) => compare(b.cost, a.cost) || compare(b.requests, a.requests)),
    total: added(cells),
    buckets: begins.map((at) => ({ at, parts: inBucket.get(at) ?? [] })),
  };
}

function added(parts: readonly Part[]): Omit<Part, "id"> {
  return {
    requests: total(parts, "requests"),
    cost: total(parts, "cost"),
    tokens: total(parts, "tokens"),
    errors: total(parts, "errors"),
  };
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
