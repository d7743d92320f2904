/**
 * API keys: what requests are authenticated by.
 *
 * The statement that writes decides what must hold beside other writers, in this process or another: how many keys an account
 * has, and that no limit is below what the key has spent and holds. A key is never deleted: a revoked one keeps its row, for its
 * usage and charges, and only the functions that say so find it.
 */
import { type Compilable, type Insertable, type Selectable, sql, type Updateable } from "kysely";
import type { Database, Engine } from "./engines/engine.ts";
import { createPendingTotals, type PendingTotals, partOf } from "./engines/sqlite/books/pending-totals.ts";
import { ledgerStatements } from "./engines/sqlite/books/statements.ts";
import type { ApiKeyTable } from "./schema.ts";

export type ApiKey = Selectable<ApiKeyTable>;

/** NewKey is a key to add. It has spent nothing. */
export type NewKey = Omit<Insertable<ApiKeyTable>, LaterColumn>;
type LaterColumn = "revoked_at" | "spent" | "held" | "disabled" | "last_used_at" | `previous_${string}`;

/** KeyWithAccount is a key, with what of its account decides on its calls. */
export interface KeyWithAccount extends ApiKey {
  readonly account_name: string;
  readonly account_balance: number;
  readonly account_held: number;
  readonly account_recharged: number;
  readonly account_postpaid: number;
  readonly account_suspended_at: number | null;
}

/** KeyChange is what may change of a key. Omitted members stay as they are. */
export type KeyChange = Pick<Updateable<ApiKeyTable>, "name" | "credit_limit" | "models" | "expires_at" | "disabled">;

export interface NewSecret {
  readonly hash: string;
  readonly mask: string;
  /** Until when the previous secret stays valid; null where it ends now. */
  readonly previousUntil: number | null;
}

export type Updated =
  | { readonly kind: "updated"; readonly key: ApiKey }
  /** The limit is below what the key has spent and holds. The key stays as it is. */
  | { readonly kind: "below"; readonly key: ApiKey }
  | { readonly kind: "absent" };

/** How many keys an account may have, unless configured otherwise. */
export const defaultMaxKeys = 5000;

export interface KeyStore {
  /** Adds a key. Returns false where the account has as many as it may have. */
  insert(key: NewKey, maxPerAccount?: number): boolean;
  /**
   * Finds the key whose secret has this hash, revoked or not; also by the secret before its last rotation, while that is valid.
   * Its sums lack what the ledger has not posted yet.
   */
  findBySecretHash(secretHash: string, now: number): KeyWithAccount | undefined;
  /** Finds a key, revoked or not, with its account. */
  findWithAccount(id: string): KeyWithAccount | undefined;
  find(accountId: string, id: string): ApiKey | undefined;
  /** Lists all keys, or those of an account, revoked ones too, oldest first. */
  list(accountId?: string): ApiKey[];
  /** Lists up to `limit` of an account's keys that are not revoked, oldest first, after the id `after`. */
  page(accountId: string, after: string, limit: number): ApiKey[];
  update(accountId: string, id: string, change: KeyChange): Updated;
  /** Gives a key another secret. Returns undefined where the account does not have it. */
  rotate(accountId: string, id: string, secret: NewSecret): ApiKey | undefined;
  /** Grants the administrator privilege to a key that is not revoked, or takes it away. Nothing else changes it. */
  setAdministrator(accountId: string, id: string, administrator: boolean): ApiKey | undefined;
  /** Revokes a key of this account, or of any. Returns false where there is none with this id that is not revoked yet. */
  revoke(id: string, now: number, accountId?: string): boolean;
}

const withAccount = `SELECT k.*, a.name AS account_name, a.balance AS account_balance, a.held AS account_held,
  a.recharged AS account_recharged, a.postpaid AS account_postpaid, a.suspended_at AS account_suspended_at
  FROM api_keys k JOIN accounts a ON a.id = k.account_id`;

export function keyStore(db: Database, engine: Engine): KeyStore {
  const pendingTotals = createPendingTotals(engine.books, ledgerStatements(engine.books));
  const finding = createFinding(db, engine, pendingTotals);
  return { insert: createInsert(engine), ...finding, ...createChanges(db, engine, pendingTotals, finding.find) };
}

function createInsert(engine: Engine): KeyStore["insert"] {
  const insert = engine.prepare<InsertParams>(
    `INSERT INTO api_keys (id, account_id, name, secret_hash, secret_mask, is_admin, created_at, credit_limit, models,
       expires_at)
     SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
     WHERE (SELECT count(*) FROM api_keys WHERE account_id = ? AND revoked_at IS NULL) < ?`,
  );
  return (key, maxPerAccount = defaultMaxKeys) => insert.run(...insertParams(key, maxPerAccount)) === 1;
}

type InsertParams = ReturnType<typeof insertParams>;

