/**
 * API keys: what requests are authenticated by.
 *
 * The transaction that writes decides what must hold beside other writers, in this process or another: how many keys an account
 * has, and that no limit is below what the key has spent and holds. A key is never deleted: a revoked one keeps its row, for its
 * usage and charges, and only the functions that say so find it.
 */
import { type Insertable, type Selectable, sql, type Updateable } from "kysely";
import { changed, compiledOnce, type Database, type Scope, stated } from "./engines/scope.ts";
import { budgetsChanged } from "./money/budget-store.ts";
import type { ApiKeyTable } from "./schema.ts";

export type ApiKey = Selectable<ApiKeyTable>;

/** NewKey is a key to add. It has spent nothing. */
export type NewKey = Omit<Insertable<ApiKeyTable>, LaterColumn>;
type LaterColumn = "revoked_at" | "spent" | "held" | "disabled" | "last_used_at" | `previous_${string}`;

/** KeyModelRate is an entry of a key's `model_rates`. */
export interface KeyModelRate {
  /** A model's id, or `family:name`. */
  readonly model: string;
  readonly requests?: number | undefined;
  readonly tokens?: number | undefined;
}

/** KeyLimitColumns are what a key may have besides its credit limit and its models. */
const keyLimitColumns = [
  ...(["requests_per_minute", "tokens_per_minute", "model_rates", "max_concurrent"] as const),
  ...(["allowed_ips", "tags", "owner"] as const),
];
export type KeyLimitColumn = (typeof keyLimitColumns)[number];

/** KeyLabels are a key's tags and owner. */
export interface KeyLabels {
  readonly id: string;
  readonly tags: readonly string[];
  readonly owner: string | null;
}

/** LabelledKeys selects the keys whose labels are read. At most some thousand ids. */
export interface LabelledKeys {
  readonly accountId?: string | undefined;
  readonly ids?: readonly string[] | undefined;
}

/** KeyLabelFilter selects keys by them. */
export interface KeyLabelFilter {
  readonly tag?: string | undefined;
  readonly owner?: string | undefined;
}

/** KeyWithAccount is a key, with what of its account decides on its calls. */
export interface KeyWithAccount extends ApiKey {
  readonly account_name: string;
  readonly account_balance: number;
  readonly account_held: number;
  readonly account_recharged: number;
  readonly account_postpaid: number;
  readonly account_suspended_at: number | null;
  readonly account_time_zone: string | null;
  readonly account_budgets: string | null;
}

/** KeyChange is what may change of a key. Omitted members stay as they are. */
export type KeyChange = Pick<
  Updateable<ApiKeyTable>,
  "name" | "credit_limit" | "models" | "expires_at" | "disabled" | "budgets" | KeyLimitColumn
>;

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

/** defaultMaxKeys is how many keys an account may have, unless configured otherwise. */
export const defaultMaxKeys = 5000;

export interface KeyStore {
  /** Adds a key. Resolves to false where the account has as many as it may have. */
  insert(key: NewKey, maxPerAccount?: number): Promise<boolean>;
  /**
   * Finds the key whose secret has this hash, revoked or not; also by the secret before its last rotation, while that is valid.
   * Its sums lack what the ledger has not posted yet.
   */
  findBySecretHash(secretHash: string, now: number): Promise<KeyWithAccount | undefined>;
  /** Finds a key, revoked or not, with its account. */
  findWithAccount(id: string): Promise<KeyWithAccount | undefined>;
  find(accountId: string, id: string): Promise<ApiKey | undefined>;
  /** Lists all keys, or those of an account, revoked ones too, oldest first. */
  list(accountId?: string): Promise<ApiKey[]>;
  /** Lists up to `limit` of an account's keys that are not revoked, oldest first, after the id `after`. */
  page(accountId: string, after: string, limit: number, labels?: KeyLabelFilter): Promise<ApiKey[]>;
  /** Lists the tags and owners of keys that have any, revoked ones too: of an account, of these keys, or of all. */
  labels(of: LabelledKeys): Promise<KeyLabels[]>;
  /** `now` is in milliseconds since 1970: budgets that are the key's first have what it spent before counted. */
  update(accountId: string, id: string, change: KeyChange, now?: number): Promise<Updated>;
  /** Gives a key another secret. Resolves to undefined where the account does not have it. */
  rotate(accountId: string, id: string, secret: NewSecret): Promise<ApiKey | undefined>;
  /** Grants the administrator privilege to a key that is not revoked, or takes it away. Nothing else changes it. */
  setAdministrator(accountId: string, id: string, administrator: boolean): Promise<ApiKey | undefined>;
  /** Revokes a key of this account, or of any. Resolves to false where there is none with this id that is not revoked yet. */
  revoke(id: string, now: number, accountId?: string): Promise<boolean>;
}

