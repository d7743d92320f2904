/** The plan for a fleet of any size: one change after another, what one Postgres bears after each, and how many servers the load takes. */
import { type Break, breakOf, type Needed, neededBy } from "./bounds.ts";
import type { Scenario } from "./scenario.ts";

export interface Step {
  readonly what: string;
  readonly change: Partial<Scenario>;
}

export const steps: readonly Step[] = [
  { what: "as it is", change: {} },
  { what: "merges, and returns of leases, by 500 rows", change: { mergeRows: 500, releaseRows: 500 } },
  { what: "an account's calls come to two nodes", change: { reach: 2 } },
  { what: "an idle lease is kept for a minute", change: { leaseIdleMs: 60_000 } },
  { what: "a node decides and writes every 10 ms at most", change: { gatherMs: 10 } },
];

export interface Planned extends Needed {
  readonly what: string;
  /** overOne is the highest load over one Postgres, and what breaks then, with endless Redis and nodes. */
  readonly overOne: Break;
}

/** endless has so many Redis servers, and so little work of a node, that neither breaks first. */
const endless = { redisShards: 1_000, callCpu: 0 };

export function planOf(scenario: Scenario): Planned[] {
  let changed = scenario;
  return steps.map(({ what, change }) => {
    changed = { ...changed, ...change };
    return { what, ...neededBy(changed), overOne: breakOf({ ...changed, ...endless, shards: 1 }) };
  });
}
