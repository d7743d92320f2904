/**
 * Responses that are made in the background: the state of each, which any process may read, and whether its caller has asked to
 * cancel it, which the process that makes it has to poll. A response that becomes complete moves to the kept ones in one
 * transaction.
 *
 * A process that dies leaves its rows as they are, with a deadline that nobody moves on. Rows that have expired are deleted
 * whenever one is added.
 */
import { type Insertable, type Selectable, sql } from "kysely";
import { changed, type Database, type Scope } from "../engines/scope.ts";
import type { BackgroundResponseTable } from "../schema-answers.ts";
import { type NodeDeadlines, nodeDeadlines } from "./node-deadlines.ts";
import { addResponse, type StoredResponse } from "./responses.ts";

export type BackgroundResponse = Selectable<BackgroundResponseTable>;

export interface BackgroundStore extends NodeDeadlines {
  /** Adds a response, and deletes some that have expired, and those of the account that have ended and are too many. */
  insert(row: Insertable<BackgroundResponseTable>, maxPerAccount: number): Promise<void>;
  /** Returns undefined where the account has no such response, or it is among the kept ones. */
  find(accountId: string, id: string, now: number): Promise<BackgroundResponse | undefined>;
  /** Updates the state of a response that is still made. */
  update(id: string, response: string): Promise<void>;
  /** Records the last state of a response that did not become complete. */
  end(id: string, response: string): Promise<void>;
  /** Moves a complete response to the kept ones. Returns false where it was cancelled before. */
  complete(kept: StoredResponse, maxPerAccount: number): Promise<boolean>;
  /** Asks to cancel a response that is still made. */
  cancel(accountId: string, id: string): Promise<void>;
  /** Returns the responses of this process that are to be cancelled. */
  cancelled(node: string): Promise<string[]>;
  /** Moves on the deadlines of these responses. */
  renew(ids: readonly string[], aliveUntil: number): Promise<void>;
  /** Deletes a response that has ended. Returns false where the account has no such response. */
  delete(accountId: string, id: string, now: number): Promise<boolean>;
}

/** batch is how many rows are deleted when one is added, at most. */
const batch = 100;

const table = "background_responses";

export function backgroundStore({ db, transact }: Scope): BackgroundStore {
  const running = (id: string) => db.updateTable(table).where("id", "=", id).where("is_over", "=", 0);
  return {
    insert: (row, maxPerAccount) =>
      transact(async ({ db }) => {
        const expired = db.selectFrom(table).select("id").where("expires_at", "<=", row.created_at).limit(batch);
        await db.deleteFrom(table).where("id", "in", expired).execute();
        await db
          .deleteFrom(table)
          .where("id", "in", surplus(db, row, maxPerAccount))
          .execute();
        await db.insertInto(table).values(row).execute();
      }),
    find: (accountId, id, now) =>
      db
        .selectFrom(table)
        .selectAll()
        .where("id", "=", id)
        .where("account_id", "=", accountId)
        .where("expires_at", ">", now)
        .executeTakeFirst(),
    update: async (id, response) => void (await running(id).set({ response }).execute()),
    end: async (id, response) => void (await running(id).set({ response, is_over: 1 }).execute()),
    complete: (kept, maxPerAccount) =>
      transact(async ({ db }) => {
        const own = db.deleteFrom(table).where("id", "=", kept.id).where("is_cancelled", "=", 0);
        if ((await changed(db, own)) !== 1) return false;
        await addResponse(db, kept, maxPerAccount);
        return true;
      }),
    cancel: async (accountId, id) =>
      void (await running(id).where("account_id", "=", accountId).set({ is_cancelled: 1 }).execute()),
    cancelled: async (node) => (await cancelledQuery(db, node).execute()).map(({ id }) => id),
    async renew(ids, alive_until) {
      if (ids.length === 0) return;
      await db
        .updateTable(table)
        .set({ alive_until })
        .where("id", "in", [...ids])
        .execute();
    },
    ...nodeDeadlines(db, table, "alive_until", sql<boolean>`is_over = 0`),
    async delete(accountId, id, now) {
      const own = db.deleteFrom(table).where("id", "=", id).where("account_id", "=", accountId);
      const isDead = own.where((row) => row.or([row("is_over", "=", 1), row("alive_until", "<=", now)]));
      return (await changed(db, isDead)) === 1;
    },
  };
}

function cancelledQuery(db: Database, node: string) {
  return db
    .selectFrom(table)
    .select("id")
    .where("node", "=", node)
    .where("is_over", "=", 0)
    .where("is_cancelled", "=", 1);
}

/** surplus selects responses that have ended, or whose process is dead, except the latest. */
function surplus(db: Database, { account_id, created_at }: Insertable<BackgroundResponseTable>, most: number) {
  return db
    .selectFrom(table)
    .select("id")
    .where("account_id", "=", account_id)
    .where((row) => row.or([row("is_over", "=", 1), row("alive_until", "<=", created_at)]))
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(batch)
    .offset(most);
}
