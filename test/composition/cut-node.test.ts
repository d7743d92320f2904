/**
 * A node that is cut from Postgres while a key is revoked elsewhere, and an account suspended: it lets nobody in by what it knew, neither
 * meanwhile nor afterwards.
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { chatStatus, modelGateway, startServer, temporaryFolder } from "../support/command.ts";
import { postgresPrograms, startPostgres } from "../support/storage/postgres.ts";
import { startProxy } from "../support/upstreams/tcp-proxy.ts";

/** How long a node may go by what it knew, in milliseconds, and what a busy machine takes besides. */
const [withinMs, busyMs] = [1000, 1500];

test.skipIf(!postgresPrograms)(
  "what is revoked or suspended elsewhere while a node is cut off is never good there again",
  async () => {
    const folder = await temporaryFolder();
    const postgres = await startPostgres();
    const url = await postgres.createDatabase();
    const proxy = await startProxy({ serverPort: postgres.port, isPostgres: true });
    const env = { DATABASE_URL: url, DATA_DIR: join(folder.path, "commands") };
    const keyOf = async (account: string) => {
      await modelGateway(["accounts", "create", "--name", account, "--grant", "50"], env);
      const made = await modelGateway(["keys", "create", "--account", account, "--name", "k"], env);
      const [id = ""] = /key_\w+/.exec(made.stdout + made.stderr) ?? [];
      const [key = ""] = /sk-[\w-]+/.exec(made.stdout) ?? [];
      return { id, key };
    };
    const [{ id, key }, other] = [await keyOf("one"), await keyOf("two")];
    const through = url.replace(`:${postgres.port}/`, `:${proxy.port}/`);
    const { server, rootUrl } = await startServer([], { DATABASE_URL: through, DATA_DIR: join(folder.path, "node") });
    const ready = async () => (await fetch(`${rootUrl}/readyz`)).status;
    try {
      const both = () => Promise.all([chatStatus(rootUrl, key), chatStatus(rootUrl, other.key)]);
      expect([...(await both()), await ready()]).toEqual([200, 200, 200]);
      proxy.set("silent");
      const cutAt = performance.now();
      expect((await modelGateway(["keys", "revoke", id], env)).code).toBe(0);
      expect((await modelGateway(["accounts", "suspend", "two"], env)).code).toBe(0);
      await delay(Math.max(0, withinMs + busyMs - (performance.now() - cutAt)));
      for (let n = 0; n < 10; n++) expect([...(await both()), await ready()]).toEqual([503, 503, 503]);
      proxy.set("forward");
      const statuses: number[][] = [];
      for (const back = performance.now(); performance.now() - back < 2 * withinMs; await delay(20))
        statuses.push(await both());
      const told = (n: number) => new Set(statuses.map((pair) => pair[n]).filter((status) => status !== 503));
      expect([told(0), told(1)]).toEqual([new Set([401]), new Set([403])]);
    } finally {
      await server.stop();
      await proxy.close();
      await postgres.stop();
      await folder.remove();
    }
  },
  60_000,
);
