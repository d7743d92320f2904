/** What an operator is told of a Redis that cannot be used: one line, with what to do, and without what is secret in the URL. */
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { freePort } from "../../../bench/free-port.ts";
import { createConnection } from "../../../src/limits/redis/connection.ts";
import { nodesScript } from "../../../src/limits/redis/scripts.ts";
import { createRedisSlices } from "../../../src/limits/redis/slices.ts";
import { temporaryFolder } from "../../support/command.ts";
import { clusterNode, hasRedis, type RedisServer, startCluster, startRedis } from "../../support/redis/server.ts";

const servers: RedisServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.kill()));
});

async function start(...args: string[]): Promise<RedisServer> {
  const server = await startRedis("redis", args);
  servers.push(server);
  return server;
}

/** Tries a URL, and returns what was told of it; undefined where it works. */
async function told(url: string, more: { isCluster?: boolean } = {}): Promise<string | undefined> {
  const causes: string[] = [];
  const connection = createConnection({
    ...{
      url,
      nodesKey: "model-gateway:nodes",
      node: "one",
      assumedNodes: 1,
      connectMs: 1_000,
      isCluster: false,
      timeoutMs: 1_000,
    },
    onAway: ({ cause }) => void causes.push(cause),
    onBack() {},
    ...more,
  });
  await connection.firstTried;
  await connection.close();
  expect(causes.length).toBeLessThanOrEqual(1);
  return causes[0];
}

describe.skipIf(!hasRedis.redis)("redis", () => {
  test("with a user and a password, and a number of the database", async () => {
    const { port } = await start("--requirepass", "open-sesame", "--databases", "4");
    expect(await told(`redis://:open-sesame@127.0.0.1:${port}/3`)).toBeUndefined();
    expect(await told(`redis://default:open-sesame@127.0.0.1:${port}`)).toBeUndefined();
    expect(await told(`redis://:wrong-word@127.0.0.1:${port}`)).toBe("it refuses the user or the password of the URL");
    expect(await told(`redis://nobody:open-sesame@127.0.0.1:${port}`)).toBe(
      "it refuses the user or the password of the URL",
    );
    expect(await told(`redis://127.0.0.1:${port}`)).toBe("it wants a password: add it to the URL");
    expect(await told(`redis://:open-sesame@127.0.0.1:${port}/9`)).toBe("it has no database of that number");
  });

  test("a user that may do no more than docs/scaling.md says is enough, and one that may do less is told", async () => {
    const rights = "~model-gateway:* -@all +hello +auth +select";
    const inScripts =
      "+eval +evalsha +time +get +set +del +zadd +zcard +zrem +zremrangebyscore +hgetall +hset +hdel +pexpire";
    const gateway = ["--user", "gateway", "on", ">pass", ...rights.split(" "), ...inScripts.split(" ")];
    const { port } = await start(...gateway, "--user", "reader", "on", ">pass", "~*", "-@all", "+hello", "+get");
    expect(await told(`redis://gateway:pass@127.0.0.1:${port}`)).toBeUndefined();
    expect(await told(`redis://reader:pass@127.0.0.1:${port}`)).toBe(
      "its user may not run the gateway's scripts, or not on these keys",
    );
  });

  test("a replica", async () => {
    const { port } = await start("--replicaof", "127.0.0.1", String(await freePort()));
    expect(await told(`redis://127.0.0.1:${port}`)).toBe(
      "it is a replica, or has become one: use the address of the primary",
    );
  });

  test("a node of a cluster", async () => {
    const folder = await temporaryFolder();
    const { port } = await start(...(await clusterNode(`${folder.path}/nodes.conf`)));
    expect(await told(`redis://127.0.0.1:${port}`)).toBe("its cluster is down");
    await folder.remove();
  });

  test("a cluster, whose nodes have half of the keys each", async () => {
    const folder = await temporaryFolder();
    const [node, other] = await startCluster("redis", folder.path);
    servers.push(node, other);
    expect(await told(node.url)).toBe("it is a node of a cluster: say so with redis.cluster: true");
    for (const { url } of [node, other]) {
      expect(await told(url, { isCluster: true })).toBeUndefined();
      const rest = { assumedNodes: 1, connectMs: 2_000, timeoutMs: 1_000, onAway() {}, onBack() {} };
      const slices = createRedisSlices({ url, isCluster: true, prefix: "test:", node: "one", ...rest });
      await slices.firstTried;
      const ask = { rate: { capacity: 60, windowMs: 3_600_000 }, least: 1, need: 1, spare: 0, drawn: 0 };
      const granted = await slices.take(Array.from({ length: 30 }, (_, i) => ({ ...ask, id: `${url} ${i}` })));
      expect(granted.filter(({ units }) => units === 1)).toHaveLength(30);
      await slices.close();
    }
    const plain = await start();
    expect(await told(plain.url, { isCluster: true })).toBe("it is no cluster: leave redis.cluster out");
    await folder.remove();
  });

  test("scripts that it does not know are sent whole", async () => {
    const { url } = await start();
    const rest = {
      nodesKey: "nodes",
      node: "one",
      assumedNodes: 1,
      connectMs: 1_000,
      isCluster: false,
      timeoutMs: 1_000,
    };
    const connection = createConnection({ url, ...rest, onAway() {}, onBack() {} });
    await connection.firstTried;
    const answers = await Promise.all(["a", "b"].map((node) => connection.run(nodesScript, "other", [node, 1_000])));
    expect(answers).toEqual([1, 2]);
    await connection.close();
  });
});

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

describe.skipIf(!hasRedis.redis || !hasOpenssl)("redis over TLS (skipped without redis-server and openssl)", () => {
  test("is told from one without, either way, and its certificate is looked at", async () => {
    const folder = await temporaryFolder();
    const [key, cert] = ["key.pem", "cert.pem"].map((name) => join(folder.path, name)) as [string, string];
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
    const request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-keyout", key, "-out", cert];
    execFileSync("openssl", [...request, ...subject], { stdio: "ignore" });
    const port = await freePort();
    const files = ["--tls-cert-file", cert, "--tls-key-file", key, "--tls-auth-clients", "no"];
    servers.push(await startRedis("redis", ["--port", "0", "--tls-port", String(port), ...files], port));
    const plain = await start();
    expect(await told(`rediss://127.0.0.1:${port}`)).toMatch(/^its certificate is not trusted/);
    expect(await told(`redis://127.0.0.1:${port}`)).toBe("it closed the connection: perhaps it wants TLS (rediss://)");
    expect(await told(`rediss://127.0.0.1:${plain.port}`)).toBe(
      "it does not answer in time, or does not speak TLS (redis://)",
    );
    await folder.remove();
  });
});

test("an address where nothing listens, and a host that nobody knows", async () => {
  expect(await told(`redis://user:pass@127.0.0.1:${await freePort()}`)).toBe("nothing listens at that address");
  expect(await told("redis://user:pass@no-such-host.invalid")).toMatch(
    /^its host (is not known|cannot be looked up now)$/,
  );
});
