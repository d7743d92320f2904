/**
 * The targets measured side by side: the upstream called directly, and what stands in front of it. A target that this
 * machine cannot run is left out, with a note.
 */
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { has, otherCore, type Program, start, targetCore } from "./processes.ts";
import { knowsWorkers, makeKey, startGateway, type UpstreamPorts } from "./servers/gateway.ts";
import { startNginxProxy, startNginxUpstream } from "./servers/nginx.ts";
import { portkeyHeaders, startPortkey } from "./servers/portkey.ts";
import { postgresMissing, startPostgresServer } from "./servers/postgres.ts";
import { redisMissing, startRedisServer } from "./servers/redis.ts";

/** engineNames are gateways that keep their money elsewhere than in one process with one file: `bench/engines`. */
export const engineNames = ["gateway-postgres", "gateway-workers"] as const;
export const targetNames = ["direct", "nginx", "bare", "portkey", "gateway", "connect-echo", ...engineNames] as const;
export type TargetName = (typeof targetNames)[number];

export interface Target {
  readonly name: string;
  /** ports are where a request for an upstream goes. */
  readonly ports: UpstreamPorts;
  readonly headers: (upstream: keyof UpstreamPorts) => Readonly<Record<string, string>>;
  /** program is undefined for the upstream itself, whose cost is not measured. */
  readonly program: Program | undefined;
  /** metricsPort is where a gateway's metrics are read; undefined for other targets. */
  readonly metricsPort?: number;
}

export interface Stage {
  readonly targets: ReadonlyMap<string, Target>;
  readonly upstreams: UpstreamPorts;
  /** notes are why targets are missing, or the upstream differs. */
  readonly notes: readonly string[];
}

export interface StageInit {
  /** folder is for files of the run. */
  readonly folder: string;
  /** cache is for files that later runs need again. */
  readonly cache: string;
  readonly wanted: ReadonlySet<string>;
}

const workersMissing = "this version has no `serve --workers`";
const nginxMissing = "nginx is not installed: `apt-get install nginx-light`";

const missing: ReadonlySet<string> = new Set([nginxMissing, workersMissing, postgresMissing, redisMissing]);

/** startUpstreams starts the upstreams. */
export async function startUpstreams(folder: string): Promise<UpstreamPorts> {
  const stub = await freePort();
  const command = [process.execPath, join(import.meta.dirname, "servers/stub.ts"), String(stub)] as const;
  await start({ command, core: otherCore, port: stub, log: join(folder, "stub.log") });
  if (!has("nginx")) return { whole: stub, stub };
  const whole = await freePort();
  await startNginxUpstream(folder, whole);
  return { whole, stub };
}

/** setStage starts the upstreams and the requested targets. */
export async function setStage({ folder, cache, wanted }: StageInit): Promise<Stage> {
  const upstreams = await startUpstreams(folder);
  const targets = new Map<string, Target>();
  const notes: string[] = [];
  if (upstreams.whole === upstreams.stub) notes.push(`${nginxMissing}; the upstream of whole answers is the stub`);
  const none = () => ({});
  const starters: Readonly<Record<TargetName, () => Promise<Omit<Target, "name">>>> = {
    direct: async () => ({ ports: upstreams, headers: none, program: undefined }),
    async nginx() {
      if (!has("nginx")) throw new Error(nginxMissing);
      const ports = await freePorts();
      return { ports, headers: none, program: await startNginxProxy(folder, pairs(ports, upstreams)) };
    },
    async bare() {
      const ports = await freePorts();
      const file = join(import.meta.dirname, "servers/bare.ts");
      const mapped = pairs(ports, upstreams).map((pair) => pair.join(":"));
      const command = [process.execPath, file, ...mapped] as const;
      const program = await start({ command, core: targetCore, port: ports.stub, log: join(folder, "bare.log") });
      return { ports, headers: none, program };
    },
    async portkey() {
      const port = await freePort();
      const program = await startPortkey(folder, cache, port);
      return {
        ports: { whole: port, stub: port },
        headers: (upstream) => portkeyHeaders(upstreams[upstream]),
        program,
      };
    },
    gateway: () => gatewayTarget(join(folder, "gateway"), upstreams),
    async "gateway-postgres"() {
      const env = { DATABASE_URL: await startPostgresServer(folder), REDIS_URL: await startRedisServer(folder) };
      return gatewayTarget(join(folder, "gateway-postgres"), upstreams, env);
    },
    async "gateway-workers"() {
      if (!knowsWorkers()) throw new Error(workersMissing);
      return gatewayTarget(join(folder, "gateway-workers"), upstreams, {}, ["--workers", "2"]);
    },
    async "connect-echo"() {
      const port = await freePort();
      const file = join(import.meta.dirname, "servers/connect-echo.ts");
      const command = [process.execPath, file, String(port)] as const;
      const program = await start({ command, core: targetCore, port, log: join(folder, "connect-echo.log") });
      return { ports: { whole: port, stub: port }, headers: none, program };
    },
  };
  for (const name of targetNames) {
    if (!wanted.has(name)) continue;
    try {
      targets.set(name, { name, ...(await starters[name]()) });
    } catch (error) {
      // Portkey comes from a registry, which may be out of reach.
      if (name !== "portkey" && !missing.has((error as Error).message)) throw error;
      notes.push(`${name} is left out: ${(error as Error).message.trim().split("\n").at(-1)}`);
    }
  }
  return { targets, upstreams, notes };
}

/** gatewayTarget starts a gateway with an account and a key of its own, these environment variables and arguments. */
export async function gatewayTarget(
  folder: string,
  upstreams: UpstreamPorts,
  env: Readonly<Record<string, string>> = {},
  args: readonly string[] = [],
) {
  const [port, metricsPort] = [await freePort(), await freePort()];
  const key = await makeKey(folder, env.DATABASE_URL);
  const program = await startGateway({ folder, port, upstreams, env, args, metricsPort });
  const headers = () => ({ authorization: `Bearer ${key}` });
  return { ports: { whole: port, stub: port }, headers, program, metricsPort };
}

async function freePorts(): Promise<UpstreamPorts> {
  return { whole: await freePort(), stub: await freePort() };
}

function pairs(ports: UpstreamPorts, upstreams: UpstreamPorts) {
  return [[ports.whole, upstreams.whole] as const, [ports.stub, upstreams.stub] as const];
}
