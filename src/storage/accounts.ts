/**
 * Accounts: those that pay. Only `money/entries.ts` and the ledger change their money.
 *
 * Names are unique. An account is found by its id or its name; where a name is another account's id, the id wins.
 */
import { type Insertable, type Selectable, sql, type Updateable } from "kysely";
import type { Database, Engine } from "./engines/engine.ts";
import type { AccountTable } from "./schema.ts";

export type Account = Selectable<AccountTable>;

/** NewAccount is an account to add. It has no money. */
export type NewAccount = Omit<Insertable<AccountTable>, "balance" | "held" | "recharged" | "was_postpaid">;

/** AccountChange is what may change of an account. Omitted members stay as they are. */
export type AccountChange = Pick<Updateable<AccountTable>, "name" | "postpaid" | "suspended_at">;

export interface AccountFilter {
  /** Selects accounts whose id it is, or whose name contains it, in any case. */
  readonly search?: string | undefined;
  /** Selects accounts after this id. */
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface AccountStore {
  /** Adds an account. Returns false where the name is taken. */
  insert(account: NewAccount): boolean;
  /** Finds an account by its id or its name. */
  find(idOrName: string): Account | undefined;
  /** Lists all accounts, oldest first. */
  list(): Account[];
  /**
   * Returns the id of the operator's own first account: the oldest that has an operator among its users, or no user at all, as
   * accounts made by the command line. Users who registered themselves are no operators.
   */
  first(): string | undefined;
  /** Lists some accounts, oldest first. */
  page(filter: AccountFilter): Account[];
  /** Changes an account; nothing where the name is taken. */
  update(id: string, change: AccountChange): Account | "taken" | "absent";
}

export function accountStore(db: Database, engine: Engine): AccountStore {
  const find = engine.prepare<[string, string, string], Account>(
    "SELECT * FROM accounts WHERE id = ? OR name = ? ORDER BY id = ? DESC LIMIT 1",
  );
  const first = engine.prepare<[], { readonly id: string }>(
    `SELECT a.id FROM accounts a
     WHERE NOT EXISTS (SELECT 1 FROM users WHERE account_id = a.id)
       OR EXISTS (SELECT 1 FROM users WHERE account_id = a.id AND is_operator = 1)
     ORDER BY a.id LIMIT 1`,
  );
  const byId = db.selectFrom("accounts").selectAll().orderBy("id");

  function update(id: string, change: AccountChange): Account | "taken" | "absent" {
    const { name } = change;
    if (name !== undefined) {
      const taken = byId.where("name", "=", name).where("id", "!=", id);
      if (engine.all(taken).length > 0) return "taken";
    }
    const unchanged = Object.values(change).every((value) => value === undefined);
    const [account] = engine.all(
      unchanged
        ? byId.where("id", "=", id)
        : db.updateTable("accounts").set(marked(change)).where("id", "=", id).returningAll(),
    );
    return account ?? "absent";
  }

  return {
    insert: (account) =>
      engine.run(
        db
          .insertInto("accounts")
          .values(marked(account))
          .onConflict((conflict) => conflict.column("name").doNothing()),
      ) === 1,
    find: (idOrName) => find.get(idOrName, idOrName, idOrName),
    list: () => engine.all(byId),
    first: () => first.get()?.id,
    page: ({ search, after, limit }) =>
      engine.all(
        byId
          .$if(search !== undefined, (query) => query.where(matches(search as string)))
          .$if(after !== undefined, (query) => query.where("id", ">", after as string))
          .limit(limit),
      ),
    // No other account takes the name in between.
    update: (id, change) => engine.transact(() => update(id, change)),
  };
}

/** An account that may owe something keeps what it owes when it is made prepaid: so the proof has to know that it could. */
function marked<C extends { readonly postpaid?: number | undefined }>(change: C): C & { was_postpaid?: number } {
  return change.postpaid === 1 ? { ...change, was_postpaid: 1 } : change;
}

function matches(search: string) {
  const pattern = `%${search.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`;
  return sql<boolean>`(id = ${search} OR lower(name) LIKE ${pattern} ESCAPE '\\')`;
}
