/**
 * What people do to keep others out, in a real browser: the second factor, the password, and sessions elsewhere. The steps
 * follow each other.
 */
import { Secret, TOTP } from "otpauth";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newId } from "../../src/runtime/ids.ts";
import { chromiumPath, closeWindows, sharedBrowser, type Visitor, visit } from "../support/dashboard/browser.ts";
import { days, makeUser, minutes, password } from "../support/dashboard/sign-in.ts";
import { unexpected } from "../support/dashboard/signed-in-window.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";

const email = "ann@example.com";
const fresh = "a better horse, a better battery";

describe.skipIf(chromiumPath === undefined)("the settings in Chromium", () => {
  let gateway: TestGateway;
  let browser: Browser;
  let ann: Visitor;
  let page: Page;
  let aheadMs = 0;
  let secret = "";
  let recoveryCodes: readonly string[] = [];

  const clock = () => Date.now() + aheadMs;
  const firefox = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:150.0) Gecko/20100101 Firefox/150.0";

  beforeAll(async () => {
    gateway = await startTestGateway({}, { clock });
    await makeUser(gateway, { email });
    browser = await sharedBrowser();
    ann = await visit(browser);
    page = ann.page;
    await page.goto(`${gateway.rootUrl}/dashboard/sign-in`);
    await signIn(page, password);
    await arrived(page, "Overview");
  });
  afterAll(async () => {
    await closeWindows();
    await gateway?.close();
  });
  // The number of attempts at passwords and codes in a quarter of an hour is limited.
  beforeEach(() => {
    aheadMs += 15 * minutes;
  });

  const arrived = (on: Page, heading: string) => on.getByRole("heading", { level: 1, name: heading }).waitFor();
  const signIn = async (on: Page, word: string) => {
    await on.getByLabel("E-mail address").fill(email);
    await on.getByLabel("Password", { exact: true }).fill(word);
    await on.getByRole("button", { name: "Sign in" }).click();
  };
  const signOut = async () => {
    await page.getByRole("button", { name: `Signed in as ${email}` }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await arrived(page, "Sign in");
  };
  const section = (title: string) =>
    page.locator("section").filter({ has: page.getByRole("heading", { level: 2, name: title }) });
  const settings = async () => {
    await page.getByRole("link", { name: "Settings" }).click();
    await arrived(page, "Settings");
  };
  const secondStep = async (label: string, code: string) => {
    await page.getByLabel(label, { exact: true }).fill(code);
    await page.getByRole("button", { name: "Sign in" }).click();
  };
  /** appCode returns the app's code of a time step that has not been used. */
  const appCode = () => {
    aheadMs += 30_000;
    return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: clock() });
  };

  /** Opens a window elsewhere, signed in as the same person. */
  async function elsewhere(word: string): Promise<Visitor> {
    const visitor = await visit(browser, { userAgent: firefox });
    await visitor.page.goto(`${gateway.rootUrl}/dashboard/sign-in`);
    await signIn(visitor.page, word);
    await arrived(visitor.page, "Overview");
    return visitor;
  }

  /** The page stays as it was until its next call, such as the list of calls when it is opened. */
  async function isSignedOutAtTheNextCall({ page: other, context, complaints }: Visitor): Promise<void> {
    await arrived(other, "Overview");
    await other.getByRole("link", { name: "Usage" }).click();
    await other.getByRole("dialog", { name: "Sign in again" }).waitFor();
    expect(unexpected({ complaints })).toEqual([]);
    await context.close();
  }

  test("a second factor is turned on by a code of the app and the password, and tells ten recovery codes", async () => {
    await settings();
    await section("Second factor").getByRole("button", { name: "Turn on" }).click();
    const dialog = page.getByRole("dialog");
    secret = ((await dialog.locator("code").textContent()) ?? "").replaceAll(" ", "");
    await dialog.getByRole("img", { name: /QR code/ }).waitFor();
    const turnOn = async (code: string, word: string) => {
      await dialog.getByLabel("Code", { exact: true }).fill(code);
      await dialog.getByLabel("Password", { exact: true }).fill(word);
      await dialog.getByRole("button", { name: "Turn on" }).click();
    };
    await turnOn("000 000", password);
    await dialog.getByText("This is not the code that the app shows now").waitFor();
    await turnOn(appCode(), "not the password");
    await dialog.getByText("This is not your password").waitFor();
    await turnOn(appCode(), password);
    const told = (await dialog.getByRole("region", { name: "Codes" }).textContent()) ?? "";
    recoveryCodes = told.trim().split("\n");
    expect(new Set(recoveryCodes).size).toBe(10);
    // They are not lost by a slip of the finger.
    await page.keyboard.press("Escape");
    await dialog.getByRole("button", { name: "I have kept them" }).click();
    await section("Second factor").getByText("On. Signing in asks for a code.").waitFor();
    expect(await page.content()).not.toContain(recoveryCodes[0]);
  });

  test("signing in then asks for a code", async () => {
    await signOut();
    await signIn(page, password);
    await arrived(page, "Second step");
    await secondStep("Code", appCode());
    await arrived(page, "Settings");
  });

  test("a recovery code signs in in its place, once", async () => {
    const [first = "", second = ""] = recoveryCodes;
    await signOut();
    await signIn(page, password);
    await page.getByRole("button", { name: "Use a recovery code" }).click();
    await secondStep("Recovery code", first);
    await arrived(page, "Settings");
    await signOut();
    await signIn(page, password);
    await page.getByRole("button", { name: "Use a recovery code" }).click();
    await secondStep("Recovery code", first);
    await page.getByText("This code is wrong, or was used before. Try another.").waitFor();
    await secondStep("Recovery code", second);
    await arrived(page, "Settings");
  });

  test("the second factor is turned off by the password, and no code is asked for any more", async () => {
    await settings();
    await section("Second factor").getByRole("button", { name: "Turn off" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Password", { exact: true }).fill("not the password");
    await dialog.getByRole("button", { name: "Turn off" }).click();
    await dialog.getByText("This is not your password").waitFor();
    await dialog.getByLabel("Password", { exact: true }).fill(password);
    await dialog.getByRole("button", { name: "Turn off" }).click();
    await section("Second factor").getByText("Off. Your password is enough to sign in.").waitFor();
    await signOut();
    await signIn(page, password);
    await arrived(page, "Settings");
  });

  test("a changed password ends the session of the window elsewhere", async () => {
    const other = await elsewhere(password);
    await settings();
    const form = section("Password");
    await form.getByLabel("Current password").fill("not the password");
    await form.getByLabel("New password").fill(fresh);
    await form.getByRole("button", { name: "Change password" }).click();
    await form.getByText("This is not your password").waitFor();
    await form.getByLabel("Current password").fill(password);
    await form.getByRole("button", { name: "Change password" }).click();
    await page.getByText("Your password is changed").waitFor();
    await isSignedOutAtTheNextCall(other);
  });

  test("a session is ended from the list, and only that one", async () => {
    const user_id = (await gateway.storage.users.findByEmail(email))?.id ?? "";
    await gateway.storage.sessions.insert({
      ...{ id: newId("ses"), user_id, token_hash: "none", address: "192.0.2.7", user_agent: "curl/8.19.0" },
      ...{ created_at: clock(), last_seen_at: clock(), expires_at: clock() + 30 * days },
    });
    const other = await elsewhere(fresh);
    await page.reload();
    await page.getByRole("button", { name: "End the session of Firefox · Windows at 127.0.0.1" }).click();
    await page.getByText("1 session ended").waitFor();
    const list = page.getByRole("list", { name: "Your sessions" });
    await expect.poll(() => list.getByRole("listitem").count()).toBe(2);
    expect(await list.getByText("curl").count()).toBe(1);
    await isSignedOutAtTheNextCall(other);
    await page.getByRole("link", { name: "API keys" }).click();
    await arrived(page, "API keys");
  });

  test("nothing of it broke a page", () => {
    expect(unexpected(ann)).toEqual([]);
  });
});
