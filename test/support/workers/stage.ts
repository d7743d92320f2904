/** A gateway of several workers as people run it: real processes on one port, over a database and an upstream of the test's. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { openStorage, type Storage } from "../../../src/storage/storage.ts";
import { Running, starter, temporaryFolder, type Variables } from "../command.ts";
import { mountDisk } from "../disk.ts";
import { environment } from "../environment.ts";
import { type ScriptedUpstream, startScriptedUpstream } from "../scripted-upstream.ts";

export interface Processes {
  readonly primary: number;
  readonly owner: number;
  readonly workers: readonly number[];
}

export interface WorkersStage {
  readonly server: Running;
  readonly rootUrl: string;
  readonly metricsUrl: string;
  readonly upstream: ScriptedUpstream;
  /** The path of its configuration, which may be written anew. */
  readonly config: string;
  readonly databasePath: string;
  /** The database, seen from another process. Only where the data are in SQLite. */
  readonly storage: Storage;
  processes(): Promise<Processes>;
  close(): Promise<void>;
}

export const operatorKey = "operator-key-of-all-the-workers-here";
/** In units a million tokens, for calls of a millionth a token. */
const price = { input: "1", output: "2" };
const model = { family: "workers", kind: "chat", price, max_output_tokens: 64 };
/** places is how many calls the upstream of `narrow` may have at a time. */
export const places = 3;

export interface WorkersInit {
  readonly workers: number;
  /** More of gateway.yaml. */
  readonly settings?: object;
  readonly env?: Variables;
  /** The size of a small disk for its data, such as "8m"; they are in a folder where it is not given. */
  readonly diskSize?: string;
}

export async function startWorkers({ workers, settings, env, diskSize }: WorkersInit): Promise<WorkersStage> {
  const [folder, upstream] = await Promise.all([temporaryFolder(), startScriptedUpstream()]);
  const dataDir = diskSize ? join(folder.path, "disk") : folder.path;
  const unmount = diskSize ? mountDisk(dataDir, diskSize) : () => {};
  const config = join(folder.path, "gateway.yaml");
  await writeFile(config, configuration(upstream.baseUrl, settings));
  const databasePath = join(dataDir, "gateway.db");
  const storage = await openStorage(databasePath);
  const server = new Running(process.execPath, [starter, "serve", "--workers", String(workers), "--config", config], {
    ...{ PORT: "0", DATA_DIR: dataDir, LOG_LEVEL: "info", ...environment },
    ...env,
  });
  const [, rootUrl = ""] = await server.shows(/serves at (\S+)/);
  const [, metricsUrl = ""] = await server.shows(/read at (\S+)/);
  return {
    ...{ server, rootUrl, metricsUrl, upstream, config, databasePath, storage },
    processes: () => processesOf(server.child.pid as number),
    async close() {
      await server.stop();
      await storage.close();
      await upstream.close();
      unmount();
      await folder.remove();
    },
  };
}

/** Returns gateway.yaml with a model `m`, and a model `narrow` of few places; as JSON, which is YAML. */
function configuration(baseUrl: string, settings: object = {}): string {
  return JSON.stringify({
    operator_key: operatorKey,
    retries: { attempts: 1 },
    failed_credentials: { per_minute: 100_000 },
    tiers: [{ name: "All", recharge: "0", requests_per_minute: 1_000_000 }],
    upstreams: [
      { name: "far", kind: "openai", base_url: baseUrl, api_key: "k" },
      { name: "narrow", kind: "openai", base_url: baseUrl, api_key: "k", queue: { max_concurrent: places } },
    ],
    models: [
      { id: "m", ...model, targets: [{ upstream: "far", model: "far" }] },
      { id: "narrow", ...model, targets: [{ upstream: "narrow", model: "far" }] },
    ],
    ...settings,
  });
}

/** Returns the processes of a gateway by the id of its primary, or of a process that started that one, as an older Node must. */
export async function processesOf(starter: number): Promise<Processes> {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "pid=,ppid=,args="]);
  const rows = stdout.split("\n").map((line) => line.trim().split(/\s+/));
  const childrenOf = (parent: number) => rows.filter(([, of]) => Number(of) === parent);
  const childrenThat = (parent: number, command: "owner" | "worker") =>
    childrenOf(parent).flatMap(([pid, , ...args]) => (args.at(-1) === command ? [Number(pid)] : []));
  let primary = starter;
  for (let children = childrenOf(primary); children.length === 1; children = childrenOf(primary)) {
    const [pid = 0] = (children[0] ?? []).map(Number);
    if (childrenThat(primary, "owner").length > 0 || childrenThat(primary, "worker").length > 0) break;
    primary = pid;
  }
  return { primary, owner: childrenThat(primary, "owner")[0] ?? 0, workers: childrenThat(primary, "worker") };
}

/** isAlive reports whether there is a process of this id. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
