/** Users: who signs in to the dashboard. */
import type { Selectable } from "kysely";
import type { Database } from "./database.ts";
import type { UserTable } from "./schema.ts";

export type User = Selectable<UserTable>;

export interface UserStore {
  /** Adds a user, the e-mail address in lower case. Throws where it is taken. */
  insert(user: User): Promise<void>;
  findByEmail(email: string): Promise<User | undefined>;
  setPassword(id: string, passwordHash: string): Promise<void>;
}

export function userStore(db: Database): UserStore {
  return {
    async insert(user) {
      await db
        .insertInto("users")
        .values({ ...user, email: user.email.toLowerCase() })
        .execute();
    },
    findByEmail: (email) =>
      db.selectFrom("users").selectAll().where("email", "=", email.toLowerCase()).executeTakeFirst(),
    async setPassword(id, passwordHash) {
      await db.updateTable("users").set({ password_hash: passwordHash }).where("id", "=", id).execute();
    },
  };
}
