/** All stores over one database. */
import { type AccountStore, accountStore } from "./accounts.ts";
import { openDatabase } from "./database.ts";
import { type KeyStore, keyStore } from "./keys.ts";
import { type ResponseStore, responseStore } from "./responses.ts";
import { type UserStore, userStore } from "./users.ts";

export interface Storage {
  readonly accounts: AccountStore;
  readonly users: UserStore;
  readonly keys: KeyStore;
  readonly responses: ResponseStore;
  close(): Promise<void>;
}

/** Opens the database file, making it if need be, and brings it up to date. */
export async function openStorage(path: string): Promise<Storage> {
  const db = await openDatabase(path);
  return {
    accounts: accountStore(db),
    users: userStore(db),
    keys: keyStore(db),
    responses: responseStore(db),
    close: () => db.destroy(),
  };
}
