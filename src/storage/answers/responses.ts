/**
 * Kept responses. Each belongs to an account: no function here finds another account's.
 *
 * Responses that have expired are not found, and are deleted whenever one is added: no timer runs. An account has at most a given
 * number of them; those that would expire first make room. A response that others continue lives as long as they do.
 */
import { type Selectable, sql } from "kysely";
import { changed, type Database, type Scope } from "../engines/scope.ts";
import type { ResponseTable } from "../schema-answers.ts";

export type StoredResponse = Selectable<ResponseTable>;

/** Link is a response in the line of a conversation. */
export interface Link {
  readonly id: string;
  /** The response that it continues, kept or not. */
  readonly previousId: string | null;
  /** Its length with its input. */
  readonly bytes: number;
}

/** Sized is the length of a response, without its input. */
export interface Sized {
  readonly id: string;
  readonly bytes: number;
}

export interface ResponseStore {
  /** Adds a response, and deletes those beyond the account's bound and some that have expired. */
  insert(response: StoredResponse, maxPerAccount: number): Promise<void>;
  /** Finds the responses with these ids that the account has. */
  find(accountId: string, ids: readonly string[], now: number): Promise<StoredResponse[]>;
  /** Returns the lengths of the responses with these ids that the account has, without reading them. */
  sizes(accountId: string, ids: readonly string[], now: number): Promise<Sized[]>;
  /** Returns a response and those that it continues, newest first, as far back as they are kept, without reading them. */
  line(accountId: string, id: string, now: number): Promise<Link[]>;
  /** Returns false where the account does not have it. */
  delete(accountId: string, id: string, now: number): Promise<boolean>;
}

/** batch is how many rows are deleted when one is added, at most. */
const batch = 100;
/** maxIds is how many ids a statement names, at most. The database takes some thirty thousand. */
const maxIds = 1000;

export function responseStore({ db, transact }: Scope): ResponseStore {
  return {
    insert: (response, maxPerAccount) => transact(({ db }) => addResponse(db, response, maxPerAccount)),
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
    async sizes(accountId, ids, now) {
      const sizes: Sized[] = [];
      for (let at = 0; at < ids.length; at += maxIds) {
        const some = db
          .selectFrom("responses")
          .select(["id", sql<number>`octet_length(response)`.as("bytes")])
          .where("account_id", "=", accountId)
          .where("id", "in", ids.slice(at, at + maxIds))
          .where("expires_at", ">", now);
        for (const { id, bytes } of await some.execute()) sizes.push({ id, bytes: Number(bytes) });
      }
      return sizes;
    },
    line: (accountId, id, now) => lineOf(db, accountId, id, now),
    async delete(accountId, id, now) {
      const deleted = db
        .deleteFrom("responses")
        .where("account_id", "=", accountId)
        .where("id", "=", id)
        .where("expires_at", ">", now);
      return (await changed(db, deleted)) === 1;
    },
  };
}

/** addResponse adds a response as `insert` does, in the caller's transaction. */
export async function addResponse(db: Database, response: StoredResponse, maxPerAccount: number): Promise<void> {
  await db.insertInto("responses").values(response).execute();
  await keepEarlier(db, response);
  await expired(db, response.created_at).execute();
  await surplus(db, response, maxPerAccount).execute();
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
    .select(["line.id", "line.previous_id", bytesOf])
    .orderBy("line.depth")
    .execute();
  return rows.map(({ id, previous_id, bytes }) => ({ id, previousId: previous_id, bytes: Number(bytes) }));
}

const bytesOf = sql<number>`octet_length(responses.response) + coalesce(octet_length(responses.input), 0)`.as("bytes");

async function keepEarlier(db: Database, response: StoredResponse): Promise<void> {
  const { account_id, previous_id, created_at, expires_at } = response;
  if (previous_id === null) return;
  const ids = (await lineOf(db, account_id, previous_id, created_at)).map(({ id }) => id);
  if (ids.length === 0) return;
  await db
    .updateTable("responses")
    .set({ expires_at })
    .where("id", "in", ids)
    .where("expires_at", "<", expires_at)
    .execute();
}

/**
 * expired returns what deletes some expired responses. It asks for their end itself, too: a deletion that waited on Postgres for a
 * transaction which keeps one for longer looks at its own conditions anew, and not at those of the query within.
 */
function expired(db: Database, now: number) {
  const ids = db.selectFrom("responses").select("id").where("expires_at", "<=", now).limit(batch);
  return db.deleteFrom("responses").where("id", "in", ids).where("expires_at", "<=", now);
}

/** surplus returns what deletes responses beyond the account's bound, never the one that was just added. */
function surplus(db: Database, added: StoredResponse, maxPerAccount: number) {
  const ids = db
    .selectFrom("responses")
    .select("id")
    .where("account_id", "=", added.account_id)
    .where("id", "!=", added.id)
    .orderBy("expires_at", "desc")
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(batch)
    .offset(maxPerAccount - 1);
  return db.deleteFrom("responses").where("id", "in", ids);
}