function insertParams(key: NewKey, maxPerAccount: number) {
  return [
    ...([key.id, key.account_id, key.name, key.secret_hash, key.secret_mask, key.is_admin ?? 0] as const),
    ...([key.created_at, key.credit_limit ?? null, key.models ?? null, key.expires_at ?? null] as const),
    ...([key.account_id, maxPerAccount] as const),
  ] as const;
}

type Finding = Pick<KeyStore, "findBySecretHash" | "findWithAccount" | "find" | "list" | "page">;

function createFinding(db: Database, engine: Engine, pendingTotals: PendingTotals): Finding {
  // Two searches, each by its index; the second runs only where the first finds nothing. `(SELECT ?)` hides values from the
  // planner, which would otherwise replan the join on every call, for ten times what it takes to run. It does not flush the
  // ledger: neither for keys that are guessed, nor for each of a million that call now and then.
  const bySecretHash = engine.books.prepare<[hash: string, hash: string, now: number], KeyWithAccount>(
    `${withAccount} WHERE k.secret_hash = (SELECT ?)
     UNION ALL ${withAccount} WHERE k.previous_hash = (SELECT ?) AND k.previous_expires_at > (SELECT ?) LIMIT 1`,
  );
  const byId = engine.prepare<[id: string], KeyWithAccount>(`${withAccount} WHERE k.id = (SELECT ?)`);

  /** Adds what is pending: for one key that is quicker than the view of all (`api_keys_now`). */
  function withPending<K extends ApiKey>(key: K | undefined): K | undefined {
    if (!key || !pendingTotals.isAny()) return key;
    const { spent, freed } = pendingTotals.of(key.id);
    return { ...key, spent: key.spent + spent, held: key.held - freed };
  }

  const unrevoked = (keys: "api_keys" | "api_keys_now", accountId: string) =>
    db.selectFrom(keys).selectAll().where("account_id", "=", accountId).where("revoked_at", "is", null);
  return {
    findBySecretHash: (secretHash, now) => bySecretHash.get(secretHash, secretHash, now),
    findWithAccount: (id) => withPending(byId.get(id)),
    find: (accountId, id) => withPending(engine.all(unrevoked("api_keys", accountId).where("id", "=", id))[0]),
    list: (accountId) =>
      engine.all(
        db
          .selectFrom("api_keys_now")
          .selectAll()
          .$if(accountId !== undefined, (query) => query.where("account_id", "=", accountId as string))
          .orderBy("id"),
      ),
    page: (accountId, after, limit) =>
      engine.all(unrevoked("api_keys_now", accountId).where("id", ">", after).orderBy("id").limit(limit)),
  };
}

type Changes = Pick<KeyStore, "update" | "rotate" | "setAdministrator" | "revoke">;

function createChanges(db: Database, engine: Engine, pendingTotals: PendingTotals, find: KeyStore["find"]): Changes {
  /** Changes a key, after its pending totals are merged: the row of a key with a limit decides what it may spend. */
  const changed = (id: string, change: Compilable<ApiKey>) =>
    engine.transact(() => {
      pendingTotals.merge(partOf(id));
      return engine.all(change)[0];
    });
  const unrevoked = (accountId: string, id: string) =>
    db
      .updateTable("api_keys")
      .where("id", "=", id)
      .where("account_id", "=", accountId)
      .where("revoked_at", "is", null)
      .returningAll();

  function update(accountId: string, id: string, change: KeyChange): Updated {
    // An UPDATE has to set a column.
    if (Object.values(change).every((value) => value === undefined)) {
      const key = find(accountId, id);
      return key ? { kind: "updated", key } : { kind: "absent" };
    }
    const limit = change.credit_limit ?? null;
    const updated = changed(
      id,
      unrevoked(accountId, id)
        .set(change)
        .$if(limit !== null, (query) => query.where(sql<boolean>`spent + held <= ${limit}`)),
    );
    if (updated) return { kind: "updated", key: updated };
    const key = find(accountId, id);
    return key ? { kind: "below", key } : { kind: "absent" };
  }

  return {
    // Both statements see the same key: no other writer comes between them.
    update: (accountId, id, change) => engine.transact(() => update(accountId, id, change)),
    rotate(accountId, id, { hash, mask, previousUntil }) {
      const previous_hash = previousUntil === null ? null : sql<string>`secret_hash`;
      const secret = { secret_hash: hash, secret_mask: mask, previous_hash, previous_expires_at: previousUntil };
      return changed(id, unrevoked(accountId, id).set(secret));
    },
    setAdministrator: (accountId, id, administrator) =>
      changed(id, unrevoked(accountId, id).set({ is_admin: administrator ? 1 : 0 })),
    revoke(id, now, accountId) {
      const query = db
        .updateTable("api_keys")
        .set({ revoked_at: now })
        .where("id", "=", id)
        .where("revoked_at", "is", null)
        .$if(accountId !== undefined, (query) => query.where("account_id", "=", accountId as string));
      return engine.run(query) === 1;
    },
  };
}
