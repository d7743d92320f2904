/** Where the data are kept: what the file and the environment say of Postgres and its replica, and what is wrong with it. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Environment } from "../../src/config/config.ts";
import { writtenConfig } from "./written-config.ts";

const written = writtenConfig();
const { faultsOf } = written;
const databaseOf = async (text: string, environment?: Environment) => (await written.load(text, environment)).database;

const url = "postgres://gateway:word@db.internal/gateway";
const replica = "postgres://gateway:word@replica.internal/gateway";

test("it is Postgres where an address is given, and has a replica where that has one", async () => {
  expect(await databaseOf("port: 1\n")).toBeUndefined();
  expect(await databaseOf("port: 1\n", { DATABASE_URL: url })).toEqual({ url, poolSize: 5, replica: undefined });
  expect(await databaseOf(`database: { url: "${url}", replica_url: "${replica}" }\n`)).toEqual({
    ...{ url, poolSize: 5 },
    replica: { url: replica, maxLagMs: 30_000 },
  });
});

test("the environment wins, also from a file", async () => {
  const named = join(written.folder, "replica");
  await writeFile(named, `${replica}\n`);
  const text = `database: { url: "${url}", replica_url: "postgres://elsewhere/x", replica_max_lag_seconds: 5 }\n`;
  expect(await databaseOf(text, { DATABASE_REPLICA_URL_FILE: named })).toMatchObject({
    replica: { url: replica, maxLagMs: 5000 },
  });
});

test("a replica of nothing, an address that is none, and a lag that cannot be kept are faults", async () => {
  expect(await faultsOf("port: 1\n", { DATABASE_REPLICA_URL: replica })).toEqual([
    "DATABASE_REPLICA_URL: is set, and DATABASE_URL, of which it is to be a replica, is not",
  ]);
  const [wrong] = await faultsOf("port: 1\n", { DATABASE_URL: url, DATABASE_REPLICA_URL: "replica.internal:secret" });
  expect(wrong).toMatch(/^DATABASE_REPLICA_URL: expected postgres:\/\//);
  expect(wrong).not.toContain("secret");
  expect(await faultsOf(`database: { url: "${url}", replica_max_lag_seconds: 0 }\n`)).toHaveLength(1);
});
