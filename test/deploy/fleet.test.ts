/** What the fleet's Compose file gives its servers: secrets that fit together, Valkey's users, Postgres's, and Caddy's way to gateways. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { chmodSync, chownSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { createClient as createRedisClient } from "@redis/client";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { freePort } from "../../bench/free-port.ts";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import { loadConfig } from "../../src/config/config.ts";
import { newId } from "../../src/runtime/ids.ts";
import { hashKeySecret } from "../../src/runtime/secrets.ts";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import { openPostgres } from "../../src/storage/engines/postgres/database.ts";
import { storesOver } from "../../src/storage/storage.ts";
import { root, temporaryFolder } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { now, startTestGateway } from "../support/gateway.ts";
import { hasRedis, type RedisKind, startRedis } from "../support/redis/server.ts";
import { postgresPrograms } from "../support/storage/postgres.ts";
import { scrape } from "../support/telemetry/scrape.ts";
import { has, run, toolPath } from "./tools.ts";

const compose = join(root, "deploy/compose");
/** The fleet's services, as they are written. */
const { services, secrets: mounts } = parse(readFileSync(join(compose, "compose.fleet.yaml"), "utf8"), { merge: true });
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let secrets: string;

const makeSecrets = () => run(join(compose, "fleet/make-secrets"), [secrets]);
const secret = (name: string) => readFileSync(join(secrets, name), "utf8").trim();

beforeAll(async () => {
  folder = await temporaryFolder();
  secrets = join(folder.path, "secrets");
  expect(makeSecrets()).toMatchObject({ code: 0, stderr: "" });
});

afterAll(() => folder.remove());

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

describe("make-secrets", () => {
  test("makes every secret that is mounted and not an upstream's, for containers alone", () => {
    const mounted = Object.keys(mounts).filter((name) => name !== "openai_api_key");
    expect(readdirSync(secrets).sort()).toEqual(mounted.sort());
    expect(statSync(secrets).mode & 0o777).toBe(0o700);
    for (const name of mounted) expect(statSync(join(secrets, name)).mode & 0o777).toBe(0o444);
    expect(secret("operator_key").length).toBeGreaterThanOrEqual(32);
    expect(secret("database_url")).toBe(
      `postgres://model_gateway:${secret("database_password")}@postgres:5432/model_gateway`,
    );
    expect(new Set(["operator_key", "postgres_password", "database_password"].map(secret)).size).toBe(3);
  });

  test("leaves what is there as it is, and tells no secret", () => {
    const before = readdirSync(secrets).map(secret);
    expect(makeSecrets()).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(readdirSync(secrets).map(secret)).toEqual(before);
    expect(run(join(compose, "fleet/make-secrets"), [join(folder.path, "other")]).stdout).not.toMatch(/[0-9a-f]{16}/);
  });
});

const kinds: readonly RedisKind[] = ["redis", "valkey"];

describe.each(kinds)("the list of users, in %s", (kind) => {
  const start = async () => {
    const [, ...args] = services.valkey.command as string[];
    const server = await startRedis(
      kind,
      args.map((arg) => arg.replace("/run/secrets", secrets)),
    );
    closing.push(() => server.kill());
    return { server, url: secret("redis_url").replace("valkey:6379", `127.0.0.1:${server.port}`) };
  };

  test.skipIf(!hasRedis[kind])("lets a gateway share its rates, and others ask whether it is there", async () => {
    const { server, url } = await start();
    const times = { timeoutMs: 2000, connectMs: 5000 };
    const redis = {
      url,
      isCluster: false,
      prefix: "model-gateway:",
      whenAway: "refuse",
      assumedNodes: 1,
      ...times,
    } as const;
    const tiers = [{ name: "All", recharge: 0, requestsPerMinute: 1, tokensPerMinute: undefined }];
    const gateway = await startTestGateway({ redis, tiers });
    closing.push(() => gateway.close());
    const ask = () => fetch(`${gateway.baseUrl}/models`, { headers: { authorization: `Bearer ${gateway.apiKey}` } });
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 429]);
    const metrics = await (await fetch(`http://127.0.0.1:${gateway.metricsPort}/metrics`)).text();
    expect(metrics).toMatch(/^model_gateway_redis_up 1$/m);
    expect(metrics).toMatch(/^model_gateway_redis_failures_total 0$/m);

    const stranger = await createRedisClient({ url: server.url }).connect();
    closing.push(async () => stranger.destroy());
    expect(await stranger.ping()).toBe("PONG");
    await expect(stranger.get("model-gateway:a")).rejects.toThrow(/NOPERM/);
    const own = await createRedisClient({ url }).connect();
    closing.push(async () => own.destroy());
    await expect(own.set("another", "1")).rejects.toThrow(/NOPERM/);
    await expect(own.sendCommand(["FLUSHALL"])).rejects.toThrow(/NOPERM/);
  });
});

