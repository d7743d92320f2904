/**
 * Users: who signs in to the dashboard, for which account, and who of them operates the gateway.
 *
 * The conditions of statements decide what may happen only once (a code signs in once, the last operator is kept), so that
 * several processes may share the database.
 */
import { type Insertable, type Selectable, sql } from "kysely";
import type { Database, Engine } from "../engines/engine.ts";
import type { UserTable } from "../schema-people.ts";

export type User = Selectable<UserTable>;
export type NewUser = Insertable<UserTable>;

/** UserRow is a user, with what lists show besides. */
export interface UserRow extends User {
  readonly account_name: string;
  /** The last use of any session that is kept; null for none. */
  readonly last_seen_at: number | null;
}

export interface UserFilter {
  /** Selects users whose e-mail address contains it, in any case, or whose id or account's id it is. */
  readonly search?: string | undefined;
  /** Selects users after this id. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** SecondFactor is an authenticator app that was proved by a code, and the recovery codes that stand in for it. */
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
  /** Makes a user an operator, or no longer. The last operator stays one. */
  setOperator(id: string, operator: boolean): "changed" | "last" | "absent";
  /** Removes a user, with sessions and links. The last operator stays. */
  remove(id: string): "removed" | "last" | "absent";
  setPassword(id: string, passwordHash: string): void;
  /** Stores a secret that no code has proved yet. Returns false where the user has a second factor. */
  setPendingFactor(id: string, secret: string): boolean;
  /** Makes the pending secret the second factor. Returns false where another secret is pending, or none. */
  enableFactor(id: string, factor: SecondFactor): boolean;
  disableFactor(id: string): void;
  /** Uses the code of a time step. Returns false where that code, or a later one, was used before. */
  useStep(id: string, step: number): boolean;
  /** Uses a recovery code. Returns false where the user has none with this hash. */
  useRecoveryCode(id: string, hash: string): boolean;
}

export function userStore(db: Database, engine: Engine): UserStore {
  const finding = createFinding(db, engine);
  return { ...finding, ...createChanges(db, engine, finding.find), ...createSecondFactor(db, engine) };
}

type Finding = Pick<UserStore, "find" | "findByEmail" | "page" | "countOperators">;

function createFinding(db: Database, engine: Engine): Finding {
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
  // The condition as the index has it: they are counted whenever the dashboard is opened.
  const operators = db
    .selectFrom("users")
    .select("id")
    .where((where) => where("is_operator", "=", where.lit(1)));
  return {
    find: (id) => engine.all(rows.where("users.id", "=", id))[0] as UserRow | undefined,
    findByEmail: (email) => engine.all(rows.where("users.email", "=", email.toLowerCase()))[0] as UserRow | undefined,
    page: ({ search, after, limit }) =>
      engine.all(
        rows
          .$if(search !== undefined, (query) => query.where(matches(search as string)))
          .$if(after !== undefined, (query) => query.where("users.id", ">", after as string))
          .orderBy("users.id")
          .limit(limit),
      ) as UserRow[],
    countOperators: () => engine.all(operators).length,
  };
}

type Changes = Pick<UserStore, "insert" | "setOperator" | "remove" | "setPassword">;

function createChanges(db: Database, engine: Engine, find: UserStore["find"]): Changes {
  const change = (id: string) => db.updateTable("users").where("id", "=", id);
  const notLast = sql<boolean>`(is_operator = 0 OR (SELECT count(*) FROM users WHERE is_operator = 1) > 1)`;
  return {
    insert: (user) =>
      engine.run(
        db
          .insertInto("users")
          .values({ ...user, email: user.email.toLowerCase() })
          .onConflict((conflict) => conflict.column("email").doNothing()),
      ) === 1,
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
  };
}

type SecondFactorChanges = Pick<
  UserStore,
  "setPendingFactor" | "enableFactor" | "disableFactor" | "useStep" | "useRecoveryCode"
>;

function createSecondFactor(db: Database, engine: Engine): SecondFactorChanges {
  const change = (id: string) => db.updateTable("users").where("id", "=", id);
  const useRecoveryCode = engine.prepare<[hash: string, id: string, hash: string]>(
    `UPDATE users
     SET recovery_hashes = (SELECT json_group_array(value) FROM json_each(recovery_hashes) WHERE value <> ?)
     WHERE id = ? AND EXISTS (SELECT 1 FROM json_each(recovery_hashes) WHERE value = ?)`,
  );
  return {
    setPendingFactor: (id, secret) =>
      engine.run(change(id).set({ totp_pending: secret }).where("totp_secret", "is", null)) === 1,
    enableFactor(id, { secret, step, recoveryHashes }) {
      const enabled = { totp_secret: secret, totp_step: step, recovery_hashes: JSON.stringify(recoveryHashes) };
      const query = change(id).set({ ...enabled, totp_pending: null });
      return engine.run(query.where("totp_pending", "=", secret)) === 1;
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
