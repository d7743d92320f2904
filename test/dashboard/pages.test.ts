/**
 * Every page of the dashboard, light and dark, on a wide screen and on a phone: accessible by axe's rules, not wider than
 * the window, in both languages, and without a complaint of the browser's, whose policy lets nothing foreign in.
 */
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import { chromiumPath, desktop, phone, visit } from "../support/dashboard/browser.ts";
import { cutOff, widths } from "../support/dashboard/cut-off.ts";
import { browser, gateway, setFurnishedStage, signedIn } from "../support/dashboard/furnished-stage.ts";
import { configure, goTo, longNames, open, settled, signedInPages, windowWidths } from "../support/dashboard/pages.ts";

/** DASHBOARD_LOOKS=all has axe look at every page in both themes at every width, in both languages: in a quarter of an hour. */
const isThorough = process.env.DASHBOARD_LOOKS === "all";
const themes = ["light", "dark"] as const;
const locales = ["en-GB", "zh-CN"] as const;
type Locale = (typeof locales)[number];

interface Look {
  readonly theme: (typeof themes)[number];
  readonly width: number;
}

/**
 * Returns how axe looks at a page, by its place in the list. A page is seen in either theme, on a phone and on a wide screen, and in
 * either language, of two looks in all; the next page has them the other way round. What goes wrong by the three together would have to
 * do so on one page alone.
 */
function looksAt(place: number, locale: Locale): readonly Look[] {
  if (isThorough) return themes.flatMap((theme) => windowWidths.map((width) => ({ theme, width })));
  const isChinese = locale === "zh-CN";
  const theme = isChinese === (place % 2 === 0) ? "dark" : "light";
  const width = isChinese === place % 4 < 2 ? desktop.width : phone.width;
  return [{ theme, width }];
}

const openPages = ["/sign-in", "/set-up", "/register", "/reset-password"] as const;

