/**
 * Authentication: the key in every form in which clients send it, and the stored form of keys and passwords.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { type IncomingHttpHeaders, request } from "node:http";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Gateway, startGateway } from "../../../src/composition/gateway.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { newId } from "../../../src/runtime/ids.ts";
import {
  hashKeySecret,
  hashPassword,
  maskKeySecret,
  newKeySecret,
  newPassword,
  verifyPassword,
} from "../../../src/runtime/secrets.ts";
import { issueKey } from "../../../src/services/keys/issue-key.ts";
import type { Storage } from "../../../src/storage/storage.ts";
import { modelGateway } from "../../support/command.ts";
import { environment } from "../../support/environment.ts";
import { eventually } from "../../support/eventually.ts";
import { bytesOf, dialect, newTestDatabase, type TestDatabase } from "../../support/storage/test-database.ts";

let database: TestDatabase;
let storage: Storage;
let gateway: Gateway;
let accountId: string;
let key: string;
let revoked: string;

beforeAll(async () => {
  database = await newTestDatabase();
  storage = await database.open();
  accountId = newId("acc");
  await storage.accounts.insert({ id: accountId, name: "test", created_at: Date.now() });
  key = (await issue("ours")).secret;
  const old = await issue("old");
  revoked = old.secret;
  await storage.keys.revoke(old.key.id, Date.now());
  const config = { ...loadConfig(undefined, environment), port: 0, dataDir: database.dataDir, drainMs: 2000 };
  gateway = await startGateway({ config, storage, log: pino({ level: "silent" }) });
});

afterAll(async () => {
  await gateway.close();
  await storage.close();
  await database.remove();
});

function issue(name: string) {
  return issueKey(storage.keys, { accountId, name, admin: false, now: Date.now() });
}

interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const paths = ["/v1/chat/completions", "/modelgateway.v1.InferenceService/CreateChatCompletion"] as const;

/** One chat call with exactly these headers, as they are. */
async function call(headers: Record<string, string | string[]>, path: string = paths[0]): Promise<Reply> {
  const sent = request({
    port: gateway.port,
    path,
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    agent: false,
  });
  const message = path === paths[0] ? { role: "user", content: "Hi" } : { role: "ROLE_USER", text: "Hi" };
  sent.end(JSON.stringify({ model: "embedded-chat", messages: [message] }));
  const [response] = await once(sent, "response");
  let body = "";
  for await (const chunk of response) body += chunk;
  return { status: response.statusCode, headers: response.headers, body };
}

describe("a key is taken from", () => {
  const forms: Record<string, () => Record<string, string | string[]>> = {
    "Authorization: Bearer": () => ({ authorization: `Bearer ${key}` }),
    "Authorization: bearer, in lower case": () => ({ authorization: `bearer ${key}` }),
    "Authorization: BEARER, in upper case": () => ({ authorization: `BEARER ${key}` }),
    "Authorization with more spaces than needed": () => ({ authorization: `  Bearer  \t ${key}  ` }),
    "Authorization without a scheme": () => ({ authorization: key }),
    "Authorization with the scheme twice": () => ({ authorization: `Bearer Bearer ${key}` }),
    "x-api-key": () => ({ "x-api-key": key }),
    "api-key": () => ({ "api-key": key }),
    "api-key, beside a foreign token in Authorization": () => ({ authorization: "Bearer foreign", "api-key": key }),
    "x-api-key with spaces around": () => ({ "x-api-key": `  ${key} ` }),
    "x-api-key, sent twice alike": () => ({ "x-api-key": [key, key] }),
    "both headers alike": () => ({ authorization: `Bearer ${key}`, "x-api-key": key }),
    "x-api-key, beside a foreign token in Authorization": () => ({ authorization: "Bearer foreign", "x-api-key": key }),
    "Authorization, beside a foreign x-api-key": () => ({ authorization: `Bearer ${key}`, "x-api-key": "foreign" }),
    "x-api-key, beside a revoked key in Authorization": () => ({
      authorization: `Bearer ${revoked}`,
      "x-api-key": key,
    }),
    "x-api-key, beside an empty Bearer": () => ({ authorization: "Bearer", "x-api-key": key }),
    "x-api-key, beside Basic credentials": () => ({ authorization: "Basic dTpw", "x-api-key": key }),
  };
  for (const [name, headers] of Object.entries(forms)) {
    test(`${name}, over HTTP and over RPC`, async () => {
      for (const path of paths) expect(await call(headers(), path), path).toMatchObject({ status: 200 });
    });
  }
});

