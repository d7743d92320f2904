/**
 * A gateway as operators run it, on a free port and with a database of its own, for one test file.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { type Config, loadConfig, type ModelConfig, type UpstreamConfig } from "../../src/config/config.ts";
import { startGateway } from "../../src/gateway.ts";
import { newId } from "../../src/ids.ts";
import { issueKey } from "../../src/services/keys.ts";
import { openStorage, type Storage } from "../../src/storage/storage.ts";

export interface TestGateway {
  readonly rootUrl: string;
  readonly baseUrl: string;
  readonly port: number;
  readonly apiKey: string;
  readonly accountId: string;
  readonly storage: Storage;
  /** What was logged so far, one JSON line each. */
  readonly logged: () => string;
  close(): Promise<void>;
}

/** The moment at which every test gateway stands still, so that two of them answer alike. */
export const now = Date.UTC(2026, 0, 2, 3, 4, 5);

export async function startTestGateway(overrides: Partial<Config> = {}): Promise<TestGateway> {
  const dataDir = await mkdtemp(join(tmpdir(), "gateway-test-"));
  const config: Config = { ...loadConfig(undefined, {}), port: 0, dataDir, drainMs: 2000, ...overrides };
  const storage = await openStorage(join(dataDir, "gateway.db"));
  const account = { id: newId("acc"), name: "test", created_at: now };
  await storage.accounts.insert(account);
  const { secret } = await issueKey(storage.keys, { accountId: account.id, name: "test", admin: false, now });
  const lines: string[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => void lines.push(line) });
  const gateway = await startGateway({ config, storage, log, clock: () => now, random: () => 0 });
  const rootUrl = `http://127.0.0.1:${gateway.port}`;
  return {
    rootUrl,
    baseUrl: `${rootUrl}/v1`,
    port: gateway.port,
    apiKey: secret,
    accountId: account.id,
    storage,
    logged: () => lines.join(""),
    async close() {
      await gateway.close();
      await storage.close();
      await rm(dataDir, { recursive: true });
    },
  };
}

/** Configuration that serves `embedded-chat` of another gateway, under the same name. */
export function behind(upstream: Pick<TestGateway, "baseUrl" | "apiKey">): Partial<Config> {
  return upstreamAt(upstream.baseUrl, upstream.apiKey);
}

/** Configuration that serves `embedded-chat` from an OpenAI-compatible address. */
export function upstreamAt(base_url: string, api_key = "upstream-key"): Partial<Config> {
  const upstreams: UpstreamConfig[] = [{ name: "far", kind: "openai", base_url, api_key }];
  const models: ModelConfig[] = [
    {
      id: "embedded-chat",
      aliases: [],
      family: "embedded",
      kind: "chat",
      completions: "native",
      targets: [{ upstream: "far", model: "embedded-chat", priority: 0, weight: 1 }],
    },
  ];
  return { upstreams, models, embeddedModels: false };
}

/** Configuration that serves `embedded-chat` of another gateway by its Messages API, under the same name. */
export function behindAnthropic(upstream: Pick<TestGateway, "baseUrl" | "apiKey">): Partial<Config> {
  return anthropicUpstreamAt(upstream.baseUrl, upstream.apiKey);
}

/** Configuration that serves `embedded-chat` from an address that speaks Anthropic's API. */
export function anthropicUpstreamAt(base_url: string, api_key = "upstream-key"): Partial<Config> {
  return { ...upstreamAt(base_url, api_key), upstreams: [{ name: "far", kind: "anthropic", base_url, api_key }] };
}

/** The same configuration, serving `embedded-embedding` from the same upstream besides. */
export function withEmbeddings(config: Partial<Config>): Partial<Config> {
  const model: ModelConfig = {
    id: "embedded-embedding",
    aliases: [],
    family: "embedded",
    kind: "embedding",
    targets: [{ upstream: "far", model: "embedded-embedding", priority: 0, weight: 1 }],
  };
  return { ...config, models: [...(config.models ?? []), model] };
}
