/**
 * The books of a node on Postgres: the contract of `money/books.ts` over functions in the database (`decide.ts`, `write.ts`).
 *
 * Decisions and writes go over one connection, in the order in which they are asked for; records that wait meanwhile are one
 * statement. A record is durable when the database has committed it, or, while that is away, when it is in the node's own file
 * (`spool.ts`): then it is written as soon as the database is back. Until then calls that run are noted there (`sent-log.ts`). What is
 * asked and not answered because the connection broke is asked again under the same number; a turn that was given up is undone before the
 * next one.
 */
import type { SentLog } from "../../../journal/sent-log.ts";
import type { Books, BooksOptions, JournalRecord } from "../../../money/books.ts";
import { type Counts, createCounts } from "../counts.ts";
import { AwayError } from "../errors.ts";
import type { Server } from "../session.ts";
import type { Watcher } from "../watcher.ts";
import { call } from "./call.ts";
import { createDecide } from "./deciding.ts";
import { recall, releaseLeases } from "./functions/leases.ts";
import { createLane, type Lane } from "./lane.ts";
import type { Spool } from "./spool.ts";
import { createUpkeep, type Upkeep } from "./upkeeping.ts";
import { createWriter, type Writer } from "./writing.ts";

export interface PostgresBooksOptions extends BooksOptions {
  readonly server: Server;
  readonly watcher: Watcher;
  /** Keeps records while the database is away. */
  readonly spool: Spool;
  /** Notes calls before they are sent; undefined where nothing is noted. */
  readonly sentLog?: SentLog | undefined;
  /** The version of the program, for operators who look at the nodes. */
  readonly version: string;
  /** Counts for operators what is asked. */
  readonly counts?: Counts | undefined;
}

/** awayMs is how long work waits for a database that is away, in milliseconds. */
const awayMs = 1000;
/** holdDelayMs is how long a hold waits to be written with others, in milliseconds. */
const holdDelayMs = 5;
/** writeEveryMs is how far writes are apart under load, in milliseconds. */
const writeEveryMs = 2;
/** statementMs is how long a statement of money may take, in milliseconds, waiting for locks included. */
const statementMs = 4000;

interface Parts {
  readonly options: PostgresBooksOptions;
  readonly lane: Lane;
  readonly writer: Writer;
  readonly upkeep: Upkeep;
  /** unreleased are leases that could not be released yet. */
  readonly unreleased: Set<string>;
}

export function openPostgresBooks(options: PostgresBooksOptions): Books {
  const { server, watcher, node, spool, sentLog, onError, counts = createCounts() } = options;
  const isServerAway = () => watcher.awayMs() !== undefined;
  const onRepeat = counts.repeated;
  const lane = createLane({ connect: () => server.connect(), onError, onRepeat, awayMs, statementMs, isServerAway });
  const upkeep = createUpkeep(options);
  const writer = createWriter({ lane, node, spool, onError, onWritten: upkeep.mergeLater, counts });
  const parts: Parts = { options, lane, writer, upkeep, unreleased: new Set() };
  const { decide, undoLost } = createDecide({
    lane,
    node,
    writeNow: writer.writeNow,
    counts,
    onError,
    releaseLater(leases) {
      for (const id of leases) parts.unreleased.add(id);
    },
    recall(accounts) {
      counts.recalled(accounts.length);
      return upkeep.run((session) => call(session, recall, [accounts]));
    },
  });
  const stopHearing = watcher.onRecall((accountId) => void giveBack(parts, accountId).catch(onError));
  upkeep.mergeLater();
  return {
    version: watcher.version,
    changedSince: watcher.changedSince,
    mayLease: upkeep.mayLease,
    async decide(next) {
      if (lane.isAway()) throw new AwayError();
      const decisions = await decide(next);
      upkeep.mergeLater();
      return decisions;
    },
    write: writer.write,
    note: sentLog && ((holds, seq) => sentLog.note(holds, seq, writer.written())),
    holdDelayMs,
    writeEveryMs,
    async apply(accountId) {
      await lane.idle();
      return (await upkeep.merge(accountId)) > 0;
    },
    touch: upkeep.touch,
    releaseLeases: (ids) => release(parts, [], ids),
    async renew() {
      await upkeep.renew();
      await undoLost();
      await release(parts, [], []);
    },
    expire: upkeep.expire,
    async close() {
      stopHearing();
      await giveBack(parts, "").catch(onError);
      await writer.close();
      if (!lane.isAway()) sentLog?.remove();
      await upkeep.close();
      lane.close();
    },
  };
}

/** giveBack gives back what the ledger keeps of an account, because another node is short of it. */
async function giveBack(parts: Parts, accountId: string): Promise<void> {
  const { records, leases } = parts.options.recall(accountId);
  if (leases.length > 0) await release(parts, records, leases);
}

/** release releases leases behind records that draw on them. While the database is away, they are kept for later. */
async function release(
  { lane, writer, options, unreleased }: Parts,
  records: readonly JournalRecord[],
  leases: readonly string[],
) {
  for (const id of leases) unreleased.add(id);
  if (unreleased.size === 0 || lane.isAway()) return;
  await lane.run(async (session) => {
    await writer.writeNow(session, records);
    const ids = [...unreleased];
    await call(session, releaseLeases, [options.node, ids]);
    for (const id of ids) unreleased.delete(id);
  });
}
