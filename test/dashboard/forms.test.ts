/** The dialogs, forms and menus of the dashboard, open: nothing in them is cut off or scrolls sideways, at any width, in both languages. */
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { chromiumPath } from "../support/dashboard/browser.ts";
import { cutOff } from "../support/dashboard/cut-off.ts";
import { gateway, setFurnishedStage, signedIn } from "../support/dashboard/furnished-stage.ts";
import { configure, open, settled, windowWidths } from "../support/dashboard/pages.ts";

/** long is what somebody types who writes no spaces. */
const long = "a-name-of-somebody-who-does-not-believe-in-spaces-2026-11-30";

/** press clicks the first button of a name, in either language. */
const press = (page: Page, name: RegExp) => page.getByRole("button", { name }).first().click();
const choose = (page: Page, name: RegExp) => page.getByRole("menuitem", { name }).first().click();
const dialog = (page: Page) => page.getByRole("dialog");
const menuOf = (page: Page, name: RegExp) => press(page, name);

/** Everything that a hand has to open, by the page that it is on. */
const forms: Readonly<Record<string, readonly [path: string, begin: (page: Page) => Promise<unknown>]>> = {
  "the menu of pages": ["/", (page) => press(page, /^(Menu|菜单)$/)],
  "who is signed in": ["/", (page) => press(page, /ada@example.com/)],
  "a key's creation": ["/keys?create=true", (page) => dialog(page).waitFor()],
  "a key's change": [
    "/keys",
    async (page) => {
      await menuOf(page, /Production/);
      await choose(page, /^(Edit|编辑)$/);
      await press(page, /^(Add a budget|添加预算)$/);
    },
  ],
  "a key's use": [
    "/keys",
    async (page) => {
      await menuOf(page, /Production/);
      await choose(page, /^(Use it|使用方法|接入|使用)$/);
    },
  ],
  "a key's rotation": [
    "/keys",
    async (page) => {
      await menuOf(page, /Production/);
      await choose(page, /^(Rotate|轮换)/);
    },
  ],
  "a key's end": [
    "/keys",
    async (page) => {
      await menuOf(page, /Production/);
      await choose(page, /^(Delete|删除)$/);
    },
  ],
  "what is done to several keys": ["/keys", (page) => page.getByRole("checkbox").last().click()],
  "the palette, before anything is typed": [
    "/",
    async (page) => {
      await page.keyboard.press("Control+k");
      await dialog(page).waitFor();
    },
  ],
  "calls that are chosen": [
    "/usage?outcome=rejected&model=embedded-embedding",
    (page) => page.getByRole("combobox", { name: /^(Status|状态)$/ }).waitFor(),
  ],
  "the palette": [
    "/",
    async (page) => {
      await page.keyboard.press("Control+k");
      await dialog(page).getByRole("combobox").or(dialog(page).getByRole("textbox")).first().fill("e");
    },
  ],
  "a call in the playground": [
    "/playground?model=embedded-chat",
    async (page) => {
      for (const name of [/Tools|工具/, /JSON [sS]chema/]) await page.getByRole("switch", { name }).first().check();
      await page.getByRole("textbox", { name: /^(Message|消息|输入)/ }).fill(`Say ${long} ${long}`);
      await page.keyboard.press("Enter");
      await page
        .getByText(/Cost|费用/)
        .first()
        .waitFor();
    },
  ],
  "a call as code": ["/playground?model=embedded-chat", (page) => press(page, /View code|查看代码/)],
  "an upstream of a vendor": ["/operator/add-upstream", (page) => press(page, /^OpenAI|OpenAI/)],
  "an upstream of one's own": [
    "/operator/add-upstream",
    (page) => page.getByRole("list").getByRole("button").last().click(),
  ],
  "an upstream's removal": [
    "/operator/upstreams/near",
    async (page) => {
      await press(page, /^(Actions for near|near 的操作)$/);
      await choose(page, /^(Remove|删除)$/);
      await dialog(page).waitFor();
    },
  ],
  "a tier more, and what it would change": [
    "/operator/limits",
    async (page) => {
      await page.getByRole("textbox", { name: /^(Requests a minute, tier 1|每分钟请求数，等级 1)$/ }).fill("7");
      await press(page, /^(Add a tier|添加等级)$/);
      await page
        .getByRole("textbox", { name: /^(Name, tier|名称，等级)/ })
        .last()
        .fill("a tier of a long name");
      await page
        .getByRole("textbox", { name: /^(Recharged from|累计充值达到)/ })
        .last()
        .fill("9999999");
      await page
        .getByRole("textbox", { name: /^(Requests a minute, tier|每分钟请求数，等级)/ })
        .last()
        .fill("9999");
      await page
        .locator("#tiers")
        .getByRole("button", { name: /^(Review and save|检查并保存)$/ })
        .click();
      await dialog(page).getByText("Initech").waitFor();
    },
  ],
  "funds for an account": ["/recharge", (page) => press(page, /^(Add funds|增加额度)$/)],
  "an account's creation": ["/operator/accounts", (page) => press(page, /^(Create account|创建账户)$/)],
  "an invitation": ["/operator/users", (page) => press(page, /^(Invite a user|邀请用户)$/)],
  codes: ["/operator/codes", (page) => press(page, /^(Create codes|创建兑换码)$/)],
  "what a version changed": ["/operator/history", (page) => press(page, /^(Show what version|查看 版本)/)],
  "a roll-back": ["/operator/history", (page) => press(page, /^(Go back to version|回滚 到版本)/)],
  "a second factor": ["/settings", (page) => press(page, /^(Turn on|启用)/)],
  "budgets of the account": [
    "/recharge",
    async (page) => {
      await press(page, /^(Change|更改|Set budgets|Add a budget|添加预算|设置预算)$/);
      await dialog(page).waitFor();
    },
  ],
};

describe.skipIf(chromiumPath === undefined)("forms in Chromium", () => {
  setFurnishedStage();

  beforeAll(() => configure(gateway));

  /** Opens a form on a phone, where all of them are; it stays open as the window becomes wider. */
  async function faultsOf(page: Page, form: keyof typeof forms): Promise<string[]> {
    const [path, begin] = forms[form] as (typeof forms)[string];
    const [first = 320, ...wider] = windowWidths;
    await page.setViewportSize({ width: first, height: 860 });
    await open(page, gateway, path);
    await begin(page);
    const found: string[] = [];
    for (const width of [first, ...wider]) {
      await page.setViewportSize({ width, height: 860 });
      await settled(page);
      found.push(...(await cutOff(page)).map((what) => `${width} wide: ${what}`));
    }
    return found;
  }

  test.for(["en-GB", "zh-CN"])("are whole at every width: %s", { timeout: 600_000 }, async (locale) => {
    const { page, complaints, context } = await signedIn({ locale });
    const found: Record<string, string[]> = {};
    for (const form of Object.keys(forms)) {
      const faults = await faultsOf(page, form).catch((error) => [String(error)]);
      if (faults.length > 0) found[form] = faults;
    }
    expect(found).toEqual({});
    expect(complaints).toEqual([]);
    await context.close();
  });
});
