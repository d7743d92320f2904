/**
 * Estimates the load of the busiest Postgres server: accounts are divided among them by a hash, and one has the account that calls most.
 */
import { distinctIn, type Group, sumOver } from "./accounts.ts";
import type { Flows } from "./flows.ts";
import type { Scenario } from "./scenario.ts";

export interface ShardLoad {
  /** The part of all calls that it gets. */
  readonly part: number;
  /** The part of all accounts that it has. */
  readonly accounts: number;
  /** Returns of how many accounts a number of calls are that one node has sent it, on average. */
  readonly distinct: (calls: number) => number;
}

export function busiestShard(scenario: Scenario, { groups }: Flows): ShardLoad {
  const { shards, nodes, reach } = scenario;
  const own = groupsOn(groups, shards);
  const part = sumOver(own, (calls) => calls);
  const seen = reach === 0 ? 1 : Math.min(1, reach / nodes);
  const seenByOne = own.map((group) => ({
    accounts: group.accounts * seen,
    part: Math.min(1, group.part / part / seen),
  }));
  return { part, accounts: 1 / shards, distinct: distinctIn(seenByOne) };
}

/** Accounts that are groups of their own are dealt out, the busiest first; of larger groups each server has its part. */
function groupsOn(groups: readonly Group[], shards: number): Group[] {
  const alone = groups.filter(({ accounts }) => accounts === 1);
  const others = groups.filter(({ accounts }) => accounts > 1);
  return [
    ...alone.filter((_, rank) => rank % shards === 0),
    ...others.map((group) => ({ ...group, accounts: group.accounts / shards })),
  ];
}
