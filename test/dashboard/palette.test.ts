/** The palette: what it finds, in which order, for whom, and by the keyboard alone. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { docsAddresses, docsTitles } from "../../dashboard/src/palette/docs-pages.ts";
import { fitOf, ranked } from "../../dashboard/src/palette/rank.ts";
import { addressOf, sections } from "../../site/sidebar.ts";
import { chromiumPath, phone, type Visitor } from "../support/dashboard/browser.ts";
import { gateway, setFurnishedStage, signedIn } from "../support/dashboard/furnished-stage.ts";
import { askRpc, signIn } from "../support/dashboard/session.ts";
import { setStage, page as stagePage, window as stageWindow } from "../support/dashboard/stage.ts";
import { startTestGateway } from "../support/gateway.ts";

describe("what is typed", () => {
  const order = (query: string, names: readonly string[]) =>
    ranked(
      names.map((name) => ({ names: [name] })),
      query,
      10,
    ).map(({ thing: { names } }) => names[0]);

  test("finds the same name before its beginning, a later word, a part, initials and scattered letters", () => {
    const names = ["turn usage up", "All of my logs", "Usage", "misusage", "Usages by key", "umbrella sage"];
    expect(order("usage", names)).toEqual(["Usage", "Usages by key", "turn usage up", "misusage", "umbrella sage"]);
    expect(order("aoml", names)).toEqual(["All of my logs"]);
  });

  test.for([
    ["audlt", "Audit log"],
    ["playgorund", "Playground"],
    ["playgrund", "Playground"],
    ["playygro", "Playground"],
    ["resume", "Résumé"],
    ["ｇｐｔ", "gpt-4.1"],
    ["gpt41", "gpt-4.1"],
    ["密钥", "API 密钥"],
    ["log audit", "Audit log"],
  ] as const)("%s finds %s", ([query, name]) => {
    expect(fitOf({ names: [name] }, query)).toBeGreaterThan(0);
  });

  test.for([
    ["zzz", "Audit log"],
    ["audit key", "Audit log"],
    ["ag", "Playground"],
    ["alt", "a name that has these letters far, far apart from one another, at the end of it"],
    ["", "Audit log"],
  ] as const)("%s does not find %s", ([query, name]) => {
    expect(fitOf({ names: [name] }, query)).toBe(0);
  });

  test("finds a page by what is on it, behind whatever has the name", () => {
    const page = { names: ["Recharge", "充值"], contents: ["Balance, budgets, redeem a code", "余额、预算"] };
    const named = { names: ["Budgets of all"] };
    for (const query of ["budget", "redeem code", "recharge budgets", "预算"])
      expect(fitOf(page, query), query).toBeGreaterThan(0);
    for (const query of ["dget", "balance buggies"]) expect(fitOf(page, query), query).toBe(0);
    expect(fitOf(named, "budget")).toBeGreaterThan(fitOf(page, "budget"));
  });

  test("finds ids and masks by a part of them, and never by letters that are only alike", () => {
    const key = { names: ["Production"], marks: ["sk-a…wxyz", "key_01k9d2"] };
    for (const query of ["wxyz", "01k9d2", "key_01k"]) expect(fitOf(key, query), query).toBeGreaterThan(0);
    for (const query of ["wxzy", "k0y", "yz"]) expect(fitOf(key, query), query).toBe(0);
  });
});

test("pages of the documentation are those of the site, each with a title in both languages", () => {
  const site = sections.flatMap(({ pages }) =>
    pages.map(({ title, source }) => [addressOf(source)?.slice(1) ?? "", title]),
  );
  const own = docsAddresses.map((address) => [address, docsTitles.english[address]]);
  // The front page and the reference are not among the site's written pages.
  expect(own.filter(([address]) => address !== "" && address !== "reference")).toEqual(site);
  expect(Object.keys(docsTitles.chinese)).toEqual(docsAddresses);
});

describe.skipIf(chromiumPath === undefined)("the palette in Chromium", { timeout: 240_000 }, () => {
  setFurnishedStage();
  let operator: Visitor;

  beforeAll(async () => {
    operator = await signedIn();
  });

  const dialog = (page: Page) => page.getByRole("dialog", { name: /^(Search|搜索)$/ });
  const field = (page: Page) => dialog(page).getByRole("combobox");

  /** openByKeys resolves once the field has the focus, which comes a moment after it is drawn: what is typed before is lost. */
  async function openByKeys(page: Page): Promise<void> {
    await page.keyboard.press("Control+K");
    await dialog(page).locator("[role=combobox]:focus").waitFor();
  }

  async function open(page: Page, at = "/"): Promise<void> {
    await page.goto(`${gateway.rootUrl}/dashboard${at}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await openByKeys(page);
  }

  /** Types, and follows the first of what is found once that is `first`; the keyboard alone does it. */
  async function follow(page: Page, typed: string, first: string | RegExp): Promise<void> {
    await open(page);
    await page.keyboard.type(typed);
    await dialog(page).getByRole("option", { selected: true, name: first }).waitFor();
    await page.keyboard.press("Enter");
    await dialog(page).waitFor({ state: "detached" });
  }

  test("opens in a field, too, and Escape gives the focus back", async () => {
    const { page } = operator;
    await page.goto(`${gateway.rootUrl}/dashboard/models`);
    const search = page.getByRole("searchbox", { name: "Search" });
    await search.focus();
    await openByKeys(page);
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
    await expect.poll(() => page.evaluate("document.activeElement?.type")).toBe("search");
  });

  test("finds upstreams, models, accounts, people, settings and a single setting", async () => {
    const { page } = operator;
    const found = [
      ["embeded-ch", /^embedded-chat/, "/models/embedded-chat"],
      ["globex", /^Globex/, `/operator/accounts/${gateway.otherAccountId}`],
      ["ada@example.com", /^ada@example.com/, "/operator/users?find=ada%40example.com"],
      ["second factor", /^Second factor/, "/settings#second-factor"],
      ["retention", /^Retention/, "/operator/limits#keeping"],
      ["cache.max_bytes", /^Memory for cached answers/, "/operator/limits#cache"],
      ["upstrems", /^Upstreams/, "/operator/upstreams"],
      ["budget", /^API keys/, "/keys"],
      ["roll back", /^History/, "/operator/history"],
      ["add funds", /^Accounts/, "/operator/accounts"],
      ["invite", /^Users/, "/operator/users"],
      ["refused calls", /^Refused calls are kept/, "/operator/limits#keeping"],
      ["429", /^Refused: Rate limit/, "/usage?view=refused&reason=RATE_LIMITED"],
      ["499", /^Requests: Caller left/, "/usage?outcome=left"],
    ] as const;
    for (const [typed, first, leads] of found) {
      await follow(page, typed, first);
      await page.waitForURL(`${gateway.rootUrl}/dashboard${leads}`);
    }
    await follow(page, "retention", /^Retention/);
    await expect.poll(() => page.evaluate("document.activeElement?.id")).toBe("keeping");
  });

  test("finds keys by their last characters, their id and their secret, which it sends nowhere", {
    timeout: 60_000,
  }, async () => {
    const { page } = operator;
    const { apiKey, keyId } = gateway;
    const sent: string[] = [];
    page.on("request", (request) => sent.push(request.postData() ?? ""));
    for (const typed of [apiKey.slice(-4), keyId, apiKey]) {
      await follow(page, typed, new RegExp(keyId));
      await page.waitForURL(`${gateway.rootUrl}/dashboard/keys?find=${keyId}`);
    }
    expect(sent.filter((body) => body.includes(apiKey))).toEqual([]);
    expect(sent.length).toBeGreaterThan(0);
  });

  test("opens a request by its id", async () => {
    const { page } = operator;
    const [request] = await gateway.storage.requests.page({ accountId: gateway.accountId }, undefined, 1);
    await follow(page, ` ${request?.id} `, `Open ${request?.id}`);
    await page.waitForURL(`${gateway.rootUrl}/dashboard/operator/requests/${request?.id}`);
  });

  test("opens the documentation in a window of its own", async () => {
    const { page, context } = operator;
    const [opened] = await Promise.all([context.waitForEvent("page"), follow(page, "scaling", /^Scaling/)]);
    expect(opened.url()).toBe(`${gateway.rootUrl}/docs/scaling`);
    await opened.close();
  });

  test("goes up and down by arrow keys, round and round, and says what is selected", async () => {
    const { page } = operator;
    await open(page);
    const options = dialog(page).getByRole("option");
    const names = await options.allTextContents();
    const selected = async () => {
      const id = await field(page).getAttribute("aria-activedescendant");
      const option = dialog(page).locator(`[id="${id}"]`);
      expect(await option.getAttribute("aria-selected")).toBe("true");
      return option.textContent();
    };
    expect(await selected()).toBe(names[0]);
    await page.keyboard.press("ArrowDown");
    expect(await selected()).toBe(names[1]);
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    expect(await selected()).toBe(names.at(-1));
  });

  test("finds Chinese by English and the other way round, and goes on composing on Enter", async () => {
    const { page, context } = await signedIn({ locale: "zh-CN" });
    for (const [typed, first] of [
      ["审计", "审计日志"],
      ["audit log", "审计日志"],
      ["保留时长", /保留时长/],
    ] as const) {
      await open(page);
      await field(page).fill(typed);
      await dialog(page).getByRole("option", { selected: true, name: first }).waitFor();
    }
    await page.evaluate(
      "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, isComposing: true }))",
    );
    expect(await dialog(page).count()).toBe(1);
    await context.close();
  });

  test("shows others nothing of the operator's, and asks nothing that they may not", async () => {
    const { otherAccountId } = gateway;
    const tenant = await signIn(gateway, Date.now(), { accountId: otherAccountId });
    const { page, complaints, context } = await signedIn({}, tenant.headers.cookie?.split("=")[1] ?? "");
    await open(page);
    for (const typed of ["audit", "acme", "retention", "add an upstream", gateway.accountId, gateway.keyId]) {
      await field(page).fill(typed);
      await dialog(page).getByText("Nothing found").first().waitFor();
    }
    await field(page).fill("embedded-chat");
    await dialog(page)
      .getByRole("option", { selected: true, name: /^embedded-chat/ })
      .waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("is accessible with much, with little and with nothing found, on a phone too", async () => {
    for (const colorScheme of ["light", "dark"] as const) {
      const { page, context } = await signedIn({ colorScheme, viewport: phone });
      await open(page);
      for (const typed of ["", "embedded", "nothing of the kind"]) {
        await field(page).fill(typed);
        await dialog(page).getByRole("status").waitFor();
        const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
        expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
      }
      await context.close();
    }
  });

  test("finds an upstream that is switched off, and a model that nobody serves", async () => {
    const headers = { cookie: `gateway_session=${gateway.token}`, "x-gateway-session": "1" };
    const off = { name: "night-shift", kind: "openai", base_url: "https://models.example/v1", disabled: true };
    const request = { baseVersion: 0, changes: [{ upstream: off }] };
    const { status, json } = await askRpc(gateway, "OperatorService.ChangeConfiguration", request, headers);
    expect(status, JSON.stringify(json)).toBe(200);
    const { page } = operator;
    await follow(page, "models.example", /^night-shift/);
    await page.waitForURL(`${gateway.rootUrl}/dashboard/operator/upstreams/night-shift`);
    await follow(page, "gpt-4.1-mini", /^gpt-4.1-mini/);
    await page.waitForURL(`${gateway.rootUrl}/dashboard/operator/models/gpt-4.1-mini`);
  });
});

describe.skipIf(chromiumPath === undefined)("a gateway without its documentation, in Chromium", () => {
  setStage({ start: () => startTestGateway({ docs: false }, { clock: Date.now }) });

  test("leads to it neither by the menu nor by the palette", async () => {
    await stageWindow.open("/");
    await stagePage.getByRole("button", { name: /^Signed in as/ }).click();
    await stagePage.getByRole("menuitem", { name: "Sign out" }).waitFor();
    expect(await stagePage.getByRole("menuitem", { name: "Documentation" }).count()).toBe(0);
    await stagePage.keyboard.press("Escape");
    await stagePage.keyboard.press("Control+k");
    const palette = stagePage.getByRole("dialog");
    await palette.getByRole("combobox").fill("models");
    await palette.getByRole("option", { name: "Models" }).first().waitFor();
    expect(await palette.getByRole("option", { name: /Documentation/ }).count()).toBe(0);
  });
});
