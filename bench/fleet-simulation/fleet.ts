/**
 * Simulates a fleet over its busiest Postgres server, transaction by transaction: each node has a lane that decides and one that
 * writes, gives back idle leases and renews its holds; sums that are due are merged.
 *
 * Exact for calls that come independently: when lanes begin and end, how many items each transaction has, cores, flushes of the log, and
 * the row of the account that most scarce calls are of. Approximated: how many accounts a transaction is of is its mean; locks of other
 * accounts are not waited for; an ample account's lease has what the calls that run at a time need. Left out: whole pages in the log after
 * a checkpoint, vacuum, standby servers, and what people look at.
 */
import { type Costs, costSets, nodeCosts } from "./costs.ts";
import { createDatabase, type Database } from "./database.ts";
import { type Calendar, createCalendar } from "./events.ts";
import { type Flows, flowsOf, mergeMs, renewMs } from "./flows.ts";
import { startLane } from "./lane.ts";
import { createRandom, type Random } from "./random.ts";
import type { Scenario } from "./scenario.ts";
import { busiestShard, type ShardLoad } from "./shard.ts";
import { createWaits, type Waits } from "./waits.ts";

/** Kinds of work of a database. */
export type Work = "write" | "decide" | "release" | "merge" | "renew" | "key reads" | "polls and touches";

export interface Simulated {
  readonly flows: Flows;
  readonly shard: ShardLoad;
  /** The calls' waits for money before they are sent, and before they are answered, in microseconds. */
  readonly begin: Waits;
  readonly end: Waits;
  /** The same of calls of the account that most scarce calls are of. */
  readonly hot: Waits;
  /** Cores of the server that each kind takes on average. */
  readonly cores: Readonly<Record<Work, number>>;
  /** used is the share of each of the server's resources that is in use, from 0 to 1. */
  readonly used: { readonly cores: number; readonly log: number; readonly hotRow: number };
  /** Transactions a second of each lane's kind, entries of one, and the longest that gives back leases, in milliseconds. */
  readonly batches: { readonly write: number; readonly decide: number; readonly entries: number };
  readonly longestReleaseMs: number;
  /** Rows a second that are due, and bytes a second of log. */
  readonly dueRows: number;
  readonly logBytes: number;
}

/** warmUp is how long the start is left out, in seconds: all nodes begin at once. */
const warmUp = 0.5;

export function simulateFleet(scenario: Scenario): Simulated {
  const run = startRun(scenario);
  const { calendar, database, counts } = run;
  startNodes(run);
  startMerging(run);
  calendar.runUntil(warmUp * 1e6);
  const before = database.used();
  for (const waits of [run.begin, run.end, run.hot]) waits.clear();
  const counted = { ...counts, cpu: { ...counts.cpu } };
  calendar.runUntil((warmUp + scenario.seconds) * 1e6);
  const after = database.used();
  const perSecond = (of: keyof typeof after) => (after[of] - before[of]) / scenario.seconds;
  const since = (of: "writes" | "decides" | "entries" | "dueRows") => (counts[of] - counted[of]) / scenario.seconds;
  addUnasked(run);
  const works = Object.keys(counts.cpu) as (keyof Counts["cpu"])[];
  const cpu = works.map((work) => [work, (counts.cpu[work] - counted.cpu[work]) / scenario.seconds / 1e6]);
  return {
    ...{ flows: run.flows, shard: run.shard, begin: run.begin, end: run.end, hot: run.hot },
    cores: { ...(Object.fromEntries(cpu) as Counts["cpu"]), ...run.taken },
    used: {
      cores: (perSecond("cpu") / 1e6 + run.takenCores) / coresOf(scenario),
      log: perSecond("bytes") / scenario.logBytes,
      hotRow: perSecond("hotUs") / 1e6,
    },
    batches: {
      write: since("writes"),
      decide: since("decides"),
      entries: since("entries") / Math.max(1, since("writes")),
    },
    longestReleaseMs: counts.longestRelease / 1000,
    ...{ dueRows: since("dueRows"), logBytes: perSecond("bytes") },
  };
}

/** Returns the cores of a Postgres that are for calls: at least one. */
export function coresOf({ cores, coresPart }: Scenario): number {
  return Math.max(1, Math.round(cores * coresPart));
}

