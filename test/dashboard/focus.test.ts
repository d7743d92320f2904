import { describe, expect, test } from "vitest";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import { chromiumPath } from "../support/dashboard/browser.ts";
import { gateway, page, setStage, window } from "../support/dashboard/stage.ts";

describe.skipIf(chromiumPath === undefined)("the focus in Chromium", { timeout: 120_000 }, () => {
  setStage({ mayComplain: true });

  /** focus tells what has the focus: its label or text, or its id. */
  const focus = () =>
    page.evaluate<string>(
      `(({ activeElement: at }) => at.getAttribute("aria-label") ?? (at.id === "content" ? at.id : at.labels?.[0]?.textContent ?? at.textContent))(document)`,
    );
  const palette = () => page.getByRole("dialog", { name: "Search" });
  const openPalette = async () => {
    await page.keyboard.press("Control+K");
    await palette().getByRole("combobox").waitFor();
    await expect.poll(focus).toBe("Search");
  };
  const closePalette = async () => {
    await page.keyboard.press("Escape");
    await palette().waitFor({ state: "detached" });
  };
  /** Holds back what matches until it is released; then it goes its way, or fails. */
  const holdBack = async (address: RegExp, then: "continue" | "abort" = "continue") => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await page.route(address, async (route) => {
      await promise;
      await route[then]();
    });
    return resolve;
  };
  const newKey = (name: string) =>
    issueKey(gateway.storage.keys, { accountId: gateway.accountId, name, now: Date.now(), admin: false });

  test("goes back to a field where the palette's file arrived only after its keys were pressed", async () => {
    const release = await holdBack(/\/assets\/palette-[^/]*\.js$/);
    await window.open("/models");
    await page.getByRole("searchbox", { name: "Search" }).focus();
    await page.keyboard.press("Control+K");
    release();
    await palette().getByRole("combobox").waitFor();
    await expect.poll(() => page.evaluate("document.activeElement.role")).toBe("combobox");
    await closePalette();
    await expect.poll(() => page.evaluate("document.activeElement.type")).toBe("search");
  });

  test("goes back to the same control where data arrived while the palette was open", async () => {
    const release = await holdBack(/AccountService\/ListCatalog/);
    await page.goto(`${gateway.rootUrl}/dashboard/models`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.getByRole("link", { name: "API keys" }).focus();
    await openPalette();
    release();
    await page.getByText("embedded-chat").first().waitFor();
    await closePalette();
    await expect.poll(focus).toBe("API keys");
  });

  test("goes to the page's content where the control is gone", async () => {
    await page.route(/AccountService\/ListCatalog/, (route) => route.abort());
    await page.goto(`${gateway.rootUrl}/dashboard/models`);
    const again = page.getByRole("button", { name: "Try again" });
    await again.focus();
    await page.unroute(/AccountService\/ListCatalog/);
    const release = await holdBack(/AccountService\/ListCatalog/);
    await page.keyboard.press("Enter");
    await openPalette();
    release();
    await again.waitFor({ state: "detached" });
    await closePalette();
    await expect.poll(focus).toBe("content");
    // Before the list arrives nothing after the content takes the focus.
    await page.getByRole("searchbox", { name: "Search" }).waitFor();
    await page.keyboard.press("Tab");
    expect(await focus()).toBe("Search");
  });

  test("goes on where a control was drawn anew", async () => {
    await window.open("/models");
    await page.getByRole("searchbox", { name: "Search" }).fill("nothing of the kind");
    const clear = page.getByRole("button", { name: "Clear filters" });
    await clear.focus();
    await page.keyboard.press("Enter");
    await clear.waitFor({ state: "detached" });
    await expect.poll(focus).toBe("content");
    await page.getByRole("searchbox", { name: "Search" }).focus();
    await openPalette();
    const redraw = `(() => { const field = document.querySelector("main input[type=search]"); field.replaceWith(field.cloneNode(true)); })()`;
    await page.evaluate(redraw);
    await closePalette();
    await expect.poll(() => page.evaluate("document.activeElement.type")).toBe("search");
  });

  test("comes back to a button that was disabled while its call ran", async () => {
    await newKey("Kept");
    const release = await holdBack(/KeyService\/DeleteKey/, "abort");
    await window.open("/keys");
    await page.getByRole("button", { name: "Actions for Kept" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("menuitem", { name: "Delete" }).press("Enter");
    const dialog = page.getByRole("dialog");
    // A dialog gives the focus to its first field a moment after it is drawn.
    await expect.poll(focus).toBe("Type “Kept” to confirm");
    await dialog.getByRole("textbox").fill("Kept");
    await dialog.getByRole("button", { name: "Delete" }).focus();
    await page.keyboard.press("Enter");
    await dialog.getByRole("button", { name: "Delete", disabled: true }).waitFor();
    release();
    await dialog.getByRole("alert").waitFor();
    await expect.poll(focus).toBe("Delete key");
    await page.keyboard.press("Escape");
    await expect.poll(focus).toBe("Actions for Kept");
  });

  test("goes to the content where the row is gone whose menu opened the dialog, also where the list is told late", async () => {
    await newKey("Doomed");
    await window.open("/keys");
    const button = page.getByRole("button", { name: "Actions for Doomed" });
    await button.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("menuitem", { name: "Delete" }).press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox").fill("Doomed");
    const release = await holdBack(/KeyService\/ListKeys/);
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await expect.poll(focus).toBe("Actions for Doomed");
    release();
    await button.waitFor({ state: "detached" });
    await expect.poll(focus).toBe("content");
  });

  test("goes back to a menu's button from an item that only acts", async () => {
    await newKey("Paused");
    await window.open("/keys");
    await page.getByRole("button", { name: "Actions for Paused" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("menuitem", { name: "Disable" }).press("Enter");
    await expect.poll(focus).toBe("Actions for Paused");
  });

  test("is at the content of a page that a link within another one opened, and the mouse takes it elsewhere", async () => {
    await window.open("/operator/accounts");
    await page.getByRole("main").getByRole("link").first().press("Enter");
    await page.waitForURL(/\/operator\/accounts\/acc_/);
    await expect.poll(focus).toBe("content");
    await page.getByRole("heading", { level: 1 }).click();
    await page.getByRole("link", { name: "Users" }).click();
    await page.getByRole("heading", { level: 1, name: "Users" }).waitFor();
    expect(await focus()).toBe("Users");
  });
});
