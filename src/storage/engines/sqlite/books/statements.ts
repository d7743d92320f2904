/** The statements that write holds and charges. Each changes one sum; the caller keeps all of them true to each other. */

import { lost } from "../../../calls/outcomes.ts";
import { type CallRow, columnNames, defaultOf, summedColumns } from "../../../columns.ts";
import { compileValues } from "../../../compile-row.ts";
import { maxHeld, maxOwed, maxSum } from "../../../money/bounds.ts";
import { hourColumns } from "../../../money/totals.ts";
import type { Connection } from "../../engine.ts";

interface ReleasedHold {
  readonly amount: number;
  readonly key_id: string;
  readonly account_id: string;
}

type HoldValues = readonly [
  ...ids: [requestId: string, node: string, accountId: string, keyId: string, operation: string, model: string],
  amount: number,
  createdAt: number,
  expiresAt: number,
];

type Value = string | number | null;

/** NewCallRow is a row to insert: columns that it lacks get their defaults. */
export type NewCallRow = Partial<CallRow> & Pick<CallRow, "id" | "cost">;

/** requestValues lists the values that `insertRequest` binds. */
export const requestValues = compileValues<NewCallRow, Value>(columnNames, defaultOf);

export type LedgerStatements = ReturnType<typeof ledgerStatements>;

export function ledgerStatements(books: Connection) {
  return { ...holdStatements(books), ...callStatements(books) };
}

function holdStatements(books: Connection) {
  const insertHold = `INSERT INTO holds
      (request_id, node, account_id, key_id, operation, model, amount, created_at, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
  return {
    holdKey: books.prepare<[held: number, now: number, keyId: string, held: number]>(
      `UPDATE api_keys SET held = held + ?, last_used_at = ? WHERE id = ? AND revoked_at IS NULL
       AND coalesce(credit_limit, ${maxSum}) - spent - held >= ? AND held < ${maxHeld}`,
    ),
    holdAccount: books.prepare<[held: number, accountId: string, held: number]>(
      `UPDATE accounts SET held = held + ? WHERE id = ? AND balance - held + postpaid * ${maxOwed} >= ? AND held < ${maxHeld}`,
    ),
    insertHold: books.prepare<HoldValues>(insertHold),
    /** Moves the deadlines of all nodes on that are before a moment. */
    keepHolds: books.prepare<[until: number, until: number]>("UPDATE holds SET expires_at = ? WHERE expires_at < ?"),
    renewHolds: books.prepare<[expiresAt: number, node: string]>("UPDATE holds SET expires_at = ? WHERE node = ?"),
    touchKey: books.prepare<[now: number, keyId: string]>("UPDATE api_keys SET last_used_at = ? WHERE id = ?"),
    mayLease: books.prepare<[keyId: string, isLimited: number], { readonly id: string }>(
      `SELECT id FROM api_keys WHERE id = ? AND revoked_at IS NULL AND (credit_limit IS NULL OR ?) AND budgets IS NULL
       AND NOT EXISTS (SELECT 1 FROM accounts WHERE id = account_id AND budgets IS NOT NULL)`,
    ),
    /** Adds to a lease, or makes it. */
    growLease: books.prepare<HoldValues>(
      `${insertHold} ON CONFLICT (request_id) DO UPDATE
       SET amount = amount + excluded.amount, expires_at = max(expires_at, excluded.expires_at)`,
    ),
    /** Takes from a lease, or gives back to it where the amount is below 0. Changes nothing where it has less, or has expired. */
    drawLease: books.prepare<[amount: number, id: string, amount: number]>(
      "UPDATE holds SET amount = amount - ? WHERE request_id = ? AND amount >= ?",
    ),
    deleteHold: books.prepare<[requestId: string], ReleasedHold>(
      "DELETE FROM holds WHERE request_id = ? RETURNING amount, key_id, account_id",
    ),
    /** Takes from what is held of a key, and adds to what it has spent. */
    captureOfKey: books.prepare<[released: number, spent: number, keyId: string]>(
      "UPDATE api_keys SET held = held - ?, spent = spent + ? WHERE id = ?",
    ),
    /** Takes from what is held of an account, and from its balance. */
    captureOfAccount: books.prepare<[released: number, spent: number, accountId: string]>(
      "UPDATE accounts SET held = held - ?, balance = balance - ? WHERE id = ?",
    ),
  };
}

function callStatements(books: Connection) {
  const selectKeptFrom = books.prepare<[], { readonly id: string }>("SELECT id FROM kept_from WHERE kind = 'requests'");
  const sums = ["requests", ...summedColumns].map((name) => `${name} = ${name} + excluded.${name}`);
  return {
    /** Changes nothing where the call has a row. */
    insertRequest: books.prepare<readonly Value[]>(
      `INSERT INTO requests (${columnNames.join(", ")}) VALUES ${placeholders(columnNames.length)}
       ON CONFLICT (id) DO NOTHING`,
    ),
    /**
     * Returns the id before which calls are forgotten. Where an older call has no row, it may have been charged before, and is not
     * charged again.
     */
    keptFrom: () => selectKeptFrom.get()?.id ?? "",
    /** Deletes the row of a call that was recorded as lost. Changes nothing for any other. */
    deleteLost: books.prepare<[id: string]>(`DELETE FROM requests WHERE id = ? AND outcome = ${lost}`),
    addToHour: books.prepare<readonly (string | number)[]>(
      `INSERT INTO usage_hours (${hourColumns.join(", ")}) VALUES ${placeholders(hourColumns.length)}
       ON CONFLICT (account_id, hour, key_id, model) DO UPDATE SET ${sums.join(", ")}`,
    ),
  };
}

/** placeholders returns the placeholders of a row of so many values: `(?, ?)`. */
function placeholders(values: number): string {
  return `(${Array(values).fill("?").join(", ")})`;
}
