/**
 * Users: who signs in to the dashboard, for which account, and who of them operates the gateway.
 *
 * What may happen once only (a code that signs in, the last operator that is kept) is decided by the conditions of the
 * statements, so that several processes may share the database.
 */
import { type Insertable, type Selectable, sql } from "kysely";
import type { Database, Engine } from "../engines/engine.ts";
import type { UserTable } from "../schema-people.ts";

export type User = Selectable<UserTable>;
export type NewUser = Insertable<UserTable>;

/** A user with what lists tell of it besides. */
export interface UserRow extends User {
  readonly account_name: string;
  /** By the sessions that there are; null where there is none. */
  readonly last_seen_at: number | null;
}

export interface UserFilter {
  /** Keeps those whose e-mail address holds it, in any case, or whose id or account's id it is. */
  readonly search?: string | undefined;
  /** Keeps those after this id. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** What was proved of an authenticator app, and what stands in for it. */
export interface SecondFactor {
  readonly secret: string;
  /** The time step of the code that proved it. */
  readonly step: number;
  /** SHA-256 of the recovery codes, in hex. */
  readonly recoveryHashes: readonly string[];
}

export interface UserStore {
  /** Adds a user, the e-mail address in lower case. Returns false where it is taken. */
  insert(user: NewUser): boolean;
  find(id: string): UserRow | undefined;
  /** Finds a user by the e-mail address, in any case. */
  findByEmail(email: string): UserRow | undefined;
  /** Lists some users, oldest first. */
  page(filter: UserFilter): UserRow[];
  countOperators(): number;
  /** Lets a user operate the gateway, or no longer; not where nobody would be left who does. */
  setOperator(id: string, operator: boolean): "changed" | "last" | "absent";
  /** Removes a user, whose sessions and links go with it; not the last who operates the gateway. */
  remove(id: string): "removed" | "last" | "absent";
  setPassword(id: string, passwordHash: string): void;
  /** Keeps a secret that is not yet proved. Returns false where the user has a second factor. */
  setPendingFactor(id: string, secret: string): boolean;
  /** Has sign-in ask for codes, by the secret that is pending. Returns false where it is not, or no longer. */
  enableFactor(id: string, factor: SecondFactor): boolean;
  disableFactor(id: string): void;
  /** Uses the code of a time step. Returns false where it, or a later one, was used before. */
  useStep(id: string, step: number): boolean;
  /** Uses a recovery code. Returns false where the user has none with this hash. */
  useRecoveryCode(id: string, hash: string): boolean;
}

export function userStore(db: Database, engine: Engine): UserStore {
  const rows = db
    .selectFrom("users")
    .innerJoin("accounts", "accounts.id", "users.account_id")
    .selectAll("users")
    .select("accounts.name as account_name")
    .select((of) =>
      of
        .selectFrom("sessions")
        .select(({ fn }) => fn.max("sessions.last_seen_at").as("at"))
        .whereRef("sessions.user_id", "=", "users.id")
        .as("last_seen_at"),
    );
  const find = (id: string) => engine.all(rows.where("users.id", "=", id))[0] as UserRow | undefined;
  const change = (id: string) => db.updateTable("users").where("id", "=", id);
  const notLast = sql<boolean>`(is_operator = 0 OR (SELECT count(*) FROM users WHERE is_operator = 1) > 1)`;
  const useRecoveryCode = engine.prepare<[hash: string, id: string, hash: string]>(
    `UPDATE users
     SET recovery_hashes = (SELECT json_group_array(value) FROM json_each(recovery_hashes) WHERE value <> ?)
     WHERE id = ? AND EXISTS (SELECT 1 FROM json_each(recovery_hashes) WHERE value = ?)`,
  );
  return {
    insert: (user) =>
      engine.run(
        db
          .insertInto("users")
          .values({ ...user, email: user.email.toLowerCase() })
          .onConflict((conflict) => conflict.column("email").doNothing()),
      ) === 1,
    find,
    findByEmail: (email) => engine.all(rows.where("users.email", "=", email.toLowerCase()))[0] as UserRow | undefined,
    page: ({ search, after, limit }) =>
      engine.all(
        rows
          .$if(search !== undefined, (query) => query.where(matches(search as string)))
          .$if(after !== undefined, (query) => query.where("users.id", ">", after as string))
          .orderBy("users.id")
          .limit(limit),
      ) as UserRow[],
    // Said as the index says it: they are counted for whoever opens the dashboard.
    countOperators: () =>
      engine.all(
        db
          .selectFrom("users")
          .select("id")
          .where((where) => where("is_operator", "=", where.lit(1))),
      ).length,
    setOperator(id, operator) {
      const query = change(id).set({ is_operator: Number(operator) });
      if (engine.run(operator ? query : query.where(notLast)) === 1) return "changed";
      return find(id) ? "last" : "absent";
    },
    remove(id) {
      if (engine.run(db.deleteFrom("users").where("id", "=", id).where(notLast)) === 1) return "removed";
      return find(id) ? "last" : "absent";
    },
    setPassword: (id, passwordHash) => void engine.run(change(id).set({ password_hash: passwordHash })),
    setPendingFactor: (id, secret) =>
      engine.run(change(id).set({ totp_pending: secret }).where("totp_secret", "is", null)) === 1,
    enableFactor(id, { secret, step, recoveryHashes }) {
      const kept = { totp_secret: secret, totp_step: step, recovery_hashes: JSON.stringify(recoveryHashes) };
      return (
        engine.run(
          change(id)
            .set({ ...kept, totp_pending: null })
            .where("totp_pending", "=", secret),
        ) === 1
      );
    },
    disableFactor: (id) =>
      void engine.run(change(id).set({ totp_secret: null, totp_pending: null, recovery_hashes: null })),
    useStep: (id, step) => engine.run(change(id).set({ totp_step: step }).where("totp_step", "<", step)) === 1,
    useRecoveryCode: (id, hash) => useRecoveryCode.run(hash, id, hash) === 1,
  };
}

function matches(search: string) {
  const pattern = `%${search.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`;
  return sql<boolean>`(users.id = ${search} OR users.account_id = ${search} OR users.email LIKE ${pattern} ESCAPE '\\')`;
}
