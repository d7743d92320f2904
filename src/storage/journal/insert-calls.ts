/**
 * Inserts the rows of calls that have ended, many by one statement.
 *
 * Calls of a batch are mostly alike in what was asked, of whom, and how it ended: a statement binds that once. Where it finds a
 * call that has a row it ends, and keeps the rows before that one (`OR FAIL`); from there on its calls are inserted one by one.
 * To undo all of the statement, the database would have to keep each page as it was before the statement's first row of that page.
 */
import { type Capture, defaultOf, ownColumns, sharedColumns } from "../columns.ts";
import { compileAppend, compileEquals, compileValues } from "../compile-row.ts";
import type { Connection, Engine } from "../engines/engine.ts";
import { type LedgerStatements, requestValues } from "../money/ledger-statements.ts";
import { createBulkInsert, placeholders } from "./bulk-insert.ts";

/** EndedCall is a call whose row is to be inserted: it costs what it states. */
export interface EndedCall {
  readonly call: Capture;
  /** Set by the insert where the call has a row already, which is left as it is. */
  isKnown: boolean;
}

export type InsertCalls = (calls: readonly EndedCall[]) => void;

export interface InsertCallsParts {
  readonly books: Connection;
  readonly statements: Pick<LedgerStatements, "insertRequest" | "deleteLost">;
  readonly isFault: Engine["isFault"];
}

type Values = (string | number | null)[];

/** What the calls of a statement share: calls of many accounts are in a batch. */
const kindColumns = sharedColumns.filter((name) => name !== "account_id");
const callColumns = ["account_id", ...ownColumns] as const;

const kindValues = compileValues<Capture, Values[number]>(kindColumns, defaultOf);
const addCall = compileAppend<Capture, Values[number]>(callColumns, defaultOf);
const isOfSameKind = compileEquals<Capture>(kindColumns);

export function createInsertCalls({ books, statements, isFault }: InsertCallsParts): InsertCalls {
  const { insertRequest, deleteLost } = statements;
  const insert = books.prepare<Values>(
    `INSERT OR FAIL INTO requests (waived, ${kindColumns.join(", ")}, ${callColumns.join(", ")})
     SELECT 0, kind.*, own.* FROM (SELECT ${kindColumns.map(() => "?").join(", ")}) kind
     CROSS JOIN (VALUES ${placeholders(callColumns.length)}) own`,
  );
  /** Returns how many rows the statement before it has written. */
  const lastWritten = books.prepare<[], { readonly rows: number }>("SELECT changes() AS rows");

  function insertOne(ended: EndedCall): void {
    const { call } = ended;
    const values = requestValues({ ...call, waived: 0 });
    // Another process may have recorded the call as lost, after which it held anew.
    const isNew =
      insertRequest.run(...values) === 1 || (deleteLost.run(call.id) === 1 && insertRequest.run(...values) === 1);
    ended.isKnown = !isNew;
  }

  function insertMany(alike: readonly EndedCall[]): void {
    const values = kindValues((alike[0] as EndedCall).call);
    for (const { call } of alike) addCall(values, call);
    try {
      insert.run(...values);
    } catch (error) {
      if (!isFault(error)) throw error;
      // A value that cannot be bound fails before its statement runs: then `changes()` is of another statement.
      const isUnbound = error instanceof TypeError || error instanceof RangeError;
      alike.slice(isUnbound ? 0 : lastWritten.get()?.rows).forEach(insertOne);
    }
  }

  return (calls) => {
    const rows = createBulkInsert({ isAlike, writeMany: insertMany, writeOne: insertOne });
    for (const ended of calls) {
      // Which attempts failed before is hardly ever the same of two calls.
      if (typeof ended.call.tried === "string") insertOne(ended);
      else rows.add(ended);
    }
    rows.end();
  };
}

const isAlike = ({ call: one }: EndedCall, { call: other }: EndedCall): boolean => isOfSameKind(one, other);
