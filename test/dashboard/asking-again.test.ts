/** What a person asks for again on the dashboard, because the answer did not arrive, is done once. In a real browser. */
import { describe, expect, test } from "vitest";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import { chromiumPath } from "../support/dashboard/browser.ts";
import { quickHash } from "../support/dashboard/quick-hash.ts";
import { askRpc, signIn } from "../support/dashboard/session.ts";
import { ada, enter, gateway, page, setStage, window } from "../support/dashboard/stage.ts";

describe.skipIf(chromiumPath === undefined)("asking again in Chromium", { timeout: 120_000 }, () => {
  setStage({ mayComplain: true });

  /** Has the first answer to an RPC get lost on the way: the gateway has done what it was asked. */
  const loseAnswer = (rpc: string) =>
    page.route(
      `**/*${rpc}`,
      async (route) => {
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );

  test("a code that was claimed is not told to be taken", async () => {
    const { headers } = await signIn(gateway, Date.now(), { operator: true });
    const made = await askRpc(gateway, "OperatorService.CreateRedeemCodes", { amount: "5000000", count: 1 }, headers);
    const [code] = made.json.codes as string[];
    await window.open("/recharge");
    const redeem = page.getByRole("button", { name: "Redeem" });
    expect(await redeem.isDisabled()).toBe(true);
    await page.getByLabel("Redeem code").fill(code ?? "");
    await loseAnswer("/RedeemCode");
    await redeem.click();
    await page.getByRole("alert").first().waitFor();
    await redeem.click();
    await page.getByText("¥5.00 was recharged.", { exact: false }).waitFor();
  });

  test("a key is rotated once, and its secret, which nobody has seen, is said to be lost", async () => {
    const { accountId } = gateway;
    const { key } = await issueKey(gateway.storage.keys, { accountId, name: "Rotated", now: Date.now(), admin: false });
    await window.open("/keys");
    await page.getByRole("button", { name: "Actions for Rotated" }).click();
    await page.getByRole("menuitem", { name: "Rotate" }).click();
    const dialog = page.getByRole("dialog");
    await loseAnswer("/RotateKey");
    await dialog.getByRole("button", { name: "Rotate" }).click();
    await dialog.getByRole("alert").waitFor();
    const rotated = await gateway.storage.keys.find(accountId, key.id);
    await dialog.getByRole("button", { name: "Rotate" }).click();
    await dialog.getByText("Rotate the key to get a new secret.", { exact: false }).waitFor();
    expect(await gateway.storage.keys.find(accountId, key.id)).toEqual(rotated);
  });

  test("codes are created once, and those that nobody has seen are said to be there", async () => {
    const { redeemCodes } = gateway.storage;
    await window.open("/operator/codes");
    await page.getByRole("button", { name: "Create codes" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Amount of each").fill("3");
    await dialog.getByLabel("Note").fill("lost");
    await loseAnswer("/CreateRedeemCodes");
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByRole("alert").waitFor();
    await dialog.getByRole("button", { name: "Create" }).click();
    const made = (await redeemCodes.page({ limit: 100 })).filter(({ note }) => note === "lost");
    expect(made).toHaveLength(10);
    await dialog
      .getByText(`Revoke the open codes of batch ${made[0]?.batch_id} in the list`, { exact: false })
      .waitFor();
    expect(await dialog.getByRole("button", { name: "Download" }).count()).toBe(0);
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: "lost" }).waitFor();
  });

  test.each([
    ["an invitation", () => page.getByRole("button", { name: "Invite a user" }).click()],
    [
      "a link for a password",
      async () => {
        await page.getByRole("button", { name: "Actions for ada@example.com" }).click();
        await page.getByRole("menuitem", { name: "Password reset link" }).click();
      },
    ],
  ])("%s is made once, and another where nobody has seen it", async (_, ask) => {
    const links = async () => (await gateway.database.query("SELECT id FROM links")).length;
    const before = await links();
    await window.open("/operator/users");
    await ask();
    const dialog = page.getByRole("dialog");
    const make = dialog.getByRole("button", { name: "Make the link" });
    await loseAnswer("/CreateLink");
    await make.click();
    await dialog.getByRole("alert").waitFor();
    await make.click();
    await dialog.getByText("the answer that told it did not arrive", { exact: false }).waitFor();
    expect(await links()).toBe(before + 1);
    await dialog.getByRole("button", { name: "Make another link" }).click();
    await make.click();
    expect(await dialog.getByLabel("Link", { exact: true }).inputValue()).toMatch(/^http/);
    expect(await links()).toBe(before + 2);
  });

  test("a page whose files cannot be had says so in the frame, and opens once the gateway answers", async () => {
    await window.open("/");
    await page.waitForLoadState("networkidle");
    await page.route("**/*", (route) => route.abort("connectionrefused"));
    await page.getByRole("link", { name: "Models", exact: true }).click();
    await page.getByText("The gateway cannot be reached").waitFor();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("link", { name: "API keys" }).waitFor();
    await page.unroute("**/*");
    await page.getByRole("heading", { level: 1, name: "Models" }).waitFor();
  });

  test.each(["/", "/operator"])("%s says what could not be had, and waits for nothing", async (path) => {
    const asked = /\/(ListUsage|SummarizeRequests|SummarizeAllRequests)$/;
    const loading = page.locator("main .mantine-Skeleton-root");
    await page.route(asked, (route) => route.fulfill({ status: 500, json: { code: "internal", message: "lost" } }));
    await window.open(path);
    await page.getByRole("alert").first().waitFor();
    await expect.poll(() => loading.count()).toBe(0);
    expect(await page.getByRole("main").innerText()).toMatch(/^Spend\s+–$/m);
  });

  const again = () => page.getByRole("dialog", { name: "Sign in again" });
  const form = () => page.getByRole("dialog", { name: "Create an API key" });
  const name = () => form().getByRole("textbox", { name: "Name", exact: true });

  test("a form stays as it was filled in while the session ends, and is sent once the user has signed in again", async () => {
    const { accountId, storage } = gateway;
    await storage.users.setPassword(ada.userId, quickHash("correct horse battery"));
    await window.open("/keys?create=true");
    await name().fill("Typed at length");
    await storage.sessions.revokeAccount(accountId);
    await form().getByRole("button", { name: "Create key" }).click();
    await again().waitFor();
    await expect.poll(() => page.evaluate("document.activeElement.type")).toBe("password");
    // Escape closes neither the dialog nor the form below it, and no shortcut opens what takes the focus below it.
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await again().getByLabel("Password", { exact: true }).fill("wrong horse battery");
    await page.keyboard.press("Enter");
    await again().getByRole("alert").waitFor();
    expect(await page.getByRole("dialog").count()).toBe(2);
    await again().getByLabel("Password", { exact: true }).fill("correct horse battery");
    await page.keyboard.press("Enter");
    await again().waitFor({ state: "detached" });
    expect(await name().inputValue()).toBe("Typed at length");
    await form().getByRole("button", { name: "Create key" }).click();
    const named = async () =>
      (await storage.keys.page(accountId, "", 100)).filter(({ name }) => name === "Typed at length");
    await expect.poll(async () => (await named()).length).toBe(1);
  });

  test("a form stays for its user alone where somebody signs in in another tab", async () => {
    const mine = await signIn(gateway, Date.now(), { operator: true });
    const other = await signIn(gateway, Date.now(), { operator: true });
    const become = async (cookie = "") => {
      const [name = "", value = ""] = cookie.split("=");
      await window.context.addCookies([{ name, value, url: gateway.rootUrl, httpOnly: true, sameSite: "Strict" }]);
      await page.evaluate("dispatchEvent(new Event('visibilitychange'))");
    };
    await enter(mine);
    await window.open("/keys?create=true");
    await name().fill("Only mine");
    await become("gateway_session=none");
    await again().waitFor();
    await become(mine.headers.cookie);
    await again().waitFor({ state: "detached" });
    expect(await name().inputValue()).toBe("Only mine");
    await become(other.headers.cookie);
    await page.getByRole("button", { name: `Signed in as ${other.email}` }).waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
  });

  test("where the file of the dialog does not come, the sign-in page takes its place", async () => {
    await enter(await signIn(gateway, Date.now(), { operator: true }));
    await page.route("**/sign-in-again*", (route) => route.abort());
    await window.open("/keys");
    await gateway.storage.sessions.revokeAccount(gateway.accountId);
    await page.getByRole("link", { name: "Usage" }).first().click();
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
  });

  test("who does not sign in again leaves for the sign-in page, and whoever signs out is asked nothing", async () => {
    await window.open("/keys");
    await gateway.storage.sessions.revokeAccount(gateway.accountId);
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    await enter(await signIn(gateway, Date.now(), { operator: true }));
    await window.open("/keys");
    await page.getByRole("button", { name: /Signed in as/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
    await enter(await signIn(gateway, Date.now(), { operator: true }));
    await window.open("/keys");
    await gateway.storage.sessions.revokeAccount(gateway.accountId);
    await page.getByRole("link", { name: "Usage" }).first().click();
    await page.getByRole("button", { name: "Leave this page" }).click();
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
  });
});
