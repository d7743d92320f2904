/**
 * Kept responses, each an account's own: nothing here finds another's.
 *
 * What has expired is found no more, and is deleted in passing whenever something is added: no timer runs. An account
 * has at most a given number of them; those that would expire first make room. A response that others go on from lives
 * as long as they do.
 */
import { type Selectable, sql } from "kysely";
import type { Database } from "./database.ts";
import type { ResponseTable } from "./schema.ts";

export type StoredResponse = Selectable<ResponseTable>;

/** A response in the line of a conversation. */
export interface Link {
  readonly id: string;
  /** The response before it, kept or not. */
  readonly previousId: string | null;
  /** How long it is, in characters. */
  readonly length: number;
}

export interface ResponseStore {
  /** Adds a response, and deletes what is over the account's bound and some of what has expired. */
  insert(response: StoredResponse, maxPerAccount: number): Promise<void>;
  /** Finds those of the responses with these ids that the account still has. */
  find(accountId: string, ids: readonly string[], now: number): Promise<StoredResponse[]>;
  /** Tells of a response and of all before it, newest first, without reading them; as far back as they are kept. */
  line(accountId: string, id: string, now: number): Promise<Link[]>;
  /** Returns false where the account does not have it. */
  delete(accountId: string, id: string, now: number): Promise<boolean>;
}

/** How many rows are deleted in passing, at most. */
const batch = 100;

export function responseStore(db: Database): ResponseStore {
  return {
    async insert(response, maxPerAccount) {
      await db.transaction().execute(async (trx) => {
        await trx.insertInto("responses").values(response).execute();
        await keepEarlier(trx, response);
        await deleteExpired(trx, response.created_at);
        await deleteSurplus(trx, response, maxPerAccount);
      });
    },
    async find(accountId, ids, now) {
      if (ids.length === 0) return [];
      return db
        .selectFrom("responses")
        .selectAll()
        .where("account_id", "=", accountId)
        .where("id", "in", ids)
        .where("expires_at", ">", now)
        .execute();
    },
    line: (accountId, id, now) => lineOf(db, accountId, id, now),
    async delete(accountId, id, now) {
      const { numDeletedRows } = await db
        .deleteFrom("responses")
        .where("account_id", "=", accountId)
        .where("id", "=", id)
        .where("expires_at", ">", now)
        .executeTakeFirst();
      return numDeletedRows === 1n;
    },
  };
}

async function lineOf(db: Database, accountId: string, id: string, now: number): Promise<Link[]> {
  const rows = await db
    .withRecursive("line(id, previous_id, depth)", (query) =>
      query
        .selectFrom("responses")
        .select(["id", "previous_id", sql<number>`0`.as("depth")])
        .where("account_id", "=", accountId)
        .where("id", "=", id)
        .where("expires_at", ">", now)
        .unionAll(
          query
            .selectFrom("responses")
            .innerJoin("line", "line.previous_id", "responses.id")
            .select(["responses.id", "responses.previous_id", sql<number>`line.depth + 1`.as("depth")])
            .where("responses.account_id", "=", accountId)
            .where("responses.expires_at", ">", now),
        ),
    )
    .selectFrom("line")
    .innerJoin("responses", "responses.id", "line.id")
    .select(["line.id", "line.previous_id", lengthOf])
    .orderBy("line.depth")
    .execute();
  return rows.map(({ id, previous_id, length }) => ({ id, previousId: previous_id, length: Number(length) }));
}

const lengthOf = sql<number>`length(responses.response) + coalesce(length(responses.input), 0)`.as("length");

async function keepEarlier(
  db: Database,
  { account_id, previous_id, created_at, expires_at }: StoredResponse,
): Promise<void> {
  if (previous_id === null) return;
  const line = await lineOf(db, account_id, previous_id, created_at);
  await db
    .updateTable("responses")
    .set({ expires_at })
    .where(
      "id",
      "in",
      line.map(({ id }) => id),
    )
    .where("expires_at", "<", expires_at)
    .execute();
}

async function deleteExpired(db: Database, now: number): Promise<void> {
  const expired = db.selectFrom("responses").select("id").where("expires_at", "<=", now).limit(batch);
  await db.deleteFrom("responses").where("id", "in", expired).execute();
}

/** The response that was just added is never too many. */
async function deleteSurplus(db: Database, added: StoredResponse, maxPerAccount: number): Promise<void> {
  const surplus = db
    .selectFrom("responses")
    .select("id")
    .where("account_id", "=", added.account_id)
    .where("id", "!=", added.id)
    .orderBy("expires_at", "desc")
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(batch)
    .offset(maxPerAccount - 1);
  await db.deleteFrom("responses").where("id", "in", surplus).execute();
}
