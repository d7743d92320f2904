/**
 * Ledger entries: what moved money. They are only added. The charge of a call is an entry, too: it is in the call's own row while
 * that is kept, and from then on a part of the entry that has the charges of its key in its month (`retention.ts`).
 *
 * An entry and the sums that it changes are one transaction, and the conditions of one statement decide whether it may be made: a
 * refund never returns more than was recharged or than is left, and no sum grows beyond what can be counted exactly. `ledger.ts`
 * writes calls.
 */
import type { Selectable } from "kysely";
import type { Account } from "../accounts.ts";
import type { RequestStore } from "../calls/requests.ts";
import type { Asker } from "../calls/search.ts";
import type { CallRow } from "../columns.ts";
import type { Database, Engine } from "../engines/engine.ts";
import type { LedgerEntryTable } from "../schema.ts";

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
  /** Milliseconds since 1970. */
  readonly now: number;
}

export type Recorded =
  | { readonly kind: "recorded"; readonly entry: LedgerEntry; readonly account: Account }
  /** A refund of more than `available`, which may be returned. */
  | { readonly kind: "short"; readonly available: number }
  /** The account would have more than can be counted exactly. */
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
  record(init: EntryInit): Recorded;
  /** Finds an entry that was recorded, or charges of forgotten calls; no charge of a call that is kept. */
  find(id: string): LedgerEntry | undefined;
  /** Lists some of an account's entries, newest first; charges by when their calls came. */
  page(accountId: string, filter: EntryFilter, asker?: Asker): Promise<LedgerEntry[]>;
}

/** The most that any sum of money may come to: a double still holds it exactly. */
export const maxSum = 9e15;

/** How each kind of entry changes the sums of its account, and on which condition. */
const movements = {
  [kinds.recharge]: `balance = balance + @amount, recharged = recharged + @amount
    WHERE id = @id AND balance + @amount <= ${maxSum} AND recharged + @amount <= ${maxSum}`,
  [kinds.refund]: `balance = balance - @amount, recharged = recharged - @amount
    WHERE id = @id AND recharged >= @amount AND balance - held >= @amount`,
  [kinds.grant]: `balance = balance + @amount WHERE id = @id AND balance + @amount <= ${maxSum}`,
};

export function entryStore(db: Database, engine: Engine, requests: Pick<RequestStore, "page">): EntryStore {
  const move = (kind: EntryInit["kind"]) =>
    engine.prepare<[{ amount: number; id: string }], Account>(`UPDATE accounts SET ${movements[kind]} RETURNING *`);
  const moves = { 1: move(1), 2: move(2), 3: move(3) };
  const accountOf = engine.prepare<[id: string], Account>("SELECT * FROM accounts WHERE id = ?");
  const insert = engine.prepare<[string, string, number, number, string | null, number], LedgerEntry>(
    `INSERT INTO ledger_entries (id, account_id, kind, amount, note, created_at) VALUES (?, ?, ?, ?, ?, ?) RETURNING *`,
  );
  const find = engine.prepare<[id: string], LedgerEntry>("SELECT * FROM ledger_entries WHERE id = ?");

  function record({ id, accountId, kind, amount, note, now }: EntryInit): Recorded {
    const account = moves[kind].get({ amount, id: accountId });
    if (!account) return refused(accountOf.get(accountId), kind);
    const change = kind === kinds.refund ? -amount : amount;
    const entry = insert.get(id, accountId, kind, change, note, now) as LedgerEntry;
    return { kind: "recorded", entry, account };
  }

  function recorded(accountId: string, { kinds: wanted, before, limit }: EntryFilter): LedgerEntry[] {
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
    return engine.all(rare ? query.where((where) => where("kind", "!=", where.lit(charge))) : query);
  }

  async function charges(accountId: string, { kinds: wanted, before, limit }: EntryFilter, asker: Asker | undefined) {
    if (wanted.length > 0 && !wanted.includes(charge)) return [];
    const calls = await requests.page({ accountId, isCharged: true }, before?.replace(/^led_/, "req_"), limit, asker);
    return calls.map(chargeOf);
  }

  return {
    record: (init) => engine.transact(() => record(init)),
    find: (id) => find.get(id),
    async page(accountId, filter, asker) {
      // In this order: a charge that is folded into an entry meanwhile is found in both, and never missed.
      const ofCalls = await charges(accountId, filter, asker);
      const byId = new Map([...ofCalls, ...recorded(accountId, filter)].map((entry) => [entry.id, entry]));
      return [...byId.values()].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, filter.limit);
    },
  };
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
