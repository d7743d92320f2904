/** Where rates are shared: what the file and the environment say of Redis, and what is wrong with it. */
import { expect, test } from "vitest";
import { type Environment, loadConfig } from "../../src/config/config.ts";
import { writtenConfig } from "./written-config.ts";

const written = writtenConfig();
const { faultsOf } = written;
const redisOf = async (text: string, environment?: Environment) => (await written.load(text, environment)).redis;

const usual = {
  isCluster: false,
  prefix: "model-gateway:",
  whenAway: "divide",
  assumedNodes: 1,
  timeoutMs: 50,
  connectMs: 2_000,
};

test("there is none unless it is named", async () => {
  expect(await redisOf("port: 1\n")).toBeUndefined();
  expect(await redisOf("port: 1\n", { REDIS_URL: " " })).toBeUndefined();
  expect(loadConfig(undefined, {}).redis).toBeUndefined();
});

test("its address alone suffices, in the environment or in the file, and the environment wins", async () => {
  const url = "rediss://user:pass%40word@redis.internal:6380/3";
  expect(loadConfig(undefined, { REDIS_URL: url }).redis).toEqual({ url, ...usual });
  expect(await redisOf(`redis: { url: "${url}" }\n`)).toEqual({ url, ...usual });
  expect(await redisOf('redis: { url: "redis://elsewhere" }\n', { REDIS_URL: url })).toMatchObject({ url });
  expect(await redisOf('redis: { prefix: "eu:", when_away: refuse }\n', { REDIS_URL: url })).toEqual({
    ...{ url, ...usual, prefix: "eu:", whenAway: "refuse" },
  });
  const text =
    'redis: { url: "redis://a", cluster: true, nodes: 3, timeout_seconds: 0.2, connect_timeout_seconds: 1 }\n';
  expect(await redisOf(text)).toMatchObject({ isCluster: true, assumedNodes: 3, timeoutMs: 200, connectMs: 1_000 });
});

test("an address that is none is a fault, in words that do not repeat it", async () => {
  const expected = "expected redis://host:6379, or rediss:// for TLS, perhaps with user:password@ and /database";
  const wrong = [
    ...[
      "localhost:6379",
      "http://localhost",
      "redis://",
      "redis://host/name",
      "redis://host/1?x=1",
      "redis://:%zz@host",
    ],
    "redis://host:70000",
  ];
  for (const url of wrong) {
    expect(await faultsOf(`redis: { url: "${url}" }\n`), url).toEqual([`redis.url: ${expected}`]);
    expect(await faultsOf("port: 1\n", { REDIS_URL: url }), url).toEqual([`REDIS_URL: ${expected}`]);
  }
});

test("settings without an address are a fault", async () => {
  expect(await faultsOf("redis: { when_away: refuse }\n")).toEqual(["redis.url: is missing, and REDIS_URL is not set"]);
  expect(await faultsOf('redis: { prefix: "a b", when_away: wait }\n', { REDIS_URL: "redis://a" })).toEqual([
    "redis.prefix: expected at most 100 characters of ASCII without spaces and braces",
    "redis.when_away: expected one of divide, refuse",
  ]);
});
