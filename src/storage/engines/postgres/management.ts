/**
 * Opens the connections of management to Postgres, which they share with upkeep, and makes the scope in which stores work on them.
 *
 * A transaction that met another one (serialization, a ring of locks) is begun anew, after a pause that differs from the other's. What this
 * node changes of keys, accounts and users it knows at once: its own next request is decided by that.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type Driver, Kysely, type KyselyPlugin, type OperationNode, PostgresDialect, sql } from "kysely";
import { codeOf, LockedError } from "../../../runtime/write-trouble.ts";
import { maxWaitMs } from "../../money/books.ts";
import type { Tables } from "../../schema.ts";
import { createScope, createWithinTransaction, type Database, type PendingSums, type Scope } from "../scope.ts";
import { merge } from "./books/functions/upkeep.ts";
import { watchedTables } from "./changes.ts";
import { isConflict, isLocked } from "./errors.ts";
import type { Server } from "./session.ts";

export interface Management {
  readonly db: Database;
  readonly scope: Scope;
}

/**
 * maxTries is how often a transaction is tried that met another one, maxTaken one that wrote what another had written meanwhile, and
 * maxLocked one that has waited a second for a lock in vain: all of them as long as others wait for a lock of SQLite.
 */
const [maxTries, maxTaken, maxLocked] = [10, 3, maxWaitMs / 1000];
/** The longest first pause before that, and the longest of all, in milliseconds. */
const [firstPauseMs, maxPauseMs] = [5, 200];

export function openManagement(server: Pick<Server, "pool">, onChanged: () => void): Management {
  const within = createWithinTransaction();
  const changes = createChanges(onChanged);
  const dialect = new PostgresDialect({ pool: server.pool });
  const db = new Kysely<Tables>({
    dialect: Object.assign(dialect, {
      createDriver: () =>
        guarded(PostgresDialect.prototype.createDriver.call(dialect), within.refuse, changes.committed),
    }),
    plugins: [changes.plugin],
  });
  const scope = createScope({
    db,
    unflushed: db,
    pending,
    within,
    lock: async (query) => void (await query.forUpdate().execute()),
  });
  return { db, scope: { ...scope, transact: (work) => begunAnew(() => scope.transact(work)) } };
}

const uniqueViolation = "23505";

/** begunAnew rejects with a LockedError where others have kept the transaction from being done for too long. Nothing of it is done then. */
async function begunAnew<T>(transact: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await transact();
    } catch (error) {
      if (tries >= mostTries(error)) throw isConflict(error) || isLocked(error) ? new LockedError(error) : error;
      // By chance, so that two which met do not meet again.
      if (isConflict(error)) await delay(Math.random() * Math.min(firstPauseMs * 2 ** (tries - 1), maxPauseMs));
    }
  }
}

function mostTries(error: unknown): number {
  if (isConflict(error)) return maxTries;
  if (isLocked(error)) return maxLocked;
  // A name that was free when it was looked for: the next time it is found to be taken.
  return codeOf(error) === uniqueViolation ? maxTaken : 0;
}

/** guarded refuses what a transaction asks of another connection: it would not see itself there, and might wait for itself. */
function guarded(driver: Driver, refuse: () => void, committed: () => void): Driver {
  return {
    init: (options) => driver.init(options),
    async acquireConnection(options) {
      refuse();
      return driver.acquireConnection(options);
    },
    beginTransaction: (connection, settings) => driver.beginTransaction(connection, settings),
    async commitTransaction(connection) {
      await driver.commitTransaction(connection);
      committed();
    },
    rollbackTransaction: (connection) => driver.rollbackTransaction(connection),
    releaseConnection: (connection, options) => driver.releaseConnection(connection, options),
    destroy: (options) => driver.destroy(options),
  };
}

/**
 * createChanges says when anything was written that nodes keep in memory: after the statement, and after the transaction that it was in.
 */
function createChanges(onChanged: () => void) {
  const writing = new WeakSet<object>();
  let isOpen = false;
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      if (changesWatched(node)) writing.add(queryId);
      return node;
    },
    async transformResult({ queryId, result }) {
      if (writing.has(queryId)) {
        isOpen = true;
        onChanged();
      }
      return result;
    },
  };
  return {
    plugin,
    committed() {
      if (isOpen) onChanged();
      isOpen = false;
    },
  };
}

function changesWatched(node: OperationNode): boolean {
  if (node.kind === "SelectQueryNode") return false;
  const text = JSON.stringify(node, (name, value: unknown) =>
    name === "values" || name === "updates" ? undefined : value,
  );
  return watchedTables.some((table) => text.includes(table));
}

/**
 * pending is what is due of a key. It stays due in a transaction that merges it, as far as other nodes add to it: `decide` counts it there.
 */
const pending: PendingSums = {
  spentOf: (keyId) => dueOf(keyId, "spent"),
  freedOf: (keyId) => dueOf(keyId, "freed"),
  async merge(db, keyId) {
    await sql`SELECT ${sql.raw(merge.name)}(account_id) FROM api_keys WHERE id = ${keyId}`.execute(db);
  },
};

function dueOf(keyId: string, what: "spent" | "freed") {
  return sql<number>`(SELECT coalesce(sum(d.${sql.ref(what)}), 0)::bigint FROM due_sums d JOIN api_keys k ON k.account_id = d.account_id
    WHERE k.id = ${keyId} AND d.key_id = ${keyId})`;
}
