/**
 * Accounts: those that pay. Only `money/entries.ts` and the ledger change their money.
 *
 * Names are unique. An account is found by its id or its name; where a name is another account's id, the id wins.
 */
import { type Insertable, type Selectable, sql, type Updateable } from "kysely";
import { changed, containing, type Database, type Scope } from "./engines/scope.ts";
import { budgetsChanged } from "./money/budget-store.ts";
import type { AccountTable } from "./schema.ts";

export type Account = Selectable<AccountTable>;

/** NewAccount is an account to add. It has no money. */
export type NewAccount = Omit<Insertable<AccountTable>, "balance" | "held" | "recharged" | "was_postpaid">;

/** AccountChange is what may change of an account. Omitted members stay as they are. */
export type AccountChange = Pick<
  Updateable<AccountTable>,
  "name" | "postpaid" | "suspended_at" | "time_zone" | "budgets"
>;

export interface AccountFilter {
  /** Selects accounts whose id it is, or whose name contains it, in any case. */
  readonly search?: string | undefined;
  readonly recharged?: RechargedRange | undefined;
  /** Selects accounts with a balance below it. */
  readonly balanceBelow?: number | undefined;
  /** Selects accounts that are suspended, or those that are not. */
  readonly suspended?: boolean | undefined;
}

/** AccountOrder is what accounts are ordered by, and then by their ids; `id` is the order in which they were created. */
export type AccountOrder = "id" | "name" | "balance" | "recharged";

export interface AccountPage extends AccountFilter {
  /** Default: `id`. */
  readonly orderBy?: AccountOrder;
  readonly descending?: boolean;
  /** Selects accounts behind this one, which had this value of what they are ordered by; unset of `id`. */
  readonly after?: { readonly id: string; readonly value?: string | number | undefined } | undefined;
  readonly limit: number;
}

/** RechargedRange is cumulative recharges from an amount on, and below another where there is one. */
export interface RechargedRange {
  readonly from: number;
  readonly below: number | undefined;
}

export interface RechargedAccounts {
  /** total is how many accounts are in the ranges, of all `accounts`. */
  readonly total: number;
  readonly accounts: number;
  /** list is some of them, those that have recharged most first. */
  readonly list: readonly Pick<Account, "id" | "name" | "recharged">[];
}

export interface AccountStore {
  /** Adds an account. Resolves to false where the name is taken. */
  insert(account: NewAccount): Promise<boolean>;
  /** Finds an account by its id or its name. */
  find(idOrName: string): Promise<Account | undefined>;
  /** Within a transaction: keeps others from changing an account until it ends. */
  lock(id: string): Promise<void>;
  /** Lists all accounts, oldest first. */
  list(): Promise<Account[]>;
  /**
   * Returns the id of the operator's own first account: the oldest that has an operator among its users, or no user at all, as
   * accounts made by the command line. Users who registered themselves are no operators.
   */
  first(): Promise<string | undefined>;
  /** Lists the accounts of a page, in its order. */
  page(page: AccountPage): Promise<Account[]>;
  /** Finds the accounts whose cumulative recharge is in one of these ranges, and lists `limit` of them. */
  recharged(ranges: readonly RechargedRange[], limit: number): Promise<RechargedAccounts>;
  /**
   * Changes an account; nothing where the name is taken. `now` is in milliseconds since 1970: budgets that are its first have what it
   * spent before counted.
   */
  update(id: string, change: AccountChange, now?: number): Promise<Account | "taken" | "absent">;
}

export function accountStore({ db, transact, lock }: Scope): AccountStore {
  const byId = db.selectFrom("accounts_now").selectAll().orderBy("id");
  return {
    insert: async (account) =>
      (await changed(
        db,
        db
          .insertInto("accounts")
          .values(marked(account))
          .onConflict((conflict) => conflict.column("name").doNothing()),
      )) === 1,
    find: (idOrName) =>
      db
        .selectFrom("accounts_now")
        .selectAll()
        .where((either) => either.or([either("id", "=", idOrName), either("name", "=", idOrName)]))
        .orderBy((by) => by.case().when("id", "=", idOrName).then(by.lit(0)).else(by.lit(1)).end())
        .limit(1)
        .executeTakeFirst(),
    lock: (id) => lock(db.selectFrom("accounts").select("id").where("id", "=", id)),
    list: () => byId.execute(),
    first: async () => (await firstQuery(db).executeTakeFirst())?.id,
    page: (page) => pageQuery(db, page).execute(),
    recharged: (ranges, limit) => recharged(db, ranges, limit),
    // No other account takes the name in between.
    update: (id, change, now = Date.now()) => transact((scope) => update(scope, id, change, now)),
  };
}

