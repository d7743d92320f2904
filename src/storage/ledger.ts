/**
 * Money in the database: holds and charges. What comes in is written by `entries.ts`.
 *
 * Every function here is one step of a transaction that the caller opens (`transact`), and keeps these sums true, which
 * `reconcile.ts` proves: an account's balance is the sum of its ledger entries, its `held` that of its holds; a key's
 * `spent` is the sum of its charges, its `held` that of its holds. Whether a hold is taken is decided by the conditions of
 * the statements that take it, so that no number of callers, in any number of processes, reserves more than there is.
 */
import type { Selectable } from "kysely";
import type { Engine } from "./database.ts";
import { type RequestRow, requestRow, type UsageRow, usageRow } from "./ledger-rows.ts";
import type { RequestTable } from "./schema.ts";

export interface HoldInit {
  readonly requestId: string;
  /** The process that makes it. */
  readonly node: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly operation: string;
  readonly model: string;
  /** The most that the call may cost. */
  readonly wanted: number;
  /** What the call cannot do with less than. */
  readonly least: number;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly expiresAt: number;
}

export type Held =
  | { readonly kind: "held"; readonly amount: number }
  /** `available` is what is left of the account's balance or of the key's limit, whichever does not suffice. */
  | { readonly kind: "short"; readonly of: "balance" | "limit"; readonly available: number };

/** A call that is over; `cost` is what it should be charged. */
export type Settlement = Omit<Selectable<RequestTable>, "waived" | "tried" | "cached"> &
  Partial<Pick<Selectable<RequestTable>, "tried" | "cached">>;

export interface Charged {
  readonly cost: number;
  /** What it should have been charged beyond that: there was no credit left for it. */
  readonly waived: number;
}

/** Numbers of the proto's EntryKind and Outcome, which storage does not import. */
const charge = 4;
const lost = 5;

/** What may be held of an account before a call, and by one, at most: both together can be counted exactly. */
const most = 4e15;

export interface LedgerStore {
  transact<T>(work: () => T): T;
  /** Reserves as much as is wanted, or as there is, if that is enough. */
  hold(init: HoldInit): Held;
  /** Tells what is left of a key's limit or of its account's balance, whichever is less; infinite where neither bounds it. */
  left(keyId: string): { readonly of: "limit" | "balance"; readonly available: number };
  /** Frees a call's hold, if it has one. */
  free(requestId: string): void;
  /** Charges a call, and frees its hold. A call that was settled before is left as it is: undefined. */
  settle(settlement: Settlement, entryId: string): Charged | undefined;
  /** Moves on the deadlines of this process's holds. */
  renew(node: string, expiresAt: number): void;
  /** Frees holds whose deadline has passed, some at a time, and remembers their calls as lost. Returns how many. */
  lapse(now: number): number;
  /** Notes that a key was used. */
  touch(keyId: string, now: number): void;
}

/** How many holds are freed in one transaction. */
const batch = 500;

