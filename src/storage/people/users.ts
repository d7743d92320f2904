/**
 * Users: who signs in to the dashboard, for which account, and who of them operates the gateway.
 *
 * Conditions of statements, and rows that are locked before, decide what may happen only once (a code signs in once, the last operator
 * is kept), so that several processes may share the database.
 */
import { type Insertable, type Selectable, sql } from "kysely";
import { changed, containing, type Database, type Scope } from "../engines/scope.ts";
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
  /** Adds a user, the e-mail address in lower case. Resolves to false where it is taken. */
  insert(user: NewUser): Promise<boolean>;
  find(id: string): Promise<UserRow | undefined>;
  /** Finds a user by the e-mail address, in any case. */
  findByEmail(email: string): Promise<UserRow | undefined>;
  /** Within a transaction: keeps others from changing a user until it ends. */
  lock(id: string): Promise<void>;
  /** Lists some users, oldest first. */
  page(filter: UserFilter): Promise<UserRow[]>;
  countOperators(): Promise<number>;
  /** Makes a user an operator, or no longer. The last operator stays one. */
  setOperator(id: string, operator: boolean): Promise<"changed" | "last" | "absent">;
  /** Removes a user, with sessions and links. The last operator stays. */
  remove(id: string): Promise<"removed" | "last" | "absent">;
  setPassword(id: string, passwordHash: string): Promise<void>;
  /** Stores a secret that no code has proved yet. Resolves to false where the user has a second factor. */
  setPendingFactor(id: string, secret: string): Promise<boolean>;
  /** Makes the pending secret the second factor. Resolves to false where another secret is pending, or none. */
  enableFactor(id: string, factor: SecondFactor): Promise<boolean>;
  disableFactor(id: string): Promise<void>;
  /** Uses the code of a time step. Resolves to false where that code, or a later one, was used before. */
  useStep(id: string, step: number): Promise<boolean>;
  /** Uses a recovery code. Resolves to false where the user has none with this hash. */
  useRecoveryCode(id: string, hash: string): Promise<boolean>;
}

export function userStore(scope: Scope): UserStore {
  return { ...createFinding(scope), ...createChanges(scope), ...createSecondFactor(scope) };
}

type Finding = Pick<UserStore, "find" | "findByEmail" | "lock" | "page" | "countOperators">;

function createFinding({ db, lock }: Scope): Finding {
  const rows = () =>
    db
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
  return {
    find: (id) => rows().where("users.id", "=", id).executeTakeFirst(),
    findByEmail: (email) => rows().where("users.email", "=", email.toLowerCase()).executeTakeFirst(),
    lock: (id) => lock(db.selectFrom("users").select("id").where("id", "=", id)),
    page: ({ search, after, limit }) =>
      rows()
        .$if(search !== undefined, (query) => query.where(matches(search as string)))
        .$if(after !== undefined, (query) => query.where("users.id", ">", after as string))
        .orderBy("users.id")
        .limit(limit)
        .execute(),
    countOperators: async () => (await operators(db).execute()).length,
  };
}

/** operators selects the operators, by the condition as the index has it: they are counted whenever the dashboard is opened. */
function operators(db: Database) {
  return db
    .selectFrom("users")
    .select("id")
    .where((where) => where("is_operator", "=", where.lit(1)));
}

type Changes = Pick<UserStore, "insert" | "setOperator" | "remove" | "setPassword">;

function createChanges({ db, transact }: Scope): Changes {
  return {
    insert: async (user) =>
      (await changed(
        db,
        db
          .insertInto("users")
          .values({ ...user, email: user.email.toLowerCase() })
          .onConflict((conflict) => conflict.column("email").doNothing()),
      )) === 1,
    setOperator: (id, operator) =>
      transact(async (scope) => {
        const fate = operator ? "free" : await fateOf(scope, id);
        if (fate === "last") return fate;
        const query = scope.db
          .updateTable("users")
          .set({ is_operator: Number(operator) })
          .where("id", "=", id);
        return (await changed(scope.db, query)) === 1 ? "changed" : "absent";
      }),
    remove: (id) =>
      transact(async (scope) => {
        if ((await fateOf(scope, id)) === "last") return "last";
        return (await changed(scope.db, scope.db.deleteFrom("users").where("id", "=", id))) === 1
          ? "removed"
          : "absent";
      }),
    setPassword: async (id, passwordHash) =>
      void (await db.updateTable("users").set({ password_hash: passwordHash }).where("id", "=", id).execute()),
  };
}

/** fateOf says whether a user is the last operator, and keeps operators from becoming fewer until the transaction ends. */
async function fateOf({ db, lock }: Scope, id: string): Promise<"last" | "free"> {
  await lock(operators(db).orderBy("id"));
  const [first, ...others] = await operators(db).execute();
  return first?.id === id && others.length === 0 ? "last" : "free";
}

type SecondFactorChanges = Pick<
  UserStore,
  "setPendingFactor" | "enableFactor" | "disableFactor" | "useStep" | "useRecoveryCode"
>;

function createSecondFactor({ db, transact }: Scope): SecondFactorChanges {
  const change = (id: string) => db.updateTable("users").where("id", "=", id);
  return {
    setPendingFactor: async (id, secret) =>
      (await changed(db, change(id).set({ totp_pending: secret }).where("totp_secret", "is", null))) === 1,
    async enableFactor(id, { secret, step, recoveryHashes }) {
      const enabled = { totp_secret: secret, totp_step: step, recovery_hashes: JSON.stringify(recoveryHashes) };
      const query = change(id).set({ ...enabled, totp_pending: null });
      return (await changed(db, query.where("totp_pending", "=", secret))) === 1;
    },
    async disableFactor(id) {
      await change(id).set({ totp_secret: null, totp_pending: null, recovery_hashes: null }).execute();
    },
    useStep: async (id, step) =>
      (await changed(db, change(id).set({ totp_step: step }).where("totp_step", "<", step))) === 1,
    useRecoveryCode: (id, hash) => transact((scope) => useRecoveryCode(scope, id, hash)),
  };
}

async function useRecoveryCode({ db, lock }: Scope, id: string, hash: string): Promise<boolean> {
  const own = db.selectFrom("users").select("recovery_hashes").where("id", "=", id);
  await lock(own);
  const { recovery_hashes } = (await own.executeTakeFirst()) ?? {};
  const hashes = JSON.parse(recovery_hashes ?? "[]") as string[];
  if (!hashes.includes(hash)) return false;
  const left = JSON.stringify(hashes.filter((one) => one !== hash));
  return (await changed(db, db.updateTable("users").set({ recovery_hashes: left }).where("id", "=", id))) === 1;
}

function matches(search: string) {
  return sql<boolean>`(users.id = ${search} OR users.account_id = ${search} OR ${containing("users.email", search)})`;
}
