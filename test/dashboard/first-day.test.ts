/**
 * The first day of an operator, in a real browser: an empty install is set up, gets its first upstream by page, a model with a price and a
 * key with a monthly budget; the budget is used up, and the next month begins. There are two nodes, and all is done on the first. The steps
 * follow each other.
 */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LinkKind } from "../../gen/modelgateway/v1/sessions_pb.ts";
import { issueSetUpLink, linkUrl } from "../../src/services/people/links.ts";
import { chromiumPath, closeWindows, sharedBrowser, type Visitor, visit } from "../support/dashboard/browser.ts";
import { type Install, type Node, newInstall } from "../support/dashboard/configured.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";

/** The middle of a month of 28 days. */
const begins = Date.UTC(2027, 1, 14, 12);
const nextMonth = Date.UTC(2027, 2, 1, 0, 0, 1);

describe.skipIf(chromiumPath === undefined)("the first day of an operator", () => {
  let now = begins;
  let far: TestGateway;
  let install: Install;
  let nodes: readonly [Node, Node];
  let browser: Browser;
  let ada: Visitor;
  let page: Page;
  let secret = "";

  beforeAll(async () => {
    far = await startTestGateway();
    // Time goes on a little at each look, so that no rate is used up.
    install = await newInstall(() => (now += 20));
    nodes = [await install.start(), await install.start()];
    browser = await sharedBrowser();
    ada = await visit(browser);
    page = ada.page;
  });
  afterAll(async () => {
    await closeWindows();
    await install?.close();
    await far?.close();
  });

  const dialog = () => page.getByRole("dialog");
  const review = () => page.getByRole("button", { name: "Review and save" }).click();
  const save = async (note: string) => {
    await dialog().getByRole("list", { name: "Differences" }).waitFor();
    await dialog().getByLabel("Note").fill(note);
    await dialog().getByRole("button", { name: "Save", exact: true }).click();
    await dialog().waitFor({ state: "detached" });
  };
  const ask = async (node: Node) => {
    const response = await fetch(`${node.rootUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "far-chat", max_tokens: 20, messages: [{ role: "user", content: "Hello!" }] }),
    });
    return { status: response.status, text: await response.text() };
  };

  test("the link of the first start makes the first user, who is led to the first upstream", async () => {
    const issued = await issueSetUpLink(nodes[0].storage, now);
    await page.goto(linkUrl(nodes[0].rootUrl, LinkKind.SET_UP, issued?.token ?? ""));
    await page.getByLabel("E-mail address").fill("ada@example.com");
    await page.getByLabel("Account name").fill("Acme");
    await page.getByLabel("Password", { exact: true }).fill("correct horse battery");
    await page.getByRole("button", { name: "Create the first user" }).click();
    await page.getByRole("link", { name: "Add an upstream" }).click();
    await page.getByRole("heading", { level: 1, name: "Add an upstream" }).waitFor();
  });

  test("an upstream is added by page: tried, and then saved", async () => {
    await page.getByRole("button", { name: /^Another server/ }).click();
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("far");
    await page.getByRole("textbox", { name: "Base URL" }).fill(far.baseUrl);
    await page.getByLabel("API key", { exact: true }).fill(far.apiKey);
    await page.getByRole("button", { name: "Test", exact: true }).click();
    await page.getByText("It works.").waitFor();
    await review();
    await save("the first upstream");
    await page.getByRole("heading", { level: 1, name: "far" }).waitFor();
  });

  test("a model of it gets a price", async () => {
    await page.getByRole("link", { name: "Models", exact: true }).click();
    await page.getByRole("link", { name: "Add a model" }).click();
    await page.getByRole("button", { name: "Describe it" }).click();
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("far-chat");
    await page.getByRole("textbox", { name: "Family" }).fill("far");
    await page.getByRole("textbox", { name: "Input", exact: true }).fill("1000");
    await page.getByRole("textbox", { name: "Output", exact: true }).fill("1000");
    await page.getByRole("textbox", { name: "Name there of far" }).fill("embedded-chat");
    await review();
    await save("the first model");
    await page.getByRole("heading", { level: 1, name: "far-chat" }).waitFor();
  });

  test("the operator adds funds to their own account, and makes a key with a monthly budget", async () => {
    await page.getByRole("link", { name: "My account", exact: true }).click();
    await page.getByRole("button", { name: "Add funds" }).click();
    await dialog().getByLabel("Amount").fill("100");
    await dialog().getByRole("button", { name: "Add funds" }).click();
    await dialog().waitFor({ state: "detached" });
    await page.getByRole("link", { name: "API keys", exact: true }).click();
    await page.getByRole("button", { name: "Create key" }).first().click();
    await dialog().getByLabel("Name").fill("First");
    await dialog().getByRole("button", { name: "Add a budget" }).click();
    await dialog().getByRole("textbox", { name: "Amount" }).fill("1");
    await dialog().getByRole("combobox", { name: "Window" }).click();
    await page.getByRole("option", { name: /month/i }).first().click();
    await dialog().getByRole("button", { name: "Create key" }).click();
    secret = await dialog().getByRole("textbox", { name: "Secret" }).inputValue();
    await dialog().getByRole("button", { name: "I have copied it" }).click();
  });

  test("calls are answered on both nodes, and refused by both once the month's budget is used up", async () => {
    for (const node of nodes) await expect.poll(async () => (await ask(node)).status, { timeout: 60_000 }).toBe(200);
    let last = await ask(nodes[0]);
    for (let i = 1; last.status === 200 && i < 200; i++) last = await ask(nodes[i % 2] as Node);
    expect(last.status, last.text).toBe(402);
    expect(last.text).toMatch(/budget/i);
    for (const node of nodes) expect((await ask(node)).status).toBe(402);
  });

  test("when the month turns they are answered again", async () => {
    now = nextMonth;
    for (const node of nodes) expect((await ask(node)).status).toBe(200);
  });

  test("nothing of it broke a page", () => {
    expect(ada.complaints.filter((text) => !/the server responded with a status of 4\d\d/.test(text))).toEqual([]);
  });
});
