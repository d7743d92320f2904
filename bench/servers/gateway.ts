/**
 * The gateway as operators run it: its own command, durable, with its log, in front of priced models that a prepaid
 * account pays for. Only its tier's rate limit is too high for a bench to reach.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newId } from "../../src/runtime/ids.ts";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import { openStorage, type Storage } from "../../src/storage/storage.ts";
import { openStorageOnPostgres } from "../../src/storage/storage-on-postgres.ts";
import { freePort } from "../free-port.ts";
import { models, pacings } from "../payloads.ts";
import { type Program, start, targetCore } from "../processes.ts";

const main = join(import.meta.dirname, "../../bin/model-gateway.js");

/** UpstreamPorts are the ports of the upstreams: for whole answers, and of the stub. */
export interface UpstreamPorts {
  readonly whole: number;
  readonly stub: number;
}

export interface GatewayInit {
  /** folder is its own: data, configuration and log. */
  readonly folder: string;
  readonly port: number;
  readonly upstreams: UpstreamPorts;
  /** free gives the models the price 0. */
  readonly free?: boolean;
  /** memory is the setting of that name. */
  readonly memory?: "small" | "large" | undefined;
  /** moreModels is the number of further models, which nobody calls. */
  readonly moreModels?: number;
  /** nodeOptions are options of Node, such as for a profile. */
  readonly nodeOptions?: readonly string[];
  /** env are further environment variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** args are further arguments of `serve`. */
  readonly args?: readonly string[];
  /** metricsPort is where its metrics are read; any port where it is omitted. */
  readonly metricsPort?: number;
}

/** credit is in millionths of the unit: more than all calls of a run cost, and still counted exactly. */
const credit = 1_000_000_000_000_000;

/** startGateway starts a gateway on the data in its folder. */
export async function startGateway(init: GatewayInit): Promise<Program> {
  const { folder, port, nodeOptions = [], args = [] } = init;
  mkdirSync(folder, { recursive: true });
  const config = join(folder, "gateway.yaml");
  writeFileSync(config, configuration(init));
  const command = [process.execPath, ...nodeOptions, main, "serve", "--config", config, ...args] as const;
  // Two gateways cannot share the port for metrics.
  const env = { METRICS_PORT: String(init.metricsPort ?? (await freePort())), ...init.env };
  // A gateway listens for a moment to see whether the port is free, long before it serves there.
  const isReady = () => isLive(port);
  return start({ command, core: targetCore, port, isReady, log: join(folder, "gateway.log"), env });
}

/** isLive returns whether a gateway answers at a port. */
function isLive(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** makeKey creates an account with credit and a key, in the folder's database or in that of Postgres, and returns the key. */
export async function makeKey(folder: string, databaseUrl?: string): Promise<string> {
  const dataDir = join(folder, "data");
  mkdirSync(dataDir, { recursive: true });
  const storage = databaseUrl ? await openAt(databaseUrl, dataDir) : await openStorage(join(dataDir, "gateway.db"));
  const now = Date.now();
  const accountId = newId("acc", now);
  await storage.accounts.insert({ id: accountId, name: "bench", created_at: now });
  await storage.entries.record({ id: newId("led", now), accountId, kind: 1, amount: credit, note: null, now });
  const { secret } = await issueKey(storage.keys, { accountId, name: "bench", admin: false, now });
  await storage.close();
  return secret;
}

function openAt(url: string, dataDir: string): Promise<Storage> {
  const onError = (error: unknown) => console.error(error);
  return openStorageOnPostgres({ url, dataDir, poolSize: 2, version: "bench", isSynced: false, onError });
}

/** knowsWorkers returns whether this version of the gateway can serve by several processes. */
export function knowsWorkers(): boolean {
  const help = execFileSync(process.execPath, [main, "serve", "--help"], { encoding: "utf8" });
  return help.includes("--workers");
}

function configuration({ folder, port, upstreams, free = false, memory, moreModels = 0 }: GatewayInit): string {
  const price = free ? { input: "0", output: "0" } : { input: "1.10", output: "4.40" };
  const model = (id: string, kind: string, upstream: keyof UpstreamPorts) => ({
    ...{ id, family: "bench", kind, price: kind === "embedding" ? { input: price.input } : price },
    targets: [{ upstream, model: id }],
  });
  const ofStub = [models.long, models.late, models.flat, models.brief, ...pacings.map(models.paced)];
  const served = [
    model(models.chat, "chat", "whole"),
    model(models.embeddings, "embedding", "whole"),
    ...ofStub.map((id) => model(id, "chat", "stub")),
    ...Array.from({ length: moreModels }, (_, i) => model(`more-${i}`, "chat", "whole")),
  ];
  const at = (name: keyof UpstreamPorts) => ({
    ...{ name, kind: "openai", api_key: "k" },
    base_url: `http://127.0.0.1:${upstreams[name]}/v1`,
  });
  // JSON is valid YAML.
  return JSON.stringify({
    ...{ port, data_dir: join(folder, "data"), upstreams: [at("whole"), at("stub")], models: served },
    ...(memory ? { memory } : {}),
    tiers: [{ name: "Bench", recharge: "0", requests_per_minute: 4_000_000_000 }],
  });
}