interface Run {
  readonly scenario: Scenario;
  readonly flows: Flows;
  readonly shard: ShardLoad;
  readonly costs: Costs;
  readonly calendar: Calendar;
  readonly random: Random;
  readonly database: Database;
  readonly begin: Waits;
  readonly end: Waits;
  readonly hot: Waits;
  readonly taken: { readonly "key reads": number; readonly "polls and touches": number };
  readonly takenCores: number;
  readonly counts: Counts;
}

interface Counts {
  writes: number;
  decides: number;
  entries: number;
  /** All rows that came due, and those that no merge has taken yet. */
  dueRows: number;
  unmerged: number;
  longestRelease: number;
  readonly cpu: Record<Exclude<Work, "key reads" | "polls and touches">, number>;
}

function startRun(scenario: Scenario): Run {
  const flows = flowsOf(scenario);
  const shard = busiestShard(scenario, flows);
  const costs = costSets[scenario.costs];
  const calendar = createCalendar();
  const taken = {
    "key reads": (flows.keyReads * shard.accounts * costs.keyRead) / 1e6,
    "polls and touches": (flows.polls * costs.versionPoll + flows.touches * shard.accounts * costs.touch) / 1e6,
  };
  const takenCores = taken["key reads"] + taken["polls and touches"];
  const { flushUs, logBytes } = scenario;
  const cores = coresOf(scenario);
  const touched = flows.touches * shard.accounts * costs.log.touch;
  return {
    ...{ scenario, flows, shard, costs, calendar, taken, takenCores },
    random: createRandom(scenario.seed),
    database: createDatabase({
      ...{ calendar, cores, taken: takenCores / cores, flushUs },
      logBytes: Math.max(logBytes * 0.01, logBytes - touched),
    }),
    ...{ begin: createWaits(), end: createWaits(), hot: createWaits() },
    counts: {
      ...{ writes: 0, decides: 0, entries: 0, dueRows: 0, unmerged: 0, longestRelease: 0 },
      cpu: { write: 0, decide: 0, release: 0, merge: 0, renew: 0 },
    },
  };
}

interface Statement {
  readonly work: keyof Counts["cpu"];
  readonly cpu: number;
  readonly bytes: number;
  readonly isHot?: boolean;
  /** Items of which a node makes the statement. */
  readonly items?: number;
}

/** Sends a transaction to the server, and has its node hear of its end. */
function send({ scenario, calendar, database, counts }: Run, what: Statement, done: () => void): void {
  const { work, cpu, bytes, isHot = false, items = 0 } = what;
  counts.cpu[work] += cpu;
  const way = scenario.roundTripUs / 2;
  calendar.after(way + nodeCosts.batch + items * nodeCosts.entry, () => {
    database.run({ cpu, bytes, isHot, done: () => calendar.after(way, done) });
  });
}

function startNodes(run: Run): void {
  const { nodes, reach } = run.scenario;
  const withHot = reach === 0 ? nodes : Math.min(reach, nodes);
  for (let node = 0; node < nodes; node++) {
    startDeciding(run, node < withHot ? 1 / withHot : 0);
    startWriting(run);
    startGivingBack(run);
    startRenewing(run);
  }
}

/** Holds and captures of scarce calls, and leases that are opened or grow. `hotPart` is the node's of the account that most are of. */
function startDeciding(run: Run, hotPart: number): void {
  const { calendar, random, flows, shard, costs, scenario, counts } = run;
  const each = (flow: number) => (flow * shard.part) / scenario.nodes;
  const scarce = each(flows.scarce - flows.hot);
  const { decide, log } = costs;
  startLane({
    ...{ calendar, random, gatherUs: scenario.gatherMs * 1000 },
    rates: [scarce, scarce, each(flows.opened + flows.grown), flows.hot * hotPart, flows.hot * hotPart],
    waits: [run.begin, run.end, run.begin, run.hot, run.hot],
    run([holds = 0, captures = 0, leases = 0, hotHolds = 0, hotCaptures = 0], done) {
      const [allHolds, allCaptures] = [holds + hotHolds, captures + hotCaptures];
      const isHot = hotHolds + hotCaptures > 0;
      const accounts = shard.distinct(holds) + shard.distinct(captures) + (isHot ? 1 : 0);
      counts.decides++;
      counts.dueRows += allCaptures;
      counts.unmerged += allCaptures;
      const cpu =
        decide.batch +
        allHolds * decide.hold +
        allCaptures * decide.capture +
        accounts * decide.account +
        leases * decide.lease;
      const bytes =
        log.commit +
        allHolds * log.decidedHold +
        allCaptures * log.decidedCapture +
        accounts * log.decidedAccount +
        leases * log.grownLease;
      send(run, { work: "decide", cpu, bytes, isHot, items: allHolds + allCaptures + leases }, done);
    },
  });
}

