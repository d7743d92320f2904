/**
 * Portkey's gateway, the nearest peer in the same language: installed from npm into the bench's cache on first use,
 * with the dependencies of its own lockfile: with newer ones it answers streams with 500.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Program, start, targetCore } from "../processes.ts";

const version = "1.15.2";
const overrides = { hono: "4.9.7", "@hono/node-server": "1.13.5", "@hono/node-ws": "1.2.0" };

/** startPortkey starts it on a port. Throws if it cannot be installed. */
export async function startPortkey(folder: string, cache: string, port: number): Promise<Program> {
  const home = join(cache, "portkey");
  const main = join(home, "node_modules/@portkey-ai/gateway/build/start-server.js");
  if (!existsSync(main)) install(home);
  const command = [process.execPath, main, `--port=${port}`, "--headless"] as const;
  return start({ command, core: targetCore, port, log: join(folder, "portkey.log"), cwd: home });
}

/** portkeyHeaders tell Portkey where to send a request. */
export function portkeyHeaders(upstreamPort: number): Record<string, string> {
  return {
    "x-portkey-provider": "openai",
    "x-portkey-custom-host": `http://127.0.0.1:${upstreamPort}/v1`,
    authorization: "Bearer k",
  };
}

function install(home: string): void {
  mkdirSync(home, { recursive: true });
  const manifest = { private: true, dependencies: { "@portkey-ai/gateway": version }, overrides };
  writeFileSync(join(home, "package.json"), JSON.stringify(manifest));
  console.error(`bench: installing @portkey-ai/gateway ${version} into ${home}`);
  execFileSync("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: home,
    stdio: ["ignore", "ignore", "pipe"],
    timeout: 180_000,
  });
}