describe.skipIf(!has("caddy"))("Caddy", () => {
  const keys = { OPENAI_API_KEY: "sk-a-key", OPERATOR_KEY: "operator-key-of-the-fleet-test-0123456789" };
  const configured = loadConfig(join(compose, "fleet/gateway.yaml"), keys);
  const caddyfile = readFileSync(join(compose, "fleet/Caddyfile"), "utf8");

  /** Starts two gateways that know one secret, with Caddy before them. */
  async function startFleet() {
    const [first, second] = [await startTestGateway(), await startTestGateway({ stopDelayMs: configured.stopDelayMs })];
    let isClosed = false;
    const closeFirst = async () => {
      if (!isClosed) await first.close();
      isClosed = true;
    };
    closing.push(closeFirst);
    const issued = await issueKey(second.storage.keys, {
      accountId: second.accountId,
      name: "same",
      admin: false,
      now,
    });
    const hashed = hashKeySecret(first.apiKey);
    await second.storage.keys.insert({ ...issued.key, id: newId("key"), secret_hash: hashed }, 10);
    const [port, checked] = [await freePort(), await freePort()];
    const file = join(await mkdtemp(join(folder.path, "caddy-")), "Caddyfile");
    const at = { "gateway-1:8080": first.port, "gateway-2:8080": second.port, "127.0.0.1:2020": checked };
    const text = Object.entries(at).reduce((all, [from, to]) => all.replaceAll(from, `127.0.0.1:${to}`), caddyfile);
    writeFileSync(file, text);
    const env = { ...process.env, PATH: toolPath, SITE: `:${port}`, XDG_DATA_HOME: folder.path, HOME: folder.path };
    const caddy = spawn("caddy", ["run", "--config", file, "--adapter", "caddyfile"], { env, stdio: "ignore" });
    const ended = new Promise((resolve) => caddy.once("exit", resolve));
    closing.push(async () => {
      caddy.kill("SIGKILL");
      await ended;
    });
    const url = `http://127.0.0.1:${port}`;
    await eventually(async () => expect((await fetch(`http://127.0.0.1:${checked}/`)).status).toBe(200), 30_000);
    await eventually(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200));
    const ask = (body: object = {}) =>
      fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${first.apiKey}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "embedded-chat", messages: [{ role: "user", content: "Hi" }], ...body }),
      });
    return { first, second, url, ask, closeFirst };
  }

  test("finds nothing wrong with the Caddyfile", () => {
    const env = { SITE: "gateway.example.com", XDG_DATA_HOME: folder.path, HOME: folder.path };
    const file = join(compose, "fleet/Caddyfile");
    const checked = run("caddy", ["validate", "--config", file, "--adapter", "caddyfile"], { env });
    expect(checked.code, checked.stderr).toBe(0);
    expect(run("caddy", ["fmt", "--diff", file], { env }).stdout).not.toMatch(/^[-+]/m);
  });

  test("divides calls among gateways, passes streams on as they come, and speaks gRPC", async () => {
    const { first, second, url, ask } = await startFleet();
    closing.push(() => second.close());
    expect((await ask()).status).toBe(200);
    const slow = { stream: true, metadata: { simulate_token_delay_ms: "20" } };
    const stream = await ask(slow);
    let pieces = 0;
    for await (const _ of stream.body as ReadableStream<Uint8Array>) pieces++;
    expect(pieces).toBeGreaterThan(1);
    const transport = createGrpcTransport({ baseUrl: url });
    const client = createClient(InferenceService, transport);
    const headers = { authorization: `Bearer ${first.apiKey}` };
    const { data } = await client.listModels({}, { headers });
    expect(data.map(({ id }) => id)).toContain("embedded-chat");
    // Held until both have some: the one with fewer gets the next.
    const held = await Promise.all(Array.from({ length: 8 }, () => ask(slow)));
    expect(held.map(({ status }) => status)).toEqual(Array(8).fill(200));
    const counted = await Promise.all([first, second].map(({ metricsPort }) => scrape(metricsPort)));
    await Promise.all(held.map((response) => response.text()));
    for (const { value } of counted) {
      expect(value("model_gateway_requests_running", { form: "stream" })).toBeGreaterThan(0);
    }
  });

  test("waits for a gateway as long as it may take to stop", () => {
    const { stopDelayMs, drainMs } = configured;
    for (const name of ["gateway-1", "gateway-2"]) {
      const waits = Number.parseInt(services[name].stop_grace_period, 10) * 1000;
      expect(waits).toBeGreaterThanOrEqual(stopDelayMs + drainMs + 10_000);
    }
    const [, grace = ""] = /grace_period (\d+)s/.exec(caddyfile) ?? [];
    expect(Number(grace) * 1000).toBeGreaterThan(stopDelayMs + drainMs);
  });

  test("says when to come back, in the API's form, where no gateway takes calls", async () => {
    const { second, ask, closeFirst } = await startFleet();
    await second.close();
    await closeFirst();
    const refused = await ask();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(((await refused.json()) as { error: unknown }).error).toMatchObject({
      code: "service_unavailable",
      type: "server_error",
    });
  });

  test("refuses no call while a gateway stops, and none after it", async () => {
    const { second, ask } = await startFleet();
    const statuses: number[] = [];
    let isOver = false;
    const callers = Array.from({ length: 4 }, async () => {
      while (!isOver) statuses.push((await ask()).status);
    });
    await eventually(() => expect(statuses.length).toBeGreaterThan(20));
    await second.close("running");
    const before = statuses.length;
    await eventually(() => expect(statuses.length).toBeGreaterThan(before + 20));
    isOver = true;
    await Promise.all(callers);
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
  });
});

