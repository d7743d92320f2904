/** A configuration is read anew while it is served: what is taken, what is missed by nobody, and what the log says of it. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openSource } from "../../src/commands/serving/configuration-source.ts";
import { followConfiguration } from "../../src/commands/serving/follow-configuration.ts";
import { type Config, loadConfig } from "../../src/config/config.ts";
import type { ChangeOrder } from "../../src/config/stored/stored-configuration.ts";
import { environment } from "../support/environment.ts";
import { eventually } from "../support/eventually.ts";
import { newTestDatabase } from "../support/storage/test-database.ts";

test("keys that are bound to the process are told once they differ from it, and not when they are changed back", async () => {
  const config = loadConfig(undefined, environment);
  let next: Config = config;
  const told: unknown[] = [];
  const tell = (about: object) => void told.push(about);
  const following = followConfiguration({
    config,
    source: {
      ...{ load: async () => next, fileText: () => undefined, isFileRefused: () => false },
      onStoredChange: () => () => {},
    },
    adapt: (read) => read,
    file: undefined,
    log: { info: () => {}, warn: tell, error: tell },
    take: () => {},
  });
  for (const port of [config.port + 1, config.port + 1, config.port]) {
    next = { ...config, port };
    await following.reload("a test");
  }
  following.close();
  expect(told).toEqual([{ keys: ["port"] }]);
});

describe("a file", () => {
  let folder: string;
  let file: string;
  const cleanups: (() => unknown)[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "gateway-test-"));
    file = join(folder, "gateway.yaml");
  });
  afterEach(async () => {
    for (const cleanUp of cleanups.splice(0)) await cleanUp();
    await rm(folder, { recursive: true, force: true });
  });

  const withAttempts = (count: number) => `retries: { attempts: ${count} }\n`;

  /** Serves by the file as it is, changes it by `meanwhile`, and follows it only then. */
  async function followLate(meanwhile: () => unknown, failures: readonly Error[] = []) {
    const database = await newTestDatabase();
    const storage = await database.open();
    const base = loadConfig(file, environment);
    const log: [string, unknown][] = [];
    const tell = (what: string) => (about: object, message?: string) => void log.push([what, { ...about, message }]);
    const logger = { info: tell("info"), warn: tell("warn"), error: tell("error") } as never;
    const source = openSource({ config: base, storage, file, environment, log: logger });
    const config = await source.load();
    await meanwhile();
    const taken: number[] = [];
    const served = { registration: config.registration, attempts: config.retries.attempts };
    const broken = [...failures];
    const following = followConfiguration({
      ...{ config, adapt: (read: Config) => read, file, log: logger },
      source: {
        ...source,
        async load(of) {
          const next = await source.load(of);
          const failure = broken.shift();
          if (failure) throw failure;
          return next;
        },
      },
      take(next) {
        taken.push(next.retries.attempts);
        Object.assign(served, { registration: next.registration, attempts: next.retries.attempts });
      },
    });
    cleanups.push(following.close, source.close, storage.close, database.remove);
    /** store makes a version, and resolves once it is answered. */
    const store = async (...changes: ChangeOrder["changes"]) => {
      const actor = { kind: "command_line", id: "" };
      const order = { changes, note: undefined, isDry: false, actor, now: 1 };
      return await source.stored.change({ ...order, base: source.version() });
    };
    return { taken, log, served, store };
  }

  test("that changes before it is followed is taken", async () => {
    await writeFile(file, withAttempts(1));
    const { taken } = await followLate(() => writeFile(file, withAttempts(2)));
    await eventually(() => expect(taken).toEqual([2]));
    await writeFile(file, withAttempts(4));
    await eventually(() => expect(taken).toEqual([2, 4]));
  });

  test("that is wrong is refused once, and taken when it is mended", async () => {
    await writeFile(file, withAttempts(1));
    const { taken, log } = await followLate(() => writeFile(file, "retries: 7\n"));
    await eventually(() => expect(log).toHaveLength(1));
    expect(log).toEqual([
      ["error", expect.objectContaining({ faults: [expect.stringContaining("gateway.yaml:1: ")] })],
    ]);
    await rm(file);
    await eventually(() => expect(log).toHaveLength(2));
    await writeFile(file, withAttempts(3));
    await eventually(() => expect(taken).toEqual([3]));
    expect(log.map(([what]) => what)).toEqual(["error", "error", "info"]);
  });

  const closed = { kind: "settings", settings: { registration: "closed" } } as const;
  const halfWritten = { "that is blank": "", "that is half written": "retries: { attem" };
  for (const [what, text] of Object.entries(halfWritten)) {
    test(`${what} holds up nothing that is stored meanwhile, and is taken when it is whole`, async () => {
      await writeFile(file, withAttempts(1));
      const { served, store } = await followLate(() => {});
      await writeFile(file, text);
      await store(closed);
      expect(served).toEqual({ registration: "closed", attempts: 1 });
      await writeFile(file, withAttempts(5));
      await eventually(() => expect(served).toEqual({ registration: "closed", attempts: 5 }));
    });

    test(`${what}, and was refused, holds up nothing that is stored either`, async () => {
      await writeFile(file, withAttempts(1));
      const { served, store, log } = await followLate(() => writeFile(file, text));
      await eventually(() => expect(log.map(([kind]) => kind)).toEqual(["error"]));
      await store(closed);
      expect(served).toEqual({ registration: "closed", attempts: 1 });
      await eventually(() => expect(log.map(([kind]) => kind)).toEqual(["error", "info", "error"]));
    });
  }

  test("that was blank from the start says nothing, and what is stored is served", async () => {
    await writeFile(file, "\n");
    const { served, store } = await followLate(() => {});
    await store(closed);
    expect(served.registration).toBe("closed");
  });

  test("that was refused beside what was stored is taken once another version suits it", async () => {
    await writeFile(file, withAttempts(1));
    const { served, store, log } = await followLate(() => {});
    const upstream = (name: string) => ({ name, kind: "openai", base_url: `http://${name}.example/v1` });
    const model = (id: string, name: string) => ({
      id,
      family: "f",
      kind: "chat",
      targets: [{ upstream: name, model: "m" }],
    });
    const document = { upstreams: [upstream("b")], models: [{ ...model("m", "b"), aliases: ["twice"] }] };
    await store({ kind: "document", document });
    const more = JSON.stringify({
      upstreams: [upstream("a")],
      models: [model("twice", "a")],
      retries: { attempts: 6 },
    });
    await writeFile(file, more);
    await eventually(() => expect(log.map(([kind]) => kind)).toContain("error"));
    expect(served.attempts).toBe(1);
    await store({ kind: "remove_model", name: "m" });
    await eventually(() => expect(served.attempts).toBe(6));
  });

  test("is read again while the database is in trouble, which the log says once", async () => {
    const locked = () => Object.assign(new Error("database is locked"), { code: "SQLITE_BUSY" });
    await writeFile(file, withAttempts(1));
    const { taken, log } = await followLate(() => writeFile(file, withAttempts(2)), [locked(), locked()]);
    await eventually(() => expect(taken).toEqual([2]));
    expect(log).toEqual([
      ["error", expect.objectContaining({ message: expect.stringMatching(/until the database answers/) as string })],
      ["info", expect.objectContaining({ changed: ["retries"] })],
    ]);
  });
});
