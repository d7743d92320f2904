/** Describes what the engine needs of a connection to Postgres, whichever library makes it. */
import type { PostgresPool } from "kysely";

export type Row = Readonly<Record<string, unknown>>;

/** Session is one connection. A query is sent when the one before has been answered: its caller sees to that. */
export interface Session {
  query(sql: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  /** Hears of notifications; undefined where the connection cannot, as behind a pooler. */
  readonly listen: ((onNotice: (text: string) => void) => Promise<void>) | undefined;
  /** Reports whether the connection still stands. */
  readonly isOpen: () => boolean;
  close(): void;
}

/** Server is a database on a server. */
export interface Server {
  /** `host:port/database`, for messages. */
  readonly name: string;
  /** Opens a connection of one's own. Rejects with the library's error. */
  connect(): Promise<Session>;
  /** Connections that are shared: for management, and for upkeep. */
  readonly pool: PostgresPool;
}
