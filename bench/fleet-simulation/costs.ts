/**
 * The measured costs of work. Times are microseconds of CPU of one core, sizes are bytes of write-ahead log.
 *
 * `functions` has the costs of the functions of the books on Postgres 15: 200,000 accounts with a key each, batches of 10, 100 and 400,
 * CPU of the server's process, bytes by the position of the log. A charge is one of a call whose hold an earlier batch wrote. `spike` has
 * the costs of the first trial, whose batches had charges and no holds: tests compare the simulation with that trial as a whole.
 */

export interface Costs {
  /** A transaction that writes what leases cover, beside its entries, and what is added by each lease that they draw on. */
  readonly write: { readonly batch: number; readonly charge: number; readonly hold: number; readonly lease: number };
  /** A transaction that decides: each hold, each capture, each account that they are of, each lease that grows. */
  readonly decide: {
    readonly batch: number;
    readonly hold: number;
    readonly capture: number;
    readonly account: number;
    readonly lease: number;
  };
  /** A transaction that gives leases back. */
  readonly release: { readonly batch: number; readonly lease: number };
  /** Merging: each row that is due, and each account, with its key and its hour. */
  readonly merge: { readonly row: number; readonly account: number };
  readonly renewedHold: number;
  readonly keyRead: number;
  readonly versionPoll: number;
  /** Recording when a key was used last. */
  readonly touch: number;
  /** Bytes of write-ahead log of each of these. */
  readonly log: {
    readonly charge: number;
    readonly hold: number;
    readonly lease: number;
    readonly decidedHold: number;
    readonly decidedCapture: number;
    readonly decidedAccount: number;
    readonly grownLease: number;
    readonly releasedLease: number;
    readonly mergedAccount: number;
    readonly renewedHold: number;
    readonly touch: number;
    /** A commit by itself. */
    readonly commit: number;
  };
}

const log: Costs["log"] = {
  ...{ charge: 700, hold: 300, lease: 560, decidedHold: 300, decidedCapture: 1120, decidedAccount: 280 },
  ...{ grownLease: 700, releasedLease: 265, mergedAccount: 850, renewedHold: 136, touch: 156, commit: 100 },
};

const functions: Costs = {
  write: { batch: 390, charge: 20, hold: 10, lease: 15 },
  decide: { batch: 690, hold: 7, capture: 26, account: 27, lease: 42 },
  release: { batch: 200, lease: 12 },
  merge: { row: 2.1, account: 27 },
  renewedHold: 2.8,
  keyRead: 35,
  versionPoll: 9,
  touch: 9,
  log,
};

const spike: Costs = {
  ...functions,
  write: { batch: 150, charge: 12, hold: 12, lease: 0 },
  decide: { batch: 150, hold: 45, capture: 45, account: 0, lease: 45 },
};

export const costSets = { functions, spike } as const;
export type CostSet = keyof typeof costSets;

/** nodeCosts are the costs of a node's work for the database and for Redis, in microseconds of its one core. */
export const nodeCosts = { batch: 100, entry: 2.5, redisAsk: 9 } as const;

/** redisAskUs is the measured time of the script that grants a slice, in microseconds of Redis's one core: 168,000 scripts a second fill it. */
export const redisAskUs = 6;
