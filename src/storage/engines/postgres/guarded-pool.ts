/**
 * The connections that management and upkeep share, as those see them: while the server does not answer nobody waits for it, and an
 * error of a connection says that the database is away, whatever the system calls it.
 */
import type { PostgresPool, PostgresPoolClient } from "kysely";
import { AwayError, isConnectionError } from "./errors.ts";

/** `isAway` reports that the server has not answered for so long that nobody is to wait for it. */
export function guardedPool(pool: PostgresPool, isAway: () => boolean): PostgresPool {
  const known = new WeakMap<PostgresPoolClient, PostgresPoolClient>();

  function guarded(client: PostgresPoolClient): PostgresPoolClient {
    const before = known.get(client);
    if (before) return before;
    const query = (...of: [string, readonly unknown[]]) => client.query(...of).catch(asAway);
    const made = Object.assign(Object.create(client) as PostgresPoolClient, { query });
    known.set(client, made);
    return made;
  }

  // Kysely makes a connection of its own from the pool's settings, to cancel a query.
  return Object.assign(Object.create(pool) as PostgresPool, {
    async connect() {
      if (isAway()) throw new AwayError();
      return guarded(await pool.connect().catch(asAway));
    },
    end: () => pool.end(),
  });
}

function asAway(error: unknown): never {
  throw isConnectionError(error) ? new AwayError(error) : error;
}
