/** How a node comes to the server: what keeps it from that is one line, and a pooler or a lost notification changes nothing but time. */
import { execFileSync } from "node:child_process";
import { chownSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../../../bench/free-port.ts";
import { openingError } from "../../../../src/storage/engines/postgres/errors.ts";
import { migrate } from "../../../../src/storage/engines/postgres/migrate.ts";
import { startWatcher, type Watcher } from "../../../../src/storage/engines/postgres/watcher.ts";
import { timed } from "../../../support/run/running-time.ts";
import { begun, callOf, ended, hold, holdOf, leaseOfAccount, recordsOf } from "../../../support/storage/books-stage.ts";
import { hasPooler, startPooler } from "../../../support/storage/pooler.ts";
import {
  kyselyOf,
  type PostgresServer,
  postgresPrograms,
  query,
  serverAt,
  startPostgres,
} from "../../../support/storage/postgres.ts";
import { openPostgresStage } from "../../../support/storage/postgres-stage.ts";

describe.skipIf(!postgresPrograms)("a server of Postgres", () => {
  let postgres: PostgresServer;

  beforeAll(async () => {
    postgres = await startPostgres();
  });

  afterAll(() => postgres.stop());

  /** Returns the line that is told of a database that cannot be opened. */
  async function refusal(url: string): Promise<string> {
    const server = serverAt(url);
    try {
      await migrate(kyselyOf(server), server.name);
      return "it was opened";
    } catch (error) {
      return openingError(server.name, error).message;
    } finally {
      await server.pool.end();
    }
  }

  describe("is refused in one line", () => {
    const at = (database: string, user = "postgres") => `postgres://${user}@127.0.0.1:${postgres.port}/${database}`;

    test("where nobody listens", async () => {
      expect(await refusal(`postgres://127.0.0.1:${await freePort()}/gateway`)).toMatch(
        /^the database 127\.0\.0\.1:\d+\/gateway cannot be opened: nobody listens there/,
      );
    });

    test("where its host is not known", async () => {
      expect(await refusal("postgres://no-such-host.invalid/gateway")).toMatch(/its host is not known/);
    });

    test("where it has no such database, or no such user", async () => {
      expect(await refusal(at("none"))).toMatch(/there is no such database\. Create it/);
      expect(await refusal(at("postgres", "nobody"))).toMatch(/it refuses the user or the password/);
    });

    test("where it offers no TLS and TLS is asked for", async () => {
      expect(await refusal(`${at("postgres")}?sslmode=require`)).toMatch(/it offers no TLS/);
    });

    test("where the user may not make tables", async () => {
      const url = await postgres.createDatabase();
      await query(url, "CREATE ROLE reader LOGIN");
      expect(await refusal(url.replace("postgres@", "reader@"))).toMatch(/the user lacks a right\. GRANT CREATE/);
    });

    test("where its server is older than 15, or its text is not UTF-8", async () => {
      for (const [name, value, line] of [
        ["server_version_num", "140011", /its server is Postgres 14\. Bring it to 15 or newer/],
        ["server_encoding", "LATIN1", /its encoding is LATIN1/],
      ] as const) {
        const url = await postgres.createDatabase();
        const database = new URL(url).pathname.slice(1);
        // A function of this name hides the server's own, as far as the path of the database has it first.
        await query(
          url,
          `CREATE FUNCTION public.current_setting(text) RETURNS text LANGUAGE sql AS
          $$ SELECT CASE WHEN $1 = '${name}' THEN '${value}' ELSE pg_catalog.current_setting($1) END $$`,
        );
        await query(url, `ALTER DATABASE ${database} SET search_path = public, pg_catalog`);
        expect(await refusal(url)).toMatch(line);
      }
    });
  });

  test("is asked for TLS, and its name is proved by the authority that is named", async () => {
    const openssl = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"];
    const [key, cert] = [join(postgres.data, "server.key"), join(postgres.data, "server.crt")];
    execFileSync("openssl", [...openssl, "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", cert], {
      stdio: "ignore",
    });
    const { uid, gid } = statSync(postgres.data);
    for (const path of [key, cert]) chownSync(path, uid, gid);
    const url = await postgres.createDatabase();
    await query(url, "ALTER SYSTEM SET ssl = on");
    await query(url, "SELECT pg_reload_conf()");
    const named = url.replace("127.0.0.1", "localhost");
    await expect.poll(() => refusal(`${named}?sslmode=require`)).toBe("it was opened");
    expect(await refusal(`${named}?sslmode=verify-full`)).toMatch(
      /no known authority has signed its certificate\. Name .* sslrootcert/,
    );
    expect(await refusal(`${named}?sslmode=verify-full&sslrootcert=${cert}`)).toBe("it was opened");
    expect(await refusal(`${url}?sslmode=verify-full&sslrootcert=${cert}`)).toMatch(
      /its certificate is of another name/,
    );
    expect(await refusal(`${url}?sslmode=verify-ca&sslrootcert=${cert}`)).toBe("it was opened");
  });

  describe("tells of changes", () => {
    async function twoNodes(url = "") {
      const address = url === "" ? await postgres.createDatabase() : url;
      const stage = await openPostgresStage(serverAt(address));
      await stage.addAccount("acc_1", { balance: 100 });
      await stage.addKey("key_1", "acc_1");
      const watcher = await startWatcher({ connect: () => stage.server.connect(), onError: () => {} });
      return { stage, watcher };
    }

    /** Returns how many milliseconds of this process it took until another version was seen. */
    async function seen(watcher: Watcher, change: () => Promise<unknown>): Promise<number> {
      const before = watcher.version();
      await change();
      const [, { runningMs }] = await timed(() =>
        expect.poll(() => watcher.version(), { interval: 5 }).not.toBe(before),
      );
      return runningMs;
    }

    test("of a key, within a second, and much sooner by a notification", async () => {
      const { stage, watcher } = await twoNodes();
      const times: number[] = [];
      for (let i = 0; i < 5; i++) times.push(await seen(watcher, () => stage.setLimit("key_1", 1000 + i)));
      expect(Math.max(...times)).toBeLessThan(1000);
      expect(Math.min(...times)).toBeLessThan(100);
      watcher.close();
      await stage.close();
    });

    test("and not of what calls move, nor of a change that was undone", async () => {
      const { stage, watcher } = await twoNodes();
      const books = await stage.open("nod_a");
      const before = watcher.version();
      await hold(books, holdOf("req_1", 10));
      books.touch("key_1", Date.now());
      const other = await stage.server.connect();
      await other.query("BEGIN");
      await other.query("UPDATE api_keys SET revoked_at = 1");
      await other.query("ROLLBACK");
      other.close();
      await delay(1500);
      expect((await stage.query("SELECT last_used_at FROM api_keys"))[0]?.last_used_at).toBeGreaterThan(1);
      expect(watcher.version()).toBe(before);
      watcher.close();
      await stage.close();
    });

    test("in the order in which they are read: who sees the number sees the change", async () => {
      const { stage, watcher } = await twoNodes();
      for (let i = 0; i < 20; i++) {
        await seen(watcher, () => stage.query("UPDATE api_keys SET credit_limit = $1", i));
        expect(await stage.query("SELECT credit_limit FROM api_keys")).toEqual([{ credit_limit: i }]);
      }
      watcher.close();
      await stage.close();
    });

    test.skipIf(!hasPooler)(
      "behind PgBouncer in transaction mode, by asking alone; and money is the same there",
      async () => {
        const pooler = await startPooler(postgres.port);
        const direct = await postgres.createDatabase();
        const { stage, watcher } = await twoNodes(direct.replace(`:${postgres.port}/`, `:${pooler.port}/`));
        const times: number[] = [];
        for (let i = 0; i < 5; i++) times.push(await seen(watcher, () => stage.setLimit("key_1", 1000 + i)));
        expect(Math.max(...times)).toBeLessThan(1000);
        await stage.query("UPDATE accounts SET balance = 1000000000");
        await stage.query("UPDATE ledger_entries SET amount = 1000000000");
        await stage.query("UPDATE api_keys SET credit_limit = NULL");
        const three = await Promise.all(["nod_a", "nod_b", "nod_c"].map((node) => stage.open(node)));
        await Promise.all(
          three.map(async (books, n) => {
            const taken = { ...leaseOfAccount(""), leaseId: `lease_${n}` };
            await hold(books, holdOf(`req_${n}`, 100, { lease: { id: taken.leaseId, isOfKey: false } }));
            const write = recordsOf(books);
            for (let i = 0; i < 30; i++) {
              const id = `req_${n}_${i}`;
              const [, exact] = await Promise.all([
                write(begun(id, 100, taken), ended(callOf(id, 3), taken)),
                hold(books, holdOf(`${id}_x`, 10)),
              ]);
              expect(exact).toEqual([10]);
            }
          }),
        );
        expect((await stage.query("SELECT count(*) FROM requests"))[0]?.count).toBe(90);
        expect(await stage.faults()).toEqual([]);
        watcher.close();
        await stage.close();
        await pooler.stop();
      },
    );
  });
});
