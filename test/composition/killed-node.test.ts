/**
 * A node that is killed and started anew on its folder: nobody waits for what the one before it had leased and held, for its process is known
 * to have ended, though by its last sign of life it may still live.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Storage } from "../../src/storage/storage.ts";
import { openStorageOnPostgres } from "../../src/storage/storage-on-postgres.ts";
import { type Running, startServer, temporaryFolder } from "../support/command.ts";
import { askRpc, bearer } from "../support/dashboard/session.ts";
import { eventually } from "../support/eventually.ts";
import { openAccount } from "../support/payer.ts";
import { type ScriptedUpstream, startScriptedUpstream } from "../support/scripted-upstream.ts";
import { type PostgresServer, postgresPrograms, query, startPostgres } from "../support/storage/postgres.ts";
import { answerAsOpenAi } from "../support/vendors.ts";
import { streamUntil } from "../support/workers/held-stream.ts";

describe.skipIf(!postgresPrograms)("of two nodes over one Postgres", () => {
  let postgres: PostgresServer;
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let storage: Storage;
  let upstream: ScriptedUpstream;
  let config: string;
  let url: string;
  const servers: Running[] = [];

  beforeEach(async () => {
    [postgres, folder, upstream] = await Promise.all([startPostgres(), temporaryFolder(), startScriptedUpstream()]);
    config = join(folder.path, "gateway.yaml");
    const model = { id: "m", family: "m", kind: "chat", price: { input: "1", output: "2" }, max_output_tokens: 64 };
    const targets = [{ upstream: "far", model: "far" }];
    const upstreams = [{ name: "far", kind: "openai", base_url: upstream.baseUrl, api_key: "k" }];
    await writeFile(config, JSON.stringify({ upstreams, models: [{ ...model, targets }] }));
    url = await postgres.createDatabase();
    storage = await openStorageOnPostgres({
      ...{ url, dataDir: join(folder.path, "test"), poolSize: 2, version: "test", isSynced: false, onError: () => {} },
    });
  });

  afterEach(async () => {
    for (const server of servers.splice(0)) await server.stop();
    await storage.close();
    await upstream.close();
    await postgres.stop();
    await folder.remove();
  });

  async function start(name: string) {
    const started = await startServer(["--config", config], { DATABASE_URL: url, DATA_DIR: join(folder.path, name) });
    servers.push(started.server);
    return started;
  }

  /** What is held: "" for a lease. */
  const held = async () =>
    (await query(url, "SELECT operation FROM holds WHERE expires_at > now_ms() ORDER BY 1")).map(
      (row) => row.operation,
    );

  test("one that is killed and started anew gives back at once what it had leased and held", async () => {
    const payer = await openAccount({ storage }, { admin: true, recharge: 1e12 });
    const [killed, other] = [await start("killed"), await start("other")];
    const ended = Promise.withResolvers<void>();
    upstream.script = streamUntil(ended.promise);
    const streaming = await fetch(`${killed.rootUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", ...bearer(payer.apiKey) },
      body: JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "Hello" }] }),
    });
    expect(streaming.status).toBe(200);
    await eventually(async () => expect(await held()).toEqual(["", "chat"]));
    await killed.server.stop("SIGKILL");
    ended.resolve();
    await expect(streaming.text()).rejects.toThrow();
    const setLimit = async () => {
      const change = { id: payer.keyId, creditLimit: { amount: "1000000" } };
      const { status, json } = await askRpc(other, "KeyService.UpdateKey", change, bearer(payer.apiKey));
      return [status, json.code ?? ""];
    };
    expect(await setLimit()).toEqual([503, "unavailable"]);
    await start("killed");
    expect(await held()).toEqual([]);
    expect(await setLimit()).toEqual([200, ""]);
    expect((await storage.reconcile({ isFull: true })).findings).toEqual([]);
  }, 60_000);

  test("calls that one did not answer may be repeated under their keys once it is started anew, and not before", async () => {
    const payer = await openAccount({ storage }, { recharge: 1e12 });
    const [killed, other] = [await start("killed"), await start("other")];
    const ask = ({ rootUrl }: Pick<typeof killed, "rootUrl">) =>
      fetch(`${rootUrl}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": "once", ...bearer(payer.apiKey) },
        body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }] }),
      });
    const unanswered = ask(killed).catch(() => "broken");
    await upstream.next();
    upstream.script = answerAsOpenAi;
    await killed.server.stop("SIGKILL");
    expect(await unanswered).toBe("broken");
    // Its folder is on another machine, as far as this one knows.
    expect((await ask(other)).status).toBe(409);
    await start("killed");
    await eventually(async () => expect((await ask(other)).status).toBe(200));
    expect((await storage.reconcile({ isFull: true })).findings).toEqual([]);
  }, 80_000);
});
