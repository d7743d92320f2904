/** Accounts: who pays. */
import type { Selectable } from "kysely";
import type { Database } from "./database.ts";
import type { AccountTable } from "./schema.ts";

export type Account = Selectable<AccountTable>;

export interface AccountStore {
  /** Adds an account. Throws where the name is taken. */
  insert(account: Account): Promise<void>;
  /** Finds an account by its id or its name. */
  find(idOrName: string): Promise<Account | undefined>;
  /** Lists all accounts, oldest first. */
  list(): Promise<Account[]>;
}

export function accountStore(db: Database): AccountStore {
  return {
    async insert(account) {
      await db.insertInto("accounts").values(account).execute();
    },
    find: (idOrName) =>
      db
        .selectFrom("accounts")
        .selectAll()
        .where((where) => where.or([where("id", "=", idOrName), where("name", "=", idOrName)]))
        .executeTakeFirst(),
    list: () => db.selectFrom("accounts").selectAll().orderBy("id").execute(),
  };
}
