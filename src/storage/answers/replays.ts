/**
 * Answers under an Idempotency-Key, kept for a day, and claims of calls that are to be answered.
 *
 * A call that runs has claimed its key, so that no other process makes it too. Its process moves the claim's deadline on. Once the
 * deadline has passed, another process may claim the key if it has made sure that the first does not live: the clock may have been set
 * forward. A call that was answered and charged is not made again, though its process ended before it had stored the answer: it stands as
 * one whose answer was too long. Rows older than a day are not found, and are deleted whenever a key is claimed, some at a time. Answers are
 * stored as given: encrypted, for the request that they are for.
 */
import { type Selectable, sql } from "kysely";
import { dayMs } from "../../runtime/time/durations.ts";
import { answered as callAnswered } from "../calls/outcomes.ts";
import { changed, type Database, type Scope } from "../engines/scope.ts";
import type { ReplayTable } from "../schema-answers.ts";
import { knownEnd, type NodeDeadlines, nodeDeadlines } from "./node-deadlines.ts";

export interface Claim {
  readonly accountId: string;
  /** SHA-256 of the key and what it is for, in hex. */
  readonly keyHash: string;
  /** SHA-256 of the key and the request, in hex. */
  readonly requestHash: string;
  readonly requestId: string;
  /** The process that makes the call. */
  readonly node: string;
  /** now is in milliseconds since 1970. */
  readonly now: number;
  readonly expiresAt: number;
  /** A process that is known not to live: a claim of it whose deadline has passed is taken over. */
  readonly endedNode?: string;
}

export type Claimed =
  | { readonly kind: "claimed" }
  /** The key was used for another request. */
  | { readonly kind: "conflict" }
  /** The call runs, in this process or another. */
  | { readonly kind: "running" }
  /** The deadline of the claim of another process has passed. If that lives, the key stands as `ifLives` says. */
  | { readonly kind: "expired"; readonly node: string; readonly ifLives: Exclude<Claimed, { kind: "expired" }> }
  | { readonly kind: "answered"; readonly requestId: string; readonly answer: Buffer }
  | { readonly kind: "too_large" };

export interface ReplayStore extends NodeDeadlines {
  /** Claims a key, unless its call is made or was answered. */
  claim(claim: Claim): Promise<Claimed>;
  /**
   * Stores the answer of the call that has claimed the key, at `now`; undefined stands for one that is too long. Resolves to false where another
   * call has claimed the key since.
   */
  keep(claim: Claim, answer: Buffer | undefined): Promise<boolean>;
  /** Ends the claim of a call that was not answered. */
  free(claim: Claim): Promise<void>;
  /** Moves on the deadlines of the claims of these calls of this process. */
  renew(node: string, requestIds: readonly string[], expiresAt: number): Promise<void>;
}

const keptMs = dayMs;

/**
 * abandonedMs is how long after its deadline a claim counts as that of a process which is gone, whose lock nobody here can see. It is long, for
 * the clock may have been set forward while the call runs.
 */
const abandonedMs = 30 * dayMs;

/** maxPerAccount is how many bytes of answers an account may have. An answer that does not fit counts as too long. */
const maxPerAccount = 1024 ** 3;

/** batch is how many old rows a claim deletes, at most: each may be long. */
const batch = 5;

/** renewedAtOnce is how many calls a statement names, at most. */
const renewedAtOnce = 500;

const [running, answered, tooLarge] = [0, 1, 2] as const;

type Row = Selectable<ReplayTable>;

export function replayStore({ db, transact }: Scope): ReplayStore {
  return {
    claim: (init) => transact((scope) => claim(scope, init)),
    keep: (init, answer) => transact(({ db }) => keep(db, init, answer)),
    async free(init) {
      const { accountId, keyHash, requestId, node } = init;
      await db
        .deleteFrom("replays")
        .where("account_id", "=", accountId)
        .where("key_hash", "=", keyHash)
        .where("request_id", "=", requestId)
        .where("node", "=", node)
        .where("state", "=", running)
        .execute();
    },
    async renew(node, requestIds, expiresAt) {
      for (let at = 0; at < requestIds.length; at += renewedAtOnce)
        await db
          .updateTable("replays")
          .set({ expires_at: expiresAt })
          .where("node", "=", node)
          .where("state", "=", running)
          .where("request_id", "in", requestIds.slice(at, at + renewedAtOnce))
          .execute();
    },
    ...nodeDeadlines(db, "replays", "expires_at", sql<boolean>`state = ${sql.lit(running)}`),
  };
}

