/**
 * What the crash test plays on: an upstream, a database with an account that pays beforehand, a key with a limit and many without, and
 * the real command, as often as it is started.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { newId } from "../../src/runtime/ids.ts";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import type { Engine } from "../../src/storage/engines/engine.ts";
import { openDatabase } from "../../src/storage/engines/sqlite/database.ts";
import { storedBudgets } from "../../src/storage/money/budgets.ts";
import { openStorage, type Storage } from "../../src/storage/storage.ts";
import { Running, starter, temporaryFolder, type Variables } from "../support/command.ts";
import { type CountingUpstream, models, mostOutput, price, startCountingUpstream } from "./upstream.ts";

export interface Stage {
  readonly upstream: CountingUpstream;
  /** The path of its configuration. */
  readonly config: string;
  /** One with a limit, some with budgets, and many with neither. */
  readonly apiKeys: readonly string[];
  /** The database, seen from another process than the gateway's. */
  readonly storage: Storage;
  readonly engine: Engine;
  /** Starts the gateway, with these accelerators, options and variables. */
  start(
    accelerators?: string,
    options?: readonly string[],
    variables?: Variables,
  ): Promise<{ gateway: Running; rootUrl: string }>;
  close(): Promise<void>;
}

/** In millionths of the unit: the highest tier, and more than all the calls of a run cost. */
const recharge = 100_000_000_000;
const creditLimit = 50_000_000_000;
/** More than a key spends in a day; of two windows. */
const budgets = storedBudgets([
  { id: "bud_1", amount: creditLimit, period: "day", rolling: true },
  { id: "bud_2", amount: creditLimit, period: "month", rolling: false },
]);
const budgetedKeys = 8;
/** So many that their sums are merged later. */
const unlimitedKeys = 40;

/** `isBudgeted` gives the account budgets, too: then no call of any key takes its hold from a lease. */
export async function setStage(isBudgeted = false): Promise<Stage> {
  const folder = await temporaryFolder();
  const upstream = await startCountingUpstream();
  const config = join(folder.path, "gateway.yaml");
  await writeFile(config, configuration(upstream.baseUrl));
  const path = join(folder.path, "gateway.db");
  const storage = await openStorage(path);
  const { db, engine } = await openDatabase(path);
  const now = Date.now();
  const accountId = newId("acc", now);
  await storage.accounts.insert({ id: accountId, name: "crash", created_at: now });
  await storage.entries.record({ id: newId("led", now), accountId, kind: 1, amount: recharge, note: null, now });
  if (isBudgeted) await storage.accounts.update(accountId, { budgets, time_zone: "Asia/Kathmandu" }, now);
  const issue = async (bounds: { creditLimit?: number; budgets?: string | null } = {}) =>
    (await issueKey(storage.keys, { accountId, name: "crash", admin: false, now, ...bounds })).secret;
  const apiKeys = [await issue({ creditLimit })];
  while (apiKeys.length <= budgetedKeys) apiKeys.push(await issue({ budgets }));
  while (apiKeys.length <= budgetedKeys + unlimitedKeys) apiKeys.push(await issue());
  return {
    upstream,
    config,
    apiKeys,
    storage,
    engine,
    async start(accelerators, options = [], variables = {}) {
      const chosen = accelerators === undefined ? {} : { ACCELERATORS: accelerators };
      const env = { PORT: "0", DATA_DIR: folder.path, LOG_LEVEL: "error", ...chosen, ...variables };
      // With the Node that the project pins `starter` is the gateway itself, and a signal reaches it.
      const gateway = new Running(process.execPath, [starter, "serve", "--config", config, ...options], env);
      const [, rootUrl = ""] = await gateway.shows(/serves at (\S+)/);
      return { gateway, rootUrl };
    },
    async close() {
      await storage.close();
      await db.destroy();
      await upstream.close();
      await folder.remove();
    },
  };
}

function configuration(baseUrl: string): string {
  const kinds = { "over-chat": "openai", "over-messages": "anthropic" } as const;
  const upstreams = models.map((name) => ({ name, kind: kinds[name], base_url: baseUrl, api_key: "k" }));
  const targets = models.map((id) => ({ upstream: id, model: id }));
  const served = models.map((id, i) => {
    return { id, family: "crash", kind: "chat", price, max_output_tokens: mostOutput, targets: [targets[i]] };
  });
  // JSON is YAML.
  return `upstreams: ${JSON.stringify(upstreams)}\nmodels: ${JSON.stringify(served)}\n`;
}
