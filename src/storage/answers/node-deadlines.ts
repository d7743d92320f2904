/**
 * Deadlines of what processes have under way, in a table whose rows name the process. A row whose deadline has passed is nobody's, unless its
 * process may live (`../processes.ts`). So a process that lives ends each of its rows, later where it cannot at once.
 */
import { type RawBuilder, sql } from "kysely";
import type { Database } from "../engines/scope.ts";

export interface NodeDeadlines {
  /** running returns the nodes that have rows whose deadlines have not passed. `now` is in milliseconds since 1970. */
  running(now: number): Promise<string[]>;
  /** endOf says that the processes of these nodes have ended: their deadlines that have not passed become `knownEnd`. */
  endOf(nodes: readonly string[], now: number): Promise<void>;
}

/** knownEnd is the deadline of a process that is known to have ended, whatever the clock says. */
export const knownEnd = 0;

/** nodeDeadlines takes the column of the deadline, and the condition of a row that is under way. */
export function nodeDeadlines(
  db: Database,
  tableName: "replays" | "background_responses",
  column: "expires_at" | "alive_until",
  isUnderWay: RawBuilder<boolean>,
): NodeDeadlines {
  const [table, deadline] = [sql.table(tableName), sql.ref(column)];
  return {
    async running(now) {
      const query = sql<{
        node: string;
      }>`SELECT DISTINCT node FROM ${table} WHERE ${isUnderWay} AND ${deadline} > ${now}`;
      return (await query.execute(db)).rows.map(({ node }) => node);
    },
    async endOf(nodes, now) {
      await sql`
        UPDATE ${table} SET ${deadline} = ${knownEnd}
        WHERE node IN (${sql.join(nodes)}) AND ${isUnderWay} AND ${deadline} > ${now}`.execute(db);
    },
  };
}