export function keyStore(scope: Scope): KeyStore {
  return { insert: createInsert(scope), ...createFinding(scope), ...createChanges(scope) };
}

function createInsert({ transact }: Scope): KeyStore["insert"] {
  return (key, maxPerAccount = defaultMaxKeys) =>
    transact(async ({ db, lock }) => {
      // Nobody else adds a key to the account until this one is there.
      await lock(db.selectFrom("accounts").select("id").where("id", "=", key.account_id));
      const { count } = await db
        .selectFrom("api_keys")
        .select((of) => of.fn.countAll().as("count"))
        .where("account_id", "=", key.account_id)
        .where("revoked_at", "is", null)
        .executeTakeFirstOrThrow();
      if (Number(count) >= maxPerAccount) return false;
      await db.insertInto("api_keys").values(key).execute();
      return true;
    });
}

/** withAccount selects keys with what of their accounts decides on their calls. */
function withAccount(db: Database) {
  return db
    .selectFrom("api_keys")
    .innerJoin("accounts_now as accounts", "accounts.id", "api_keys.account_id")
    .selectAll("api_keys")
    .select([
      ...(["accounts.name as account_name", "accounts.balance as account_balance"] as const),
      ...(["accounts.held as account_held", "accounts.recharged as account_recharged"] as const),
      ...(["accounts.postpaid as account_postpaid", "accounts.suspended_at as account_suspended_at"] as const),
      ...(["accounts.time_zone as account_time_zone", "accounts.budgets as account_budgets"] as const),
    ]);
}

type Finding = Pick<KeyStore, "findBySecretHash" | "findWithAccount" | "find" | "list" | "page" | "labels">;

function createFinding({ db, unflushed, pending }: Scope): Finding {
  // It does not flush the ledger: neither for keys that are guessed, nor for each of a million that call now and then.
  const bySecretHash = compiledOnce<KeyWithAccount>(() => secretQuery(unflushed), unflushed);
  const sums = (id: string) =>
    [pending.spentOf(id).as("pending_spent"), pending.freedOf(id).as("pending_freed")] as const;
  const listed = (accountId: string | undefined) =>
    db
      .selectFrom("api_keys_now")
      .selectAll()
      .where((is) => is.and(stated({ account_id: accountId })))
      .orderBy("id");
  return {
    findBySecretHash: async (secretHash, now) => (await bySecretHash(secretHash, secretHash, now))[0],
    findWithAccount: async (id) =>
      withPending(await withAccount(db).select(sums(id)).where("api_keys.id", "=", id).executeTakeFirst()),
    find: async (accountId, id) =>
      withPending(
        await db
          .selectFrom("api_keys")
          .selectAll()
          .select(sums(id))
          .where("account_id", "=", accountId)
          .where("revoked_at", "is", null)
          .where("id", "=", id)
          .executeTakeFirst(),
      ),
    list: (accountId) => listed(accountId).execute(),
    page: (accountId, after, limit, labels = {}) =>
      pageOfKeys(
        (last, most) => listed(accountId).where("revoked_at", "is", null).where("id", ">", last).limit(most).execute(),
        { after, limit, labels },
      ),
    labels: (of) => readLabels(db, of),
  };
}

interface PageAsked {
  readonly after: string;
  readonly limit: number;
  readonly labels: KeyLabelFilter;
}

/** keysAtOnce is how many keys are looked through at once for those with a tag or an owner. */
const keysAtOnce = 1000;

/** pageOfKeys returns up to `limit` of the keys that have the labels. An account has some thousand keys at most: all are looked through. */
async function pageOfKeys(
  read: (after: string, limit: number) => Promise<ApiKey[]>,
  { after, limit, labels }: PageAsked,
): Promise<ApiKey[]> {
  if (labels.tag === undefined && labels.owner === undefined) return read(after, limit);
  const found: ApiKey[] = [];
  for (let last = after; found.length < limit; ) {
    const keys = await read(last, keysAtOnce);
    found.push(...keys.filter((key) => hasLabels(key, labels)));
    if (keys.length < keysAtOnce) break;
    last = keys.at(-1)?.id as string;
  }
  return found.slice(0, limit);
}

/** hasLabels reports whether a key has the tag and the owner that are asked for. */
export function hasLabels(key: Pick<ApiKey, "tags" | "owner">, { tag, owner }: KeyLabelFilter): boolean {
  return (tag === undefined || listIn(key.tags).includes(tag)) && (owner === undefined || key.owner === owner);
}

async function readLabels(db: Database, { accountId, ids }: LabelledKeys): Promise<KeyLabels[]> {
  const rows = await db
    .selectFrom("api_keys")
    .select(["id", "tags", "owner"])
    .where((is) => is.and(stated({ account_id: accountId })))
    .$if(ids !== undefined, (query) => query.where("id", "in", ids as string[]))
    .where((where) => where.or([where("tags", "is not", null), where("owner", "is not", null)]))
    .execute();
  return rows.map(({ id, tags, owner }) => ({ id, tags: listIn(tags), owner }));
}

