/** Books on Postgres for tests. */

import { openPostgresBooks } from "../../../src/storage/engines/postgres/books/books.ts";
import { databaseId, type Spool } from "../../../src/storage/engines/postgres/books/spool.ts";
import { migrate } from "../../../src/storage/engines/postgres/migrate.ts";
import type { Row, Server } from "../../../src/storage/engines/postgres/session.ts";
import { startWatcher } from "../../../src/storage/engines/postgres/watcher.ts";
import type { Books, BooksOptions } from "../../../src/storage/money/books.ts";
import type { BooksStage } from "./books-stage.ts";
import { kyselyOf } from "./postgres.ts";

export interface PostgresStage extends BooksStage {
  readonly server: Server;
  open(node: string, recall?: BooksOptions["recall"], holding?: BooksOptions["holding"]): Promise<Books>;
  query(sql: string, ...values: readonly unknown[]): Promise<readonly Row[]>;
  /** Errors that no caller waited for. */
  readonly errors: unknown[];
}

/** Returns the query of a proof, whose two sides are compared. */
const proof = (what: string, written: string, derived: string) => `
  SELECT '${what} of ' || coalesce(w.id, d.id) || ': ' || coalesce(w.amount, 0) || ' is written, ' || coalesce(d.amount, 0) || ' follows' AS fault
  FROM (${written}) w FULL JOIN (${derived}) d ON d.id = w.id WHERE coalesce(w.amount, 0) <> coalesce(d.amount, 0)`;

const proofs = [
  proof(
    "balance",
    "SELECT id, balance AS amount FROM accounts_now",
    `SELECT account_id AS id, sum(amount) AS amount FROM (SELECT account_id, amount FROM ledger_entries
      UNION ALL SELECT account_id, -cost FROM requests) m GROUP BY 1`,
  ),
  proof(
    "holds",
    "SELECT id, held AS amount FROM accounts_now",
    "SELECT account_id AS id, sum(amount) AS amount FROM holds GROUP BY 1",
  ),
  proof(
    "holds",
    "SELECT id, held AS amount FROM api_keys_now",
    "SELECT key_id AS id, sum(amount) AS amount FROM holds WHERE key_id <> '' GROUP BY 1",
  ),
  proof(
    "spend",
    "SELECT id, spent AS amount FROM api_keys_now",
    "SELECT key_id AS id, sum(cost) AS amount FROM requests GROUP BY 1",
  ),
  proof(
    "hours",
    "SELECT account_id || ' ' || key_id AS id, sum(cost + output) AS amount FROM usage_hours_now GROUP BY 1",
    "SELECT account_id || ' ' || key_id AS id, sum(cost + output) AS amount FROM requests GROUP BY 1",
  ),
  `SELECT 'overdrawn: ' || id AS fault FROM accounts_now WHERE postpaid = 0 AND balance - held < 0`,
  `SELECT 'beyond its limit: ' || id AS fault FROM api_keys_now WHERE spent + held > credit_limit`,
];

export function noSpool(): Spool {
  const fail = () => {
    throw new Error("nothing is spooled here");
  };
  return { append: fail, hasAny: () => false, clear: () => {} };
}

/** Opens a database with one account and one key, unless it is another node's view of one that is there. */
export async function openPostgresStage(
  server: Server,
  spool: (node: string, database: string) => Spool = noSpool,
): Promise<PostgresStage> {
  await migrate(kyselyOf(server), server.name);
  const session = await server.connect();
  const query = (sql: string, ...values: readonly unknown[]) => session.query(sql, values);
  const database = await databaseId(session);
  const errors: unknown[] = [];
  const closing: (() => Promise<void> | void)[] = [];
  let passed = 0;
  const one = async (sql: string, id: string) => (await query(sql, id))[0];
  return {
    server,
    query,
    errors,
    async open(node, recall = () => ({ records: [], leases: [] }), holding) {
      const onError = (error: unknown) => void errors.push(error);
      const watcher = await startWatcher({ connect: () => server.connect(), onError });
      const books: Books = openPostgresBooks({
        ...{ server, watcher, spool: spool(node, database), node, recall, onError, holding },
        clock: Date.now,
        version: "test",
      });
      await books.renew();
      closing.push(async () => {
        await books.close();
        watcher.close();
      });
      return books;
    },
    async addAccount(id, { balance, isPostpaid = false }) {
      await query(
        "INSERT INTO accounts (id, name, created_at, balance, recharged, postpaid) VALUES ($1, $1, 1, $2, $2, $3)",
        id,
        balance,
        isPostpaid ? 1 : 0,
      );
      await query(
        "INSERT INTO ledger_entries (id, account_id, kind, amount, created_at) VALUES ('led_' || $1, $1, 1, $2, 1)",
        id,
        balance,
      );
    },
    async addKey(id, accountId, limit) {
      await query(
        `INSERT INTO api_keys (id, account_id, name, secret_hash, secret_mask, created_at, credit_limit)
         VALUES ($1, $2, 'k', 'hash of ' || $1, 'm', 1, $3)`,
        id,
        accountId,
        limit ?? null,
      );
    },
    revoke: async (id) => void (await query("UPDATE api_keys SET revoked_at = 2 WHERE id = $1", id)),
    setLimit: async (id, limit) => void (await query("UPDATE api_keys SET credit_limit = $2 WHERE id = $1", id, limit)),
    account: async (id) => (await one("SELECT balance, held FROM accounts_now WHERE id = $1", id)) as never,
    key: async (id) => (await one("SELECT spent, held FROM api_keys_now WHERE id = $1", id)) as never,
    call: (id) => one("SELECT * FROM requests WHERE id = $1", id),
    holds: async () => (await query("SELECT request_id AS id, amount FROM holds ORDER BY request_id")) as never,
    aside: async () => (await query("SELECT body FROM set_aside ORDER BY seq")).map(({ body }) => String(body)),
    async faults() {
      const found: string[] = [];
      for (const sql of proofs) found.push(...(await query(sql)).map(({ fault }) => String(fault)));
      return found;
    },
    async pass(ms) {
      passed += ms;
      await query(
        `CREATE OR REPLACE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
         $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint + ${passed} $$`,
      );
    },
    async close() {
      for (const end of closing) await end();
      session.close();
      await server.pool.end();
    },
  };
}
