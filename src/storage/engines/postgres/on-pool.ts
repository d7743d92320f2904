/** Runs work on a connection that is shared, and gives it back. */
import type { Row, Server, Session } from "./session.ts";

export async function onPool<T>(
  { pool }: Pick<Server, "pool">,
  work: (session: Pick<Session, "query">) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  try {
    return await work({ query: async (sql, values = []) => (await client.query<Row>(sql, [...values])).rows });
  } finally {
    client.release();
  }
}