/** listIn returns what a column with a JSON list of texts has; none where it is null. */
export function listIn(json: string | null): string[] {
  return json === null ? [] : (JSON.parse(json) as string[]);
}

/**
 * Two searches, each by its index; the second runs only where the first finds nothing. A subquery hides a value from SQLite's planner,
 * which would otherwise replan the join on every call, for ten times what it takes to run.
 */
function secretQuery(db: Database) {
  const text = sql<string>`(SELECT ${""})`;
  const time = sql<number>`(SELECT CAST(${0} AS bigint))`;
  return withAccount(db)
    .where("secret_hash", "=", text)
    .unionAll(withAccount(db).where("previous_hash", "=", text).where("previous_expires_at", ">", time))
    .limit(sql.lit(1));
}

interface Pending {
  readonly pending_spent: number;
  readonly pending_freed: number;
}

/** withPending adds what is pending to a key's sums. */
function withPending<K extends ApiKey>(found: (K & Pending) | undefined): K | undefined {
  if (!found) return undefined;
  const { pending_spent, pending_freed, ...key } = found;
  return { ...key, spent: key.spent + pending_spent, held: key.held - pending_freed } as unknown as K;
}

type Changes = Pick<KeyStore, "update" | "rotate" | "setAdministrator" | "revoke">;

function createChanges({ db, transact }: Scope): Changes {
  return {
    update: (accountId, id, change, now = Date.now()) => transact((scope) => update(scope, accountId, id, change, now)),
    rotate: (accountId, id, { hash, mask, previousUntil }) =>
      transact(async (scope) => {
        if (!(await begin(scope, accountId, id))) return undefined;
        const previous_hash = previousUntil === null ? null : sql<string>`secret_hash`;
        const secret = { secret_hash: hash, secret_mask: mask, previous_hash, previous_expires_at: previousUntil };
        return unrevoked(scope.db, accountId, id).set(secret).executeTakeFirst();
      }),
    setAdministrator: (accountId, id, administrator) =>
      transact(async (scope) => {
        if (!(await begin(scope, accountId, id))) return undefined;
        return unrevoked(scope.db, accountId, id)
          .set({ is_admin: administrator ? 1 : 0 })
          .executeTakeFirst();
      }),
    async revoke(id, now, accountId) {
      const query = db
        .updateTable("api_keys")
        .set({ revoked_at: now })
        .where("id", "=", id)
        .where("revoked_at", "is", null)
        .where((is) => is.and(stated({ account_id: accountId })));
      return (await changed(db, query)) === 1;
    },
  };
}

/**
 * begin begins to change a key: nobody else changes it, and its row has its whole sums, for that of a key with a limit decides what it may
 * spend. Resolves to false where the account has no such key: another account's is left alone.
 *
 * Its account is locked first, as whatever moves money does. In the other order, this and the calls of the account would wait for each
 * other.
 */
async function begin({ db, lock, pending }: Scope, accountId: string, id: string): Promise<boolean> {
  await lock(db.selectFrom("accounts").select("id").where("id", "=", accountId));
  const own = db.selectFrom("api_keys").select("id").where("id", "=", id).where("account_id", "=", accountId);
  await lock(own);
  if (!(await own.executeTakeFirst())) return false;
  await pending.merge(db, id);
  return true;
}

function unrevoked(db: Database, accountId: string, id: string) {
  return db
    .updateTable("api_keys")
    .where("id", "=", id)
    .where("account_id", "=", accountId)
    .where("revoked_at", "is", null)
    .returningAll();
}

async function update(scope: Scope, accountId: string, id: string, change: KeyChange, now: number): Promise<Updated> {
  const find = () => createFinding(scope).find(accountId, id);
  // An UPDATE has to set a column.
  if (Object.values(change).every((value) => value === undefined)) {
    const key = await find();
    return key ? { kind: "updated", key } : { kind: "absent" };
  }
  const { db } = scope;
  if (!(await begin(scope, accountId, id))) return { kind: "absent" };
  // Due sums of an account are merged under its lock: they stay while a key's spending is read.
  const before = change.budgets === undefined ? undefined : await find();
  const limit = change.credit_limit ?? null;
  const updated = await unrevoked(scope.db, accountId, id)
    .set(change)
    .$if(limit !== null, (query) => query.where(sql<boolean>`spent + held <= ${limit}`))
    .executeTakeFirst();
  if (updated) {
    const { budgets } = updated;
    if (before) await budgetsChanged(db, { accountId, keyId: id, budgets }, before.budgets, now);
    return { kind: "updated", key: updated };
  }
  const key = await find();
  return key ? { kind: "below", key } : { kind: "absent" };
}