async function claim(scope: Scope, init: Claim): Promise<Claimed> {
  const { db, lock } = scope;
  const { accountId, keyHash, requestHash, requestId, node, now, expiresAt } = init;
  const own = { request_hash: requestHash, request_id: requestId, node };
  const values = { ...own, created_at: now, expires_at: expiresAt, state: running, size: 0, answer: null };
  // Of several at once that find no row, one adds it; the others find that one.
  const isAdded = await changed(
    db,
    db
      .insertInto("replays")
      .values({ account_id: accountId, key_hash: keyHash, ...values })
      .onConflict((conflict) => conflict.columns(["account_id", "key_hash"]).doNothing()),
  );
  if (isAdded === 0) {
    await lock(rowOf(db, init).select("state"));
    const row = await rowOf(db, init).selectAll().executeTakeFirst();
    // Its call ended between the two statements.
    if (!row) return claim(scope, init);
    if (row.state === running && isOver(row, init) && (await wasAnswered(db, row))) {
      await rowToChange(db, init).set({ state: tooLarge }).execute();
      return found({ ...row, state: tooLarge }, init);
    }
    if (!isOver(row, init)) {
      const { state, node, expires_at } = row;
      const standing = found(row, init);
      return state === running && expires_at <= now ? { kind: "expired", node, ifLives: standing } : standing;
    }
    await rowToChange(db, init).set(values).execute();
    await addSize(db, accountId, -row.size);
  }
  await forget(db, now);
  return { kind: "claimed" };
}

function rowOf(db: Database, { accountId, keyHash }: Claim) {
  return db.selectFrom("replays").where("account_id", "=", accountId).where("key_hash", "=", keyHash);
}

function rowToChange(db: Database, { accountId, keyHash }: Claim) {
  return db.updateTable("replays").where("account_id", "=", accountId).where("key_hash", "=", keyHash);
}

/** wasAnswered reports whether the call of a claim was charged as answered. */
async function wasAnswered(db: Database, { request_id }: Row): Promise<boolean> {
  const call = db.selectFrom("requests").select("id").where("id", "=", request_id).where("outcome", "=", callAnswered);
  return (await call.executeTakeFirst()) !== undefined;
}

/**
 * forget deletes some rows that are old, and whose calls do not run. The deletion asks for their age itself, too: one that waited on
 * Postgres for a transaction which claimed an old row anew looks at its own conditions again, and not at those of the query within.
 */
async function forget(db: Database, now: number): Promise<void> {
  const before = now - keptMs;
  const old = db
    .selectFrom("replays")
    .select(["account_id", "key_hash"])
    .where("created_at", "<=", before)
    .where((of) =>
      of.or([of("state", "<>", running), of("expires_at", "=", knownEnd), of("expires_at", "<=", now - abandonedMs)]),
    )
    .orderBy("created_at")
    .limit(batch);
  const gone = await db
    .deleteFrom("replays")
    .where((of) => of(of.refTuple("account_id", "key_hash"), "in", old.$asTuple("account_id", "key_hash")))
    .where("created_at", "<=", before)
    .returning(["account_id", "size"])
    .execute();
  for (const { account_id, size } of gone) await addSize(db, account_id, -size);
}

async function keep(db: Database, init: Claim, answer: Buffer | undefined): Promise<boolean> {
  const { accountId, requestId, node, now } = init;
  const own = rowToChange(db, init).where("request_id", "=", requestId).where("node", "=", node);
  const size = answer?.length ?? 0;
  // From here on it is kept for a day, whatever the clock said when the call began.
  const kept = { ...(answer ? { state: answered, size, answer } : { state: tooLarge }), created_at: now };
  if ((await changed(db, own.set(kept).where("state", "=", running))) === 0) return false;
  // The row of the sum is this transaction's own from here on, so that no two answers take the same room.
  if ((await addSize(db, accountId, size)) <= maxPerAccount) return true;
  await own.set({ state: tooLarge, size: 0, answer: null }).execute();
  await addSize(db, accountId, -size);
  return true;
}

/** addSize adds to the length of all answers of an account, and returns it. */
async function addSize(db: Database, account_id: string, size: number): Promise<number> {
  if (size === 0) return 0;
  const sum = await db
    .insertInto("replay_sizes")
    .values({ account_id, size })
    .onConflict((conflict) =>
      conflict.column("account_id").doUpdateSet((to) => ({ size: to("replay_sizes.size", "+", size) })),
    )
    .returning("size")
    .executeTakeFirstOrThrow();
  return sum.size;
}

/**
 * isOver reports whether the key may be claimed anew. A process knows which calls it runs: a claim of its own that is found here was left
 * behind.
 */
function isOver({ state, node, created_at, expires_at }: Row, claim: Claim): boolean {
  if (state !== running) return created_at <= claim.now - keptMs;
  if (node === claim.node || expires_at === knownEnd) return true;
  return expires_at <= claim.now && node === claim.endedNode;
}

function found(
  { request_hash, request_id, state, answer }: Row,
  { requestHash }: Claim,
): Exclude<Claimed, { kind: "expired" }> {
  if (request_hash !== requestHash) return { kind: "conflict" };
  if (state === running) return { kind: "running" };
  return state === answered && answer ? { kind: "answered", requestId: request_id, answer } : { kind: "too_large" };
}
