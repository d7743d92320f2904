/**
 * The connections that management and upkeep share, as those see them.
 *
 * While the server does not answer nobody waits for it, and an error of a connection says that the database is away, whatever the
 * system calls it. What can be done again is done again, and nobody hears of it: a connection is asked for until the server counts as
 * away; outside a transaction, a read whose connection broke goes to another one, and a statement that met another (a ring of
 * locks, or a lock that it had no more time for) is repeated, and rejects with a LockedError at last. A write whose connection broke may
 * have been done, and fails.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { PostgresPool, PostgresPoolClient } from "kysely";
import { retry } from "../../../runtime/time/retry.ts";
import { LockedError } from "../../../runtime/write-trouble.ts";
import { maxWaitMs } from "../../money/books.ts";
import { AwayError, isConflict, isConnectionError, isLocked } from "./errors.ts";
import { within } from "./silence.ts";

export interface GuardedPoolOptions {
  /** Reports that the server has not answered for so long that nobody is to wait for it. */
  readonly isAway: () => boolean;
  /** Runs before something is done again. */
  readonly onRepeat: () => void;
}

/**
 * For how long a connection is asked for, and a read goes from one that broke to another: all that are idle may have broken at once. And
 * how long anything waits while the server does not count as away; in milliseconds.
 */
const [againMs, mostMs] = [1000, 60_000];
/**
 * maxConflicts is how often a statement is repeated that met another, and maxLocked how often one that has waited a second for a lock in
 * vain: as often as a transaction.
 */
const [maxConflicts, maxLocked] = [10, maxWaitMs / 1000 - 1];
/** The first pause before that, and the longest, in milliseconds. */
const [firstPauseMs, maxPauseMs] = [5, 100];

const begins = /^\s*(?:begin|start)\b/i;
const ends = /^\s*(?:commit|rollback)\s*$/i;
const reads = /^\s*select\b/i;

export function guardedPool(pool: PostgresPool, options: GuardedPoolOptions): PostgresPool {
  const open = createOpen(pool, options);
  // Kysely makes a connection of its own from the pool's settings, to cancel a query.
  return Object.assign(Object.create(pool) as PostgresPool, {
    connect: async () => guardedClient(await open(), open, options),
    end: () => pool.end(),
  });
}

/** createOpen returns what takes a connection, as soon as there is one. */
function createOpen(pool: PostgresPool, { isAway }: GuardedPoolOptions): () => Promise<PostgresPoolClient> {
  /** Takes a connection. One that comes when nobody waits any longer goes back. */
  async function take(): Promise<PostgresPoolClient> {
    const taking = pool.connect();
    try {
      return await within(taking, mostMs, isAway);
    } catch (error) {
      taking.then(giveBack, () => {});
      throw error;
    }
  }

  return () => {
    const until = performance.now() + againMs;
    const attempt = async () => {
      if (isAway()) throw new AwayError();
      return await take();
    };
    return retry(attempt, { firstMs: firstPauseMs, longestMs: maxPauseMs }, ({ error, pauseMs }) => {
      if (!isConnectionError(error) || isAway() || performance.now() + pauseMs > until) asAway(error);
    });
  };
}

/** guardedClient returns a client of the pool that takes another connection where its own breaks. */
function guardedClient(
  first: PostgresPoolClient,
  open: () => Promise<PostgresPoolClient>,
  { isAway, onRepeat }: GuardedPoolOptions,
): PostgresPoolClient {
  const place = createPlace(first, open, isAway);
  let isInTransaction = false;

  async function repeated(sql: string, values?: readonly unknown[]) {
    const isRepeatable = reads.test(sql) || begins.test(sql);
    const until = performance.now() + againMs;
    for (let repeats = 0; ; onRepeat()) {
      try {
        return await place.ask(sql, values);
      } catch (error) {
        const isBroken = place.isBroken();
        if (isBroken && (!isRepeatable || isAway() || performance.now() > until)) throw asAway(error);
        if (!isBroken && ++repeats > mostRepeats(error)) throw mostRepeats(error) > 0 ? new LockedError(error) : error;
      }
      if (place.isBroken()) await place.renew();
      // By chance, so that two which met do not meet again.
      else await delay(Math.random() * Math.min(firstPauseMs * 2 ** repeats, maxPauseMs));
    }
  }

  async function query(sql: string, values?: readonly unknown[]) {
    if (!isInTransaction) {
      const answer = await repeated(sql, values);
      isInTransaction = begins.test(sql);
      return answer;
    }
    if (ends.test(sql)) isInTransaction = false;
    return place.ask(sql, values).catch(asAway);
  }

  return Object.assign(Object.create(first) as PostgresPoolClient, { query, release: place.release });
}

/** mostRepeats is how often a statement is repeated outside a transaction: it was undone because of others. */
function mostRepeats(error: unknown): number {
  if (isConflict(error)) return maxConflicts;
  return isLocked(error) ? maxLocked : 0;
}

/** createPlace holds one connection. Once it broke, `ask` rejects with an AwayError until `renew` has put another in its place. */
function createPlace(first: PostgresPoolClient, open: () => Promise<PostgresPoolClient>, isAway: () => boolean) {
  let client = first;
  let [isBroken, isGone] = [false, false];
  return {
    isBroken: () => isBroken,
    async ask(sql: string, values?: readonly unknown[]) {
      if (isBroken) throw new AwayError();
      try {
        return await within(client.query(sql, values as unknown[]), mostMs, isAway);
      } catch (error) {
        isBroken = isConnectionError(error);
        throw error;
      }
    },
    /** Closes it, and goes on with another. */
    async renew(): Promise<void> {
      discard(client);
      isGone = true;
      client = await open();
      isBroken = isGone = false;
    },
    release(): void {
      if (isGone) return;
      if (isBroken) discard(client);
      else client.release();
    },
  };
}

function giveBack(client: PostgresPoolClient): void {
  client.release();
}

/** discard closes a connection instead of giving it back: what it still answers is nobody's. */
function discard(client: PostgresPoolClient): void {
  (client as PostgresPoolClient & { release(isBroken?: boolean): void }).release(true);
}

function asAway(error: unknown): never {
  throw isConnectionError(error) && !(error instanceof AwayError) ? new AwayError(error) : error;
}
