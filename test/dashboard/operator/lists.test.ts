/** The operator's lists of accounts and of audit events, by filters and in orders, in a real browser. */
import { beforeAll, describe, expect, test } from "vitest";
import { newId } from "../../../src/runtime/ids.ts";
import { chromiumPath } from "../../support/dashboard/browser.ts";
import { askRpc } from "../../support/dashboard/session.ts";
import { ada, gateway, page, setStage, window } from "../../support/dashboard/stage.ts";
import { directMoney } from "../../support/money/direct.ts";
import { openAccount } from "../../support/payer.ts";

describe.skipIf(chromiumPath === undefined)("the operator's lists in Chromium", () => {
  setStage();

  beforeAll(async () => {
    for (const [name, recharge, cost] of [
      ["Acme", 30_000_000, 4_500_000],
      ["Globex", 400_000_000, 0],
      ["Initech", 0, 0],
    ] as const) {
      const { accountId, keyId } = await openAccount(gateway, { recharge });
      await gateway.storage.accounts.update(accountId, { name });
      if (cost > 0) await charge(accountId, keyId, cost);
    }
  });

  async function charge(account_id: string, key_id: string, cost: number): Promise<void> {
    const now = Date.now();
    const names = { id: newId("req", now), account_id, key_id, operation: "chat", model: "alpha", upstream: "north" };
    const usage = { input: 1, cache_read: 0, cache_write: 0, output: 1, reasoning: 0, characters: 0, estimated: 0 };
    const times = { created_at: now, duration_ms: 9, first_byte_ms: 3 };
    await directMoney(gateway.storage).capture({ ...names, ...usage, outcome: 1, cost, ...times });
  }

  const choose = async (field: string, option: string) => {
    await page.getByRole("combobox", { name: field, exact: true }).click();
    await page.getByRole("option", { name: option, exact: true }).click();
  };
  const names = async () => {
    const links = page.getByRole("table", { name: "Accounts" }).getByRole("row").getByRole("link");
    return (await links.allTextContents()).filter((name) => name !== "test");
  };

  test("accounts are found by tier, balance and calls, and the address keeps how", async () => {
    await window.open("/operator/accounts");
    await expect.poll(names).toEqual(expect.arrayContaining(["Acme", "Globex", "Initech"]));
    await page.getByText("¥4.50").waitFor();
    await choose("Tier", "Premium");
    await expect.poll(names).toEqual(["Globex"]);
    await page.getByRole("button", { name: "Clear filters" }).click();
    await choose("Calls in the period", "Has called");
    await expect.poll(names).toEqual(["Acme"]);
    await choose("Period", "Yesterday");
    await page.getByText("No accounts match").waitFor();
    await choose("Period", "This month");
    await expect.poll(names).toEqual(["Acme"]);
    await page.reload();
    await expect.poll(names).toEqual(["Acme"]);
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByLabel("Balance below").fill("0.01");
    await page.getByLabel("Balance below").press("Enter");
    await expect.poll(names).toEqual(["Initech"]);
  });

  test("accounts are put in order by the heads of columns, by hand or by keys", async () => {
    await window.open("/operator/accounts");
    const head = page.getByRole("button", { name: "Spent" });
    await head.focus();
    await page.keyboard.press("Enter");
    await expect.poll(async () => (await names())[0]).toBe("Acme");
    const column = page.getByRole("columnheader", { name: "Spent" });
    expect(await column.getAttribute("aria-sort")).toBe("descending");
    await page.getByRole("button", { name: "Balance" }).click();
    await expect.poll(async () => (await names())[0]).toBe("Globex");
    await page.getByRole("button", { name: "Balance" }).click();
    await expect.poll(async () => (await names()).at(-1)).toBe("Globex");
    await choose("Order", "Most spent");
    await expect.poll(async () => (await names())[0]).toBe("Acme");
    const clear = page.getByRole("button", { name: "Clear filters" });
    expect(await clear.count()).toBe(0);
    await choose("Calls in the period", "Has called");
    await clear.click();
    await expect.poll(async () => (await names()).length).toBe(3);
    expect(page.url()).toMatch(/\?order=spent-desc$/);
  });

  test("audit events are found by who caused them and when", async () => {
    const rows = () => page.getByRole("table", { name: "Audit log" }).getByRole("row").count();
    await askRpc(gateway, "OperatorService.UpdateAccount", { account: "Initech", suspended: false }, ada.headers);
    await window.open("/operator/audit");
    await choose("Who did it", "Command line");
    await page.getByText("No entries match").waitFor();
    await choose("Who did it", "ada@example.com");
    await expect.poll(rows).toBe(2);
    await choose("Period", "Last month");
    await page.getByText("No entries match").waitFor();
    await choose("Period", "Today");
    await expect.poll(rows).toBe(2);
    expect(page.url()).toContain(`actor=${ada.userId}`);
  });
});
