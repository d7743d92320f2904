/** Has a silence hear of all answers of a server, on whatever connection, errors that it tells included. */
import type { PostgresPoolClient } from "kysely";
import type { Silence } from "../../../runtime/ipc/silence.ts";
import { isConnectionError } from "./errors.ts";
import type { Server, Session } from "./session.ts";

export function heardServer(server: Server, { heard }: Pick<Silence, "heard">): Server {
  async function told<T>(answer: Promise<T>): Promise<T> {
    try {
      const value = await answer;
      heard();
      return value;
    } catch (error) {
      if (!isConnectionError(error)) heard();
      throw error;
    }
  }
  const known = new WeakMap<PostgresPoolClient, PostgresPoolClient>();
  function heardClient(client: PostgresPoolClient): PostgresPoolClient {
    const before = known.get(client);
    if (before) return before;
    const query = (sql: string, values: unknown[]) => told(client.query(sql, values));
    const release = (...of: []) => client.release(...of);
    const made = Object.assign(Object.create(client) as PostgresPoolClient, { query, release });
    known.set(client, made);
    return made;
  }
  const { pool } = server;
  return {
    ...server,
    pool: Object.assign(Object.create(pool) as Server["pool"], {
      connect: async () => heardClient(await pool.connect()),
      end: () => pool.end(),
    }),
    async connect(): Promise<Session> {
      const session = await told(server.connect());
      return { ...session, query: (sql, values) => told(session.query(sql, values)) };
    },
  };
}
