/**
 * The functions in the database that decide and write money, and their names.
 *
 * A function's name ends with a hash of its text. So nodes of two versions, while a fleet is brought from one to the other, each
 * call their own, and none replaces one that another calls. A function costs no prepared statement, which poolers may forbid, and
 * its plan is kept by each connection of the server.
 *
 * All of them keep one order of locks, so that no two nodes wait for each other in a ring: the node's own row, accounts by id, keys
 * by id, leases by id, holds. Whoever changes sums of an account or its keys, or deletes what is due of them, has the account's
 * lock. `write` alone has none: it appends, and touches holds and leases of its own node.
 */
import { createHash } from "node:crypto";

export interface BooksFunction {
  /** With its hash. */
  readonly name: string;
  /** The statement that creates it. */
  readonly sql: string;
}

/** clock returns milliseconds since 1970 by the clock of the database, the only one that deadlines go by. Tests replace it. */
export const clock: BooksFunction = {
  name: "now_ms",
  sql: `CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
    $body$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $body$`,
};

/**
 * planning sets how the statements of a function are planned. A connection makes a plan when it first calls the function, and keeps it.
 * Without these settings a table that was empty then would be read from end to end for as long as the connection lasts, dead rows included.
 * None of the statements is worth compiling.
 */
const planning = "SET enable_seqscan = off SET jit = off";

/** booksFunction makes a function of its signature and its body, in PL/pgSQL. */
export function booksFunction(of: string, signature: string, body: string): BooksFunction {
  const hash = createHash("sha256").update(`${signature}\n${planning}\n${body}`).digest("hex").slice(0, 8);
  const name = `books_${of}_${hash}`;
  const text = `#variable_conflict use_column\n${body}`;
  return { name, sql: `CREATE FUNCTION ${name}${signature} LANGUAGE plpgsql ${planning} AS $body$\n${text}\n$body$` };
}
