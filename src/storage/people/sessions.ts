/**
 * Sessions of users who are signed in. Only the SHA-256 of the cookie's value is stored.
 *
 * A session that has expired or was not used for long is not found, and neither is one whose user was removed.
 */
import { type Insertable, type Selectable, sql } from "kysely";
import { dayMs } from "../../runtime/time/durations.ts";
import { changed, compiledOnce, type Database, type Scope } from "../engines/scope.ts";
import type { SessionTable } from "../schema-people.ts";

export type Session = Selectable<SessionTable>;

/** SessionWithUser is a session, with what of its user and account decides on its calls. */
export interface SessionWithUser {
  readonly id: string;
  readonly last_seen_at: number;
  readonly user_id: string;
  readonly is_operator: number;
  readonly account_id: string;
  readonly account_recharged: number;
  readonly account_postpaid: number;
  readonly account_suspended_at: number | null;
}

/** idleMs is how long a session lasts without being used, in milliseconds. */
const idleMs = 7 * dayMs;

export interface SessionStore {
  insert(session: Insertable<SessionTable>): Promise<void>;
  findByTokenHash(tokenHash: string, now: number): Promise<SessionWithUser | undefined>;
  /** Lists a user's sessions, newest first. */
  list(userId: string, now: number): Promise<Session[]>;
  /** Records when a session was used last. */
  touch(id: string, now: number): Promise<void>;
  /** Ends one of the user's sessions. Resolves to false where there is none with this id. */
  revoke(userId: string, id: string): Promise<boolean>;
  /** Ends the user's sessions, except one. Returns how many. */
  revokeAll(userId: string, except?: string): Promise<number>;
  /** Ends the sessions of all users of an account. Returns how many. */
  revokeAccount(accountId: string): Promise<number>;
  /** Ends all of the user's sessions except the newest `count`. */
  keepNewest(userId: string, count: number): Promise<void>;
  /** Deletes sessions that have ended. Returns how many. */
  sweep(now: number): Promise<number>;
}

export function sessionStore({ db }: Scope): SessionStore {
  const byTokenHash = compiledOnce<SessionWithUser>(() => tokenQuery(db), db);
  const ofUser = (userId: string) => db.selectFrom("sessions").where("user_id", "=", userId);
  return {
    insert: async (session) => void (await db.insertInto("sessions").values(session).execute()),
    findByTokenHash: async (tokenHash, now) => (await byTokenHash(tokenHash, now, now - idleMs))[0],
    list: (userId, now) =>
      ofUser(userId)
        .selectAll()
        .where("expires_at", ">", now)
        .where("last_seen_at", ">", now - idleMs)
        .orderBy("id", "desc")
        .execute(),
    touch: async (id, now) =>
      void (await db.updateTable("sessions").set({ last_seen_at: now }).where("id", "=", id).execute()),
    revoke: async (userId, id) =>
      (await changed(db, db.deleteFrom("sessions").where("id", "=", id).where("user_id", "=", userId))) === 1,
    revokeAll: (userId, except = "") =>
      changed(db, db.deleteFrom("sessions").where("user_id", "=", userId).where("id", "!=", except)),
    revokeAccount(accountId) {
      const users = db.selectFrom("users").select("id").where("account_id", "=", accountId);
      return changed(db, db.deleteFrom("sessions").where("user_id", "in", users));
    },
    async keepNewest(userId, count) {
      const newest = ofUser(userId).select("id").orderBy("id", "desc").limit(count);
      await db.deleteFrom("sessions").where("user_id", "=", userId).where("id", "not in", newest).execute();
    },
    sweep: (now) =>
      changed(
        db,
        db
          .deleteFrom("sessions")
          .where((either) => either.or([either("expires_at", "<=", now), either("last_seen_at", "<=", now - idleMs)])),
      ),
  };
}

/** A subquery hides a value from SQLite's planner, which would otherwise replan the join for each. */
function tokenQuery(db: Database) {
  const time = sql<number>`(SELECT CAST(${0} AS bigint))`;
  return db
    .selectFrom("sessions")
    .innerJoin("users", "users.id", "sessions.user_id")
    .innerJoin("accounts", "accounts.id", "users.account_id")
    .select(["sessions.id", "sessions.last_seen_at", "sessions.user_id", "users.is_operator", "users.account_id"])
    .select(["accounts.recharged as account_recharged", "accounts.postpaid as account_postpaid"])
    .select("accounts.suspended_at as account_suspended_at")
    .where("sessions.token_hash", "=", sql<string>`(SELECT ${""})`)
    .where("sessions.expires_at", ">", time)
    .where("sessions.last_seen_at", ">", time);
}
