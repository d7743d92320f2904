/** Reads the answer of SummarizeRequests as Connect's JSON. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { Told } from "./session.ts";

export interface AskedTotals {
  readonly total: JsonObject;
  readonly groups: readonly JsonObject[];
  readonly sums: readonly JsonObject[];
}

/** Returns the sums. Counts of 0, which Connect's JSON leaves out, are written out in the total. */
export function totalsOf({ status, json }: Told): AskedTotals {
  if (status !== 200) throw new Error(`refused: ${JSON.stringify(json)}`);
  const { total, groups = [], sums = [] } = json as unknown as AskedTotals;
  return { total: { requests: "0", errors: "0", ...total }, groups, sums };
}
