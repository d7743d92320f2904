/**
 * Keeps a node's records while the database is away: a journal (`journal/segments.ts`) in a folder of its machine. What a node that
 * died has left there is written by the next one on that machine: as soon as that sees by its lock that the process has ended, or else as
 * soon as the node counts as dead.
 */
import { counted } from "../../../../runtime/words/counted.ts";
import { checkJournal } from "../../../journal/check.ts";
import { lineOf } from "../../../journal/records.ts";
import { createRejects } from "../../../journal/rejects.ts";
import type { Segments } from "../../../journal/segments.ts";
import { sentLogs } from "../../../journal/sent-log.ts";
import type { JournalRecord } from "../../../money/books.ts";
import { createNodeLocks, lockedBy } from "../../sqlite/node-lock.ts";
import type { Server, Session } from "../session.ts";
import { call } from "./call.ts";
import { leave } from "./functions/leases.ts";
import { createPosting } from "./posting.ts";
import { recordSent } from "./record-sent.ts";

export interface Spool {
  /** Appends a record. Throws, with nothing appended, where the disk refuses it. */
  append(record: JournalRecord): void;
  /** Reports whether anything was appended since the spool was cleared. */
  hasAny(): boolean;
  /** Removes what was appended: all of it is in the database. */
  clear(): void;
}

/** openSpool opens the spool of a node for a database, which `database` names. */
export function openSpool(segments: Segments, node: string, database: string): Spool {
  let count = 0;
  return {
    append(record) {
      segments.open(node, database, record.at);
      segments.append(node, lineOf(record), record.seq, record.at);
      count++;
    },
    hasAny: () => count > 0,
    clear() {
      segments.remove(node);
      count = 0;
    },
  };
}

/** databaseId returns the name of a database, which its journals have. */
export async function databaseId(session: Pick<Session, "query">): Promise<string> {
  const [row] = await session.query("SELECT id FROM database_identity");
  return String(row?.id ?? "");
}

export interface LeftBehindOptions {
  readonly server: Pick<Server, "connect">;
  readonly segments: Segments;
  /** The folder of the logs of calls that were sent. */
  readonly folder: string;
  /** The nodes of this process, whose spools are left alone: they write them themselves. */
  readonly own: ReadonlySet<string>;
  /** now returns milliseconds since 1970, by the database's clock. */
  readonly now: () => number;
  /** Receives what cannot be written, and is kept for an operator. */
  readonly onError: (error: unknown) => void;
}

/**
 * writeLeftBehind writes what nodes that died have left on this machine, has calls that they had sent recorded as lost, and returns of how
 * many nodes that was. What is no record is kept beside it, and a journal of another database is left alone.
 *
 * A node whose process has ended by its lock, and that still counts as living, is ended behind that: nothing more comes of it, so nobody
 * need wait for what it leased and held.
 */
export async function writeLeftBehind(options: LeftBehindOptions): Promise<number> {
  const { server, segments, folder, own, now, onError } = options;
  const locks = createNodeLocks(folder, onError);
  const [spooled, logs] = [new Set(segments.nodes()), sentLogs(folder)];
  const known = [...spooled, ...logs.map(({ node }) => node), ...locks.nodes()];
  const others = [...new Set(known)].filter((node) => !own.has(node));
  if (others.length === 0) return 0;
  const session = await server.connect();
  try {
    const database = await databaseId(session);
    const sent = new Set(logs.filter((log) => log.database === database).map(({ node }) => node));
    const alive = await session.query(
      "SELECT node FROM nodes WHERE node = ANY ($1::text[]) AND alive_until > now_ms()",
      [others],
    );
    const living = new Set(alive.map((row) => row.node));
    const take = async (node: string) => {
      if (spooled.has(node) && !(await writeOne(session, { segments, onError }, database, node))) return 0;
      if (sent.has(node)) await recordSent(session, { folder, node, database });
      return spooled.has(node) || sent.has(node) ? 1 : 0;
    };
    const old = lockedBy(now());
    let count = 0;
    for (const node of others) {
      const counts = living.has(node);
      // One of which nothing is known may be about to take its lock, unless it is old.
      if (!counts && !spooled.has(node) && !sent.has(node) && node >= old) continue;
      const lock = locks.takeEnded(node, counts);
      if (typeof lock === "string") continue;
      try {
        count += await take(node);
        if (counts) await endNode(session, node);
      } catch (error) {
        lock.leave();
        throw error;
      }
      lock.end();
    }
    return count;
  } finally {
    session.close();
  }
}

/** endNode gives back what a node that has ended has leased, and ends the deadlines of what its calls hold: they are recorded as lost. */
async function endNode(session: Pick<Session, "query">, node: string): Promise<void> {
  await call(session, leave, [node]);
  await session.query("UPDATE holds SET expires_at = now_ms() WHERE node = $1 AND expires_at > now_ms()", [node]);
}

async function writeOne(
  session: Session,
  { segments, onError }: Pick<LeftBehindOptions, "segments" | "onError">,
  database: string,
  node: string,
): Promise<boolean> {
  const [row] = await session.query("SELECT posted FROM journals WHERE node = $1", [node]);
  const known = row && { node, posted: row.posted as number, sum: null, isOpen: false };
  const found = checkJournal(node, known, { segments, database });
  if (!found) return false;
  const { records, rejected, faults } = found;
  if (faults.some(({ kind }) => kind === "foreign")) return false;
  const added = createRejects(segments).add(node, rejected, faults);
  if (added > 0)
    onError(
      new Error(
        `${counted(added, "line or part", "lines or parts")} of the journal of ${node} cannot be charged and ${added === 1 ? "is" : "are"} set aside`,
      ),
    );
  await createPosting(node).post(
    session,
    records.map(({ record }) => record),
  );
  segments.remove(node);
  return true;
}
