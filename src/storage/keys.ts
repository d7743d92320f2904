/**
 * API keys: what requests are authenticated by.
 *
 * What must hold beside other writers, in this process or another, is decided by the statement that writes: how many
 * keys an account has, and that no limit is below what the key has spent and reserved. A key is never deleted: one that
 * is revoked keeps its row, for its usage and charges, and is found only where it is said.
 */
import { type Compilable, type Insertable, type Selectable, sql, type Updateable } from "kysely";
import type { Database, Engine } from "./engines/engine.ts";
import { createPendingTotals, partOf } from "./journal/pending-totals.ts";
import { ledgerStatements } from "./money/ledger-statements.ts";
import type { ApiKeyTable } from "./schema.ts";

export type ApiKey = Selectable<ApiKeyTable>;

/** A key to add, which has spent nothing yet. */
export type NewKey = Omit<Insertable<ApiKeyTable>, LaterColumn>;
type LaterColumn = "revoked_at" | "spent" | "held" | "disabled" | "last_used_at" | `previous_${string}`;

/** A key with what its account lends it. */
export interface KeyWithAccount extends ApiKey {
  readonly account_name: string;
  readonly account_balance: number;
  readonly account_held: number;
  readonly account_recharged: number;
  readonly account_postpaid: number;
  readonly account_suspended_at: number | null;
}

/** What may change of a key; what is left out stays. */
export type KeyChange = Pick<Updateable<ApiKeyTable>, "name" | "credit_limit" | "models" | "expires_at" | "disabled">;

export interface NewSecret {
  readonly hash: string;
  readonly mask: string;
  /** Until when the secret before it is valid; null where it no longer is. */
  readonly previousUntil: number | null;
}

export type Updated =
  | { readonly kind: "updated"; readonly key: ApiKey }
  /** The limit is below what the key, which stays as it is, has spent and reserved. */
  | { readonly kind: "below"; readonly key: ApiKey }
  | { readonly kind: "absent" };

/** How many keys an account has at most, unless configured otherwise. */
export const defaultMaxKeys = 5000;

export interface KeyStore {
  /** Adds a key. Returns false where the account has as many as it may have. */
  insert(key: NewKey, maxPerAccount?: number): boolean;
  /**
   * Finds the key whose secret has this hash, revoked or not; also that before its last rotation, while it is valid. Its sums
   * lack what the ledger has not written yet.
   */
  findBySecretHash(secretHash: string, now: number): KeyWithAccount | undefined;
  /** Finds a key, revoked or not, with its account. */
  findWithAccount(id: string): KeyWithAccount | undefined;
  find(accountId: string, id: string): ApiKey | undefined;
  /** Lists keys, revoked ones too, oldest first: an account's, or all. */
  list(accountId?: string): ApiKey[];
  /** Lists so many of an account's keys, oldest first: those after this id. */
  page(accountId: string, after: string, limit: number): ApiKey[];
  update(accountId: string, id: string, change: KeyChange): Updated;
  /** Gives a key another secret. Returns undefined where the account does not have it. */
  rotate(accountId: string, id: string, secret: NewSecret): ApiKey | undefined;
  /** Gives a key that works the administrator privilege, or takes it away. No change of a key holds it besides. */
  setAdministrator(accountId: string, id: string, administrator: boolean): ApiKey | undefined;
  /** Revokes a key: of this account, or of any. Returns false where there is none with this id that still works. */
  revoke(id: string, now: number, accountId?: string): boolean;
}

const withAccount = `SELECT k.*, a.name AS account_name, a.balance AS account_balance, a.held AS account_held,
  a.recharged AS account_recharged, a.postpaid AS account_postpaid, a.suspended_at AS account_suspended_at
  FROM api_keys k JOIN accounts a ON a.id = k.account_id`;

