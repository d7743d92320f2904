/** Tells what was simulated, in tables of Markdown. */
import { type Break, breakOf, longestWait, type Needed, neededBy, type Use, usesOf } from "./bounds.ts";
import { coresOf, type Simulated, simulateFleet } from "./fleet.ts";
import type { Planned } from "./plan.ts";
import { type Dry, runDry } from "./running-dry.ts";
import type { Scenario } from "./scenario.ts";

export interface Told {
  readonly name: string;
  readonly scenario: Scenario;
  readonly simulated: Simulated;
  readonly uses: readonly Use[];
  /** breaks is the highest load of the fleet; hotBreaks that of one account all of whose calls are scarce. */
  readonly breaks: Break;
  readonly hotBreaks: Break;
  readonly needed: Needed;
  readonly dry: { readonly recalled: Dry; readonly left: Dry };
}

export function tellOf(name: string, scenario: Scenario): Told {
  const simulated = simulateFleet(scenario);
  return {
    ...{ name, scenario, simulated, uses: usesOf(scenario, simulated) },
    breaks: breakOf(scenario),
    hotBreaks: breakOf(hotOf(scenario)),
    needed: neededBy(scenario),
    dry: { recalled: dryOf(scenario, true), left: dryOf(scenario, false) },
  };
}

/** One account that has too little for a lease makes all calls, and nothing but its row is a bound. */
function hotOf(scenario: Scenario): Scenario {
  const alone = { scarce: 1, hotScarce: 1, accounts: 1, keys: 1, callsPerSecond: 1_000, changes: 0, shards: 1 };
  return { ...scenario, ...alone, callCpu: 0, redisShards: 1_000 };
}

/** An account with credit for 5,000 holds, a hundred calls a second. */
function dryOf({ nodes, reach, callSeconds, hold, cost, leaseIdleMs, seed }: Scenario, recalls: boolean): Dry {
  const served = reach === 0 ? nodes : Math.min(reach, nodes);
  const account = { callsPerSecond: 100, balance: 5_000 * hold };
  return runDry({ ...account, nodes: served, callSeconds, hold, cost, leaseIdleMs, recalls, seed });
}

/** bytesADay is what the row of a call takes, with its indexes, for a day of a call a second. The size is assumed. */
const bytesADay = 400 * 86_400;

const count = (value: number) => Math.round(value).toLocaleString("en");
const rough = (value: number) => count(Number(value.toPrecision(2)));
const percent = (value: number) =>
  Number.isFinite(value) ? `${(value * 100).toFixed(value < 0.1 ? 1 : 0)} %` : "without end";
const ms = (us: number) => (us / 1000).toFixed(us < 100_000 ? 1 : 0);
const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [row(head), `|---|${"--:|".repeat(head.length - 1)}`, ...rows.map(row)].join("\n");
}

export function textOf(told: Told): string {
  const { name, scenario, simulated, uses } = told;
  const { nodes, callsPerSecond, keys, accounts, scarce, shards, cores, redisShards, seed } = scenario;
  const title = `## ${name}: ${count(nodes)} nodes, ${count(callsPerSecond)} calls/s, ${count(keys)} keys of ${count(accounts)} accounts`;
  const below = `${percent(scarce)} of the calls scarce, ${shards} Postgres of ${cores} cores (${coresOf(scenario)} of them for calls), ${redisShards} Redis, seed ${seed}.`;
  const used = uses.map((use) => [use.name, percent(use.used), percent(use.most)]);
  const note = `A wait is a part of ${longestWait / 1000} ms, for one call in a hundred. Cores of Postgres: ${percent(simulated.used.cores)}; batches grow as they fill up, so waits are the bound.`;
  return [
    title,
    below,
    table(["bound", "used", "at most"], used),
    note,
    flowsText(told),
    workText(simulated),
    endText(told),
  ].join("\n\n");
}

function flowsText({ simulated, uses }: Told): string {
  const { flows, shard, begin, end, hot, batches, logBytes, dueRows, longestReleaseMs } = simulated;
  const isLost = uses.some(({ used }) => used === Number.POSITIVE_INFINITY);
  const waits = [begin, end, hot].map((one) =>
    isLost ? "without end" : `${ms(one.percentile(0.5))} / ${ms(one.percentile(0.99))}`,
  );
  const [toBegin = "", toEnd = "", ofHot = ""] = waits;
  return table(
    ["figure", "value"],
    [
      ["wait for money before a call is sent, p50 / p99, ms", toBegin],
      ["wait for money before it is answered, p50 / p99, ms", toEnd],
      ["the same of the account with most scarce calls, ms", hot.count() > 0 ? ofHot : "–"],
      ["calls/s, of them for the busiest Postgres", `${rough(flows.leased + flows.scarce)}, ${percent(shard.part)}`],
      ["leases there, opened/s", `${rough(flows.leases)}, ${rough(flows.opened)}`],
      ["keys read again/s", rough(flows.keyReads)],
      ["asks of Redis/s", rough(flows.redisAsks)],
      [
        "the busiest Postgres: writes/s, entries of one, turns decided/s",
        [batches.write, batches.entries, batches.decide].map(rough).join(", "),
      ],
      ["its rows due/s, MB/s of log", `${rough(dueRows)}, ${(logBytes / 1e6).toFixed(0)}`],
      [
        "rows of calls a day at 400 bytes each, TB, of all",
        ((flows.leased + flows.scarce) * bytesADay * 1e-12).toFixed(1),
      ],
      ["its longest return of leases, ms", longestReleaseMs.toFixed(0)],
    ],
  );
}

function workText({ cores }: Simulated): string {
  const rows = Object.entries(cores).sort(([, one], [, other]) => other - one);
  return table(
    ["the busiest Postgres works on", "cores"],
    rows.map(([work, used]) => [work, used.toFixed(2)]),
  );
}

function endText({ scenario, breaks, hotBreaks, needed, dry }: Told): string {
  const { recalled, left } = dry;
  const most = (one: Break) => `${rough(one.callsPerSecond)} calls/s; then: ${one.what || "nothing that was tried"}`;
  const perDay = (scenario.accounts * recalled.recalls) / 86_400;
  return table(
    ["question", "answer"],
    [
      ["what it bears as it is", most(breaks)],
      ["what one account bears whose calls are all scarce", most(hotBreaks)],
      ["what this load takes", neededText(needed)],
      ["an account runs dry: most that is idle in leases", percent(recalled.mostIdle)],
      [
        "calls refused that could be paid, without recalls and with them",
        `${count(left.refusedWrongly)}, ${count(recalled.refusedWrongly)}`,
      ],
      [
        "recalls until it is dry; a second, if each account runs dry once a day",
        `${count(recalled.recalls)}; ${perDay.toFixed(1)}`,
      ],
    ],
  );
}

function neededText({ nodes, postgres, redis }: Needed): string {
  return `${count(nodes)} nodes, ${postgres === undefined ? "no number of" : count(postgres)} Postgres, ${count(redis)} Redis`;
}

export function planText(planned: readonly Planned[]): string {
  const rows = planned.map(({ what, overOne, ...needed }) => [
    what,
    rough(overOne.callsPerSecond),
    overOne.what,
    count(needed.nodes),
    needed.postgres === undefined ? "no number" : count(needed.postgres),
    count(needed.redis),
  ]);
  return table(
    ["with this, too", "calls/s over one Postgres", "what breaks then", "nodes for the load", "Postgres", "Redis"],
    rows,
  );
}
