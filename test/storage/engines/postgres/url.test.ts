/** What DATABASE_URL may be, and the line that says what is wrong with it, which never has its password. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isPostgresUrl, readUrl } from "../../../../src/storage/engines/postgres/url.ts";
import { temporaryFolder } from "../../../support/command.ts";

test("names host, port, database and user", () => {
  expect(readUrl("postgres://ann:p%40ss@db.example:6432/gateway")).toMatchObject({
    ...{ host: "db.example", port: 6432, database: "gateway", user: "ann", password: "p@ss", tls: false },
    name: "db.example:6432/gateway",
  });
  expect(readUrl("postgresql://db/gateway")).toMatchObject({ port: 5432, password: undefined });
  expect(readUrl("postgres://ann@db/gateway?host=/run/postgresql")).toMatchObject({ host: "/run/postgresql" });
  expect(readUrl("postgres://[::1]:5433/gateway")).toMatchObject({ host: "::1", port: 5433 });
});

test("is told from the path of a file", () => {
  expect(["postgres://a/b", "postgresql://a/b", "/data/gateway.db", "file:x"].map(isPostgresUrl)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test("asks for TLS as libpq does", async () => {
  const folder = await temporaryFolder();
  const ca = join(folder.path, "ca.pem");
  writeFileSync(ca, "an authority");
  const tlsOf = (query: string) => readUrl(`postgres://db.example/gateway?${query}`).tls;
  expect(tlsOf("sslmode=disable")).toBe(false);
  expect(tlsOf("sslmode=require")).toMatchObject({ rejectUnauthorized: false, servername: "db.example" });
  expect(tlsOf(`sslmode=require&sslrootcert=${ca}`)).toMatchObject({ rejectUnauthorized: true, ca: "an authority" });
  expect(tlsOf(`sslmode=verify-ca&sslrootcert=${ca}`)).toHaveProperty("checkServerIdentity");
  expect(tlsOf("sslmode=verify-full")).not.toHaveProperty("checkServerIdentity");
  await folder.remove();
});

describe("is refused in one line", () => {
  test.each([
    ["mysql://db/gateway", "it does not begin with postgres://"],
    ["postgres://db", "it lacks a host or a database"],
    ["postgres://ann:se/cret@db/gateway", "is not encoded"],
    ["postgres://ann:se%cret@db/gateway", "write it as %25"],
    ["postgres://ann:secret@db/gateway?sslmod=require", 'it has the parameter "sslmod", which is not known'],
    [
      "postgres://ann:secret@db/gateway?sslmode=prefer",
      'sslmode is "prefer". It may be disable, require, verify-ca, verify-full',
    ],
    ["postgres://ann:secret@db/gateway?sslrootcert=/none", "sslmode does not ask for TLS"],
    ["postgres://ann:secret@db/gateway?sslmode=verify-full&sslrootcert=/none", "/none: there is no such file"],
    ["postgres://ann:secret@db/gateway?connect_timeout=soon", "no number of seconds"],
  ])("%s", (url, why) => {
    expect(() => readUrl(url)).toThrow(why);
    expect(() => readUrl(url)).toThrow(/^DATABASE_URL cannot be used: [^\n]+$/);
    expect(() => readUrl(url)).not.toThrow(/secret|cret@/);
  });
});
