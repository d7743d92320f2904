/**
 * Calculates how much work a second of calls causes: leases opened and given back, keys read again, rates asked for. For calls that come
 * independently of each other (Poisson) it is exact in a steady state. Comments name the approximations.
 */
import { leaseFor } from "../../src/storage/money/lease-size.ts";
import { type Group, groupsOf, sumOver } from "./accounts.ts";
import type { Scenario } from "./scenario.ts";

/** pollMs, mergeMs and renewMs are how often a node polls the version, merges sums, and renews its holds. */
export const pollMs = 250;
export const mergeMs = 1_000;
export const renewMs = 20_000;
/** maxKnown is how many keys a node remembers at most. */
const maxKnown = 50_000;
/** touchSeconds is how often a key's last use is recorded at most; sliceSeconds is for how long a slice of a rate suffices. */
const [touchSeconds, sliceSeconds] = [60, 0.05];

/** Flows are of the whole fleet, each a second where nothing else is said. */
export interface Flows {
  readonly groups: readonly Group[];
  /** Calls that a lease covers, after it was opened where there was none; and those that the database decides each. */
  readonly leased: number;
  readonly scarce: number;
  /** Of the scarce ones, those of the one account that makes most. */
  readonly hot: number;
  /** Leases that are opened because there was none, or grow because they were used up. */
  readonly opened: number;
  readonly grown: number;
  /** Leases that are given back because no call came. */
  readonly released: number;
  /** leases is how many leases are open. */
  readonly leases: number;
  /** running is how many calls run at a time. */
  readonly running: number;
  readonly keyReads: number;
  readonly touches: number;
  readonly polls: number;
  readonly redisAsks: number;
  /** Accounts whose sums are merged, where what is due waits for `mergeMs`. */
  readonly mergedAccounts: number;
  /** The part of all calls that the account makes that calls most. */
  readonly most: number;
}

/** oncePer returns how many events a call causes, if one event happens in each span of `seconds` in which calls come. `rate` is calls a second. */
export function oncePer(rate: number, seconds: number): number {
  const expected = rate * seconds;
  return expected < 1e-9 ? 1 : -Math.expm1(-expected) / expected;
}

export function flowsOf(scenario: Scenario): Flows {
  const { callsPerSecond, scarce, hotScarce, nodes, callSeconds, buckets } = scenario;
  const groups = groupsOf(scenario);
  const leased = callsPerSecond * (1 - scarce);
  const reach = scenario.reach === 0 ? nodes : Math.min(scenario.reach, nodes);
  const ofPair = (part: number, calls: number) => (part * calls) / reach;
  const asks = sumOver(groups, (part) => part * callsPerSecond * oncePer(ofPair(part, callsPerSecond), sliceSeconds));
  return {
    groups,
    leased,
    scarce: callsPerSecond * scarce,
    hot: callsPerSecond * scarce * hotScarce,
    ...leaseFlows(scenario, groups, leased, reach),
    running: callsPerSecond * callSeconds,
    keyReads: keyReadsOf(scenario, groups, reach),
    touches: sumOver(groups, (part) => part * callsPerSecond * oncePer(ofKey(scenario, part), touchSeconds)),
    polls: (nodes * 1000) / pollMs,
    redisAsks: asks * buckets,
    mergedAccounts:
      sumOver(groups, (part) => -Math.expm1((-part * callsPerSecond * mergeMs) / 1000)) / (mergeMs / 1000),
    most: Math.max(...groups.map(({ part }) => part)),
  };
}

/** The calls a second of a key of an account: its keys call alike. */
function ofKey({ callsPerSecond, accounts, keys }: Scenario, part: number): number {
  return (part * callsPerSecond) / Math.max(1, keys / accounts);
}

/**
 * A node looks at its leases again and again. One that no call drew on since the last look is given back. So a lease is there at
 * a look with the probability p that a call came since the look before, and is opened p (1 - p) times a look.
 */
function leaseFlows(scenario: Scenario, groups: readonly Group[], leased: number, reach: number) {
  const { hold, cost, balance, leaseIdleMs } = scenario;
  const look = leaseIdleMs / 1000;
  const grown = leaseFor(hold, balance);
  const isThere = (part: number) => -Math.expm1((-part * leased * look) / reach);
  // An account whose credit is not ample for this hold leases nothing, and each call is decided.
  if (grown === 0) return { opened: leased, grown: 0, released: 0, leases: 0 };
  const opened = sumOver(groups, (part) => (reach * isThere(part) * (1 - isThere(part))) / look);
  return {
    opened,
    grown: (leased * cost) / grown,
    released: opened,
    leases: sumOver(groups, (part) => reach * isThere(part)),
  };
}

/**
 * A key is read when it calls and is not known: because the version has changed since, which a node sees at a poll, or because more keys
 * call than a node knows. Where one change has nodes forget a single key, the keys that change are those that call.
 */
function keyReadsOf(scenario: Scenario, groups: readonly Group[], reach: number): number {
  const { callsPerSecond, changes, forget, nodes, keys, accounts } = scenario;
  const rate = (part: number) => ofKey(scenario, part) / reach;
  const keysOf = Math.max(1, keys / accounts);
  const knownAfter = (seconds: number) =>
    (sumOver(groups, (part) => -Math.expm1(-rate(part) * seconds)) * keysOf * reach) / nodes;
  const room = knownAfter(1e9) <= maxKnown ? Number.POSITIVE_INFINITY : timeUntil(knownAfter, maxKnown);
  const polled = 1000 / pollMs;
  const forgets = polled * -Math.expm1(-changes / polled);
  const lasting = Math.min(room, forget === "all" ? 1 / forgets : Number.POSITIVE_INFINITY);
  const again = Number.isFinite(lasting)
    ? sumOver(groups, (part) => part * callsPerSecond * oncePer(rate(part), lasting))
    : 0;
  return again + (forget === "changed" ? changes * reach : 0);
}

/** Returns when a rising function of time reaches a value. */
function timeUntil(of: (seconds: number) => number, value: number): number {
  let [low, high] = [1e-6, 1e9];
  for (let i = 0; i < 100; i++) {
    const middle = Math.sqrt(low * high);
    if (of(middle) < value) low = middle;
    else high = middle;
  }
  return high;
}
