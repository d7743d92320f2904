/**
 * All data move to Postgres and back: killed ten times on the way they are all there, each row once, and the keys and sessions of before
 * work where they came to.
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Server, Session } from "../../../src/storage/engines/postgres/session.ts";
import { modelGateway, Running, starter, startServer, temporaryFolder } from "../../support/command.ts";
import { askRpc, bearer } from "../../support/dashboard/session.ts";
import { rowsAt, rowsInFile } from "../../support/storage/moved-rows.ts";
import { fillFolder, type MovingData } from "../../support/storage/moving-data.ts";
import {
  type PostgresServer,
  postgresPrograms,
  query,
  serverAt,
  startPostgres,
} from "../../support/storage/postgres.ts";

/** Many more than are moved at once (4,000): each of ten kills finds some on their way. */
const calls = 80_000;

describe.skipIf(!postgresPrograms)("between SQLite and a server of Postgres", () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let postgres: PostgresServer;
  let data: MovingData;
  let url: string;
  let server: Server;
  let watching: Session | undefined;
  const path = (name: string) => join(folder.path, name, "gateway.db");
  const ofFile = (name: string) => ({ DATA_DIR: join(folder.path, name) });
  const migrate = (target: string, env: Record<string, string>) =>
    modelGateway(["migrate-to", "--accept-findings", target], env);

  beforeAll(async () => {
    folder = await temporaryFolder();
    postgres = await startPostgres();
    url = await postgres.createDatabase();
    server = serverAt(url);
    data = await fillFolder(folder.path, calls);
  });

  afterAll(async () => {
    watching?.close();
    await server.pool.end();
    await postgres.stop();
    await folder.remove();
  });

  /** Returns how many rows have come, of all tables: over a connection that is kept, for a part of them takes some milliseconds. */
  async function arrived(): Promise<number> {
    try {
      watching ??= await server.connect();
      const [row] = await watching.query("SELECT coalesce(sum(rows), 0) AS rows FROM moved_tables");
      return Number(row?.rows);
    } catch {
      if (watching?.isOpen() !== true) watching = undefined;
      return 0;
    }
  }

  /** Reports of both ends whether anybody may work on them. */
  async function areOpen(): Promise<boolean[]> {
    const sqlite = new Sqlite(join(folder.path, "gateway.db"), { readonly: true });
    const hasMoves = sqlite.prepare("SELECT 1 FROM sqlite_master WHERE name = 'moves'").get() !== undefined;
    const left = hasMoves ? sqlite.prepare("SELECT state FROM moves").pluck().get() : undefined;
    sqlite.close();
    const [came] = await query(url, "SELECT state FROM moves").catch(() => []);
    const [filled] = await query(url, "SELECT 1 AS one FROM accounts LIMIT 1").catch(() => []);
    return [left === undefined, came?.state === "arrived" || (came === undefined && filled !== undefined)];
  }

  /** Starts to move, and kills that at a moment: after a time, or when more rows have come than before. */
  async function kill(n: number): Promise<void> {
    const before = await arrived();
    const moving = new Running(process.execPath, [starter, "migrate-to", "--accept-findings", url], {
      DATA_DIR: folder.path,
    });
    const until = performance.now() + ([450, 650, 850][n] ?? 60_000);
    while (moving.isAlive() && performance.now() < until && (await arrived()) === before) await delay(1);
    const { signal, stderr } = await moving.stop("SIGKILL");
    expect([n, signal, stderr]).toEqual([n, "SIGKILL", ""]);
    expect((await areOpen()).filter(Boolean).length).toBeLessThan(2);
  }

  /** Ends the server amid a move, as a crash would, and starts it again. */
  async function crashServer(): Promise<void> {
    const before = await arrived();
    const moving = new Running(process.execPath, [starter, "migrate-to", "--accept-findings", url], {
      DATA_DIR: folder.path,
    });
    while (moving.isAlive() && (await arrived()) === before) await delay(2);
    await postgres.crash();
    const { code, stderr } = await moving.ended;
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^model-gateway: the database 127\.0\.0\.1:\d+\/test_1: .*\n$/),
    ]);
    await postgres.start();
  }

  test("it is killed ten times, and its server once, and each row is there once", async () => {
    for (let n = 0; n < 10; n++) {
      if (n === 6) await crashServer();
      await kill(n);
    }
    expect(await arrived()).toBeGreaterThan(0);
    expect(await arrived()).toBeLessThan(calls);
    const { code, stdout, stderr } = await migrate(url, { DATA_DIR: folder.path });
    expect([code, stderr]).toEqual([0, expect.stringContaining("Moved all data of")]);
    expect(stdout).toMatch(/^requests +800\d\d /m);
    expect(await areOpen()).toEqual([false, true]);
    const [there, here] = [await rowsAt(url), rowsInFile(join(folder.path, "gateway.db"))];
    expect(Object.fromEntries(Object.entries(there).map(([name, { length }]) => [name, length > 0]))).toEqual({
      ...Object.fromEntries(Object.keys(there).map((name) => [name, true])),
      // What processes held that are gone is settled before.
      holds: false,
    });
    expect(there).toEqual(here);
    expect(there.requests?.filter((row) => row.includes("req_running"))).toHaveLength(1);
    expect(await migrate(url, { DATA_DIR: folder.path })).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("were moved there before"),
    });
  });

  test("back again all of it is as it was, and what was left is shut", async () => {
    const moved = await rowsAt(url);
    const { code, stderr } = await migrate(path("back"), { DATABASE_URL: url });
    expect([code, stderr]).toEqual([0, expect.stringContaining("Moved all data of")]);
    expect(rowsInFile(path("back"))).toEqual(moved);
    for (const [env, words] of [
      [{ DATABASE_URL: url }, `were moved to ${path("back")} at 20`],
      [{ DATA_DIR: folder.path }, "were moved to 127.0.0.1:"],
    ] as const) {
      for (const command of [["serve"], ["accounts", "create", "--name", "late"]]) {
        const refused = await modelGateway(command, { PORT: "0", ...env });
        expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(words)]);
        expect(refused.stderr.trim().split("\n")).toHaveLength(1);
      }
    }
    // Also by a hand, and by a gateway that began before.
    await expect(query(url, "UPDATE accounts SET balance = balance + 1")).rejects.toMatchObject({ code: "25006" });
    expect(await rowsAt(url)).toEqual(moved);
  });

  test("a gateway over the file answers with the old key and the old session, and one over Postgres after it", async () => {
    const before = rowsInFile(path("back")).requests?.length ?? 0;
    const balance = await balanceOf(await serve(ofFile("back")));
    expect(balance).toBeGreaterThan(0);
    const again = await postgres.createDatabase();
    expect((await migrate(again, ofFile("back"))).code).toBe(0);
    expect(await balanceOf(await serve({ DATABASE_URL: again, DATA_DIR: join(folder.path, "node") }))).toBe(balance);
    expect((await rowsAt(again)).requests).toHaveLength(before + 2);
    const proof = await modelGateway(["reconcile", "--full", "--json"], { DATABASE_URL: again });
    const { findings } = JSON.parse(proof.stdout) as { findings: { kind: string }[] };
    expect(new Set(findings.map(({ kind }) => kind))).toEqual(new Set(["set_aside"]));
  });

  async function serve(env: Record<string, string>) {
    const { server: serving, rootUrl } = await startServer([], env);
    const chat = await fetch(`${rootUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", ...bearer(data.apiKey) },
      body: JSON.stringify({ model: "embedded-chat", max_tokens: 3, messages: [{ role: "user", content: "Hi" }] }),
    });
    expect([chat.status, await chat.text()]).toEqual([200, expect.stringContaining("chat.completion")]);
    return { server: serving, rootUrl };
  }

  async function balanceOf({ server: serving, rootUrl }: Awaited<ReturnType<typeof serve>>): Promise<number> {
    const account = await askRpc({ rootUrl }, "AccountService.GetAccount", {}, data.session);
    expect(account.status).toBe(200);
    expect((await serving.stop()).code).toBe(0);
    return Number((account.json.account as { balance: string }).balance);
  }
});
