/** What the furnished demo shows agrees with itself: its refusals, operations, moments and amounts. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tierOf } from "../../src/call/tiers.ts";
import { foundAccount, furnish } from "../../src/commands/demo/furnish.ts";
import { vendorKeys } from "../../src/commands/demo/plan.ts";
import { strangeModels } from "../../src/commands/demo/refusals.ts";
import { loadConfig } from "../../src/config/config.ts";
import type { RefusedCall } from "../../src/storage/calls/refused.ts";
import type { ApiKey } from "../../src/storage/keys.ts";
import { openStorage, type Storage } from "../../src/storage/storage.ts";
import { createCatalog } from "../../src/targets/catalog.ts";
import { temporaryFolder } from "../support/command.ts";

const now = Date.UTC(2026, 10, 26, 9, 30);
const config = loadConfig(undefined, vendorKeys);
const catalog = createCatalog(config.models);
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let storage: Storage;
let keys: ReadonlyMap<string, ApiKey>;
let refused: readonly RefusedCall[];

beforeAll(async () => {
  folder = await temporaryFolder();
  storage = await openStorage(`${folder.path}/gateway.db`);
  await foundAccount(storage, "demo", now);
  const accountId = (await storage.accounts.find("demo"))?.id ?? "";
  await furnish({ config, storage, accountId, now });
  keys = new Map((await storage.keys.list()).map((key) => [key.id, key]));
  refused = await storage.refused.page({}, undefined, 10_000);
});
afterAll(async () => {
  await storage.close();
  await folder.remove();
});

/** answered returns the calls of all accounts that were not refused. */
async function answered() {
  const accounts = await storage.accounts.list();
  const pages = accounts.map(({ id }) => storage.requests.page({ accountId: id }, undefined, 20_000));
  return (await Promise.all(pages)).flat();
}

/** rechargedAt returns what an account had recharged at a moment. */
async function rechargedAt(accountId: string, moment: number): Promise<number> {
  const entries = await storage.entries.page(accountId, { kinds: [1], limit: 100 });
  return entries.reduce((sum, { created_at, amount }) => (created_at <= moment ? sum + amount : sum), 0);
}

const keyOf = ({ key_id }: { readonly key_id: string }) => keys.get(key_id) as ApiKey;
const withStatus = (status: number) => refused.filter((call) => call.status === status);

describe("a refusal", () => {
  test("for a rate tells the limit of its key, or of its account's tier at that moment", async () => {
    const limited = withStatus(429);
    expect(limited.length).toBeGreaterThan(20);
    for (const call of limited) {
      const [, whose, rate] = /: the (account|API key) is allowed (\d+) requests a minute/.exec(call.detail) ?? [];
      const [, running] = /^The API key has (\d+) calls running/.exec(call.detail) ?? [];
      if (running !== undefined) expect(Number(running)).toBe(keyOf(call).max_concurrent);
      else if (whose === "API key") expect(Number(rate)).toBe(keyOf(call).requests_per_minute);
      else {
        const { requestsPerMinute } = tierOf(config.tiers, await rechargedAt(call.account_id, call.created_at));
        expect(Number(rate), call.detail).toBe(requestsPerMinute);
      }
    }
  });

  test("for a credit limit tells amounts of its own, in the gateway's unit, of a key that has spent nearly all", () => {
    const short = withStatus(402);
    expect(short.length).toBeGreaterThan(2);
    expect(new Set(short.map(({ detail }) => detail)).size).toBe(short.length);
    for (const call of short) {
      const [, needed, left] =
        /at least ([\d.]+) JPY and ([\d.]+) JPY is left of the API key's/.exec(call.detail) ?? [];
      expect(Number(needed), call.detail).toBeGreaterThan(Number(left));
      const { credit_limit, spent } = keyOf(call);
      expect(Number(left)).toBeGreaterThanOrEqual(((credit_limit ?? 0) - spent) / 1_000_000);
    }
  });

  test("for a model is of a key that may not call it, or of a name that there is not", () => {
    for (const call of withStatus(403)) expect(JSON.parse(keyOf(call).models ?? "[]")).not.toContain(call.model);
    const known = catalog.list().flatMap(({ id, aliases }) => [id, ...aliases]);
    for (const name of Object.values(strangeModels)) expect(known).not.toContain(name);
    for (const { model, operation } of withStatus(404)) {
      expect(model).toBe(strangeModels[operation as keyof typeof strangeModels]);
    }
  });

  test("for a key comes once it is disabled or has expired, and no other then", () => {
    const ended = withStatus(401);
    expect(ended.some(({ detail }) => detail.includes("expired"))).toBe(true);
    expect(ended.some(({ detail }) => detail.includes("disabled"))).toBe(true);
    for (const call of refused) {
      const { created_at, expires_at } = keyOf(call);
      expect(call.created_at).toBeGreaterThanOrEqual(created_at);
      if (expires_at !== null && call.created_at >= expires_at) expect(call.status).toBe(401);
    }
  });

  test("comes to each account at moments of its own", () => {
    const accounts = new Map<number, Set<string>>();
    for (const { account_id, created_at } of refused) {
      const second = Math.floor(created_at / 1000);
      accounts.set(second, (accounts.get(second) ?? new Set()).add(account_id));
    }
    expect([...accounts.values()].filter(({ size }) => size > 1)).toEqual([]);
  });
});

test("an operation suits the kind of its model, answered or refused", async () => {
  const kinds = new Map(catalog.list().map(({ id, kind }) => [id, kind]));
  const calls = [...(await answered()), ...refused];
  expect(calls.length).toBeGreaterThan(10_000);
  const odd = calls.filter(({ model, operation }) => {
    const kind = kinds.get(model);
    return kind !== undefined && (kind === "embedding") !== (operation === "embeddings");
  });
  expect(odd).toEqual([]);
});

test("accounts are older than their users, users than keys, and keys than their calls", async () => {
  const founded = new Map((await storage.accounts.list()).map(({ id, created_at }) => [id, created_at]));
  const joined = new Map<string, number>();
  for (const { account_id, created_at } of await storage.users.page({ limit: 100 })) {
    expect(created_at).toBeGreaterThanOrEqual(founded.get(account_id) ?? Number.POSITIVE_INFINITY);
    joined.set(account_id, created_at);
  }
  expect(joined.size).toBeGreaterThan(2);
  for (const { account_id, created_at } of keys.values()) {
    expect(created_at).toBeGreaterThan(joined.get(account_id) ?? founded.get(account_id) ?? Number.POSITIVE_INFINITY);
  }
  for (const call of await answered()) {
    expect(call.created_at).toBeGreaterThanOrEqual(keyOf(call).created_at);
  }
});

test("the audit log has events of several kinds, each at a moment of its own", async () => {
  const events = await storage.auditEvents.page({ limit: 1_000 });
  expect(new Set(events.map(({ action }) => action)).size).toBeGreaterThan(4);
  const minutes = new Set(events.map(({ created_at }) => Math.floor(created_at / 60_000) % 1_440));
  expect(minutes.size).toBeGreaterThan(events.length / 2);
  expect(new Set(events.map(({ created_at }) => created_at)).size).toBe(events.length);
  const notes = events.flatMap(({ action, details }) => (action.endsWith("RecordEntry") ? [details] : []));
  expect(new Set(notes.map((note) => /Invoice [\d-]+/.exec(note)?.[0])).size).toBe(notes.length);
});