describe.skipIf(!postgresPrograms)("postgres.sql", () => {
  test("makes a database that gateways work in, and whose owner may make nothing elsewhere, with its password alone", async () => {
    const bin = postgresPrograms as string;
    // The server's own folder is beside: root cannot be its user, and nobody else reads the secrets.
    const at = await mkdtemp("/tmp/gateway-fleet-");
    closing.push(() => rm(at, { recursive: true, force: true }));
    const user: { uid?: number; gid?: number } =
      process.getuid?.() === 0 ? { uid: id("-u", "postgres"), gid: id("-g", "postgres") } : {};
    if (user.uid !== undefined) chownSync(at, user.uid, user.gid ?? user.uid);
    chmodSync(at, 0o700);
    const programOf = (name: string, args: readonly string[], env: Record<string, string> = {}) =>
      spawnSync(join(bin, name), args, { encoding: "utf8", ...user, cwd: at, env: { ...process.env, ...env } });
    const data = join(at, "data");
    const initArgs = ["--data-checksums", "--locale=C", "--encoding=UTF8"];
    const made = programOf("initdb", ["-D", data, "-U", "postgres", "--auth-local=trust", "--no-sync", ...initArgs]);
    expect(made.status, made.stderr).toBe(0);
    writeFileSync(join(data, "pg_hba.conf"), "local all postgres trust\nlocal all all scram-sha-256\n");
    const [, ...tuned] = services.postgres.command as string[];
    const settings = [...tuned, "-c", "listen_addresses=", "-c", `unix_socket_directories=${at}`, "-c", "fsync=off"];
    const server = spawn(join(bin, "postgres"), ["-D", data, ...settings], { ...user, stdio: "ignore" });
    const ended = new Promise((resolve) => server.once("exit", resolve));
    closing.push(async () => {
      server.kill("SIGQUIT");
      await ended;
    });
    const psql = (as: string, database: string, args: readonly string[], env = {}) =>
      programOf("psql", ["-h", at, "-U", as, "-d", database, "-v", "ON_ERROR_STOP=1", "-X", "-At", ...args], env);
    await eventually(() => expect(psql("postgres", "postgres", ["-c", "SELECT 1"]).status).toBe(0), 30_000);

    const password = join(at, "password");
    writeFileSync(password, secret("database_password"), { mode: 0o444 });
    const sql = readFileSync(join(compose, "fleet/postgres.sql"), "utf8");
    expect(sql).toContain("/run/secrets/database_password");
    writeFileSync(join(at, "init.sql"), sql.replace("/run/secrets/database_password", password), { mode: 0o444 });
    const ran = psql("postgres", "postgres", ["-f", join(at, "init.sql")]);
    expect(ran.status, ran.stderr).toBe(0);

    const url = new URL(secret("database_url"));
    const env = { PGPASSWORD: url.password };
    const asGateway = (database: string, text: string, more = env) => psql(url.username, database, ["-c", text], more);
    // As a gateway does, but for the socket: it makes its tables, and two nodes know the same.
    const address = `postgres://${url.username}:${url.password}@localhost${url.pathname}?host=${at}`;
    const open = async (name: string) => {
      const options = { poolSize: 2, version: "0.0.0", isSynced: false, onError: () => {} };
      const opened = await openPostgres({ url: address, dataDir: join(folder.path, name), ...options });
      closing.push(() => opened.close());
      return storesOver(opened.scope);
    };
    const [one, other] = [await open("one"), await open("other")];
    await one.accounts.insert({ id: newId("acc"), name: "acme", created_at: now, postpaid: 0 });
    expect((await other.accounts.find("acme"))?.name).toBe("acme");
    expect(asGateway(url.pathname.slice(1), "SELECT 1", { PGPASSWORD: "another" }).stderr).toMatch(
      /password authentication/,
    );
    expect(asGateway("postgres", "CREATE TABLE a (b bigint)").stderr).toMatch(/permission denied/);
    expect(asGateway("postgres", "CREATE ROLE other").stderr).toMatch(/permission denied/);
  });
});

function id(flag: string, name: string): number {
  return Number(execFileSync("id", [flag, name], { encoding: "utf8" }));
}
