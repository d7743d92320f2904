/**
 * Watches what other nodes change: a number that grows with each change, and accounts whose idle leases are to come back. It asks
 * every quarter of a second, and at once when the server sends a notification, which a pooler keeps back.
 *
 * A connection that is made anew may lead to a server that took over and has lost changes: it may have counted as many others since, so the
 * numbers say nothing, and everything counts as changed.
 *
 * A watcher that has not heard of the server for a second knows nothing: `version` returns another number each time then, so that
 * nobody relies on what was read before. That the server is away is said only where it was silent for a second in which it could have been
 * heard (`silence.ts`), on whatever connection: one that is lost says nothing of the server.
 */
import { setTimeout as delay } from "node:timers/promises";
import { createSilence, type Silence, startLooking } from "../../../runtime/ipc/silence.ts";
import type { Changes } from "../../money/books.ts";
import { type ChangedNames, createChangedNames, type NamedChange } from "../changed-names.ts";
import type { Session } from "./session.ts";
import { within } from "./silence.ts";

export interface WatcherOptions {
  readonly connect: () => Promise<Session>;
  readonly onError: (error: unknown) => void;
  /** Hears of the server on other connections, too. Default: one of its own. */
  readonly silence?: Silence;
}

/** Watcher tells what has changed. What `changed` says counts at once; what it was of is known as soon as the database has been asked. */
export interface Watcher extends Changes {
  /** changed says that this node has changed something. */
  changed(): void;
  /** Calls `listener` with accounts whose idle leases are asked for; an empty id stands for all. Returns what ends that. */
  onRecall(listener: (accountId: string) => void): () => void;
  /** Returns how many nodes live, as last known. */
  nodes(): number;
  /** Returns what the time is, in milliseconds since 1970: see `createServerClock`. */
  now(): number;
  /** Returns for how long the server has not answered, in milliseconds; undefined where it does. */
  awayMs(): number | undefined;
  close(): void;
}

const askMs = 250;
/** freshMs is how long what was heard last counts, in milliseconds. */
export const freshMs = 1000;
/** answerMs is how long an answer may take, in milliseconds. A later one counts as none. */
const answerMs = 900;

interface Seen {
  /** now is the server's time, in milliseconds since 1970. */
  readonly now: number;
  readonly number: number;
  readonly nodes: number;
  readonly recalls: readonly (readonly [id: number, accountId: string])[];
  readonly names: readonly NamedChange[];
}

/** maxNames is how many names of changes are read at once. After more changes than that everything is read again. */
const maxNames = 2000;

const question = `SELECT now_ms() AS now, (SELECT max(number) FROM changes) AS number,
  (SELECT count(*) FROM nodes WHERE alive_until > now_ms()) AS nodes,
  coalesce((SELECT json_agg(json_build_array(id, account_id)) FROM recalls WHERE at > now_ms() - 3000), '[]') AS recalls,
  coalesce((SELECT json_agg(json_build_array(number, name)) FROM
    (SELECT number, name FROM changed_names WHERE number > $1 ORDER BY number LIMIT ${maxNames}) n), '[]') AS names`;

