/**
 * Where the configuration comes from: the file and the highest version, read anew; versions of this process are told before their change
 * is answered, those of others within moments; without a key, what needs one is refused with what to do.
 */
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { conflictMessage } from "../../../src/call/conflicts.ts";
import { ConfigError } from "../../../src/config/config-error.ts";
import { createKeyRing, KeyRingError } from "../../../src/config/stored/key-ring.ts";
import { type ConfigurationSource, openConfigurationSource } from "../../../src/config/stored/source.ts";
import type { ChangeOrder } from "../../../src/config/stored/stored-configuration.ts";
import { configurationChangedSince } from "../../../src/storage/configuration/configurations.ts";
import type { Storage } from "../../../src/storage/storage.ts";
import { eventually } from "../../support/eventually.ts";
import { timed } from "../../support/run/running-time.ts";
import { newTestDatabase, type TestDatabase } from "../../support/storage/test-database.ts";

let database: TestDatabase;
let folder: string;
const storages: Storage[] = [];
const sources: ConfigurationSource[] = [];

beforeEach(async () => {
  database = await newTestDatabase();
  folder = await mkdtemp(join(tmpdir(), "gateway-test-"));
});
afterEach(async () => {
  for (const source of sources.splice(0)) source.close();
  for (const storage of storages.splice(0)) await storage.close();
  await database.remove();
  await rm(folder, { recursive: true, force: true });
});

const key = "ab".repeat(32);
const sealing = { key, keyFile: undefined };

async function open(file?: string, errors: unknown[] = [], readBefore?: string): Promise<ConfigurationSource> {
  const storage = await database.open();
  storages.push(storage);
  const source = openConfigurationSource({
    rows: storage.configurations,
    changes: { version: storage.version, changedSince: (asOf) => configurationChangedSince(storage, asOf) },
    keys: createKeyRing({ sealing, dataDir: folder, database: undefined }),
    givenFile: file,
    environment: {},
    readBefore: () => readBefore,
    onError: (error) => void errors.push(error),
  });
  sources.push(source);
  return source;
}

const order = (base: number, ...changes: ChangeOrder["changes"]): ChangeOrder => ({
  ...{ base, changes, note: undefined, isDry: false, now: 1, actor: { kind: "command_line", id: "" } },
});
const attempts = (count: number): ChangeOrder["changes"][number] => ({
  kind: "settings",
  settings: { retries: { attempts: count } },
});

test("both are joined: the file wins, an entry and a key at a time", async () => {
  const file = join(folder, "gateway.yaml");
  await writeFile(
    file,
    'upstreams: [{ name: a, kind: openai, base_url: "http://a.example/v1" }]\nretries: { attempts: 2 }\n',
  );
  const source = await open(file);
  const upstream = (name: string, port: number) => ({
    name,
    kind: "openai",
    base_url: `http://${name}.example:${port}/v1`,
  });
  const document = {
    upstreams: [upstream("a", 1), upstream("b", 2)],
    ...{ retries: { attempts: 9 }, registration: "open" },
    models: [
      {
        id: "m",
        family: "f",
        kind: "chat",
        targets: [
          { upstream: "a", model: "m" },
          { upstream: "b", model: "m" },
        ],
      },
    ],
  };
  await source.stored.change(order(0, { kind: "document", document }));
  const config = await source.load();
  expect(config.upstreams.map(({ base_url }) => base_url)).toEqual(["http://a.example/v1", "http://b.example:2/v1"]);
  expect([config.retries.attempts, config.registration, source.version()]).toEqual([2, "open", 1]);
  expect(config.models.find(({ id }) => id === "m")?.targets).toHaveLength(2);
  expect((await source.stored.view())?.shadowed).toEqual(["upstreams[a]", "retries"]);
  const refused = source.stored.change(
    order(1, { kind: "remove_upstream", name: "a" }, { kind: "settings", settings: { retries: null } }),
  );
  await expect(refused).rejects.toThrow(`retries: it is written in ${file}: change it there`);
  // Taken out of the file, it is served as it is stored.
  await writeFile(file, "port: 1\n");
  expect((await source.load()).upstreams.map(({ base_url }) => base_url)[0]).toBe("http://a.example:1/v1");
});

