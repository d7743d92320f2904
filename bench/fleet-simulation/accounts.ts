/** Accounts by how often they call: the first by themselves, the others in groups of accounts that call about as often. */
import type { Scenario } from "./scenario.ts";

export interface Group {
  readonly accounts: number;
  /** The part of all calls that each of them makes. */
  readonly part: number;
}

/** So many accounts are groups of their own; a group ends at a rank this much higher than its first. */
const single = 64;
const widening = 1.1;

/** Returns groups whose accounts make all calls together. */
export function groupsOf({ spread, accounts }: Pick<Scenario, "spread" | "accounts">): Group[] {
  if (spread === "uniform") return [{ accounts, part: 1 / accounts }];
  const groups: { accounts: number; part: number }[] = [];
  let total = 0;
  for (let first = 1; first <= accounts; ) {
    const after = first <= single ? first + 1 : Math.min(accounts + 1, Math.ceil(first * widening));
    const weight = first <= single ? 1 / first : Math.log((after - 0.5) / (first - 0.5));
    groups.push({ accounts: after - first, part: weight / (after - first) });
    total += weight;
    first = after;
  }
  return groups.map((group) => ({ accounts: group.accounts, part: group.part / total }));
}

/** Returns the sum over all accounts of a function of an account's part of the calls. */
export function sumOver(groups: readonly Group[], of: (part: number) => number): number {
  return groups.reduce((sum, { accounts, part }) => sum + accounts * of(part), 0);
}

/** Returns what makes of a number of calls how many accounts they are of, on average. */
export function distinctIn(groups: readonly Group[]): (calls: number) => number {
  const known = new Map<number, number>();
  return (calls) => {
    const rounded = calls <= 32 ? Math.round(calls) : Math.round(1.05 ** Math.round(Math.log(calls) / Math.log(1.05)));
    let distinct = known.get(rounded);
    if (distinct === undefined) {
      distinct = sumOver(groups, (part) => -Math.expm1(rounded * Math.log1p(-Math.min(part, 1 - 1e-12))));
      known.set(rounded, distinct);
    }
    return distinct;
  };
}
