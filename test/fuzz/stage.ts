/**
 * A gateway before two upstreams, one of either family, whose next answer is the fuzzer's; and what it logs of errors.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { startGateway } from "../../src/composition/gateway.ts";
import { type Config, loadConfig, type ModelConfig } from "../../src/config/config.ts";
import { newId } from "../../src/runtime/ids.ts";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import { openStorage } from "../../src/storage/storage.ts";
import { environment } from "../support/environment.ts";

/** Answers a request of which nothing is read. */
export type Reply = (res: ServerResponse) => void;

export interface FuzzStage {
  readonly rootUrl: string;
  readonly apiKey: string;
  /** A key with administrator privilege. */
  readonly adminKey: string;
  readonly operatorKey: string;
  /** Has the next requests answered so, at whichever upstream. */
  answerBy(reply: Reply): void;
  /** Lines at the level of errors since this was asked last. */
  takeErrors(): string[];
  close(): Promise<void>;
}

const operatorKey = "fuzz-operator-key-of-forty-characters-00";

/** The models: chat at either family, one that completes texts itself, embeddings, speech. */
const models: readonly ModelConfig[] = [
  model("chat-openai", "openai", { kind: "chat", completions: "chat" }),
  model("chat-anthropic", "anthropic", { kind: "chat", completions: "chat" }),
  model("text-openai", "openai", { kind: "chat", completions: "native" }),
  model("vectors", "openai", { kind: "embedding" }),
  model("speech", "openai", { kind: "speech" }),
];

function model(id: string, upstream: string, more: Pick<ModelConfig, "kind"> & Partial<ModelConfig>): ModelConfig {
  const price = { input: 1_000_000, output: 2_000_000 };
  return { id, aliases: [], family: "f", price, targets: [{ upstream, model: id, priority: 0, weight: 1 }], ...more };
}

export async function openFuzzStage(overrides: Partial<Config> = {}): Promise<FuzzStage> {
  let reply: Reply = (res) => void res.end();
  const server = createServer((req, res) => {
    req.resume().once("end", () => reply(res));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const dataDir = await mkdtemp(join(tmpdir(), "gateway-fuzz-"));
  const upstreams: Config["upstreams"] = [
    { name: "openai", kind: "openai", base_url, api_key: "k" },
    { name: "anthropic", kind: "anthropic", base_url, api_key: "k" },
  ];
  const config: Config = {
    ...{
      ...loadConfig(undefined, environment),
      port: 0,
      dataDir,
      drainMs: 1000,
      upstreams,
      models,
      embeddedModels: false,
    },
    ...{ retries: { attempts: 1, share: 0 }, breaker: { failures: Number.MAX_SAFE_INTEGER, openMs: 1 } },
    ...{ metrics: undefined, operatorKey, ...overrides },
  };
  const storage = await openStorage(join(dataDir, "gateway.db"));
  const now = Date.now();
  const accountId = newId("acc");
  await storage.accounts.insert({ id: accountId, name: "fuzz", created_at: now, postpaid: 1 });
  const recharge = { kind: 1 as const, amount: 300_000_000, note: null, now };
  await storage.entries.record({ id: newId("led"), accountId, ...recharge });
  const issue = async (admin: boolean) =>
    (await issueKey(storage.keys, { accountId, name: "fuzz", admin, now })).secret;
  const [apiKey, adminKey] = [await issue(false), await issue(true)];
  let errors: string[] = [];
  const log = pino({ level: "error" }, { write: (line: string) => void errors.push(line) });
  // Time stands, but for what a bucket needs to be full at each call.
  let clock = now;
  const gateway = await startGateway({ config, storage, log, clock: () => (clock += 1000) });
  return {
    ...{ rootUrl: `http://127.0.0.1:${gateway.port}`, apiKey, adminKey, operatorKey },
    answerBy(next) {
      reply = next;
    },
    takeErrors() {
      const taken = errors;
      errors = [];
      return taken;
    },
    async close() {
      await gateway.close();
      await storage.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(dataDir, { recursive: true });
    },
  };
}