test("a process that follows another refuses a blank file, and serves what is stored beside the text that the other went by", async () => {
  const file = join(folder, "gateway.yaml");
  await writeFile(file, "");
  const source = await open(file, [], "retries: { attempts: 2 }\n");
  await expect(source.load()).rejects.toThrow("the file is empty");
  await source.stored.change(order(0, { kind: "settings", settings: { registration: "open" } }));
  const config = await source.load("stored");
  expect([config.retries.attempts, config.registration]).toEqual([2, "open"]);
  expect([source.isFileRefused(), source.takenText()]).toEqual([true, "retries: { attempts: 2 }\n"]);
});

test("a version that no longer fits the file is refused at its place, and can be seen and changed", async () => {
  const file = join(folder, "gateway.yaml");
  await writeFile(file, "port: 1\n");
  const source = await open(file);
  const upstreams = [{ name: "b", kind: "openai", base_url: "http://b.example/v1" }];
  const targets = [{ upstream: "b", model: "m" }];
  const models = [{ id: "m", aliases: ["twice"], family: "f", kind: "chat", targets }];
  await source.stored.change(order(0, { kind: "document", document: { upstreams, models } }));
  await writeFile(
    file,
    `upstreams: [{ name: a, kind: openai, base_url: "http://a.example/v1" }]
models: [{ id: twice, family: f, kind: chat, targets: [{ upstream: a, model: m }] }]\n`,
  );
  const error = await source.load().catch((one: unknown) => one);
  expect((error as ConfigError).faults).toEqual([
    {
      file: "version 1 of the configuration",
      isStored: true,
      path: "models[m].aliases[0]",
      message: 'models[m].aliases[0]: a second model "twice"',
      reason: "MODEL_TAKEN",
      parameters: { name: "twice" },
    },
  ]);
  expect((await source.stored.view())?.facts?.version).toBe(1);
  await source.stored.change(order(1, { kind: "remove_model", name: "m" }));
  expect((await source.load()).models.map(({ id }) => id)).toContain("twice");
});

describe("versions are told", () => {
  test("to this process before the change is answered", async () => {
    const source = await open();
    const seen: number[] = [];
    source.onStoredChange(async () => {
      await source.load();
      seen.push(source.version());
    });
    for (const base of [0, 1, 2]) {
      await source.stored.change(order(base, attempts(base + 1)));
      expect(seen.at(-1)).toBe(base + 1);
    }
    expect(seen).toEqual([1, 2, 3]);
  });

  test("to other processes within a second, once each, and not to those that have ended", async () => {
    const [one, other] = [await open(), await open()];
    const seen: number[] = [];
    const end = other.onStoredChange(async () => {
      await other.load();
      seen.push(other.version());
    });
    await one.stored.change(order(0, attempts(2)));
    const [, { runningMs }] = await timed(() => eventually(() => expect(seen).toEqual([1])));
    expect(runningMs).toBeLessThan(1000);
    end();
    await one.stored.change(order(1, attempts(3)));
    await eventually(async () => expect((await other.load()).retries.attempts).toBe(3));
    expect(seen).toEqual([1]);
  });

  test("to whoever listens later than it came, unless it was loaded meanwhile", async () => {
    const source = await open();
    let told = 0;
    await source.stored.change(order(0, attempts(2)));
    const end = source.onStoredChange(() => void told++);
    expect(told).toBe(1);
    end();
    await source.stored.change(order(1, attempts(3)));
    await source.load();
    source.onStoredChange(() => void told++);
    expect(told).toBe(1);
  });

  test("to the others also where one of them fails", async () => {
    const errors: unknown[] = [];
    const source = await open(undefined, errors);
    let told = 0;
    source.onStoredChange(() => Promise.reject(new Error("broken")));
    source.onStoredChange(() => void told++);
    await source.stored.change(order(0, attempts(2)));
    expect([told, errors.map(String)]).toEqual([1, ["Error: broken"]]);
  });
});

