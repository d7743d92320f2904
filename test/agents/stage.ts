/** A gateway, the upstream with the model behind it, and folders for an agent to live and work in. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { loadConfig } from "../../src/config/config.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";
import { type Books, openBooks } from "../support/payer.ts";
import type { Agent, Place } from "./agent.ts";
import { type ModelServer, modelAt, startModelServer, type UpstreamName } from "./model/server.ts";

export interface Stage {
  readonly gateway: TestGateway;
  readonly server: ModelServer;
  readonly books: Books;
  readonly place: Place;
  readonly folder: string;
  readonly home: string;
  readonly work: string;
  /** Where our MCP server writes its calls. */
  readonly stampLog: string;
  /** Ends it all. Throws where the gateway has anything left. */
  close(): Promise<void>;
}

export async function setStage(agent: Agent, upstream: UpstreamName, keep: boolean): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), `agents-${agent.name}-${upstream}-`));
  const [home, work] = [join(folder, "home"), join(folder, "work")];
  const stampLog = join(folder, "stamps.log");
  await Promise.all([home, work].map((path) => mkdir(path)));
  const server = await startModelServer(upstream);
  const { model = modelAt[upstream] } = agent;
  const file = join(folder, "gateway.yaml");
  await writeFile(file, configuration(upstream, server.upstream.baseUrl, model));
  const { upstreams, models } = loadConfig(file, {});
  const gateway = await startTestGateway(
    { upstreams, models, embeddedModels: false },
    { recharge: 300_000_000_000, clock: Date.now },
  );
  const { rootUrl, apiKey } = gateway;
  const args = [join(import.meta.dirname, "mcp-server.ts")];
  const mcp = { command: process.execPath, args, env: { STAMP_LOG: stampLog } };
  const place: Place = { rootUrl, apiKey, model, mcp };
  await writeAll(home, agent.setup(place).files);
  await writeFile(join(work, "picture.png"), picture);
  const books = openBooks(gateway.database, gateway.storage);
  return {
    ...{ gateway, server, books, place, folder, home, work, stampLog },
    async close() {
      if (keep) await writeFile(join(folder, "gateway.log"), gateway.logged());
      await gateway.close().finally(() => server.upstream.close());
      if (keep) await writeFile(join(folder, "played.json"), JSON.stringify(server.played, null, 2));
      else await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * The server of an open model is of no vendor that the gateway knows. What goes to it in its own words goes as it came, but for what
 * its profile says: it takes no lists of texts where a text is usual.
 */
function configuration(upstream: UpstreamName, baseUrl: string, model: string): string {
  const kind = upstream === "anthropic" ? "anthropic" : "openai";
  const known = upstream === "strict" ? "profile: { plain_text: [system, assistant, tool] }" : `vendor: ${upstream}`;
  const price =
    "{ input: '3', output: '15', cache_read: '1', cache_write: '4', cache_write_hour: '6', web_search: '0.01' }";
  const targets = `[{ upstream: far, model: ${modelAt[upstream]} }]`;
  return `
upstreams:
  - { name: far, kind: ${kind}, base_url: "${baseUrl}", api_key: upstream-key-0123456789, ${known} }
models:
  - { id: ${model}, aliases: [gpt-alias], family: tried, kind: chat, context_window: 400000, max_output_tokens: 32000, price: ${price}, targets: ${targets} }
`;
}

async function writeAll(home: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(home, path)), { recursive: true });
    await writeFile(join(home, path), text);
  }
}

/** 16 × 16 pixels, one colour. */
const picture = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFElEQVR4nGNoIBEwjGoY1TB8NQAAJYSAEGy7FvQAAAAASUVORK5CYII=",
  "base64",
);
