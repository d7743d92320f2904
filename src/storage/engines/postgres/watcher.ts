/**
 * Watches what other nodes change: a number that grows with each change, and accounts whose idle leases are to come back. It asks
 * every quarter of a second, and at once when the server sends a notification, which a pooler keeps back.
 *
 * Whoever has not heard of the server for a second knows nothing: `version` returns another number each time then, so that nobody
 * relies on what was read before. That the server is away is said only where it was silent for a second in which it could have been
 * heard (`silence.ts`), on whatever connection: one that is lost says nothing of the server.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Session } from "./session.ts";
import { createSilence, type Silence, startLooking, within } from "./silence.ts";

export interface WatcherOptions {
  readonly connect: () => Promise<Session>;
  readonly onError: (error: unknown) => void;
  /** Hears of the server on other connections, too. Default: one of its own. */
  readonly silence?: Silence;
}

export interface Watcher {
  /** Returns another number within a second of any change, by whatever node; at once for one of `changed`. */
  version(): number;
  /** Says that this node has changed something. */
  changed(): void;
  /** Calls `listener` with accounts whose idle leases are asked for; an empty id stands for all. Returns what ends that. */
  onRecall(listener: (accountId: string) => void): () => void;
  /** Returns how many nodes live, as last known. */
  nodes(): number;
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
  readonly nodes: number;
  readonly recalls: readonly (readonly [id: number, accountId: string])[];
}

const question = `SELECT (SELECT max(number) FROM changes) AS number,
  (SELECT count(*) FROM nodes WHERE alive_until > now_ms()) AS nodes,
  coalesce((SELECT json_agg(json_build_array(id, account_id)) FROM recalls WHERE at > now_ms() - 3000), '[]') AS recalls`;

export async function startWatcher(options: WatcherOptions): Promise<Watcher> {
  const { connect, onError, silence = createSilence() } = options;
  const seen = createSeen(silence);
  let isClosed = false;
  let wake: () => void = () => {};

  async function pause(): Promise<void> {
    const woken = Promise.withResolvers<void>();
    wake = woken.resolve;
    const timeout = setTimeout(woken.resolve, askMs);
    timeout.unref();
    await woken.promise;
    clearTimeout(timeout);
  }

  async function begin(): Promise<Session> {
    const session = await connect();
    try {
      if (session.listen)
        await within(
          session.listen(() => wake()),
          answerMs,
        );
      seen.see(await answerOf(session));
      return session;
    } catch (error) {
      session.close();
      throw error;
    }
  }

  async function run(first: Session): Promise<void> {
    for (let session: Session | undefined = first; !isClosed; await delay(50, undefined, { ref: false })) {
      try {
        session ??= await begin();
        for (await pause(); !isClosed; await pause()) seen.see(await answerOf(session));
      } catch (error) {
        if (!isClosed) onError(error);
      }
      session?.close();
      session = undefined;
    }
  }

  void run(await begin());
  const stopLooking = startLooking(silence);
  return {
    ...seen.watcher,
    close() {
      isClosed = true;
      stopLooking();
      wake();
    },
  };
}

/** Asks once. Rejects where the answer takes too long. */
async function answerOf(session: Session): Promise<Seen> {
  const [row] = await within(session.query(question), answerMs);
  return row as unknown as Seen;
}

/** What was seen last. */
function createSeen(silence: Silence) {
  const listeners = new Set<(accountId: string) => void>();
  let heard = new Set<number>();
  let number: number | undefined;
  let nodes = 0;
  let [changes, own, stale] = [0, 0, 0];
  let answeredAt = performance.now();
  // By time itself: whoever stalled does not know what changed meanwhile.
  const isStale = () => performance.now() - answeredAt > freshMs;
  const watcher: Omit<Watcher, "close"> = {
    // All only grow. Where nothing is known, each number is another.
    version: () => changes + own + (isStale() ? ++stale : stale),
    changed() {
      own++;
    },
    onRecall(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    nodes: () => nodes,
    awayMs: () => (silence.ms() > freshMs ? silence.ms() : undefined),
  };
  return {
    watcher,
    see(now: Seen): void {
      answeredAt = performance.now();
      silence.heard();
      // Counted and not taken: a server that took over may have fewer.
      if (number !== now.number) changes++;
      number = now.number;
      nodes = now.nodes;
      for (const [id, accountId] of now.recalls)
        if (!heard.has(id)) for (const listener of listeners) listener(accountId);
      heard = new Set(now.recalls.map(([id]) => id));
    },
  };
}
