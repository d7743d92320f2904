/**
 * Writes the rows of calls that are over, many of them by one statement.
 *
 * Calls of a batch are mostly alike in what was asked, of whom, and how it ended: that is bound once for all of them. Where a
 * statement finds a call that is known it ends, and keeps what it has written before (`OR FAIL`): from there on its calls are
 * written one by one. To take all of it back it would have to keep each page as it was before its first row of that page.
 */

import type { Connection, Engine } from "../engines/sqlite/database.ts";
import type { Capture } from "../money/ledger.ts";
import { isOfSameKind, requestRow } from "../money/ledger-rows.ts";
import type { LedgerStatements } from "../money/ledger-statements.ts";
import { createAlikeRows, placesOf } from "./alike-rows.ts";

/** A call whose row is to be written: it costs what it says. */
export interface Over {
  readonly call: Capture;
  /** Set where it was written before: its row is left as it is. */
  isKnown: boolean;
}

export type InsertCalls = (calls: readonly Over[]) => void;

export interface ManyCallsParts {
  readonly books: Connection;
  readonly statements: Pick<LedgerStatements, "insertRequest" | "deleteLost">;
  readonly isFault: Engine["isFault"];
}

type Values = (string | number | null)[];

export function createInsertCalls({ books, statements, isFault }: ManyCallsParts): InsertCalls {
  const { insertRequest, deleteLost } = statements;
  const insert = books.prepare<Values>(
    `INSERT OR FAIL INTO requests (operation, model, upstream, outcome, estimated, cached, tried, waived, id, account_id, key_id,
       input, cache_read, cache_write, output, reasoning, characters, cost, created_at, duration_ms, first_byte_ms)
     SELECT kind.*, NULL, 0, own.* FROM (SELECT ?, ?, ?, ?, ?, ?) kind CROSS JOIN (VALUES ${placesOf(13)}) own`,
  );

  /** How many rows the statement before has written. */
  const lastWritten = books.prepare<[], { readonly rows: number }>("SELECT changes() AS rows");

  function insertOne(over: Over): void {
    const { call } = over;
    const row = requestRow(call, call.cost, 0);
    // Another process may have taken it for lost, and it has reserved anew since then.
    const isNew = insertRequest.run(...row) === 1 || (deleteLost.run(call.id) === 1 && insertRequest.run(...row) === 1);
    over.isKnown = !isNew;
  }

  function insertMany(alike: readonly Over[]): void {
    const values = kindOf(alike[0] as Over);
    for (const { call } of alike) addOwn(values, call);
    try {
      insert.run(...values);
    } catch (error) {
      if (!isFault(error)) throw error;
      // What cannot be bound fails before its statement runs: the last that wrote was another.
      const isUnbound = error instanceof TypeError || error instanceof RangeError;
      alike.slice(isUnbound ? 0 : lastWritten.get()?.rows).forEach(insertOne);
    }
  }

  return (calls) => {
    const rows = createAlikeRows({ isAlike, writeMany: insertMany, writeOne: insertOne });
    for (const over of calls) {
      // Which attempts failed before is hardly ever alike.
      if (typeof over.call.tried === "string") insertOne(over);
      else rows.add(over);
    }
    rows.end();
  };
}

const isAlike = ({ call: one }: Over, { call: other }: Over): boolean => isOfSameKind(one, other);

function kindOf({ call }: Over): Values {
  return [call.operation, call.model, call.upstream, call.outcome, call.estimated, call.cached ?? 0];
}

function addOwn(values: Values, call: Capture): void {
  const { id, account_id, key_id, input, cache_read, cache_write, output, reasoning, characters, cost } = call;
  values.push(id, account_id, key_id, input, cache_read, cache_write, output, reasoning, characters, cost);
  values.push(call.created_at, call.duration_ms, call.first_byte_ms);
}