describe("a call is refused with 401 when it brings", () => {
  const forms: Record<string, () => Record<string, string | string[]>> = {
    "our key and another in x-api-key": () => ({ "x-api-key": [key, "foreign"] }),
    "no key": () => ({}),
    "an empty Authorization": () => ({ authorization: "" }),
    "a Bearer without a key": () => ({ authorization: "Bearer " }),
    "an unknown key": () => ({ authorization: `Bearer ${newKeySecret()}` }),
    "a revoked key": () => ({ authorization: `Bearer ${revoked}` }),
    "a key with spaces in it": () => ({ authorization: "Bearer My API Key" }),
    "a key with spaces in it, without a scheme": () => ({ authorization: "My API Key" }),
    "our key and more behind it": () => ({ authorization: `Bearer ${key} ${key}` }),
    "our key in other letters": () => ({ authorization: `Bearer ${key.toUpperCase()}` }),
    "two foreign keys": () => ({ authorization: "Bearer foreign", "x-api-key": "another" }),
    "the hash that is kept of our key": () => ({ authorization: `Bearer ${hashKeySecret(key)}` }),
    "an injection": () => ({ authorization: "Bearer ' OR '1'='1" }),
  };
  for (const [name, headers] of Object.entries(forms)) {
    test(name, async () => {
      const reply = await call(headers());
      // Clients that would repeat a 401, as Claude Code does for minutes, are told that it is in vain.
      const told = { "www-authenticate": "Bearer", "x-should-retry": "false" };
      expect(reply).toMatchObject({ status: 401, headers: told });
      expect(JSON.parse(reply.body)).toMatchObject({
        error: { type: "invalid_request_error", code: "invalid_api_key" },
      });
      const rpc = await call(headers(), paths[1]);
      expect(rpc).toMatchObject({ status: 401, headers: told });
      expect(JSON.parse(rpc.body)).toMatchObject({ code: "unauthenticated" });
      for (const secret of [key, revoked]) expect(reply.body + rpc.body).not.toContain(secret);
    });
  }

  test("an unknown and a revoked key in the same words", async () => {
    const unknown = await call({ authorization: "Bearer sk-unknown" });
    expect((await call({ authorization: `Bearer ${revoked}` })).body).toBe(unknown.body);
  });
});

/** On SQLite from the next call on, on Postgres within a second. */
const refusedSoon = (secret: string) =>
  eventually(
    async () => expect((await call({ authorization: `Bearer ${secret}` })).status).toBe(401),
    dialect === "sqlite" ? 0 : 1000,
  );

describe("a revocation holds from the next call", () => {
  test("when another connection made it", async () => {
    const { key: row, secret } = await issue("short-lived");
    expect((await call({ authorization: `Bearer ${secret}` })).status).toBe(200);
    const other = await database.open();
    try {
      expect(await other.keys.revoke(row.id, Date.now())).toBe(true);
    } finally {
      await other.close();
    }
    await refusedSoon(secret);
  });

  test("when another process made it", async () => {
    const { key: row, secret } = await issue("short-lived");
    expect((await call({ authorization: `Bearer ${secret}` })).status).toBe(200);
    expect(await modelGateway(["keys", "revoke", row.id], database.variables)).toMatchObject({ code: 0 });
    await refusedSoon(secret);
  });
});

