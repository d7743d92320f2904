/**
 * Opens a database of Postgres: brings its tables up to date, writes what nodes that died have left on this machine, and begins to watch
 * what other nodes change. Loaded only where Postgres is configured.
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createSilence } from "../../../runtime/ipc/silence.ts";
import { createRejects } from "../../journal/rejects.ts";
import { createSegments } from "../../journal/segments.ts";
import { openSentLog } from "../../journal/sent-log.ts";
import { availableOf } from "../../money/available.ts";
import type { Changes, OpenBooks } from "../../money/books.ts";
import type { Available } from "../../money/contract.ts";
import { refuseMoved } from "../moves.ts";
import type { Scope } from "../scope.ts";
import { createNodeLocks } from "../sqlite/node-lock.ts";
import type { Writable } from "../writable.ts";
import { openPostgresBooks } from "./books/books.ts";
import { call } from "./books/call.ts";
import { available } from "./books/functions/available.ts";
import { recall } from "./books/functions/leases.ts";
import { merge, selectSteady } from "./books/functions/upkeep.ts";
import { databaseId, type LeftBehindOptions, openSpool, writeLeftBehind } from "./books/spool.ts";
import { connectServer } from "./connection.ts";
import { type Counts, createCounts } from "./counts.ts";
import { openingError } from "./errors.ts";
import { guardedPool } from "./guarded-pool.ts";
import { heardServer } from "./heard.ts";
import { type Management, openManagement } from "./management.ts";
import { migrate } from "./migrate.ts";
import { onPool } from "./on-pool.ts";
import { createReachable } from "./reachable.ts";
import { openReplica, type Replica, type ReplicaOptions, type ReplicaState } from "./replica/replica.ts";
import type { Server } from "./session.ts";
import { readUrl } from "./url.ts";
import { freshMs, startWatcher, type Watcher } from "./watcher.ts";

export interface PostgresOptions {
  readonly url: string;
  /** The folder on this machine for what is kept while the database is away. */
  readonly dataDir: string;
  /** poolSize is how many connections management and upkeep share. The ledger and the watch have one each besides. */
  readonly poolSize: number;
  /** The version of the program. */
  readonly version: string;
  /** Returns the name of the configuration in force, `VERSION:NAME`; undefined where that is not compared. */
  readonly configuration?: (() => string) | undefined;
  /** isSynced says that what is kept on this machine is to survive a loss of power, too. */
  readonly isSynced: boolean;
  /** A replica that usage is read from; undefined for none. */
  readonly replica?: ReplicaOptions | undefined;
  /** leftBehindMs is how often the spools of nodes that died on this machine are looked for, in milliseconds. */
  readonly leftBehindMs?: number;
  /** Receives errors that no caller waits for. */
  readonly onError: (error: unknown) => void;
}

/** DatabaseState is what operators are told of the database, as this node knows it. Reading it asks nobody. */
export interface DatabaseState
  extends Pick<Counts, "batches" | "repeats" | "recalls" | "kept">,
    Pick<Watcher, "nodes" | "now"> {
  /** Reports whether the database answers. */
  isUp(): boolean;
  /** The replica that usage is read from; undefined for none. */
  readonly replica?: ReplicaState | undefined;
}

/** Opened is what storage needs of the database. */
export interface Opened extends Pick<Management, "db">, Changes {
  readonly scope: Scope;
  readonly openBooks: OpenBooks;
  available(keyId: string): Promise<Available>;
  /**
   * Has the idle leases of all nodes given back, and what is due merged, of one account: before a refund that falls short, and before
   * its sums are proved. It waits for nodes for half a second at most. Resolves to whether all have given back what they had then.
   */
  recall(accountId: string): Promise<boolean>;
  /** Resolves once every node has heard of what was changed before, or goes by nothing that it knew. */
  allKnow(): Promise<void>;
  /** Resolves to whether a node has renewed its deadline for so long that others had the time to, too. */
  isSteady(): Promise<boolean>;
  /** Counts what was set aside on this machine for an operator. */
  journalRejects(): number;
  /** folder is where what is kept on this machine is, and the locks of its processes. */
  readonly folder: string;
  readonly writable: Writable;
  readonly state: DatabaseState;
  /** replica is undefined where none is configured. */
  readonly replica: Replica | undefined;
  close(): Promise<void>;
}

/** spoolFolder is the folder for what is kept while the database is away. */
export const spoolFolder = "postgres.notes";
/** statementTimeoutMs is how long a statement of management may take, in milliseconds. */
const statementTimeoutMs = 30_000;

/** openPostgres throws a StorageError, in one line. */
export async function openPostgres(options: PostgresOptions): Promise<Opened> {
  const { url, poolSize, onError } = options;
  const address = readUrl(url);
  const server = connectServer({ address, poolSize, statementTimeoutMs, onError });
  try {
    const { db } = openManagement(server, () => {});
    await refuseMoved(db, server.name);
    await migrate(db as never, server.name);
    const silence = createSilence();
    const heard = heardServer(server, silence);
    const watcher = await startWatcher({ connect: heard.connect, onError, silence });
    return await openOver(heard, watcher, options);
  } catch (error) {
    await server.pool.end();
    throw openingError(server.name, error);
  }
}

