/** The operator's list of accounts: its filters, its orders, and what accounts used. */
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "../../../src/runtime/ids.ts";
import { type Bank, openBank } from "../../support/money/bank.ts";
import { onSqlite } from "../../support/storage/test-database.ts";

const hour = 3_600_000;
let bank: Bank;
let ids: Readonly<Record<string, string>>;

/** Each has its recharge and grant in units; `spends` is what calls of it cost, and `before` what calls of forty days ago did. */
const made = [
  { name: "beta", recharge: 30, grant: 0, spends: [4, 1], before: 0 },
  { name: "Alpha", recharge: 400, grant: 0, spends: [2], before: 9 },
  { name: "gamma", recharge: 0, grant: 7, spends: [], before: 0 },
  { name: "delta", recharge: 0, grant: 0, spends: [], before: 0 },
] as const;

beforeAll(async () => {
  bank = await openBank();
  const created: Record<string, string> = {};
  for (const { name, recharge, grant, before } of made) {
    const { account } = (await bank.ask("createAccount", { name })) as { account: { id: string } };
    created[name] = account.id;
    const amounts = { recharge, grant };
    for (const [kind, amount] of Object.entries(amounts))
      if (amount > 0) await bank.ask("recordEntry", { account: account.id, kind, amount: `${amount}` });
    if (before > 0) await charge(account.id, before);
  }
  bank.pass(40 * 24 * hour);
  for (const { name, spends } of made) for (const cost of spends) await charge(created[name] as string, cost);
  bank.pass(hour);
  await bank.ask("updateAccount", { account: "gamma", suspended: true });
  ids = created;
});

afterAll(() => bank.close());

function charge(accountId: string, units: number) {
  const id = newId("req", bank.now());
  return bank.charge(accountId, { id, key_id: `key_${accountId}`, cost: units * 1_000_000 });
}

async function names(request: JsonObject): Promise<unknown[]> {
  const { accounts = [] } = await bank.ask("listAccounts", request);
  return (accounts as JsonObject[]).map(({ name }) => name);
}

test("accounts are found by tier, balance, state, and whether they called", async () => {
  expect(await names({})).toEqual(["beta", "Alpha", "gamma", "delta"]);
  expect(await names({ tier: "Free" })).toEqual(["gamma", "delta"]);
  expect(await names({ tier: "VIP" })).toEqual(["beta"]);
  expect(await names({ tier: "Premium" })).toEqual(["Alpha"]);
  expect(await names({ balance_below: "7.000001" })).toEqual(["gamma", "delta"]);
  expect(await names({ balance_below: "7" })).toEqual(["delta"]);
  expect(await names({ suspended: true })).toEqual(["gamma"]);
  expect(await names({ suspended: false, tier: "Free" })).toEqual(["delta"]);
  expect(await names({ activity: "active" })).toEqual(["beta", "Alpha"]);
  expect(await names({ activity: "idle", search: "a" })).toEqual(["gamma", "delta"]);
  const none = await bank.refused("listAccounts", { tier: "Gold" });
  expect(none.message).toContain("expected one of Free, VIP, Premium");
});

test("what accounts used is told of a span of time, where somebody asks for it", async () => {
  expect(await bank.ask("listAccounts")).not.toHaveProperty("uses");
  const now = new Date(bank.now()).toISOString();
  const { uses } = await bank.ask("listAccounts", { usage_to: now });
  expect(uses).toMatchObject([{ requests: 2, spent: "5.00" }, { requests: 1, spent: "2.00" }, {}, {}]);
  const since = new Date(bank.now() - 60 * 24 * hour).toISOString();
  const { uses: all } = await bank.ask("listAccounts", { usage_from: since, tier: "Premium" });
  expect(all).toMatchObject([{ requests: 2, spent: "11.00" }]);
  const backwards = await bank.refused("listAccounts", { usage_from: now, usage_to: since });
  expect(backwards.param).toBe("usage_from");
});

test("they are in the order that is asked for, page by page, whatever changes meanwhile", async () => {
  const orders: Readonly<Record<string, readonly string[]>> = {
    created: ["beta", "Alpha", "gamma", "delta"],
    name: ["Alpha", "beta", "delta", "gamma"],
    balance: ["delta", "gamma", "beta", "Alpha"],
    recharged: ["gamma", "delta", "beta", "Alpha"],
    spent: ["gamma", "delta", "Alpha", "beta"],
  };
  for (const [order, expected] of Object.entries(orders))
    for (const descending of [false, true]) {
      const asked = { order_by: order, descending };
      const all = descending ? expected.toReversed() : expected;
      expect(await names(asked), order).toEqual(all);
      const found: unknown[] = [];
      for (let page_token = ""; ; ) {
        const page = await bank.ask("listAccounts", { ...asked, page_size: 1, page_token });
        found.push(...(page.accounts as JsonObject[]).map(({ name }) => name));
        if (page.next_page_token === undefined) break;
        page_token = page.next_page_token as string;
      }
      expect(found, `${order} by pages`).toEqual(all);
    }
  // The last of the page falls behind others before the next page is asked for: none of those is left out.
  const asked = { order_by: "balance", descending: true, page_size: 1 };
  const { next_page_token } = await bank.ask("listAccounts", asked);
  await charge(ids.Alpha as string, 385);
  expect(await names({ ...asked, page_size: 9, page_token: next_page_token as string })).toEqual([
    "beta",
    "gamma",
    "Alpha",
    "delta",
  ]);
});

test("a token of a list in another order is refused, and so is one that was changed", async () => {
  const token = async (order_by: string) =>
    (await bank.ask("listAccounts", { order_by, page_size: 1 })).next_page_token as string;
  for (const [of, at] of [
    ["created", "name"],
    ["name", "created"],
    ["name", "balance"],
  ] as const) {
    const refused = await bank.refused("listAccounts", { order_by: at, page_token: await token(of) });
    expect(refused.param).toBe("page_token");
  }
  for (const value of ["1e3", "--1", "9".repeat(17), ""]) {
    const page_token = Buffer.from(`${ids.beta}:${value}`).toString("base64url");
    expect((await bank.refused("listAccounts", { order_by: "balance", page_token })).param).toBe("page_token");
  }
});

onSqlite(() =>
  test("what accounts used is read along an index: the hours of those accounts alone", async () => {
    const plan = await bank.database.query<{ detail: string }>(
      "EXPLAIN QUERY PLAN SELECT account_id, sum(cost) FROM usage_hours_now WHERE account_id IN (?, ?) AND hour >= ? AND hour < ? GROUP BY account_id",
      ...["acc_1", "acc_2", 0, 1],
    );
    expect(plan.map(({ detail }) => detail).join("; ")).toMatch(
      /SEARCH usage_hours USING .*account_id=\? AND hour>\? AND hour<\?/,
    );
  }),
);