describe("of a key", () => {
  test("the secret is `sk-` and 256 random bits, never the same twice", () => {
    const secrets = new Set(Array.from({ length: 10_000 }, newKeySecret));
    expect(secrets.size).toBe(10_000);
    // Every bit is now one and now zero: none is fixed.
    const ones = Buffer.alloc(32);
    const zeros = Buffer.alloc(32);
    for (const secret of secrets) {
      expect(secret).toMatch(/^sk-[\w-]{43}$/);
      const bytes = Buffer.from(secret.slice(3), "base64url");
      for (const [i, byte] of bytes.entries()) {
        ones[i] = (ones[i] as number) | byte;
        zeros[i] = (zeros[i] as number) | (byte ^ 255);
      }
    }
    expect(ones.equals(Buffer.alloc(32, 255))).toBe(true);
    expect(zeros.equals(Buffer.alloc(32, 255))).toBe(true);
  });

  test("only the SHA-256 is in the database", async () => {
    const { secret } = await issue("searched for");
    const bytes = await bytesOf(database);
    expect(bytes.includes(createHash("sha256").update(secret).digest("hex"))).toBe(true);
    for (const form of [secret, secret.slice(3), secret.slice(8, -8)]) expect(bytes.includes(form)).toBe(false);
    expect(bytes.includes(Buffer.from(secret.slice(3), "base64url"))).toBe(false);
  });

  test("lists show the first and last four characters and no more", async () => {
    const { secret, key: row } = await issue("listed");
    expect(row.secret_mask).toBe(`${secret.slice(0, 4)}…${secret.slice(-4)}`);
    expect(maskKeySecret("sk-abcdefghij")).toBe("sk-a…ghij");
    const listed = await modelGateway(["keys", "list"], database.variables);
    expect(listed.stdout).toContain(row.secret_mask);
    expect(listed.stdout).not.toContain(secret.slice(4, -4));
    expect(listed.stdout).not.toContain(row.secret_hash);
  });
});

describe("of a password", () => {
  test("argon2id in the PHC form is kept, with a salt of its own", async () => {
    const password = newPassword();
    const [one, two] = await Promise.all([hashPassword(password), hashPassword(password)]);
    expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(one).not.toBe(two);
    expect(one).not.toContain(password);
    expect(await verifyPassword(password, one)).toBe(true);
    expect(await verifyPassword(password, two)).toBe(true);
  });

  test("any other is denied, however alike", async () => {
    const kept = await hashPassword("correct horse 🐎");
    for (const other of ["", "correct horse", "Correct horse 🐎", "correct horse 🐎 "]) {
      expect(await verifyPassword(other, kept), other).toBe(false);
    }
    expect(await verifyPassword("correct horse 🐎", kept)).toBe(true);
  });

  test("one that was kept at another cost is still verified", async () => {
    // Among the test vectors of the reference implementation.
    const kept = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
    expect(await verifyPassword("password", kept)).toBe(true);
    expect(await verifyPassword("passwort", kept)).toBe(false);
  });

  test("what has an unknown form is an error, not a denial", async () => {
    await expect(verifyPassword("password", "$2b$10$abc")).rejects.toThrow("unknown format");
  });
});

describe("an id", () => {
  test("is its prefix and 25 characters that no one mistakes for another", () => {
    for (const prefix of ["acc", "key", "req"]) {
      expect(newId(prefix)).toMatch(new RegExp(`^${prefix}_[0-9abcdefghjkmnpqrstvwxyz]{25}$`));
    }
  });

  test("is never the same twice", () => {
    const now = Date.now();
    expect(new Set(Array.from({ length: 100_000 }, () => newId("req", now))).size).toBe(100_000);
  });

  test("sorts by the time at which it was made", () => {
    const times = [0, 1, 31, 32, 1023, 1024, 1_700_000_000_000, 1_700_000_000_001, 1_800_000_000_000, 32 ** 9 - 1];
    const ids = times.map((time) => newId("key", time));
    expect([...ids].sort()).toEqual(ids);
  });
});