async function openOver(server: Server, watcher: Watcher, options: PostgresOptions) {
  const { dataDir, version, configuration, isSynced, leftBehindMs: everyMs = leftBehindMs, onError } = options;
  const counts = createCounts();
  const isAway = () => watcher.awayMs() !== undefined;
  const pool = guardedPool(server.pool, { isAway, onRepeat: counts.repeated });
  const guarded: Server = { ...server, pool };
  const { db, scope } = openManagement(guarded, watcher.changed);
  const folder = join(dataDir, spoolFolder);
  const segments = createSegments(folder, isSynced);
  const session = await server.connect();
  const database = await databaseId(session);
  session.close();
  const { poolSize } = options;
  const beside = { primary: guarded, poolSize, statementTimeoutMs, database };
  const replica = options.replica && (await openReplica({ ...options.replica, ...beside }));
  const own = new Set<string>();
  const locks = createNodeLocks(folder, onError);
  const leftBehind = await watchLeftBehind(
    { server, segments, folder, own, onError, now: watcher.now },
    watcher,
    everyMs,
  );
  const writable = createReachable(watcher);
  const rejects = createRejects(segments);
  const opened: Opened = {
    db,
    scope,
    openBooks(of) {
      own.add(of.node);
      const unlock = locks.keep(of.node);
      const spool = openSpool(segments, of.node, database);
      const sentLog = openSentLog({ folder, node: of.node, database, onError });
      const parts = { server: guarded, watcher, spool, sentLog, version, configuration, counts };
      const books = openPostgresBooks({ ...of, ...parts });
      return { ...books, close: () => books.close().finally(unlock) };
    },
    available: (keyId) => availableTo(guarded, keyId),
    recall: (accountId) => recallAll(guarded, accountId, counts),
    allKnow: () => delay(knownMs),
    isSteady: () => isSteady(guarded),
    journalRejects: rejects.count,
    folder,
    version: watcher.version,
    changedSince: watcher.changedSince,
    writable,
    state: { ...counts, nodes: watcher.nodes, now: watcher.now, isUp: () => !isAway(), replica: replica?.state },
    replica,
    async close() {
      writable.close();
      await replica?.close();
      await leftBehind.close();
      locks.close();
      watcher.close();
      // Itself: Kysely's `destroy` leaves it open where no store was ever asked.
      await server.pool.end();
    },
  };
  return opened;
}

const leftBehindMs = 15_000;

/** knownMs is until when all nodes know of a change, in milliseconds: for so long one goes by what it heard last, and a bit for what it does. */
const knownMs = freshMs + 250;

/**
 * watchLeftBehind writes what nodes that died have left on this machine, now and again and again: a node that is started anew at once finds
 * the one before it still counted as living.
 */
async function watchLeftBehind(options: LeftBehindOptions, watcher: Pick<Watcher, "awayMs">, everyMs: number) {
  await writeLeftBehind(options);
  let writing: Promise<unknown> | undefined;
  const timer = setInterval(() => {
    if (writing || watcher.awayMs() !== undefined) return;
    writing = writeLeftBehind(options)
      .catch(options.onError)
      .finally(() => {
        writing = undefined;
      });
  }, everyMs).unref();
  return {
    async close() {
      clearInterval(timer);
      await writing;
    },
  };
}

async function isSteady(server: Pick<Server, "pool">): Promise<boolean> {
  return (await onPool(server, (session) => session.query(selectSteady))).length > 0;
}

async function availableTo(server: Pick<Server, "pool">, keyId: string): Promise<Available> {
  const [row] = await onPool(server, (session) => session.query(`SELECT * FROM ${available.name}($1)`, [keyId]));
  const { of_limit, of_balance, is_limited, is_prepaid } = row as unknown as RoomRow;
  if (of_limit === null) return availableOf(undefined);
  return availableOf({ ofLimit: of_limit, isLimited: is_limited, ofBalance: of_balance, isPrepaid: is_prepaid });
}

/** RoomRow is a row of `available`. All its columns are null for a key that does not exist. */
interface RoomRow {
  readonly of_limit: number | null;
  readonly of_balance: number;
  readonly is_limited: boolean;
  readonly is_prepaid: boolean;
}

/**
 * recallMs is how long other nodes may take to give leases back; the pause between looks, and how soon nodes are asked again: a lease that
 * they were just being granted is not given back at once. In milliseconds.
 */
const [recallMs, lookMs, againMs] = [500, 15, 125];

/** selectLeases finds the leases of an account, or of all for an empty id, that nodes have which live; this one's too. */
const selectLeases = `SELECT h.request_id AS id FROM holds h JOIN nodes n ON n.node = h.node
  WHERE h.operation = '' AND h.amount > 0 AND ($1 = '' OR h.account_id = $1) AND n.alive_until > now_ms()`;

function recallAll(server: Pick<Server, "pool">, accountId: string, counts: Counts): Promise<boolean> {
  return onPool(server, async (session) => {
    const begunAt = performance.now();
    const leases = async () => (await session.query(selectLeases, [accountId])).map(({ id }) => id);
    const asked = await leases();
    let out = asked;
    if (asked.length > 0) counts.recalled(1);
    for (let askAt = begunAt; out.length > 0 && performance.now() < begunAt + recallMs; out = await leases()) {
      if (performance.now() >= askAt) {
        await call(session, recall, [[accountId]]);
        askAt += againMs;
      }
      await delay(lookMs);
    }
    while ((await call<number>(session, merge, [accountId])) > 0);
    // A lease that a node took during the recall is not in `asked`. It holds nothing for the calls that began before the recall.
    return !asked.some((id) => out.includes(id));
  });
}
