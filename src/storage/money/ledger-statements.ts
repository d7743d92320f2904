/** The statements by which holds and charges are written. Each keeps a part of a sum; who runs them keeps the whole true. */
import type { Connection } from "../engines/sqlite/database.ts";
import type { RequestRow, UsageRow } from "./ledger-rows.ts";

/** What may be held of an account before a call, and by one, at most: both together can be counted exactly. */
export const mostHeld = 4e15;

/** A number of the proto's Outcome, which storage does not import. */
export const lost = 5;

interface FreedHold {
  readonly amount: number;
  readonly key_id: string;
  readonly account_id: string;
}

type HoldRow = readonly [
  ...ids: [requestId: string, node: string, accountId: string, keyId: string, operation: string, model: string],
  amount: number,
  createdAt: number,
  expiresAt: number,
];

export type LedgerStatements = ReturnType<typeof ledgerStatements>;

export function ledgerStatements(books: Connection) {
  const insertHold = `INSERT INTO holds
      (request_id, node, account_id, key_id, operation, model, amount, created_at, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
  return {
    holdKey: books.prepare<[held: number, now: number, keyId: string, held: number]>(
      `UPDATE api_keys SET held = held + ?, last_used_at = ? WHERE id = ? AND revoked_at IS NULL
       AND (credit_limit IS NULL OR credit_limit - spent - held >= ?) AND held < ${mostHeld}`,
    ),
    holdAccount: books.prepare<[held: number, accountId: string, held: number]>(
      `UPDATE accounts SET held = held + ? WHERE id = ? AND (postpaid = 1 OR balance - held >= ?) AND held < ${mostHeld}`,
    ),
    insertHold: books.prepare<HoldRow>(insertHold),
    mayLease: books.prepare<[keyId: string, isLimited: number], { readonly id: string }>(
      "SELECT id FROM api_keys WHERE id = ? AND revoked_at IS NULL AND (credit_limit IS NULL OR ?)",
    ),
    /** Adds to a lease, or makes it. */
    growLease: books.prepare<HoldRow>(
      `${insertHold} ON CONFLICT (request_id) DO UPDATE
       SET amount = amount + excluded.amount, expires_at = max(expires_at, excluded.expires_at)`,
    ),
    /** Takes from a lease; changes nothing where it has not so much, or has lapsed. */
    drawLease: books.prepare<[amount: number, id: string, amount: number]>(
      "UPDATE holds SET amount = amount - ? WHERE request_id = ? AND amount >= ?",
    ),
    deleteHold: books.prepare<[requestId: string], FreedHold>(
      "DELETE FROM holds WHERE request_id = ? RETURNING amount, key_id, account_id",
    ),
    freeKey: books.prepare<[held: number, spent: number, keyId: string]>(
      "UPDATE api_keys SET held = held - ?, spent = spent + ? WHERE id = ?",
    ),
    freeAccount: books.prepare<[held: number, spent: number, accountId: string]>(
      "UPDATE accounts SET held = held - ?, balance = balance - ? WHERE id = ?",
    ),
    /** Changes nothing where the call is known. */
    insertRequest: books.prepare<RequestRow>(
      `INSERT INTO requests (id, account_id, key_id, operation, model, upstream, outcome, input, cache_read, cache_write,
         output, reasoning, characters, estimated, cost, waived, created_at, duration_ms, first_byte_ms, tried, cached)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
    ),
    /** Forgets that a call was taken for lost; changes nothing where it was not. */
    deleteLost: books.prepare<[id: string]>(`DELETE FROM requests WHERE id = ? AND outcome = ${lost}`),
    addToHour: books.prepare<UsageRow>(
      `INSERT INTO usage_hours (account_id, hour, key_id, model, requests, input, cache_read, cache_write, output,
         reasoning, characters, cost)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (account_id, hour, key_id, model) DO UPDATE SET requests = requests + excluded.requests,
         input = input + excluded.input, cache_read = cache_read + excluded.cache_read,
         cache_write = cache_write + excluded.cache_write, output = output + excluded.output,
         reasoning = reasoning + excluded.reasoning, characters = characters + excluded.characters,
         cost = cost + excluded.cost`,
    ),
  };
}