export function ledgerStore(engine: Engine): LedgerStore {
  const holdKey = engine.prepare<[held: number, now: number, keyId: string, held: number]>(
    `UPDATE api_keys SET held = held + ?, last_used_at = ? WHERE id = ? AND revoked_at IS NULL
     AND (credit_limit IS NULL OR credit_limit - spent - held >= ?) AND held < ${most}`,
  );
  const holdAccount = engine.prepare<[held: number, accountId: string, held: number]>(
    `UPDATE accounts SET held = held + ? WHERE id = ? AND (postpaid = 1 OR balance - held >= ?) AND held < ${most}`,
  );
  const insertHold = engine.prepare<
    [string, string, string, string, string, string, number, createdAt: number, expiresAt: number]
  >(
    `INSERT INTO holds (request_id, node, account_id, key_id, operation, model, amount, created_at, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  // A bare parameter would have the join planned anew at each call, for its value.
  const credit = engine.prepare<[keyId: string], Credit>(
    `SELECT k.credit_limit - k.spent - k.held AS ofLimit,
       CASE a.postpaid WHEN 1 THEN NULL ELSE a.balance - a.held END AS ofBalance
     FROM api_keys k JOIN accounts a ON a.id = k.account_id WHERE k.id = (SELECT ?)`,
  );
  const freeKey = engine.prepare<[held: number, spent: number, keyId: string]>(
    "UPDATE api_keys SET held = held - ?, spent = spent + ? WHERE id = ?",
  );
  const freeAccount = engine.prepare<[held: number, spent: number, accountId: string]>(
    "UPDATE accounts SET held = held - ?, balance = balance - ? WHERE id = ?",
  );
  const deleteHold = engine.prepare<[requestId: string], FreedHold>(
    "DELETE FROM holds WHERE request_id = ? RETURNING amount, key_id, account_id",
  );
  const outcomeOf = engine.prepare<[id: string], { outcome: number }>("SELECT outcome FROM requests WHERE id = ?");
  const deleteRequest = engine.prepare<[id: string]>("DELETE FROM requests WHERE id = ?");
  const insertRequest = engine.prepare<RequestRow>(
    `INSERT INTO requests (id, account_id, key_id, operation, model, upstream, outcome, input, cache_read, cache_write,
       output, reasoning, characters, estimated, cost, waived, created_at, duration_ms, first_byte_ms, tried, cached)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertCharge = engine.prepare<[string, string, number, string, string, number]>(
    `INSERT INTO ledger_entries (id, account_id, kind, amount, request_id, key_id, created_at)
     VALUES (?, ?, ${charge}, ?, ?, ?, ?)`,
  );
  const addToHour = engine.prepare<UsageRow>(
    `INSERT INTO usage_hours (account_id, hour, key_id, model, requests, input, cache_read, cache_write, output,
       reasoning, characters, cost)
     VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (account_id, hour, key_id, model) DO UPDATE SET requests = requests + 1, input = input + excluded.input,
       cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write,
       output = output + excluded.output, reasoning = reasoning + excluded.reasoning,
       characters = characters + excluded.characters, cost = cost + excluded.cost`,
  );
  const renewHolds = engine.prepare<[expiresAt: number, node: string]>(
    "UPDATE holds SET expires_at = ? WHERE node = ?",
  );
  const lapsed = engine.prepare<[now: number], LapsedHold>(
    `SELECT request_id, account_id, key_id, operation, model, amount, created_at FROM holds
     WHERE expires_at <= ? LIMIT ${batch}`,
  );
  const touchKey = engine.prepare<[now: number, keyId: string]>("UPDATE api_keys SET last_used_at = ? WHERE id = ?");

  function tryHold(init: HoldInit, amount: number): boolean {
    if (holdKey.run(amount, init.now, init.keyId, amount) === 0) return false;
    if (holdAccount.run(amount, init.accountId, amount) === 0) {
      freeKey.run(amount, 0, init.keyId);
      return false;
    }
    const { requestId, node, accountId, keyId, operation, model, now, expiresAt } = init;
    insertHold.run(requestId, node, accountId, keyId, operation, model, amount, now, expiresAt);
    return true;
  }

  function hold(init: HoldInit): Held {
    if (init.wanted <= most && tryHold(init, init.wanted)) return { kind: "held", amount: init.wanted };
    const left = leftOf(init.keyId);
    const available = Math.min(left.available, most);
    if (available < init.wanted && available >= init.least && tryHold(init, available)) {
      return { kind: "held", amount: available };
    }
    return { kind: "short", of: left.of, available };
  }

  function leftOf(keyId: string): ReturnType<LedgerStore["left"]> {
    const left = credit.get(keyId);
    const ofLimit = left?.ofLimit ?? Number.POSITIVE_INFINITY;
    const ofBalance = left?.ofBalance ?? Number.POSITIVE_INFINITY;
    return { of: ofLimit < ofBalance ? "limit" : "balance", available: Math.max(0, Math.min(ofLimit, ofBalance)) };
  }

  function settle(call: Settlement, entryId: string): Charged | undefined {
    const { id, account_id, key_id } = call;
    const before = outcomeOf.get(id);
    if (before && before.outcome !== lost) return undefined;
    if (before) deleteRequest.run(id);
    const released = deleteHold.get(id)?.amount ?? 0;
    // What it costs beyond its own hold is taken from what is left besides.
    const cost = call.cost <= released ? call.cost : Math.min(call.cost, released + leftOf(key_id).available);
    const waived = call.cost - cost;
    freeKey.run(released, cost, key_id);
    freeAccount.run(released, cost, account_id);
    insertRequest.run(...requestRow(call, cost, waived));
    const endedAt = call.created_at + call.duration_ms;
    if (cost > 0) insertCharge.run(entryId, account_id, -cost, id, key_id, endedAt);
    addToHour.run(...usageRow(call, cost));
    return { cost, waived };
  }

  return {
    transact: engine.transact,
    hold,
    left: leftOf,
    free(requestId) {
      const freed = deleteHold.get(requestId);
      if (!freed) return;
      freeKey.run(freed.amount, 0, freed.key_id);
      freeAccount.run(freed.amount, 0, freed.account_id);
    },
    settle,
    renew: (node, expiresAt) => void renewHolds.run(expiresAt, node),
    lapse(now) {
      const holds = lapsed.all(now);
      for (const { request_id, account_id, key_id, operation, model, amount, created_at } of holds) {
        deleteHold.get(request_id);
        freeKey.run(amount, 0, key_id);
        freeAccount.run(amount, 0, account_id);
        if (outcomeOf.get(request_id)) continue;
        const nothing = {
          upstream: "",
          input: 0,
          cache_read: 0,
          cache_write: 0,
          output: 0,
          reasoning: 0,
          characters: 0,
        };
        const call = { id: request_id, account_id, key_id, operation, model, outcome: lost, estimated: 0, created_at };
        const duration_ms = now - created_at;
        insertRequest.run(...requestRow({ ...call, ...nothing, cost: 0, duration_ms, first_byte_ms: null }, 0, 0));
      }
      return holds.length;
    },
    touch: (keyId, now) => void touchKey.run(now, keyId),
  };
}

/** What is left; null where nothing bounds it. */
interface Credit {
  readonly ofLimit: number | null;
  readonly ofBalance: number | null;
}

interface FreedHold {
  readonly amount: number;
  readonly key_id: string;
  readonly account_id: string;
}

interface LapsedHold {
  readonly request_id: string;
  readonly account_id: string;
  readonly key_id: string;
  readonly operation: string;
  readonly model: string;
  readonly amount: number;
  readonly created_at: number;
}
