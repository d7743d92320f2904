/** `npm run demo -- --furnished`: a month of calls that the books hold, the same each time. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { foundAccount, furnish } from "../../src/commands/demo/furnish.ts";
import { vendorKeys } from "../../src/commands/demo/plan.ts";
import { loadConfig } from "../../src/config/config.ts";
import { openStorage, type Storage } from "../../src/storage/storage.ts";
import { temporaryFolder } from "../support/command.ts";

const now = Date.UTC(2026, 10, 26, 9, 30);
let folders: Awaited<ReturnType<typeof temporaryFolder>>[] = [];
let storages: Storage[] = [];

beforeEach(() => {
  folders = [];
  storages = [];
});
afterEach(async () => {
  for (const storage of storages) await storage.close();
  for (const folder of folders) await folder.remove();
});

async function furnished() {
  const folder = await temporaryFolder();
  const storage = await openStorage(`${folder.path}/gateway.db`);
  folders.push(folder);
  storages.push(storage);
  await foundAccount(storage, "demo", now);
  const accountId = (await storage.accounts.find("demo"))?.id ?? "";
  const options = { config: loadConfig(undefined, vendorKeys), storage, accountId, now };
  await furnish(options);
  return { storage, accountId, options };
}

const month = { from: now - 31 * 86_400_000, to: now, bucketMs: 86_400_000 };
const summed = (storage: Storage, groupBy: "upstream" | "model") =>
  storage.requests.summarize({ ...month, groupBy }, { calls: 100_000, groups: 50 });

test("a month of calls at three vendors reconciles, and is furnished once", async () => {
  const { storage, accountId, options } = await furnished();
  const proof = await storage.reconcile({ isFull: true });
  expect(proof.findings).toEqual([]);
  const before = await summed(storage, "upstream");
  expect(before.groups.map(({ group }) => group).sort()).toEqual(["anthropic", "deepseek", "openai"]);
  expect(before.total.requests).toBeGreaterThan(10_000);
  expect(before.total.errors).toBeGreaterThan(50);
  const days = new Set(before.sums.map(({ beginsAt }) => beginsAt));
  expect(days.size).toBeGreaterThanOrEqual(30);
  const refused = await storage.refused.sums({ ...month, accountId, groupBy: "reason" }, 20);
  expect(refused.total).toBeGreaterThan(300);
  expect(refused.groups.length).toBe(6);
  expect((await storage.refused.page({ accountId }, undefined, 1000)).length).toBe(120);
  const keys = await storage.keys.list(accountId);
  // Two more are those of every demo.
  expect(keys.length).toBe(28);
  expect(keys.filter(({ spent, credit_limit }) => credit_limit !== null && spent > credit_limit)).toEqual([]);
  expect((await storage.accounts.find(accountId))?.balance).toBeGreaterThan(0);
  await furnish(options);
  expect((await summed(storage, "upstream")).total).toEqual(before.total);
  const [call] = await storage.requests.page({ accountId, outcomes: [1] }, undefined, 1);
  const cards = await storage.prices.find([call?.price_id ?? ""]);
  expect(cards.size).toBe(1);
});

test("the same month is furnished each time", async () => {
  const [one, other] = [await furnished(), await furnished()];
  const [first, second] = await Promise.all([one, other].map(({ storage }) => summed(storage, "model")));
  expect(first?.groups).toEqual(second?.groups);
  expect(first?.total.sums).toEqual(second?.total.sums);
});
