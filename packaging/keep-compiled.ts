/** Keeps the compiled form of the program's chunks beside them, by running commands: of each the functions that it used are kept. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { executableOptions } from "../src/commands/engine/options.ts";
import { startAskedServer } from "./asked-server.ts";
import { root } from "./bundle.ts";
import { type CommandLine, commandLines, writeInputs } from "./command-lines.ts";
import { nodeOf, ownPlatform, type Platform, platforms } from "./platforms.ts";

const serve: CommandLine = { name: "serve", args: () => ["serve"] };
const timeoutMs = 60_000;

/**
 * keepCompiled runs each command once with the executable's options, over one data folder. `program` is the folder of the program's
 * chunks, `filename` the file that the program takes itself for. Throws where a command ends otherwise than expected.
 */
export async function keepCompiled(program: string, filename: string): Promise<void> {
  const maker = [...executableOptions(), join(root, "packaging/keep-compiled.cjs"), program, filename];
  const data = mkdtempSync(join(tmpdir(), "model-gateway-build-"));
  const asked = await startAskedServer();
  try {
    writeInputs(data, asked.address);
    const printed = new Map<string, string>();
    for (const { name, args, code = 0, dataFolder } of [serve, ...commandLines]) {
      const folder = dataFolder ? join(data, dataFolder(0)) : data;
      const command = args(0, printed, asked.address);
      const { ended, stdout, stderr } = await run([...maker, ...command], data, folder);
      if (ended !== code) throw new Error(`model-gateway ${command.join(" ")}: ${stderr}`);
      printed.set(name, stdout);
    }
  } finally {
    asked.close();
    rmSync(data, { recursive: true, force: true });
  }
}

async function run(args: readonly string[], cwd: string, dataFolder: string) {
  const env = {
    PATH: process.env.PATH,
    HOST: "127.0.0.1",
    PORT: "0",
    METRICS_PORT: "0",
    DATA_DIR: dataFolder,
    LOG_LEVEL: "silent",
  };
  const node = nodeOf(platforms.get(ownPlatform) as Platform);
  const child = spawn(node, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], timeout: timeoutMs });
  const [[ended], stdout, stderr] = await Promise.all([once(child, "exit"), text(child.stdout), text(child.stderr)]);
  return { ended: ended as number | null, stdout, stderr };
}
