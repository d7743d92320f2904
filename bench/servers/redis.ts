/** A Redis or Valkey of the bench's own, without a file, on the load's core. */
import { freePort } from "../free-port.ts";
import { has, otherCore, start } from "../processes.ts";

export const redisMissing = "neither Redis nor Valkey is installed: `apt-get install redis-server`";

/** startRedisServer starts the one that is installed, and returns its URL. */
export async function startRedisServer(folder: string): Promise<string> {
  const program = ["redis-server", "valkey-server"].find(has);
  if (!program) throw new Error(redisMissing);
  const port = await freePort();
  const settings = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder];
  const command = [program, "--port", String(port), ...settings] as const;
  await start({ command, core: otherCore, port, log: `${folder}/redis.log` });
  return `redis://127.0.0.1:${port}`;
}