test("of many changes of one version at once, by two processes, one is made", async () => {
  const [one, other] = [await open(), await open()];
  const asked = Array.from({ length: 20 }, (_, i) =>
    (i % 2 ? one : other).stored.change(order(0, attempts((i % 9) + 1))),
  );
  const kinds = (await Promise.all(asked)).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === "changed")).toHaveLength(1);
  expect(kinds.filter((kind) => kind === "conflict")).toHaveLength(19);
  expect((await one.stored.open())?.version).toBe(1);
});

describe("the key", () => {
  const ring = (more: Partial<Parameters<typeof createKeyRing>[0]> = {}) =>
    createKeyRing({ sealing: { key: undefined, keyFile: undefined }, dataDir: folder, database: undefined, ...more });

  test("is made once, whole, for its owner, however many ask for it", async () => {
    expect(ring().open()).toEqual([]);
    const keys = await Promise.all(Array.from({ length: 10 }, async () => ring().seal()[0]?.toString("hex")));
    expect(new Set(keys).size).toBe(1);
    expect(await readdir(folder)).toEqual(["configuration.key"]);
    expect((await stat(join(folder, "configuration.key"))).mode & 0o777).toBe(0o600);
    expect((await readFile(join(folder, "configuration.key"), "utf8")).trim()).toBe(keys[0]);
  });

  test("is never made with Postgres: what needs it is refused with what to set", () => {
    const database = { url: "postgres://nowhere", poolSize: 1, replica: undefined };
    expect(() => ring({ database }).seal()).toThrow(
      /^There is no key to seal credentials by: set GATEWAY_CONFIG_KEY on every node/,
    );
    expect(ring({ database }).open()).toEqual([]);
  });

  test("that is no key is refused without a word of it", async () => {
    const path = join(folder, "wrong");
    await writeFile(path, "my-secret-passphrase");
    for (const sealing of [
      { key: undefined, keyFile: path },
      { key: undefined, keyFile: `${path}-none` },
    ]) {
      const error = (() => {
        try {
          return ring({ sealing }).open();
        } catch (thrown) {
          return thrown;
        }
      })();
      expect(error).toBeInstanceOf(KeyRingError);
      expect(String(error)).not.toContain("passphrase");
      const { reason, parameters, message } = error as KeyRingError;
      expect(message).toBe(conflictMessage({ reason, parameters }));
    }
  });

  test("of another is told, and nothing is lost: with it, all is there again", async () => {
    const source = await open();
    const upstream = { name: "a", kind: "openai", base_url: "http://a.example", api_key: "a-secret-of-its-own" };
    await source.stored.change(order(0, { kind: "upstream", entry: upstream }));
    const storage = storages[0] as Storage;
    const blind = openConfigurationSource({
      rows: storage.configurations,
      changes: { version: storage.version, changedSince: () => false },
      keys: ring({ sealing: { key: "cd".repeat(32), keyFile: undefined } }),
      ...{ givenFile: undefined, environment: {}, onError: () => {} },
    });
    await expect(blind.load()).rejects.toBeInstanceOf(ConfigError);
    await expect(blind.load()).rejects.toThrow(
      /upstreams\[a\]\.api_key was sealed by the key [0-9a-f]{8}, which is not here\. Set GATEWAY_CONFIG_KEY/,
    );
    // It can be looked at, and nothing of it is told; it cannot be changed.
    expect(await blind.stored.view()).toMatchObject({
      ...{ document: { upstreams: [{ name: "a", api_key: "…" }] }, facts: { version: 1 } },
      locked: expect.stringContaining("was sealed by the key") as string,
    });
    await expect(blind.stored.change(order(1, attempts(2)))).rejects.toBeInstanceOf(ConfigError);
    blind.close();
    expect((await source.load()).upstreams[0]?.api_key).toBe("a-secret-of-its-own");
  });
});