export async function startWatcher(options: WatcherOptions): Promise<Watcher> {
  const { connect, onError, silence = createSilence() } = options;
  const seen = createSeen(silence);
  const clock = createServerClock();
  const { pause, wake } = createPauses();
  let isClosed = false;

  async function ask(session: Session, isNew = false): Promise<void> {
    const own = seen.own();
    const told = clock.asked();
    const answer = await answerOf(session, seen.number());
    told(answer.now);
    seen.see(answer, own, isNew);
  }

  async function begin(): Promise<Session> {
    const session = await connect();
    try {
      if (session.listen) await within(session.listen(wake), answerMs);
      await ask(session, true);
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
        for (await pause(); !isClosed; await pause()) await ask(session);
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
    now: clock.now,
    changed() {
      seen.watcher.changed();
      wake();
    },
    close() {
      isClosed = true;
      stopLooking();
      wake();
    },
  };
}

/** createPauses makes pauses that end by themselves, or when they are woken. A pause that was woken before it begins takes no time. */
function createPauses() {
  let isWoken = false;
  let end: (() => void) | undefined;
  return {
    wake(): void {
      isWoken = true;
      end?.();
    },
    async pause(): Promise<void> {
      const woken = Promise.withResolvers<void>();
      end = woken.resolve;
      const timeout = setTimeout(woken.resolve, askMs);
      timeout.unref();
      if (!isWoken) await woken.promise;
      clearTimeout(timeout);
      isWoken = false;
    },
  };
}

/** answerOf asks once, for the names of changes after `number` too. Rejects where the answer takes too long. */
async function answerOf(session: Session, number: number): Promise<Seen> {
  const [row] = await within(session.query(question, [number]), answerMs);
  return row as unknown as Seen;
}

/** createSeen keeps what was seen last. */
function createSeen(silence: Silence) {
  const listeners = new Set<(accountId: string) => void>();
  let heard = new Set<number>();
  let names: ChangedNames | undefined;
  let nodes = 0;
  let [changes, own, stale] = [0, 0, 0];
  /** ownSeen is what of the own changes the database has told of. */
  let ownSeen = 0;
  let answeredAt = performance.now();
  // By time itself: whoever stalled does not know what changed meanwhile.
  const isStale = () => performance.now() - answeredAt > freshMs;
  const watcher: Omit<Watcher, "close" | "now"> = {
    // All only grow. Where nothing is known, each number is another.
    version: () => changes + own + (isStale() ? ++stale : stale),
    changedSince: (...of) => own > ownSeen || isStale() || names === undefined || names.changedSince(...of),
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
    own: () => own,
    number: () => names?.seen() ?? 0,
    /** `ownThen` is how many own changes there were when it was asked; `isNew` says that it is the first answer of a connection. */
    see(now: Seen, ownThen: number, isNew: boolean): void {
      answeredAt = performance.now();
      silence.heard();
      // Counted and not taken: a server that took over may have fewer.
      if (names === undefined) names = createChangedNames(now.number);
      else if (isNew) names.begin(now.number, ++changes + own + stale);
      else if (names.seen() !== now.number) {
        // What was cut off in the middle of a change tells too little of it.
        const told = now.names.length < maxNames ? now.names : [];
        names.see(now.number, told, ++changes + own + stale);
      }
      ownSeen = ownThen;
      nodes = now.nodes;
      for (const [id, accountId] of now.recalls)
        if (!heard.has(id)) for (const listener of listeners) listener(accountId);
      heard = new Set(now.recalls.map(([id]) => id));
    },
  };
}

/** looseMs is how far both clocks may be apart, in milliseconds, beside what the way to the server leaves open. */
const looseMs = 2000;
/** steadyMs is by how much a correction has to change before another is taken, in milliseconds: time is not to waver. */
const steadyMs = 200;

export interface ServerClock {
  /** now returns milliseconds since 1970. */
  now(): number;
  /** asked says that the server is asked for its time now. The returned function is called with that as soon as it is there. */
  asked(): (serverNow: number) => void;
}

/**
 * createServerClock tells the time by the clock of this machine, as long as that is about the server's; else by the server's. All nodes go by
 * one time then: one whose clock is wrong stamps no call with another day, and forgets nothing that is to be kept. `own` is the clock of this
 * machine, and `elapsed` one that never goes back; both in
 * milliseconds.
 */
export function createServerClock(
  own: () => number = Date.now,
  elapsed: () => number = () => performance.now(),
): ServerClock {
  let correction = 0;
  return {
    now: () => own() + correction,
    asked() {
      const askedAt = elapsed();
      return (serverNow) => {
        const half = (elapsed() - askedAt) / 2;
        const behind = Math.round(serverNow + half - own());
        if (Math.abs(behind) <= looseMs + half) correction = 0;
        else if (Math.abs(behind - correction) > steadyMs + half) correction = behind;
      };
    },
  };
}
