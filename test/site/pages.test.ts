/**
 * The documentation in a browser: each kind of page is accessible by axe's rules, light and dark, on a wide screen and on a phone;
 * the search works without the internet; and nothing is asked of anybody but the gateway.
 */
import { AxeBuilder } from "@axe-core/playwright";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chromiumPath, closeWindows, desktop, phone, sharedBrowser, visit } from "../support/dashboard/browser.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";

/** A page of each kind, with a heading that it has. */
const kinds = [
  ["", "model-gateway"],
  ["quick-start/caller", "Quick start for callers"],
  ["configuration", "Configuration"],
  ["operating", "Operating the gateway"],
  ["watching", "Deploying and watching a gateway"],
  ["reference", "Reference"],
  ["reference/chat", "Chat"],
  ["reference/keys", "Keys"],
] as const;

type Look = readonly ["light" | "dark", typeof desktop];

/** How axe looks at a page: in either theme and at either width, the next one the other way round. DASHBOARD_LOOKS=all: in all. */
function looksAt(path: string): readonly Look[] {
  const looks: readonly Look[] = [
    ["light", desktop],
    ["dark", phone],
    ["light", phone],
    ["dark", desktop],
  ];
  if (process.env.DASHBOARD_LOOKS === "all") return looks;
  return kinds.findIndex(([kind]) => kind === path) % 2 === 0 ? looks.slice(0, 2) : looks.slice(2);
}

describe.skipIf(chromiumPath === undefined)("the documentation in Chromium", () => {
  let gateway: TestGateway;
  let browser: Browser;

  beforeAll(async () => {
    gateway = await startTestGateway();
    browser = await sharedBrowser();
  });
  afterAll(async () => {
    await closeWindows();
    await gateway?.close();
  });

  async function open(page: Page, path: string): Promise<void> {
    await page.goto(`${gateway.rootUrl}/docs/${path}`);
    await page.waitForLoadState("networkidle");
  }

  async function faults(page: Page): Promise<string[]> {
    const [scrolled = 0, width = 0] = await page.evaluate<number[]>(
      "[document.documentElement.scrollWidth, innerWidth]",
    );
    const { violations } = await new AxeBuilder({ page })
      .setLegacyMode()
      .options({ resultTypes: ["violations"] })
      .analyze();
    const found = violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(" ")}`));
    return scrolled > width ? [...found, `wider than the window: ${scrolled} of ${width}`] : found;
  }

  test.each(kinds)(
    "/docs/%s is accessible, and asks for nothing but the gateway's files",
    { timeout: 120_000 },
    async (path, heading) => {
      const { page, complaints, context } = await visit(browser);
      const asked = new Set<string>();
      page.on("request", (request) => asked.add(new URL(request.url()).origin));
      await open(page, path);
      expect(await page.getByRole("heading", { level: 1 }).first().textContent()).toContain(heading);
      const found: string[] = [];
      for (const [colorScheme, viewport] of looksAt(path)) {
        await page.emulateMedia({ colorScheme });
        await page.locator(colorScheme === "dark" ? "html.dark" : "html:not(.dark)").waitFor();
        await page.setViewportSize(viewport);
        found.push(...(await faults(page)).map((fault) => `${colorScheme}, ${viewport.width} wide: ${fault}`));
      }
      expect(found).toEqual([]);
      expect(complaints).toEqual([]);
      expect([...asked].filter((origin) => !/^(?:data:|null|blob:)/.test(origin))).toEqual([gateway.rootUrl]);
      await context.close();
    },
  );

  test.each([
    ["402", /\/docs\/(?:api|quick-start\/\w+|operating|reference\/\w+)/],
    ["idempotency", /\/docs\/(?:api|reference|reference\/\w+)#?/],
    ["stalled_reader_seconds", /\/docs\/configuration#stalled_reader_seconds/],
  ])("the search finds %s, without the internet", async (word, address) => {
    const { page, complaints, context } = await visit(browser);
    await context.route("**/*", (route) =>
      route.request().url().startsWith(gateway.rootUrl) ? route.continue() : route.abort(),
    );
    await open(page, "");
    await page.getByRole("button", { name: "Search" }).first().click();
    await page.getByRole("searchbox").fill(word);
    const first = page.getByRole("listbox").getByRole("option").first();
    await first.waitFor();
    const found = await page.getByRole("listbox").getByRole("link").all();
    const links = await Promise.all(found.map((link) => link.getAttribute("href")));
    expect(links.some((link) => address.test(link ?? ""))).toBe(true);
    await page.getByRole("listbox").getByRole("link").first().click();
    await page.waitForURL(/\/docs\/.+/);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("examples are shown in the language that is chosen, and copied", async () => {
    const { page, complaints, context } = await visit(browser, { permissions: ["clipboard-read", "clipboard-write"] });
    await open(page, "reference/chat");
    const group = page.locator(".vp-code-group").first();
    await group.getByText("Python", { exact: true }).click();
    await group.locator("div[class*=language-].active button.copy").click();
    const copied = await page.evaluate<string>("navigator.clipboard.readText()");
    expect(copied).toContain("from openai import OpenAI");
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("a page that does not exist says so, and leads back", async () => {
    const { page, context } = await visit(browser);
    const answer = await page.goto(`${gateway.rootUrl}/docs/nowhere`);
    expect(answer?.status()).toBe(404);
    await page.getByText("There is no such page").first().waitFor();
    await page.getByRole("link", { name: "To the front page" }).first().click();
    await page.waitForURL(`${gateway.rootUrl}/docs/`);
    await context.close();
  });
});
