/** Keeps the compiled form of the program's chunks beside them, by running commands: of each the functions that it used are kept. */
import { type SpawnSyncOptions, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { executableOptions } from "../src/commands/engine/options.ts";
import { root } from "./bundle.ts";
import { nodeOf, ownPlatform, type Platform, platforms } from "./platforms.ts";

/** Commands whose compiled chunks are kept, over one data folder, in their order. */
const kept = [
  "serve",
  "help",
  "accounts create --name first",
  "accounts list",
  "accounts suspend first",
  "accounts reinstate first",
  "recharge --account first --amount 5",
  "grant --account first --amount 5",
  "refund --account first --amount 1",
  "keys create --account first --name first",
  "keys list",
  "users invite --account first --email first@example.com",
  "users list",
  "codes create --amount 5",
  "codes list",
  "config apply stored.yaml",
  "config test-upstream nobody",
  "config export",
  "config versions",
  "config compare 1",
  "models sync prices.json",
  "import litellm litellm.yaml",
  "reconcile",
  "backup kept.backup",
  "restore kept.backup --force",
  "compact",
].map((command) => command.split(" "));

/** The files that those commands read, by their names in the working folder. */
const read = {
  "stored.yaml":
    "embedded_models: true\nupstreams: [{ name: nobody, kind: openai, base_url: http://127.0.0.1:9/v1 }]\n",
  "prices.json": JSON.stringify({
    "gpt-4o": { litellm_provider: "openai", mode: "chat", input_cost_per_token: 2.5e-6 },
  }),
  "litellm.yaml": "model_list: []\n",
};

/**
 * keepCompiled runs the commands with the executable's options. `program` is the folder of the program's chunks, `filename` the file that
 * the program takes itself for. Throws where a command ends otherwise than expected.
 */
export function keepCompiled(program: string, filename: string): void {
  const maker = join(root, "packaging/keep-compiled.cjs");
  const node = nodeOf(platforms.get(ownPlatform) as Platform);
  const data = mkdtempSync(join(tmpdir(), "model-gateway-build-"));
  const env = {
    PATH: process.env.PATH,
    HOST: "127.0.0.1",
    PORT: "0",
    METRICS_PORT: "0",
    DATA_DIR: data,
    LOG_LEVEL: "silent",
  };
  try {
    for (const [name, text] of Object.entries(read)) writeFileSync(join(data, name), text);
    for (const command of kept) {
      const args = [...executableOptions(), maker, program, filename, ...command];
      const options: SpawnSyncOptions = { cwd: data, env, stdio: ["ignore", "ignore", "pipe"], timeout: 60_000 };
      const { status, stderr } = spawnSync(node, args, options);
      // The upstream, which nobody is, does not answer: the test of it ends with 1.
      const expected = command.includes("test-upstream") ? 1 : 0;
      if (status !== expected) throw new Error(`model-gateway ${command.join(" ")}: ${stderr}`);
    }
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
}
