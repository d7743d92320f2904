/**
 * Writes the rows of calls that are over, many of them by one statement.
 *
 * Calls of a batch are mostly alike in what was asked, of whom, and how it ended: that is bound once for all of them. A
 * statement writes all of its rows or none; so where one finds a call that is known, its calls are written one by one.
 */
import type { Connection, Engine } from "./database.ts";
import type { Settlement } from "./ledger.ts";
import { requestRow } from "./ledger-rows.ts";
import type { LedgerStatements } from "./ledger-statements.ts";

/** A call whose row is to be written: it costs what it says. */
export interface Over {
  readonly call: Settlement;
  /** Set where it was written before: its row is left as it is. */
  isKnown: boolean;
}

export type InsertCalls = (calls: readonly Over[]) => void;

export interface ManyCallsParts {
  readonly books: Connection;
  readonly statements: Pick<LedgerStatements, "insertRequest" | "deleteLost">;
  readonly isFault: Engine["isFault"];
}

/** How many calls a statement writes. */
const atOnce = 16;
/** What is of yet another kind than these many is written one by one. */
const mostKinds = 8;

const one = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const manyOwn = Array(atOnce).fill(one).join(", ");
type Values = (string | number | null)[];

export function createInsertCalls({ books, statements, isFault }: ManyCallsParts): InsertCalls {
  const { insertRequest, deleteLost } = statements;
  const insertMany = books.prepare<Values>(
    `INSERT INTO requests (operation, model, upstream, outcome, estimated, cached, tried, waived, id, account_id, key_id,
       input, cache_read, cache_write, output, reasoning, characters, cost, created_at, duration_ms, first_byte_ms)
     SELECT kind.*, NULL, 0, own.* FROM (SELECT ?, ?, ?, ?, ?, ?) kind CROSS JOIN (VALUES ${manyOwn}) own`,
  );

  function insertOne(over: Over): void {
    const { call } = over;
    const row = requestRow(call, call.cost, 0);
    // Another process may have taken it for lost, and it has reserved anew since then.
    const isNew = insertRequest.run(...row) === 1 || (deleteLost.run(call.id) === 1 && insertRequest.run(...row) === 1);
    over.isKnown = !isNew;
  }

  /** Returns false, and has written none, where any of them cannot be written. */
  function insertAll(alike: readonly Over[]): boolean {
    const values = kindOf(alike[0] as Over);
    for (const { call } of alike) addOwn(values, call);
    try {
      insertMany.run(...values);
      return true;
    } catch (error) {
      if (!isFault(error)) throw error;
      return false;
    }
  }

  return (calls) => {
    const kinds: Over[][] = [];
    for (const over of calls) {
      const alike = alikeIn(kinds, over);
      if (!alike) insertOne(over);
      else if (alike.push(over) === atOnce) {
        if (!insertAll(alike)) alike.forEach(insertOne);
        alike.length = 0;
      }
    }
    for (const alike of kinds) alike.forEach(insertOne);
  };
}

/** Returns those that a call is written together with, of which none may be there yet; undefined where there is no place for more kinds. */
function alikeIn(kinds: Over[][], { call }: Over): Over[] | undefined {
  // Which attempts failed before is hardly ever alike.
  if (typeof call.tried === "string") return undefined;
  let free: Over[] | undefined;
  for (const alike of kinds) {
    const [first] = alike;
    if (!first) free ??= alike;
    else if (isOfKind(first.call, call)) return alike;
  }
  if (free || kinds.length === mostKinds) return free;
  const made: Over[] = [];
  kinds.push(made);
  return made;
}

function isOfKind(one: Settlement, other: Settlement): boolean {
  return (
    one.model === other.model &&
    one.operation === other.operation &&
    one.upstream === other.upstream &&
    one.outcome === other.outcome &&
    one.estimated === other.estimated &&
    one.cached === other.cached
  );
}

function kindOf({ call }: Over): Values {
  return [call.operation, call.model, call.upstream, call.outcome, call.estimated, call.cached ?? 0];
}

function addOwn(values: Values, call: Settlement): void {
  const { id, account_id, key_id, input, cache_read, cache_write, output, reasoning, characters, cost } = call;
  values.push(id, account_id, key_id, input, cache_read, cache_write, output, reasoning, characters, cost);
  values.push(call.created_at, call.duration_ms, call.first_byte_ms);
}
