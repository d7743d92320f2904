/**
 * The dashboard as people use it, in a real browser against the real gateway: from the first start's link to the day on
 * which the operator suspends an account. The steps follow each other.
 */
import OpenAI from "openai";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LinkKind } from "../../gen/modelgateway/v1/sessions_pb.ts";
import { issueLink, issueSetUpLink, linkUrl } from "../../src/services/people/links.ts";
import { chromiumPath, closeWindows, sharedBrowser, type Visitor, visit } from "../support/dashboard/browser.ts";
import { pricedModels, regions } from "../support/dashboard/furnished.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";

const email = "ada@example.com";
const password = "correct horse battery";

describe.skipIf(chromiumPath === undefined)("the dashboard in Chromium", () => {
  let gateway: TestGateway;
  let browser: Browser;
  let ada: Visitor;
  let page: Page;
  let link = "";
  let secret = "";

  const dashboard = (path: string) => `${gateway.rootUrl}/dashboard${path}`;
  const goTo = async (name: string, on = page) => {
    // The operator's pages and the account's own are apart.
    const isOperators = ["Accounts", "Redeem codes", "Users", "Upstreams", "Limits and settings", "Audit log"].includes(
      name,
    );
    const area = on.getByRole("link", { name: isOperators ? "Operator" : "My account", exact: true });
    if (await area.count()) await area.click();
    await on.getByRole("link", { name, exact: true }).click();
    await on.getByRole("heading", { level: 1, name, exact: true }).waitFor();
  };
  const openAi = (apiKey: string) => new OpenAI({ baseURL: gateway.baseUrl, apiKey, maxRetries: 0 });
  const ask = (apiKey: string) =>
    openAi(apiKey)
      .chat.completions.create({ model: "embedded-chat", messages: [{ role: "user", content: "Hello!" }] })
      .withResponse();

  beforeAll(async () => {
    gateway = await startTestGateway({ models: [...pricedModels], publicUrls: regions }, { clock: Date.now });
    browser = await sharedBrowser();
    ada = await visit(browser, { permissions: ["clipboard-read", "clipboard-write"] });
    page = ada.page;
    const issued = await issueSetUpLink(gateway.storage, Date.now());
    link = linkUrl(gateway.rootUrl, LinkKind.SET_UP, issued?.token ?? "");
  });
  afterAll(async () => {
    await closeWindows();
    await gateway?.close();
  });

  test("the link of the first start makes the first user, once", async () => {
    await page.goto(link);
    await page.getByLabel("E-mail address").fill(email);
    await page.getByLabel("Account name").fill("Acme");
    await page.getByLabel("Password", { exact: true }).fill(password);
    expect(page.url(), "the secret of the link stays in the address").not.toContain("#");
    await page.getByRole("button", { name: "Create the first user" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    const late = await visit(browser);
    await late.page.goto(link);
    await late.page.getByText("This link does not work").waitFor();
    await late.context.close();
  });

  test("one signs out, and in again by e-mail address and password", async () => {
    await page.getByRole("button", { name: `Signed in as ${email}` }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    await page.getByLabel("E-mail address").fill(email.toUpperCase());
    await page.getByLabel("Password", { exact: true }).fill("not the password");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    await page.getByLabel("Password", { exact: true }).fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  });

  test("a key is created with a limit, its secret told once, and it works with the openai SDK", async () => {
    const account = await gateway.storage.accounts.find("Acme");
    await gateway.storage.entries.record({
      ...{ id: "led_grant", accountId: account?.id ?? "", kind: 3, amount: 1_000_000, note: null },
      now: Date.now(),
    });
    await goTo("API keys");
    await page.getByRole("button", { name: "Create key" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("Story <img src=x onerror=alert(1)>");
    await dialog.getByLabel("Credit limit").fill("0.0005");
    await dialog.getByRole("button", { name: "Create key" }).click();
    secret = await dialog.getByRole("textbox", { name: "Secret" }).inputValue();
    expect(secret).toMatch(/^sk-[\w-]{43}$/);
    // How it is used is told with the gateway's real addresses, by region.
    const example = dialog.getByRole("tabpanel");
    expect(await example.textContent()).toContain(gateway.baseUrl);
    await dialog.getByText("China CDN").click();
    for (const client of ["curl", "Python", "TypeScript", "Anthropic SDK", "gRPC"]) {
      await dialog.getByRole("tab", { name: client }).click();
      expect(await example.textContent(), client).toContain(regions.cn);
    }
    await dialog.getByRole("button", { name: "I have copied it" }).click();
    await dialog.waitFor({ state: "detached" });
    // What is written in its name is text, whatever it looks like.
    await page.getByText("Story <img src=x onerror=alert(1)>").first().waitFor();
    expect(await page.content()).not.toContain(secret);
    const { data } = await ask(secret);
    expect(data.choices[0]?.message.content).toBeTruthy();
  });

  test("spend shows, and at the limit calls are refused", async () => {
    let status = 200;
    for (let calls = 0; status === 200 && calls < 200; calls++) {
      status = await ask(secret).then(
        ({ response }) => response.status,
        (error: { status: number }) => error.status,
      );
    }
    expect(status).toBe(402);
    await page.reload();
    const row = page.getByRole("row", { name: /Story/ });
    const bar = row.getByRole("progressbar");
    await bar.waitFor();
    expect(Number(await bar.getAttribute("aria-valuenow"))).toBeGreaterThan(30);
    await goTo("Overview");
    await page.getByText("embedded-chat").first().waitFor();
    await goTo("Usage");
    await page
      .getByRole("row", { name: /embedded-chat/ })
      .first()
      .waitFor();
  });

  test("a disabled key is refused from the next call on", async () => {
    await goTo("API keys");
    await page.getByRole("button", { name: /^Actions for Story/ }).click();
    await page.getByRole("menuitem", { name: "Disable" }).click();
    await page.getByRole("row", { name: /Story.*Disabled/ }).waitFor();
    await expect(ask(secret)).rejects.toMatchObject({ status: 401 });
  });

  test("a key with the administrator's switch manages keys over the API", async () => {
    await page.getByRole("button", { name: "Create key" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("Manager");
    await dialog.getByRole("switch", { name: "Administrator" }).click();
    await dialog.getByRole("button", { name: "Create key" }).click();
    const manager = await dialog.getByRole("textbox", { name: "Secret" }).inputValue();
    await dialog.getByRole("button", { name: "I have copied it" }).click();
    const list = (key: string) =>
      fetch(`${gateway.rootUrl}/api/v1/user/admin/get-api-tokens`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}` },
      });
    const answer = await list(manager);
    expect(answer.status).toBe(200);
    const { data } = (await answer.json()) as { data: readonly { readonly name: string }[] };
    expect(data.map(({ name }) => name)).toEqual(["Story <img src=x onerror=alert(1)>", "Manager"]);
    expect((await list(gateway.apiKey)).status).toBe(403);
  });

  test("a redeemed code raises the tier, and with it the rate", async () => {
    await goTo("API keys");
    await page.getByRole("button", { name: /^Actions for Story/ }).click();
    await page.getByRole("menuitem", { name: "Enable" }).click();
    const rate = async () => {
      const headers = { authorization: `Bearer ${secret}` };
      const answer = await fetch(`${gateway.baseUrl}/models`, { headers });
      return [answer.status, answer.headers.get("x-ratelimit-limit-requests")];
    };
    await expect.poll(rate).toEqual([200, "60"]);
    await goTo("Redeem codes");
    await page.getByRole("button", { name: "Create codes" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Amount of each").fill("25");
    await dialog.getByLabel("How many").fill("1");
    await dialog.getByRole("button", { name: "Create", exact: true }).click();
    const told = dialog.getByText(/^\s*(?:[0-9A-Z]{5}-){3}[0-9A-Z]{5}\s*$/).first();
    const code = ((await told.textContent()) ?? "").trim();
    await dialog.getByRole("button", { name: "Done" }).click();
    await goTo("Recharge");
    await page.getByRole("textbox", { name: "Redeem code" }).fill(code.toLowerCase());
    await page.getByRole("button", { name: "Redeem" }).click();
    await page.getByText(/VIP/).first().waitFor();
    await expect.poll(rate).toEqual([200, "1200"]);
  });

  test("a stale tab that deletes a deleted key says so", async () => {
    await goTo("API keys");
    const stale = await ada.context.newPage();
    await stale.goto(dashboard("/keys"));
    await stale.getByRole("button", { name: "Actions for Manager" }).waitFor();
    for (const [tab, outcome] of [
      [page, "gone"],
      [stale, "told"],
    ] as const) {
      await tab.bringToFront();
      await tab.getByRole("button", { name: "Actions for Manager" }).click();
      await tab.getByRole("menuitem", { name: "Delete" }).click();
      const dialog = tab.getByRole("dialog");
      await dialog.getByRole("textbox").fill("Manager");
      await dialog.getByRole("button", { name: /^Delete/ }).click();
      if (outcome === "gone") await tab.getByRole("row", { name: /Manager/ }).waitFor({ state: "detached" });
      else
        await tab
          .getByText(/There is no key/)
          .first()
          .waitFor();
    }
    await stale.close();
  });

  test("what is another account's is not found by its id", async () => {
    await openAi(gateway.apiKey).embeddings.create({ model: "embedded-embedding", input: "Hello" });
    const [request] = await gateway.storage.requests.page({ accountId: gateway.accountId }, undefined, 1);
    await page.goto(dashboard(`/usage/${request?.id}`));
    await page.getByRole("heading", { name: "There is no such page" }).waitFor();
  });

  test("who is invited registers, and is signed out when the operator suspends the account", async () => {
    await page.goto(dashboard("/operator/users"));
    await page.getByRole("button", { name: "Invite" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("E-mail address").fill("bob@example.com");
    await dialog.getByRole("button", { name: "Make the link" }).click();
    const invitation =
      (await dialog
        .getByText(/\/dashboard\/register#/)
        .first()
        .textContent()) ?? "";
    await dialog.getByRole("button", { name: "Done" }).click();
    const bob = await visit(browser);
    await bob.page.goto(invitation.trim());
    await bob.page.getByLabel("Account name").fill("Globex");
    await bob.page.getByLabel("Password", { exact: true }).fill("another good password");
    await bob.page.getByRole("button", { name: /Create|Register/ }).click();
    await bob.page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    // The operator's pages are not there for him.
    expect(await bob.page.getByRole("link", { name: "Accounts" }).count()).toBe(0);
    await bob.page.goto(dashboard("/operator/accounts"));
    await bob.page.getByRole("heading", { name: "There is no such page" }).waitFor();

    await goTo("Accounts");
    await page.getByRole("link", { name: "Globex" }).click();
    await page.getByRole("button", { name: "Suspend" }).click();
    await page.getByRole("dialog").getByRole("textbox").fill("Globex");
    await page.getByRole("dialog").getByRole("button", { name: "Suspend" }).click();
    await page.getByText("Suspended").first().waitFor();
    await bob.page.goto(dashboard("/keys"));
    await bob.page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    await bob.context.close();
  });

  test("who is invited to an account that is suspended is told so in the form", async () => {
    const { accounts, links, users } = gateway.storage;
    const invitation = {
      kind: LinkKind.INVITATION,
      accountId: (await accounts.find("Globex"))?.id,
      email: "eve@example.com",
    };
    const { token } = await issueLink(links, { ...invitation, validMs: 60_000, now: Date.now() });
    const eve = await visit(browser);
    await eve.page.goto(linkUrl(gateway.rootUrl, LinkKind.INVITATION, token));
    await eve.page.getByLabel("Password", { exact: true }).fill("one more good password");
    await eve.page.getByRole("button", { name: "Register" }).click();
    await eve.page.getByRole("alert").getByText("Your account is suspended.").waitFor();
    await eve.page.getByRole("heading", { level: 1, name: "Create your account" }).waitFor();
    expect(await users.findByEmail("eve@example.com")).toBeUndefined();
    await eve.context.close();
  });

  test("nothing of it broke a page", () => {
    // Refusals are shown in the page; the browser's console tells of their status besides.
    expect(ada.complaints.filter((text) => !/the server responded with a status of 4\d\d/.test(text))).toEqual([]);
  });
});
