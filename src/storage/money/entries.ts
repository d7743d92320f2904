/**
 * Ledger entries: what moved money. They are only added. The charge of a call is an entry, too: it is in the call's own row while
 * that is kept, and from then on a part of the entry that has the charges of its key in its month (`retention.ts`).
 *
 * An entry and the sums that it changes are one transaction, and the conditions of one statement decide whether it may be made: a
 * refund never returns more than was recharged or than is left, and no sum grows beyond what can be counted exactly. `ledger.ts`
 * writes calls.
 */
import { type Selectable, sql } from "kysely";
import type { Account } from "../accounts.ts";
import type { RequestStore } from "../calls/requests.ts";
import type { CallerSignal } from "../calls/search.ts";
import type { CallRow } from "../columns.ts";
import type { Database, Scope } from "../engines/scope.ts";
import type { LedgerEntryTable } from "../schema.ts";
import { maxCredited } from "./bounds.ts";

export type LedgerEntry = Selectable<LedgerEntryTable>;

/** Numbers of the proto's EntryKind, which storage does not import. */
const kinds = { recharge: 1, refund: 2, grant: 3, charge: 4 } as const;
export const { charge, grant } = kinds;

export interface EntryInit {
  readonly id: string;
  readonly accountId: string;
  /** Any kind but a charge. */
  readonly kind: 1 | 2 | 3;
  /** The amount, more than 0, of a refund too. */
  readonly amount: number;
  readonly note: string | null;
  /** now is in milliseconds since 1970. */
  readonly now: number;
}

export type Recorded =
  | { readonly kind: "recorded"; readonly entry: LedgerEntry; readonly account: Account }
  /** A refund of more than `available`, which may be returned. */
  | { readonly kind: "short"; readonly available: number }
  /** The account was credited as much in its life as can be counted exactly. */
  | { readonly kind: "full" }
  | { readonly kind: "absent" };

export interface EntryFilter {
  /** Selects kinds: numbers of the proto's EntryKind. Empty for all. */
  readonly kinds: readonly number[];
  /** Selects entries before this id. */
  readonly before?: string | undefined;
  readonly limit: number;
}

export interface EntryStore {
  record(init: EntryInit): Promise<Recorded>;
  /** Finds an entry that was recorded, or charges of forgotten calls; no charge of a call that is kept. */
  find(id: string): Promise<LedgerEntry | undefined>;
  /** Lists some of an account's entries, newest first; charges by when their calls came. */
  page(accountId: string, filter: EntryFilter, signal?: CallerSignal): Promise<LedgerEntry[]>;
}

export function entryStore({ db, transact }: Scope, requests: Pick<RequestStore, "page">): EntryStore {
  function recorded(accountId: string, { kinds: wanted, before, limit }: EntryFilter): Promise<LedgerEntry[]> {
    const query = db
      .selectFrom("ledger_entries")
      .selectAll()
      .where("account_id", "=", accountId)
      .$if(wanted.length > 0, (query) => query.where("kind", "in", wanted))
      .$if(before !== undefined, (query) => query.where("id", "<", before as string))
      .orderBy("id", "desc")
      .limit(limit);
    // The condition as the index has it, which leaves charges out.
    const rare = wanted.length > 0 && !wanted.includes(charge);
    return (rare ? query.where((where) => where("kind", "!=", where.lit(charge))) : query).execute();
  }

  async function charges(
    accountId: string,
    { kinds: wanted, before, limit }: EntryFilter,
    signal: CallerSignal | undefined,
  ) {
    if (wanted.length > 0 && !wanted.includes(charge)) return [];
    const calls = await requests.page({ accountId, isCharged: true }, before?.replace(/^led_/, "req_"), limit, signal);
    return calls.map(chargeOf);
  }

  return {
    record: (init) => transact(({ db }) => record(db, init)),
    find: (id) => db.selectFrom("ledger_entries").selectAll().where("id", "=", id).executeTakeFirst(),
    async page(accountId, filter, signal) {
      // In this order: a charge that is folded into an entry meanwhile is found in both, and never missed.
      const ofCalls = await charges(accountId, filter, signal);
      const ofEntries = await recorded(accountId, filter);
      const byId = new Map([...ofCalls, ...ofEntries].map((entry) => [entry.id, entry]));
      return [...byId.values()].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, filter.limit);
    },
  };
}

/** record records an entry, in the caller's transaction. */
export async function record(db: Database, init: EntryInit): Promise<Recorded> {
  const { id, accountId, kind, amount, note, now } = init;
  const moved = await move(db, init).executeTakeFirst();
  if (!moved) {
    const unchanged = db.selectFrom("accounts").selectAll().where("id", "=", accountId);
    return refused(await unchanged.executeTakeFirst(), kind);
  }
  const change = kind === kinds.refund ? -amount : amount;
  const entry = await db
    .insertInto("ledger_entries")
    .values({ id, account_id: accountId, kind, amount: change, note, created_at: now })
    .returningAll()
    .executeTakeFirstOrThrow();
  // The row alone lacks what calls have spent and nobody has added yet.
  const account = await db.selectFrom("accounts_now").selectAll().where("id", "=", accountId).executeTakeFirstOrThrow();
  return { kind: "recorded", entry, account };
}

/** Changes the sums of an account, on the condition of the kind of entry. */
function move(db: Database, { accountId, kind, amount }: EntryInit) {
  const own = db.updateTable("accounts").where("id", "=", accountId).returning("id");
  const sum = sql<number>`CAST(${amount} AS bigint)`;
  if (kind === kinds.refund)
    return own
      .set((of) => ({ balance: of("balance", "-", sum), recharged: of("recharged", "-", sum) }))
      .where("recharged", ">=", amount)
      .where((of) => of(of("balance", "-", of.ref("held")), ">=", amount));
  // What keys have spent and what is left, or owed, is all that was ever credited.
  const spent = db.selectFrom("api_keys").select((of) => of.fn.sum<number>("spent").as("spent"));
  const granted = own
    .set((of) => ({ balance: of("balance", "+", sum) }))
    .where((of) => {
      const ofKeys = of.fn.coalesce(spent.where("account_id", "=", accountId), of.lit(0));
      return of(of("balance", "+", ofKeys), "<=", maxCredited - amount);
    });
  return kind === kinds.grant ? granted : granted.set((of) => ({ recharged: of("recharged", "+", sum) }));
}

function chargeOf({ id, account_id, key_id, cost, created_at, duration_ms }: CallRow): LedgerEntry {
  const of = { account_id, key_id, request_id: id, kind: charge, amount: -cost, note: null, calls: null };
  return { id: id.replace(/^req_/, "led_"), ...of, created_at: created_at + duration_ms };
}

function refused(account: Account | undefined, kind: EntryInit["kind"]): Recorded {
  if (!account) return { kind: "absent" };
  if (kind !== kinds.refund) return { kind: "full" };
  const { balance, held, recharged } = account;
  return { kind: "short", available: Math.max(0, Math.min(recharged, balance - held)) };
}
