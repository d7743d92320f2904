/** Budgets of an account in a real browser: set by the account and by the operator, shown as they stand, and taken away again. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { chromiumPath, desktop, phone } from "../support/dashboard/browser.ts";
import { gateway, setFurnishedStage, signedIn } from "../support/dashboard/furnished-stage.ts";

describe.skipIf(chromiumPath === undefined)("budgets in Chromium", () => {
  setFurnishedStage();
  let page: Page;
  let complaints: readonly string[];

  beforeAll(async () => {
    ({ page, complaints } = await signedIn());
  });

  const section = () =>
    page.locator("section").filter({ has: page.getByRole("heading", { level: 2, name: "Budgets" }) });
  const dialog = () => page.getByRole("dialog");

  async function faults(): Promise<string[]> {
    const { violations } = await new AxeBuilder({ page })
      .setLegacyMode()
      .options({ resultTypes: ["violations"] })
      .analyze();
    return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(" ")}`));
  }

  test("are set by the account, with its time zone, and shown with what is spent", async () => {
    await page.goto(`${gateway.rootUrl}/dashboard/recharge`);
    await section().getByText("There are none").waitFor();
    await section().getByRole("button", { name: "Change" }).click();
    await dialog().getByRole("button", { name: "Add a budget" }).click();
    await dialog().getByRole("button", { name: "Save" }).click();
    await dialog().getByText("Enter an amount above 0").waitFor();
    await dialog().getByLabel("Amount").fill("1000000000.01");
    await dialog().getByText("at most 1000000000").waitFor();
    await dialog().getByLabel("Amount").fill("20");
    await dialog().getByRole("button", { name: "Add a budget" }).click();
    await dialog().getByLabel("Amount").nth(1).fill("5.5");
    await dialog().getByRole("combobox", { name: "Window" }).nth(1).click();
    await page.getByRole("option", { name: "Last 24 hours" }).click();
    await dialog().getByRole("combobox", { name: "Time zone" }).fill("Asia/Tok");
    await page.getByRole("option", { name: "Asia/Tokyo" }).click();
    expect(await faults()).toEqual([]);
    await dialog().getByRole("button", { name: "Save" }).click();
    await section().getByText("of ¥20.00 spent this month").waitFor();
    await section().getByText("of ¥5.50 spent in the last 24 hours").waitFor();
    await section().getByText("by the clocks of Asia/Tokyo").waitFor();
    const account = await gateway.storage.accounts.find(gateway.accountId);
    expect(JSON.parse(account?.budgets ?? "")).toMatchObject([
      { amount: 20_000_000, period: "month", rolling: false },
      { amount: 5_500_000, period: "day", rolling: true },
    ]);
    expect(account?.time_zone).toBe("Asia/Tokyo");
  });

  test("fit a phone, and are accessible in both themes", async () => {
    await page.setViewportSize(phone);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await faults(), colorScheme).toEqual([]);
    }
    await section().getByRole("button", { name: "Change" }).click();
    await dialog().getByRole("button", { name: "Add a budget" }).waitFor();
    expect(await faults()).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    await dialog().getByRole("button", { name: "Cancel" }).click();
    await page.setViewportSize({ width: 1280, height: 860 });
  });

  test("that the operator sets are marked, and stay where the account sets its own", async () => {
    await page.goto(`${gateway.rootUrl}/dashboard/operator/accounts/${gateway.accountId}`);
    await section().getByText("of ¥20.00 spent this month").waitFor();
    await section().getByRole("button", { name: "Change" }).click();
    await dialog().getByRole("button", { name: "Add a budget" }).click();
    await dialog().getByLabel("Amount").fill("100");
    await dialog().getByRole("button", { name: "Save" }).click();
    await section().getByText("Set by the operator").waitFor();
    await page.goto(`${gateway.rootUrl}/dashboard/recharge`);
    await section().getByText("Set by the operator").waitFor();
    await section().getByRole("button", { name: "Change" }).click();
    for (let left = 2; left > 0; left--)
      await dialog().getByRole("button", { name: "Remove the budget" }).first().click();
    await dialog().getByRole("button", { name: "Save" }).click();
    await section().getByText("of ¥20.00 spent").waitFor({ state: "detached" });
    expect(await section().getByText("of ¥100.00 spent this month").count()).toBe(1);
    expect(complaints).toEqual([]);
  });

  test("stand beside tiers that are whole on a phone, and an operator adds funds there", async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    const tables = /^(All tiers|Where its calls go)$/;
    for (const path of ["/recharge", "/operator/models/embedded-chat"]) {
      await page.goto(`${gateway.rootUrl}/dashboard${path}`);
      await page.getByRole("list", { name: tables }).waitFor();
      // A table would be the region that scrolls.
      expect(await page.getByRole("region", { name: tables }).count()).toBe(0);
    }
    await page.setViewportSize(desktop);
    await page.goto(`${gateway.rootUrl}/dashboard/recharge`);
    await page.getByRole("button", { name: "Add funds" }).click();
    await dialog().getByText("It counts for the tier.").waitFor();
    await page.keyboard.press("Escape");
    await dialog().waitFor({ state: "detached" });
  });

  test("are told in the audit log as people read them", async () => {
    await page.goto(`${gateway.rootUrl}/dashboard/operator/audit`);
    await page.getByText("Budgets: ¥20.00 (A month), ¥5.50 (Last 24 hours)").first().waitFor();
  });
});
