/**
 * The gateway as an operator runs it: its own command in a process of its own, on a free port, with a database on the disk
 * and priced models at two upstreams. `calm` is the canary's; `wild` behaves as the attack needs it.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileSchema } from "../../src/config/schema.ts";
import { newId } from "../../src/runtime/ids.ts";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import { openStorage } from "../../src/storage/storage.ts";
import { Running, root, starter, temporaryFolder } from "../support/command.ts";
import { environment } from "../support/environment.ts";
import { behaviours } from "./behaviours.ts";

/** Keys by what their accounts are: each has an account of its own, unless its name ends with another number. */
export interface Keys {
  readonly canary: string;
  /** Accounts with more credit than any attack costs. */
  readonly rich: string;
  readonly others: readonly string[];
  /** May read the accounts of `billed`. */
  readonly billed: string;
  /** The lowest tier, and nothing recharged. */
  readonly poor: string;
  /** So little credit that each call is held in the database. */
  readonly scarce: string;
  readonly operator: string;
}

export interface GatewayProcess {
  readonly pid: number;
  readonly port: number;
  readonly metricsUrl: string;
  readonly keys: Keys;
  /** The database's file. */
  readonly database: string;
  readonly isAlive: () => boolean;
  readonly errors: () => string;
  close(): Promise<void>;
}

export interface GatewayOptions {
  /** The ports of the upstreams. */
  readonly calm: number;
  readonly wild: number;
  /** How many descriptors the process may have. Default: as many as the harness. */
  readonly openFiles?: number | undefined;
}

/**
 * Bounds that a run cannot wait for as they are by default. A gateway without one of these keys is started without it, and
 * the row that waits for it fails.
 */
const shortBounds: Readonly<Record<string, unknown>> = {
  body_timeout_seconds: 6,
  // Longer than a machine stands still that does much else.
  disconnect_drain_seconds: 6,
  idle_seconds: 8,
  stalled_reader_seconds: 2,
};

export const bounds = { bodySeconds: 6, idleSeconds: 8, stalledSeconds: 2 };

const knownBounds = () =>
  Object.fromEntries(
    Object.entries(shortBounds).filter(([key, value]) => fileSchema.safeParse({ [key]: value }).success),
  );

const operatorKey = "operator-key-of-the-hostile-harness-0123456789";
const plenty = 1_000_000_000_000_000;
/** In millionths of the unit: some hundred small calls. */
const little = 20_000;
const otherAccounts = 8;

export async function startGateway({ calm, wild, openFiles }: GatewayOptions): Promise<GatewayProcess> {
  const folder = await temporaryFolder();
  const config = join(folder.path, "gateway.yaml");
  await writeFile(config, configuration(calm, wild));
  const database = join(folder.path, "gateway.db");
  const keys = await makeKeys(database);
  // The inspector is opened only where a row asks for a collection, at a free port.
  const env = { PATH: process.env.PATH, ...environment, PORT: "0", DATA_DIR: folder.path, LOG_LEVEL: "error" };
  const limit = openFiles === undefined ? "" : `ulimit -n ${openFiles}; `;
  const program = [process.execPath, "--inspect-port=0", starter, "serve", "--config", config];
  const command = [`${limit}exec "$@"`, "sh", ...program];
  // A terminal that interrupts the harness does not end the gateway, whose row is still played.
  const running = new Running("sh", ["-c", ...command], env, { cwd: root, detached: true });
  const [, port = ""] = await running.shows(/serves at \S+:(\d+)/);
  const [, metricsUrl = ""] = await running.shows(/Metrics are read at (\S+)/);
  return {
    pid: running.child.pid as number,
    port: Number(port),
    metricsUrl,
    keys,
    database,
    isAlive: () => running.isAlive(),
    errors: () => running.stderr,
    async close() {
      // What an attack has left does not matter: the row has been measured.
      await running.stop("SIGKILL");
      await folder.remove();
    },
  };
}

async function makeKeys(database: string): Promise<Keys> {
  const storage = await openStorage(database);
  const now = Date.now();
  const make = async (name: string, amount: number): Promise<string> => {
    const accountId = newId("acc", now);
    await storage.accounts.insert({ id: accountId, name, created_at: now });
    if (amount > 0)
      await storage.entries.record({ id: newId("led", now), accountId, kind: 1, amount, note: null, now });
    return (await issueKey(storage.keys, { accountId, name, admin: true, now })).secret;
  };
  const keys = {
    canary: await make("canary", plenty),
    rich: await make("rich", plenty),
    others: await Promise.all(Array.from({ length: otherAccounts }, (_, i) => make(`other ${i}`, plenty))),
    billed: await make("billed", 1_000_000_000),
    poor: await make("poor", 0),
    scarce: await make("scarce", little),
    operator: operatorKey,
  };
  await storage.close();
  return keys;
}

const price = { input: "1", output: "10" };
/** profiles are what the servers of some models take. */
const profiles = {
  strict: {
    ...{
      schemas: "plain",
      developer: "system",
      system: "first",
      plain_text: ["system", "tool"],
      after_tools: "assistant",
    },
    ...{ call_ids: "nine", cache_marks: "none", message_keys: [], thoughts: "none" },
  },
  rooted: { schemas: "rooted", call_ids: "short", cache_marks: "none" },
} as const;
const upstreams: Readonly<Record<string, string>> = {
  calm: "calm",
  ant: "anthropic",
  strict: "strict",
  rooted: "rooted",
};
const kinds: Readonly<Record<string, string>> = { vector: "embedding", outline: "embedding" };

function configuration(calm: number, wild: number): string {
  const timeouts = { connect_seconds: 2, first_byte_seconds: 10, idle_seconds: 30, total_seconds: 60 };
  const at = (name: string, kind: string, port: number, profile?: object) => ({
    ...{ name, kind, api_key: "k", timeouts, ...(profile && { profile }) },
    base_url: `http://127.0.0.1:${port}/v1`,
  });
  const models = Object.keys(behaviours).map((id) => {
    const kind = kinds[id] ?? "chat";
    const upstream = upstreams[id] ?? "wild";
    const money = kind === "embedding" ? { input: price.input } : price;
    return { id, family: "hostile", kind, price: money, targets: [{ upstream, model: id }] };
  });
  // JSON is YAML.
  return JSON.stringify({
    ...knownBounds(),
    operator_key: operatorKey,
    upstreams: [
      ...[at("calm", "openai", calm), at("wild", "openai", wild), at("anthropic", "anthropic", wild)],
      ...[at("strict", "openai", wild, profiles.strict), at("rooted", "openai", wild, profiles.rooted)],
    ],
    models,
    tiers: [
      { name: "Free", recharge: "0", requests_per_minute: 60 },
      { name: "Endless", recharge: "0.01", requests_per_minute: 4_000_000_000 },
    ],
    retries: { attempts: 1 },
    breaker: { failures: 1_000_000 },
  });
}