export function keyStore(db: Database, engine: Engine): KeyStore {
  const insert = engine.prepare<InsertParams>(
    `INSERT INTO api_keys (id, account_id, name, secret_hash, secret_mask, is_admin, created_at, credit_limit, models,
       expires_at)
     SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
     WHERE (SELECT count(*) FROM api_keys WHERE account_id = ? AND revoked_at IS NULL) < ?`,
  );
  // Two searches, each by its index; the second is made only where the first finds nothing. SQLite plans a join anew at
  // every call, for ten times what it takes to run, if its terms hold parameters themselves: here subqueries do. Nobody's
  // calls are written up for it: neither for who guesses keys, nor for each of a million that calls now and then.
  const bySecretHash = engine.books.prepare<[hash: string, hash: string, now: number], KeyWithAccount>(
    `${withAccount} WHERE k.secret_hash = (SELECT ?)
     UNION ALL ${withAccount} WHERE k.previous_hash = (SELECT ?) AND k.previous_expires_at > (SELECT ?) LIMIT 1`,
  );
  const standing = engine.prepare<[id: string], KeyWithAccount>(`${withAccount} WHERE k.id = (SELECT ?)`);
  const due = createPendingTotals(engine.books, ledgerStatements(engine.books));

  /** Adds what is due: for one key it is found sooner than for all (`api_keys_now`). */
  function whole<K extends ApiKey>(key: K | undefined): K | undefined {
    if (!key || !due.isAny()) return key;
    const { spent, freed } = due.of(key.id);
    return { ...key, spent: key.spent + spent, held: key.held - freed };
  }

  const alive = (keys: "api_keys" | "api_keys_now", accountId: string) =>
    db.selectFrom(keys).selectAll().where("account_id", "=", accountId).where("revoked_at", "is", null);
  /** Changes a key whose sums are whole then: one with a limit is decided by its own row. */
  const changed = (id: string, change: Compilable<ApiKey>) =>
    engine.transact(() => {
      due.merge(partOf(id));
      return engine.all(change)[0];
    });
  const changeAlive = (accountId: string, id: string) =>
    db
      .updateTable("api_keys")
      .where("id", "=", id)
      .where("account_id", "=", accountId)
      .where("revoked_at", "is", null)
      .returningAll();
  const find = (accountId: string, id: string) =>
    whole(engine.all(alive("api_keys", accountId).where("id", "=", id))[0]);

  function update(accountId: string, id: string, change: KeyChange): Updated {
    // Without a column to set there is no such statement.
    if (Object.values(change).every((value) => value === undefined)) {
      const key = find(accountId, id);
      return key ? { kind: "updated", key } : { kind: "absent" };
    }
    const limit = change.credit_limit ?? null;
    const updated = changed(
      id,
      changeAlive(accountId, id)
        .set(change)
        .$if(limit !== null, (query) => query.where(sql<boolean>`spent + held <= ${limit}`)),
    );
    if (updated) return { kind: "updated", key: updated };
    const key = find(accountId, id);
    return key ? { kind: "below", key } : { kind: "absent" };
  }

  return {
    insert: (key, maxPerAccount = defaultMaxKeys) => insert.run(...insertParams(key, maxPerAccount)) === 1,
    findBySecretHash: (secretHash, now) => bySecretHash.get(secretHash, secretHash, now),
    findWithAccount: (id) => whole(standing.get(id)),
    find,
    list: (accountId) =>
      engine.all(
        db
          .selectFrom("api_keys_now")
          .selectAll()
          .$if(accountId !== undefined, (query) => query.where("account_id", "=", accountId as string))
          .orderBy("id"),
      ),
    page: (accountId, after, limit) =>
      engine.all(alive("api_keys_now", accountId).where("id", ">", after).orderBy("id").limit(limit)),
    // Both statements see the same key: no other writer comes between them.
    update: (accountId, id, change) => engine.transact(() => update(accountId, id, change)),
    rotate(accountId, id, { hash, mask, previousUntil }) {
      const previous_hash = previousUntil === null ? null : sql<string>`secret_hash`;
      const secret = { secret_hash: hash, secret_mask: mask, previous_hash, previous_expires_at: previousUntil };
      return changed(id, changeAlive(accountId, id).set(secret));
    },
    setAdministrator: (accountId, id, administrator) =>
      changed(id, changeAlive(accountId, id).set({ is_admin: administrator ? 1 : 0 })),
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

type InsertParams = ReturnType<typeof insertParams>;

function insertParams(key: NewKey, maxPerAccount: number) {
  return [
    ...([key.id, key.account_id, key.name, key.secret_hash, key.secret_mask, key.is_admin ?? 0] as const),
    ...([key.created_at, key.credit_limit ?? null, key.models ?? null, key.expires_at ?? null] as const),
    ...([key.account_id, maxPerAccount] as const),
  ] as const;
}
