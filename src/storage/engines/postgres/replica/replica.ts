/**
 * A replica that usage is read from. It is looked at each second; while it does not answer, is too far behind, or is not what it should
 * be, all is read from the primary, and a read that is under way is begun there anew. Nobody waits for it, and nothing is decided by it.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Kysely, PostgresDialect } from "kysely";
import { StorageError } from "../../../../runtime/write-trouble.ts";
import type { Tables } from "../../../schema.ts";
import type { Database } from "../../scope.ts";
import { connectServer } from "../connection.ts";
import { onPool } from "../on-pool.ts";
import type { Row, Server } from "../session.ts";
import { within } from "../silence.ts";
import { readUrl } from "../url.ts";
import { createLag } from "./lag.ts";

export interface ReplicaOptions {
  readonly url: string;
  /** maxLagMs is how far it may be behind, in milliseconds. */
  readonly maxLagMs: number;
}

/** ReplicaState is what operators are told of it. Reading it asks nobody. */
export interface ReplicaState {
  /** Returns why it is not read from; undefined where it is. */
  trouble(): string | undefined;
  /** Calls `listener` whenever that begins or ends. Returns what removes it again. */
  onChange(listener: () => void): () => void;
  /** Returns how far it is behind, in seconds; undefined where nobody knows. */
  lagSeconds(): number | undefined;
  /** Returns how many reads went where, since the start. */
  reads(): { readonly replica: number; readonly primary: number };
}

export interface Replica {
  readonly db: Database;
  readonly state: ReplicaState;
  /** Reads from the replica, or from the primary where that is not possible. */
  read<T>(here: () => Promise<T>, primary: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

interface ReplicaParts extends ReplicaOptions {
  readonly primary: Pick<Server, "pool">;
  readonly poolSize: number;
  readonly statementTimeoutMs: number;
  /** The name of the database, which a replica of it has, too. */
  readonly database: string;
}

/** lookMs is how often it is looked at, and answerMs how long an answer may take, in milliseconds. */
const [lookMs, answerMs] = [1000, 900];

/** openReplica throws a StorageError where its address cannot be used; whatever else is wrong with it may pass. */
export async function openReplica(parts: ReplicaParts): Promise<Replica> {
  const { url, poolSize, statementTimeoutMs } = parts;
  const server = connectServer({ address: addressOf(url), poolSize, statementTimeoutMs, onError: () => {} });
  const watch = createWatch();
  const look = createLook(server, parts, watch);
  await look();
  let isClosed = false;
  const looking = (async () => {
    for (; !isClosed; await delay(lookMs, undefined, { ref: false })) await look();
  })();
  const db: Database = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: server.pool }) });
  return {
    db,
    state: watch.state,
    read: watch.read,
    async close() {
      isClosed = true;
      await Promise.race([looking, delay(answerMs, undefined, { ref: false })]);
      await db.destroy();
    },
  };
}

function addressOf(url: string) {
  try {
    return readUrl(url);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    throw new StorageError(error.message.replaceAll("DATABASE_URL", "DATABASE_REPLICA_URL"), { cause: error });
  }
}

const questions = {
  primary: "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS position",
  replica: `SELECT pg_is_in_recovery() AS is_replica, pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0') AS position,
    (SELECT id FROM database_identity) AS id`,
};

/** createLook returns what looks at both once, and says what it saw. It never rejects. */
function createLook(server: Server, { primary, database, maxLagMs }: ReplicaParts, watch: Watch): () => Promise<void> {
  const lag = createLag();
  const ask = async (of: Pick<Server, "pool">, sql: string): Promise<Row> => {
    const asked = onPool(of, (session) => session.query(sql));
    const [row] = await within(asked, answerMs);
    return row ?? {};
  };
  return async () => {
    // Where the primary does not answer, what it had last counts, as long as that is not too old.
    const end = await ask(primary, questions.primary).catch(() => undefined);
    if (end) lag.primaryAt(end.position as number);
    const answer = await ask(server, questions.replica).catch((error: unknown) => error as Error);
    if (answer instanceof Error) return watch.see(`it does not answer (${answer.message})`, lag.ms());
    if (answer.is_replica !== true) return watch.see("it is no replica: it can be written", undefined);
    if (answer.id !== database) return watch.see("it is a replica of another database", undefined);
    if (answer.position === null)
      return watch.see("it does not tell how far it is: it has to be a streaming replica", undefined);
    lag.replicaAt(answer.position as number);
    const ms = lag.ms();
    if (lag.isAhead()) return watch.see("it has what the primary has not: it follows another server", undefined);
    if (ms === undefined) return watch.see("it has not caught up yet", undefined);
    watch.see(ms > maxLagMs ? `it is ${Math.round(ms / 1000)} s behind` : undefined, ms);
  };
}

type Watch = ReturnType<typeof createWatch>;

function createWatch() {
  const listeners = new Set<() => void>();
  const reads = { replica: 0, primary: 0 };
  let trouble: string | undefined = "it was not looked at yet";
  let lagMs: number | undefined;
  let gone = Promise.withResolvers<"gone">();

  function see(why: string | undefined, ms: number | undefined): void {
    const changes = (why === undefined) !== (trouble === undefined);
    [trouble, lagMs] = [why, ms];
    if (!changes) return;
    if (why !== undefined) gone.resolve("gone");
    else gone = Promise.withResolvers();
    for (const listener of listeners) listener();
  }

  const state: ReplicaState = {
    trouble: () => trouble,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    lagSeconds: () => (lagMs === undefined ? undefined : lagMs / 1000),
    reads: () => ({ ...reads }),
  };

  async function read<T>(here: () => Promise<T>, primary: () => Promise<T>): Promise<T> {
    if (trouble === undefined) {
      // A replica also ends queries by itself, which stand in the way of what it has to take in.
      const answer = await Promise.race([here().then((value) => ({ value })), gone.promise]).catch(() => undefined);
      if (typeof answer === "object") {
        reads.replica++;
        return answer.value;
      }
    }
    reads.primary++;
    return primary();
  }

  return { see, state, read };
}
