/** Groups the counts of refused calls for charts, and puts them beside the calls that were not. */
import { create } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  RequestSumSchema,
  RequestTotalsSchema,
  type SummarizeRefusedResponse,
  type SummarizeRequestsResponse,
} from "../../../gen/modelgateway/v1/usage_pb.ts";
import { type Split, splitCells } from "./split.ts";

/** refusedGroup is the group of refused calls among those by outcome. */
export const refusedGroup = "refused";

export function splitRefused({ sums }: Pick<SummarizeRefusedResponse, "sums">, begins: readonly number[]): Split {
  const cells = sums.map(({ beginsAt, group, requests }) => ({
    ...{ at: beginsAt ? timestampMs(beginsAt) : 0, id: group, requests, cost: 0n, tokens: 0n, errors: 0n },
  }));
  return splitCells(cells, begins);
}

/** withRefused adds refused calls as a group of their own. `refused` has them as one group. */
export function withRefused(
  summary: SummarizeRequestsResponse,
  refused: SummarizeRefusedResponse | undefined,
): SummarizeRequestsResponse {
  if (!refused || refused.total === 0n) return summary;
  const totals = create(RequestTotalsSchema, { group: refusedGroup, requests: refused.total });
  const sums = refused.sums.map(({ beginsAt, requests }) =>
    create(RequestSumSchema, { group: refusedGroup, requests, ...(beginsAt ? { beginsAt } : {}) }),
  );
  return { ...summary, groups: [...summary.groups, totals], sums: [...summary.sums, ...sums] };
}