/** An account that may owe something keeps what it owes when it is made prepaid: so the proof has to know that it could. */
function marked<C extends { readonly postpaid?: number | undefined }>(change: C): C & { was_postpaid?: number } {
  return change.postpaid === 1 ? { ...change, was_postpaid: 1 } : change;
}

function firstQuery(db: Database) {
  return db
    .selectFrom("accounts")
    .select("accounts.id")
    .where((either) => {
      const users = either.selectFrom("users").select("users.id").whereRef("users.account_id", "=", "accounts.id");
      return either.or([either.not(either.exists(users)), either.exists(users.where("users.is_operator", "=", 1))]);
    })
    .orderBy("accounts.id")
    .limit(1);
}

async function update(
  { db, lock }: Scope,
  id: string,
  change: AccountChange,
  now: number,
): Promise<Account | "taken" | "absent"> {
  const { name, budgets } = change;
  const own = db.selectFrom("accounts").select("budgets").where("id", "=", id);
  // Due sums of an account are merged under its lock: with it they stay, while its spending is read.
  if (budgets !== undefined) await lock(own);
  const before = budgets === undefined ? undefined : await own.executeTakeFirst();
  const named = db
    .selectFrom("accounts")
    .select("id")
    .where("name", "=", name ?? "")
    .where("id", "!=", id);
  if (name !== undefined && (await named.executeTakeFirst())) return "taken";
  const isChanged = Object.values(change).some((value) => value !== undefined);
  if (isChanged) await db.updateTable("accounts").set(marked(change)).where("id", "=", id).execute();
  if (before && budgets !== undefined) await budgetsChanged(db, { accountId: id, budgets }, before.budgets, now);
  const account = await db.selectFrom("accounts_now").selectAll().where("id", "=", id).executeTakeFirst();
  return account ?? "absent";
}

function pageQuery(db: Database, page: AccountPage) {
  const { search, recharged, balanceBelow, suspended, orderBy = "id", descending = false, after, limit } = page;
  const direction = descending ? "desc" : "asc";
  const behind = sql.raw(descending ? "<" : ">");
  const key = orderBy === "name" ? sql`lower_case(name)` : sql.ref(orderBy);
  return db
    .selectFrom("accounts_now")
    .selectAll()
    .$if(search !== undefined, (query) => query.where(matches(search as string)))
    .$if(recharged !== undefined, (query) => query.where(within(recharged as RechargedRange)))
    .$if(balanceBelow !== undefined, (query) => query.where("balance", "<", balanceBelow as number))
    .$if(suspended !== undefined, (query) => query.where("suspended_at", suspended ? "is not" : "is", null))
    .$if(after !== undefined, (query) => {
      const { id, value } = after as NonNullable<AccountPage["after"]>;
      if (orderBy === "id") return query.where(sql<boolean>`id ${behind} ${id}`);
      const last = orderBy === "name" ? sql`lower_case(${value})` : sql`${value}`;
      return query.where(sql<boolean>`(${key} ${behind} ${last} OR (${key} = ${last} AND id ${behind} ${id}))`);
    })
    .$if(orderBy !== "id", (query) => query.orderBy(key, direction))
    .orderBy("id", direction)
    .limit(limit);
}

/** within returns the condition of a range. A refund may leave less than nothing: such accounts have the first tier. */
function within({ from, below }: RechargedRange) {
  const least = from === 0 ? sql<boolean>`1 = 1` : sql<boolean>`recharged >= ${from}`;
  return below === undefined ? least : sql<boolean>`(${least} AND recharged < ${below})`;
}

async function recharged(db: Database, ranges: readonly RechargedRange[], limit: number): Promise<RechargedAccounts> {
  const selected = db.selectFrom("accounts").where((is) => is.or(ranges.map(within)));
  const [all, some, list] = await Promise.all([
    db
      .selectFrom("accounts")
      .select(({ fn }) => fn.countAll<number>().as("count"))
      .executeTakeFirstOrThrow(),
    selected.select(({ fn }) => fn.countAll<number>().as("count")).executeTakeFirstOrThrow(),
    selected.select(["id", "name", "recharged"]).orderBy("recharged", "desc").orderBy("id").limit(limit).execute(),
  ]);
  return { total: Number(some.count), accounts: Number(all.count), list };
}

function matches(search: string) {
  return sql<boolean>`(id = ${search} OR ${containing("lower_case(name)", search)})`;
}
