/** Two nodes over one Postgres: what is changed on one is in force on both, and each of their workers, while calls go on. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import { modelGateway, Running, starter, temporaryFolder } from "../support/command.ts";
import { askRpc, bearer } from "../support/dashboard/session.ts";
import { type ScriptedUpstream, startScriptedUpstream } from "../support/scripted-upstream.ts";
import { postgresPrograms, startPostgres } from "../support/storage/postgres.ts";
import { answerWell } from "../support/upstreams/two-upstreams.ts";
import { operatorKey } from "../support/workers/stage.ts";

// Processes and a server take seconds to start, and more on a busy machine.
vi.setConfig({ testTimeout: 240_000 });

const sealKey = "ab".repeat(32);
/** How long another node may take, in milliseconds, and what a busy machine takes besides. */
const [withinMs, busyMs] = [1_000, 4_000];
const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function startNode(url: string, options: readonly string[]): Promise<string> {
  const folder = await temporaryFolder();
  const config = join(folder.path, "gateway.yaml");
  await writeFile(config, `operator_key: ${operatorKey}\n`);
  const env = { PORT: "0", DATA_DIR: folder.path, DATABASE_URL: url, METRICS_PORT: "off" };
  const variables = { ...env, LOG_LEVEL: "error", GATEWAY_CONFIG_KEY: sealKey };
  const node = new Running(process.execPath, [starter, "serve", "--config", config, ...options], variables);
  closing.push(() => node.stop("SIGTERM").then(folder.remove));
  const [, rootUrl = ""] = await node.shows(/serves at (\S+)/);
  return rootUrl;
}

function change(rootUrl: string, base_version: number, upstream: ScriptedUpstream, id: string) {
  const changes = [
    { upstream: { name: "far", kind: "openai", base_url: upstream.baseUrl, api_key: "a-secret-key" } },
    {
      model: {
        id,
        family: "f",
        kind: "chat",
        price: { input: "1", output: "2" },
        targets: [{ upstream: "far", model: "far" }],
      },
    },
  ];
  return askRpc({ rootUrl }, "OperatorService.ChangeConfiguration", { base_version, changes }, bearer(operatorKey));
}

/** Calls the model over connections of their own, which any worker may accept. */
async function statusesOf(rootUrl: string, apiKey: string, model: string): Promise<readonly number[]> {
  const call = async () => {
    const response = await fetch(`${rootUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { ...bearer(apiKey), "content-type": "application/json", connection: "close" },
      body: JSON.stringify({ model, max_tokens: 3, messages: [{ role: "user", content: "Hi" }] }),
    });
    await response.text();
    return response.status;
  };
  return Promise.all(Array.from({ length: 8 }, call));
}

describe.skipIf(!postgresPrograms)("of two nodes over Postgres, one of them with two workers,", () => {
  test("both serve what is changed on either, and the key of its upstream is sealed", async () => {
    const postgres = await startPostgres();
    closing.push(() => postgres.stop());
    const url = await postgres.createDatabase();
    const upstream = await startScriptedUpstream(answerWell);
    closing.push(() => upstream.close());
    const nodes = [await startNode(url, []), await startNode(url, ["--workers", "2"])] as const;
    const env = { DATABASE_URL: url };
    await modelGateway(["accounts", "create", "--name", "a", "--postpaid"], env);
    const apiKey = (await modelGateway(["keys", "create", "--account", "a", "--name", "k"], env)).stdout.trim();
    for (const [version, [here, there]] of [nodes, [nodes[1], nodes[0]] as const].entries()) {
      const model = `model-${version}`;
      expect(await statusesOf(there, apiKey, model)).toEqual(Array(8).fill(404));
      const changed = await change(here, version, upstream, model);
      expect(changed).toMatchObject({ status: 200, json: { configuration: { version: version + 1 } } });
      expect(JSON.stringify(changed.json)).not.toContain("a-secret-key");
      const changedAt = performance.now();
      expect(await statusesOf(here, apiKey, model), "here it is in force when it is answered").toEqual(
        Array(8).fill(200),
      );
      let statuses = await statusesOf(there, apiKey, model);
      while (statuses.some((status) => status !== 200) && performance.now() - changedAt < withinMs + busyMs) {
        await delay(50);
        statuses = await statusesOf(there, apiKey, model);
      }
      expect(statuses).toEqual(Array(8).fill(200));
    }
    expect(new Set(upstream.received.map(({ headers }) => headers.authorization))).toEqual(
      new Set(["Bearer a-secret-key"]),
    );
  });
});