/** startWriting starts the lane that writes calls which leases cover: their begin, for which no call waits, and their end, for which it waits. */
function startWriting(run: Run): void {
  const { calendar, random, flows, shard, costs, scenario, counts } = run;
  const rate = (flows.leased * shard.part) / scenario.nodes;
  const { write, log } = costs;
  startLane({
    ...{ calendar, random, rates: [rate, rate], waits: [undefined, run.end], gatherUs: scenario.gatherMs * 1000 },
    run([holds = 0, charges = 0], done) {
      const rows = shard.distinct(holds) + shard.distinct(charges);
      const leases = shard.distinct(holds + charges);
      counts.writes++;
      counts.entries += holds + charges;
      counts.dueRows += rows;
      counts.unmerged += rows;
      const cpu = write.batch + holds * write.hold + charges * write.charge + (leases - 1) * write.lease;
      const bytes = log.commit + holds * log.hold + charges * log.charge + (leases - 1) * log.lease;
      send(run, { work: "write", cpu, bytes, items: holds + charges }, done);
    },
  });
}

/** Has something happen again and again, from some moment within the first span on. */
function every({ calendar, random }: Run, us: number, happen: () => void): void {
  const again = () => {
    happen();
    calendar.after(us, again);
  };
  calendar.after(random.next() * us, again);
}

/** All leases that nobody drew on since the last look, in one transaction after another. */
function startGivingBack(run: Run): void {
  const { flows, shard, costs, scenario, random, counts } = run;
  const { leaseIdleMs, nodes, releaseRows } = scenario;
  const expected = (flows.released * shard.accounts * leaseIdleMs) / 1000 / nodes;
  if (expected === 0 || leaseIdleMs === 0) return;
  const giveBack = (leases: number) => {
    if (leases === 0) return;
    const now = Math.min(leases, releaseRows);
    const cpu = costs.release.batch + now * costs.release.lease;
    counts.longestRelease = Math.max(counts.longestRelease, cpu);
    const bytes = costs.log.commit + now * costs.log.releasedLease;
    send(run, { work: "release", cpu, bytes }, () => giveBack(leases - now));
  };
  every(run, leaseIdleMs * 1000, () => giveBack(random.poisson(expected)));
}

function startRenewing(run: Run): void {
  const { flows, shard, costs, scenario } = run;
  const holds = ((flows.running * shard.part + flows.leases * shard.accounts) / scenario.nodes) | 0;
  every(run, renewMs * 1000, () => {
    const bytes = costs.log.commit + holds * costs.log.renewedHold;
    send(run, { work: "renew", cpu: 100 + holds * costs.renewedHold, bytes }, () => {});
  });
}

/** One of the transactions of a span has the account that most scarce calls are of. */
function startMerging(run: Run): void {
  const { flows, shard, costs, counts, calendar, scenario } = run;
  const accounts = flows.mergedAccounts * shard.accounts * (mergeMs / 1000);
  every(run, mergeMs * 1000, () => {
    const rows = counts.unmerged;
    counts.unmerged = 0;
    const transactions = Math.ceil(rows / scenario.mergeRows);
    for (let i = 0; i < transactions; i++) {
      const own = { rows: rows / transactions, accounts: Math.min(rows, accounts) / transactions };
      const cpu = own.rows * costs.merge.row + own.accounts * costs.merge.account;
      const bytes = costs.log.commit + own.accounts * costs.log.mergedAccount;
      const isHot = i === 0 && flows.hot > 0;
      calendar.after((i / transactions) * mergeMs * 1000, () =>
        send(run, { work: "merge", cpu, bytes, isHot }, () => {}),
      );
    }
  });
}

/** Most calls wait for nothing before they are sent: their lease is there. */
function addUnasked({ scenario, flows, shard, begin }: Run): void {
  const unasked = (flows.leased - flows.opened - flows.grown) * shard.part * scenario.seconds;
  begin.add(0, Math.max(0, unasked));
}
