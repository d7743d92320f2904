/**
 * Simulates one account whose credit runs out while many nodes serve it, call by call: what is idle in their leases meanwhile, and
 * how often those have to be called back so that no call is refused that could be paid. It is exact but for the time that the database
 * takes to answer.
 */
import { leaseFor } from "../../src/storage/money/lease-size.ts";
import { createCalendar } from "./events.ts";
import { createRandom } from "./random.ts";

export interface DryOptions {
  readonly nodes: number;
  readonly callsPerSecond: number;
  readonly callSeconds: number;
  readonly hold: number;
  readonly cost: number;
  readonly balance: number;
  readonly leaseIdleMs: number;
  /** recalls is whether idle leases are called back before a call is refused. */
  readonly recalls: boolean;
  readonly seed: number;
}

export interface Dry {
  readonly charged: number;
  /** The most that was idle in leases at a time, as a part of what the account had at the beginning. */
  readonly mostIdle: number;
  /** idleWhenShort is what was idle in leases when the first call was short, as a number of calls' holds. */
  readonly idleWhenShort: number;
  /** Calls that were refused although leases of other nodes could have paid. */
  readonly refusedWrongly: number;
  /** Times at which leases were called back, and calls that waited for that. */
  readonly recalls: number;
  readonly waited: number;
  readonly seconds: number;
}

/** Leases that are called back are there after this time at the latest: nodes look for that so often. */
const recallMs = 250;
/** It ends when so many calls were refused one after another. */
const enough = 200;

interface Lease {
  idle: number;
  wasUsed: boolean;
}

export function runDry(options: DryOptions): Dry {
  const { nodes, callsPerSecond, callSeconds, hold, cost, balance, leaseIdleMs, seed } = options;
  const calendar = createCalendar();
  const random = createRandom(seed);
  const leases: (Lease | undefined)[] = new Array(nodes).fill(undefined);
  const told = { charged: 0, mostIdle: 0, idleWhenShort: 0, refusedWrongly: 0, recalls: 0, waited: 0 };
  let [left, idle, refused, recalledAt] = [balance, 0, 0, Number.NEGATIVE_INFINITY];
  let hasBeenShort = false;

  function giveBack(node: number): void {
    const lease = leases[node];
    if (!lease) return;
    left += lease.idle;
    idle -= lease.idle;
    leases[node] = undefined;
  }

  function takeFrom(lease: Lease): void {
    lease.idle -= hold;
    idle -= hold;
    lease.wasUsed = true;
    calendar.after(random.exponential(callSeconds * 1e6), () => end(lease));
  }

  function end(lease: Lease | undefined): void {
    told.charged++;
    if (lease && leases.includes(lease)) {
      lease.idle += hold - cost;
      idle += hold - cost;
    } else left += hold - cost;
  }

  function begin(): void {
    const node = Math.floor(random.next() * nodes);
    const lease = leases[node];
    const grown = lease && lease.idle >= hold ? 0 : leaseFor(hold, left);
    if (lease && lease.idle >= hold) takeFrom(lease);
    else if (grown > 0) takeFrom(grow(node, grown));
    else takeExactly();
  }

  function takeExactly(): void {
    if (left < hold) callBack();
    if (left < hold) {
      refused++;
      return;
    }
    refused = 0;
    left -= hold;
    calendar.after(random.exponential(callSeconds * 1e6), () => end(undefined));
  }

  function grow(node: number, grown: number): Lease {
    const lease = leases[node] ?? { idle: 0, wasUsed: true };
    leases[node] = lease;
    lease.idle += grown;
    left -= grown;
    idle += grown;
    told.mostIdle = Math.max(told.mostIdle, idle / balance);
    refused = 0;
    return lease;
  }

  /** Has idle leases given back for a call that is short, where that is done at all. */
  function callBack(): void {
    if (!hasBeenShort) told.idleWhenShort = idle / hold;
    hasBeenShort = true;
    if (left + idle < hold) return;
    if (!options.recalls) {
      told.refusedWrongly++;
      return;
    }
    told.waited++;
    if (calendar.now() - recalledAt > recallMs * 1000) {
      told.recalls++;
      recalledAt = calendar.now();
    }
    for (let node = 0; node < nodes; node++) giveBack(node);
  }

  function look(node: number): void {
    const lease = leases[node];
    if (lease?.wasUsed === false) giveBack(node);
    else if (lease) lease.wasUsed = false;
    calendar.after(leaseIdleMs * 1000, () => look(node));
  }

  function comeAgain(): void {
    begin();
    calendar.after(random.exponential(1e6 / callsPerSecond), comeAgain);
  }

  for (let node = 0; node < nodes; node++) calendar.after(random.next() * leaseIdleMs * 1000, () => look(node));
  comeAgain();
  // Nobody waits for an account that lasts for days.
  while (refused < enough && calendar.now() < maxSeconds * 1e6 && told.charged < maxCalls)
    calendar.runUntil(calendar.now() + 1e6);
  return { ...told, seconds: calendar.now() / 1e6 };
}

const maxSeconds = 3_600;
const maxCalls = 1_000_000;
