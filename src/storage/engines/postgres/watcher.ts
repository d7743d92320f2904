/**
 * Watches what other nodes change: a number that grows with each change, and accounts whose idle leases are to come back. It asks
 * every quarter of a second, and at once when the server sends a notification, which a pooler keeps back.
 *
 * Whoever has not heard of the server for a second knows nothing: `version` returns another number each time then, so that nobody
 * relies on what was read before, and `trouble` says so.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Session } from "./session.ts";

export interface WatcherOptions {
  readonly connect: () => Promise<Session>;
  readonly onError: (error: unknown) => void;
}

export interface Watcher {
  /** Returns another number within a second of any change, by whatever node; at once for one of `changed`. */
  version(): number;
  /** Says that this node has changed something. */
  changed(): void;
  /** Calls `listener` with accounts whose idle leases are asked for; an empty id stands for all. Returns what ends that. */
  onRecall(listener: (accountId: string) => void): () => void;
  /** Returns for how long the server has not answered, in milliseconds; undefined where it does. */
  awayMs(): number | undefined;
  close(): void;
}

const askMs = 250;
/** How long what was heard last counts. */
const freshMs = 1000;
/** An answer that takes longer is none. */
const answerMs = 900;

interface Seen {
  readonly number: number;
  readonly recalls: readonly (readonly [id: number, accountId: string])[];
}

const question = `SELECT (SELECT max(number) FROM changes) AS number,
  coalesce((SELECT json_agg(json_build_array(id, account_id)) FROM recalls WHERE at > now_ms() - 3000), '[]') AS recalls`;

export async function startWatcher({ connect, onError }: WatcherOptions): Promise<Watcher> {
  const listeners = new Set<(accountId: string) => void>();
  let heard = new Set<number>();
  let number: number | undefined;
  let [seenChanges, own, stale] = [0, 0, 0];
  let answeredAt = performance.now();
  let isClosed = false;
  let wake: () => void = () => {};

  function see({ number: seen, recalls }: Seen): void {
    answeredAt = performance.now();
    // Counted and not taken: a server that took over may have fewer.
    if (number !== seen) seenChanges++;
    number = seen;
    for (const [id, accountId] of recalls) if (!heard.has(id)) for (const listener of listeners) listener(accountId);
    heard = new Set(recalls.map(([id]) => id));
  }

  async function ask(session: Session): Promise<void> {
    const timer = Promise.withResolvers<never>();
    const timeout = setTimeout(() => timer.reject(new Error("the database does not answer")), answerMs);
    try {
      const [row] = await Promise.race([session.query(question), timer.promise]);
      see(row as unknown as Seen);
    } finally {
      clearTimeout(timeout);
    }
  }

  async function pause(): Promise<void> {
    const woken = Promise.withResolvers<void>();
    wake = woken.resolve;
    const timeout = setTimeout(woken.resolve, askMs);
    timeout.unref();
    await woken.promise;
    clearTimeout(timeout);
  }

  async function watch(session: Session): Promise<void> {
    try {
      while (!isClosed) {
        await pause();
        if (!isClosed) await ask(session);
      }
    } finally {
      session.close();
    }
  }

  async function begin(): Promise<Session> {
    const session = await connect();
    await session.listen?.(() => wake());
    await ask(session);
    return session;
  }

  async function run(first: Session): Promise<void> {
    for (let session: Session | undefined = first; !isClosed; ) {
      try {
        session ??= await begin();
        await watch(session);
      } catch (error) {
        if (!isClosed) onError(error);
        session = undefined;
        await delay(50, undefined, { ref: false });
      }
    }
  }

  void run(await begin());
  const silentMs = () => performance.now() - answeredAt;
  return {
    // All only grow. Where nothing is known, each number is another.
    version: () => seenChanges + own + (silentMs() > freshMs ? ++stale : stale),
    changed() {
      own++;
    },
    onRecall(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    awayMs: () => (silentMs() > freshMs ? silentMs() : undefined),
    close() {
      isClosed = true;
      wake();
    },
  };
}
