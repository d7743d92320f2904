/**
 * Sessions of users who are signed in. Only the SHA-256 of the cookie's value is stored.
 *
 * A session that has expired or was not used for long is not found, and neither is one whose user was removed.
 */
import type { Insertable, Selectable } from "kysely";
import type { Database, Engine } from "../engines/engine.ts";
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

/** How long a session lasts without being used, in milliseconds. */
export const idleMs = 7 * 86_400_000;

export interface SessionStore {
  insert(session: Insertable<SessionTable>): void;
  findByTokenHash(tokenHash: string, now: number): SessionWithUser | undefined;
  /** Lists a user's sessions, newest first. */
  list(userId: string, now: number): Session[];
  /** Records when a session was used last. */
  touch(id: string, now: number): void;
  /** Ends one of the user's sessions. Returns false where there is none with this id. */
  revoke(userId: string, id: string): boolean;
  /** Ends the user's sessions, except one. Returns how many. */
  revokeAll(userId: string, except?: string): number;
  /** Ends the sessions of all users of an account. Returns how many. */
  revokeAccount(accountId: string): number;
  /** Ends all of the user's sessions except the newest `count`. */
  keepNewest(userId: string, count: number): void;
  /** Deletes sessions that have ended. Returns how many. */
  sweep(now: number): number;
}

export function sessionStore(db: Database, engine: Engine): SessionStore {
  const byTokenHash = engine.prepare<[hash: string, now: number, idleSince: number], SessionWithUser>(
    `SELECT s.id, s.last_seen_at, s.user_id, u.is_operator, u.account_id, a.recharged AS account_recharged,
       a.postpaid AS account_postpaid, a.suspended_at AS account_suspended_at
     FROM sessions s JOIN users u ON u.id = s.user_id JOIN accounts a ON a.id = u.account_id
     WHERE s.token_hash = (SELECT ?) AND s.expires_at > (SELECT ?) AND s.last_seen_at > (SELECT ?)`,
  );
  return {
    insert: (session) => void engine.run(db.insertInto("sessions").values(session)),
    findByTokenHash: (tokenHash, now) => byTokenHash.get(tokenHash, now, now - idleMs),
    list: (userId, now) =>
      engine.all(
        db
          .selectFrom("sessions")
          .selectAll()
          .where("user_id", "=", userId)
          .where("expires_at", ">", now)
          .where("last_seen_at", ">", now - idleMs)
          .orderBy("id", "desc"),
      ),
    touch: (id, now) => void engine.run(db.updateTable("sessions").set({ last_seen_at: now }).where("id", "=", id)),
    revoke: (userId, id) =>
      engine.run(db.deleteFrom("sessions").where("id", "=", id).where("user_id", "=", userId)) === 1,
    revokeAll: (userId, except = "") =>
      engine.run(db.deleteFrom("sessions").where("user_id", "=", userId).where("id", "!=", except)),
    revokeAccount(accountId) {
      const users = db.selectFrom("users").select("id").where("account_id", "=", accountId);
      return engine.run(db.deleteFrom("sessions").where("user_id", "in", users));
    },
    keepNewest(userId, count) {
      const older = db.selectFrom("sessions").select("id").where("user_id", "=", userId).orderBy("id", "desc");
      engine.run(db.deleteFrom("sessions").where("id", "in", older.limit(-1).offset(count)));
    },
    sweep: (now) =>
      engine.run(
        db
          .deleteFrom("sessions")
          .where((either) => either.or([either("expires_at", "<=", now), either("last_seen_at", "<=", now - idleMs)])),
      ),
  };
}
