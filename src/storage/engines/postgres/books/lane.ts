/**
 * The connection of a node's books: one thing after another, in the order in which it is asked for.
 *
 * Work whose connection breaks is repeated on another, which it must allow for. While the server cannot be reached, work is refused at
 * once after the first has waited; the connection is tried again meanwhile.
 */
import { createSilence, type Silence, startLooking } from "../../../../runtime/ipc/silence.ts";
import { retry } from "../../../../runtime/time/retry.ts";
import { AwayError, isConflict, isConnectionError } from "../errors.ts";
import type { Session } from "../session.ts";
import { within } from "../silence.ts";

export interface LaneOptions {
  readonly connect: () => Promise<Session>;
  /** Receives what breaks connections. */
  readonly onError: (error: unknown) => void;
  /** Runs before work is done again. */
  readonly onRepeat: () => void;
  /** awayMs is how long work waits for a server that is away, in milliseconds. */
  readonly awayMs: number;
  /** statementMs is how long a statement may take, in milliseconds: the connection counts as broken then. */
  readonly statementMs: number;
  /** Reports that the server answers nobody: what waits for it is given up. Default: never. */
  readonly isServerAway?: () => boolean;
}

export interface Lane {
  /** Runs work when all that was asked for before is done. Rejects with an AwayError, or with what the work rejects with. */
  run<T>(work: (session: Session) => Promise<T>): Promise<T>;
  /** Reports whether the server cannot be reached. */
  isAway(): boolean;
  /** Resolves when all that was asked for is done. */
  idle(): Promise<void>;
  close(): void;
}

const pauses = { firstMs: 5, longestMs: 200 };
/** reconnecting are the pauses between tries to connect. These go on for as long as it takes, so that work after an outage finds a connection. */
const reconnecting = { ...pauses, holdsProcess: false };

export function createLane(options: LaneOptions): Lane {
  const { awayMs, onError, onRepeat, isServerAway = () => false } = options;
  const connection = createConnection(options);
  let tail: Promise<unknown> = Promise.resolve();

  function attempt<T>(work: (session: Session) => Promise<T>): Promise<T> {
    let leftMs = awayMs;
    return retry(
      () => connection.use(work, leftMs),
      pauses,
      ({ error, triedMs, pauseMs }) => {
        const isBroken = isConnectionError(error);
        if (!isBroken && !isConflict(error)) throw error;
        if (isBroken) onError(error);
        // A connection that broke counts for half at most: a process that stood still meanwhile tries once more.
        leftMs -= pauseMs + (error instanceof AwayError ? triedMs : Math.min(triedMs, awayMs / 2));
        if (!connection.isAway() && !isServerAway() && leftMs >= 0) return onRepeat();
        if (isBroken) connection.giveUp();
        throw new AwayError(error);
      },
    );
  }

  return {
    run(work) {
      const done = tail.then(() => attempt(work));
      tail = done.catch(() => {});
      return done;
    },
    isAway: connection.isAway,
    async idle() {
      await tail;
    },
    close: connection.close,
  };
}

function createConnection({ connect, awayMs, statementMs, isServerAway }: LaneOptions) {
  let session: Session | undefined;
  let connecting: Promise<Session> | undefined;
  const outage = createOutage();
  /** isGivenUp says that work was given up: what comes after it does not wait. */
  let isGivenUp = false;
  let isClosed = false;
  const isAway = () => isGivenUp || outage.ms() > awayMs;

  /** Drops a connection that broke, and begins to open another, whether anybody asks for it or not. */
  function drop(): void {
    session?.close();
    session = undefined;
    outage.begin();
    begin();
  }

  function begin(): Promise<Session> {
    connecting ??= open();
    connecting.catch(() => {});
    return connecting;
  }

  async function open(): Promise<Session> {
    const opened = await retry(connect, reconnecting, ({ error }) => {
      outage.begin();
      if (isClosed) throw error;
    });
    if (isClosed) opened.close();
    [session, connecting, isGivenUp] = [opened, undefined, false];
    outage.end();
    return opened;
  }

  return {
    isAway,
    giveUp() {
      isGivenUp = session === undefined;
    },
    /** Waits `connectMs` for a connection where there is none. */
    async use<T>(work: (session: Session) => Promise<T>, connectMs: number): Promise<T> {
      if (session && !session.isOpen()) drop();
      if (!session) await within(begin(), isAway() ? 0 : connectMs, isServerAway);
      const used = session as Session | undefined;
      if (!used) throw new AwayError();
      try {
        return await within(work(used), statementMs, isServerAway);
      } catch (error) {
        if (isConnectionError(error)) drop();
        throw error;
      }
    },
    close() {
      isClosed = true;
      outage.end();
      session?.close();
    },
  };
}

/** createOutage measures for how long there has been no connection, by the time in which one could have been heard of. */
function createOutage() {
  let current: { readonly silence: Silence; readonly stop: () => void } | undefined;
  return {
    begin(): void {
      if (current) return;
      const silence = createSilence();
      current = { silence, stop: startLooking(silence) };
    },
    end(): void {
      current?.stop();
      current = undefined;
    },
    ms: () => current?.silence.ms() ?? 0,
  };
}
