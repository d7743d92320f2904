/** API keys: what requests are authenticated by. */
import type { Selectable } from "kysely";
import type { Database } from "./database.ts";
import type { ApiKeyTable } from "./schema.ts";

export type ApiKey = Selectable<ApiKeyTable>;

export interface KeyStore {
  insert(key: ApiKey): Promise<void>;
  /** Finds the key whose secret has this hash, revoked or not. */
  findBySecretHash(secretHash: string): Promise<ApiKey | undefined>;
  /** Lists keys, oldest first: an account's, or all. */
  list(accountId?: string): Promise<ApiKey[]>;
  /** Revokes a key. Returns false where there is none with this id that still works. */
  revoke(id: string, now: number): Promise<boolean>;
}

export function keyStore(db: Database): KeyStore {
  return {
    async insert(key) {
      await db.insertInto("api_keys").values(key).execute();
    },
    findBySecretHash: (secretHash) =>
      db.selectFrom("api_keys").selectAll().where("secret_hash", "=", secretHash).executeTakeFirst(),
    list: (accountId) =>
      db
        .selectFrom("api_keys")
        .selectAll()
        .$if(accountId !== undefined, (query) => query.where("account_id", "=", accountId as string))
        .orderBy("id")
        .execute(),
    async revoke(id, now) {
      const { numUpdatedRows } = await db
        .updateTable("api_keys")
        .set({ revoked_at: now })
        .where("id", "=", id)
        .where("revoked_at", "is", null)
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },
  };
}