async function faults(page: Page): Promise<string[]> {
  const [scrollWidth = 0, innerWidth = 0] = await page.evaluate<number[]>(widths);
  // There are no frames, for which axe would open a page of its own; and only violations are of interest.
  const { violations } = await new AxeBuilder({ page })
    .setLegacyMode()
    .options({ resultTypes: ["violations"] })
    .analyze();
  const found = violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(" ")}`));
  if (scrollWidth > innerWidth) found.push(`wider than the window: ${scrollWidth} of ${innerWidth}`);
  return found;
}

/**
 * gaps lists the facts behind which a line has room left though another line follows, and those that take more room than others on a
 * wide screen.
 */
const gaps = `(() => {
  const list = [...document.querySelectorAll("section")].find((one) => one.querySelector("h2")?.innerText === "Details").querySelector("dl");
  const facts = [...list.children].map((fact) => [fact.innerText, fact.getBoundingClientRect()]);
  const end = list.getBoundingClientRect().right;
  const least = Math.min(...facts.map(([, { width }]) => width));
  return facts.filter(([, { top, right, width }], place) => {
    const next = facts[place + 1]?.[1];
    return (next && next.top > top && end - right > 2) || (innerWidth > 800 && width > least + 1);
  }).map(([text]) => text);
})()`;

/** linesOf returns an expression of how many lines a text takes in each cell that has it. */
const linesOf = (
  text: string,
) => `[...document.querySelectorAll("td")].filter((cell) => cell.innerText === "${text}").map((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
})`;

/** Where a box ends on its right, in pixels. */
const ends = (box: { readonly x: number; readonly width: number } | null) => (box ? box.x + box.width : Number.NaN);

describe.skipIf(chromiumPath === undefined)("pages in Chromium", () => {
  setFurnishedStage();

  beforeAll(() => configure(gateway));

  const latestRequest = async () => {
    const [request] = await gateway.storage.requests.page({ accountId: gateway.accountId }, undefined, 1);
    return request?.id ?? "";
  };

  /** Has axe look at the open page. */
  async function inLooks(page: Page, looks: readonly Look[]): Promise<string[]> {
    const found: string[] = [];
    for (const { theme, width } of looks) {
      await page.emulateMedia({ colorScheme: theme });
      await page.setViewportSize({ width, height: desktop.height });
      await settled(page);
      found.push(...(await faults(page)).map((fault) => `${theme}, ${width} wide: ${fault}`));
    }
    return found;
  }

  async function atEveryWidth(page: Page): Promise<string[]> {
    const found: string[] = [];
    for (const width of windowWidths) {
      await page.setViewportSize({ width, height: desktop.height });
      found.push(...(await cutOff(page)).map((what) => `${width} wide: ${what}`));
    }
    return found;
  }

  const minutes = isThorough ? 40 : 8;
  test.for(locales)(
    "are accessible behind the sign-in, say what they are, and are cut off at no width: %s",
    { timeout: minutes * 60_000 },
    async (locale) => {
      const { page, complaints, context } = await signedIn({ locale });
      const found: Record<string, string[]> = {};
      for (const [place, [path, heading]] of signedInPages(gateway, await latestRequest()).entries()) {
        // By its address in one language, from page to page in the other.
        if (locale === "en-GB" || place === 0) await open(page, gateway, path);
        else await goTo(page, path);
        expect(await page.locator("html").getAttribute("lang")).toBe(locale === "en-GB" ? "en" : locale);
        if (locale === "en-GB") expect(await page.getByRole("heading").allTextContents(), path).toContain(heading);
        // Names, numbers and code aside, what the page itself says is Chinese.
        else expect(await page.locator("main").textContent(), path).toMatch(/\p{Script=Han}/u);
        // The menu says where the reader is.
        const here = await page.locator(".mantine-NavLink-root[aria-current=page]").count();
        expect(here, path).toBe(path === "/nowhere" ? 0 : 1);
        found[path] = [...(await inLooks(page, looksAt(place, locale))), ...(await atEveryWidth(page))];
      }
      expect(Object.fromEntries(Object.entries(found).filter(([, faults]) => faults.length > 0))).toEqual({});
      expect(complaints).toEqual([]);
      await context.close();
    },
  );

  test("tell all that a model costs beyond its ordinary rates", async () => {
    const { page, context } = await signedIn();
    await open(page, gateway, "/models");
    const prices = page.getByRole("list", { name: "Further prices" });
    expect(await prices.getByRole("listitem").allTextContents()).toEqual([
      "Above 100,000 prompt tokens: input ¥1.00, output ¥3.00",
      "Priority: input ¥1.25, output ¥5.00",
      "In a region × 1.1",
      "Web search ¥0.01 each",
    ]);
    await context.close();
  });

  test("are accessible before it, too", async () => {
    const { page, complaints, context } = await visit(browser);
    for (const path of openPages) {
      await open(page, gateway, path);
      const looks = themes.flatMap((theme) => [phone, desktop].map(({ width }) => ({ theme, width })));
      expect(await inLooks(page, looks), path).toEqual([]);
    }
    // Asking who is signed in while nobody is must not be an error.
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("have room for every column of the calls on a wide screen, however long a key's name is", async () => {
    const { storage, accountId, baseUrl } = gateway;
    const named = { accountId, name: "the nightly evaluation of all models", admin: false, now: Date.now() };
    const { secret } = await issueKey(storage.keys, named);
    const model = "embedded-embedding";
    const call = { method: "POST", headers: { authorization: `Bearer ${secret}` } };
    await (await fetch(`${baseUrl}/embeddings`, { ...call, body: JSON.stringify({ model, input: "Hello" }) })).text();
    const { page, context } = await signedIn();
    await open(page, gateway, "/usage");
    await page.getByRole("cell", { name: named.name }).first().waitFor();
    const around = await page.getByRole("region", { name: "Requests", exact: true }).boundingBox();
    const last = await page.getByRole("columnheader", { name: "Duration" }).boundingBox();
    expect(ends(last)).toBeLessThanOrEqual(ends(around));
    await context.close();
  });

  test("tell names of models in two lines at most on a wide screen, and keep the table for one with slashes", async () => {
    const { page, context } = await signedIn();
    const ids = await gateway.storage.requests.page({ accountId: gateway.accountId }, undefined, 2);
    const names = ["text-embedding-3-small", "accounts/fireworks/models/llama-v3p1-405b"];
    for (const [place, { id }] of ids.entries()) {
      await gateway.database.query(`UPDATE requests SET model = '${names[place]}' WHERE id = '${id}'`);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    for (const path of ["/usage", "/operator/requests"]) {
      await open(page, gateway, path);
      await page
        .getByRole("cell", { name: names[0] ?? "", exact: true })
        .first()
        .waitFor();
      const lines = await page.evaluate<number[]>(linesOf(names[0] ?? ""));
      expect(lines.length, path).toBeGreaterThan(0);
      expect(Math.max(...lines), path).toBeLessThanOrEqual(2);
      await page
        .getByRole("cell", { name: names[1] ?? "", exact: true })
        .first()
        .waitFor();
    }
    await context.close();
  });

  test("tell the details of a call without a gap among them, on a wide screen and on a phone", async () => {
    const { page, context } = await signedIn();
    const id = await latestRequest();
    for (const path of [`/usage/${id}`, `/operator/requests/${id}`]) {
      for (const { width } of [desktop, phone]) {
        await page.setViewportSize({ width, height: 800 });
        await open(page, gateway, path);
        expect(await page.evaluate<string[]>(gaps), `${path} at ${width}`).toEqual([]);
      }
    }
    await context.close();
  });

  test("keep the upstream of a target in its card on a phone, however long its name is", async () => {
    const { page, context } = await signedIn({ viewport: phone });
    await open(page, gateway, "/operator/models/by-night");
    await page.getByRole("combobox", { name: `Upstream of ${longNames.upstream}` }).waitFor();
    const [scrollWidth = 0, innerWidth = 0] = await page.evaluate<number[]>(widths);
    expect(scrollWidth).toBe(innerWidth);
    await context.close();
  });

  test("show a table again once the right face is there, in which it has room", async () => {
    const { page, context } = await signedIn();
    await open(page, gateway, "/keys");
    const table = page.getByRole("table", { name: "API keys" });
    await table.waitFor();
    const face = (
      await page.evaluate<string[]>("performance.getEntriesByType('resource').map(({ name }) => name)")
    ).find((url) => url.endsWith(".woff2"));
    // Letters of another face may need more room.
    const spread = (spacing: string) => page.evaluate(`document.documentElement.style.letterSpacing = "${spacing}"`);
    await spread("5px");
    await table.waitFor({ state: "detached" });
    await spread("");
    await page.evaluate(`(() => {
      const face = new FontFace("Another", "url(${face})");
      document.fonts.add(face);
      return face.load().then(() => undefined);
    })()`);
    await table.waitFor();
    await context.close();
  });

  test("speak Chinese to whom prefers it, and English again when asked to", async () => {
    const { page, complaints, context } = await signedIn({ locale: "zh-CN" });
    await open(page, gateway, "/keys");
    await page.getByRole("button", { name: "English" }).click();
    await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("are small: the first one needs less than 252 kB, compressed by gzip, and 50 kB for its face", async () => {
    const { page, context } = await visit(browser);
    await open(page, gateway, "/sign-in");
    const urls = await page.evaluate<string[]>(
      "[location.href, ...performance.getEntriesByType('resource').map(({ name }) => name)]",
    );
    const files = urls.filter((url) => url.includes("/dashboard/"));
    let [bytes, face] = [0, 0];
    for (const url of files) {
      const answer = await fetch(url, { headers: { "accept-encoding": "gzip" } });
      // fetch decodes the body; what came over the wire is told by the header.
      const length = Number(answer.headers.get("content-length"));
      if (url.endsWith(".woff2")) face += length;
      else bytes += length;
      await answer.arrayBuffer();
    }
    expect(files.length).toBeGreaterThan(3);
    expect(bytes).toBeLessThan(252_000);
    expect(face).toBeGreaterThan(0);
    expect(face).toBeLessThan(50_000);
    await context.close();
  });
});
