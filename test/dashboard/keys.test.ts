/**
 * Keys on the dashboard after they were made, in a real browser; and what holds on every page: it can be used by the keyboard
 * alone, and names are text, whatever is written in them.
 */
import type { Locator } from "playwright-core";
import { describe, expect, test } from "vitest";
import { newId } from "../../src/runtime/ids.ts";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import { chromiumPath } from "../support/dashboard/browser.ts";
import { bearer, signIn } from "../support/dashboard/session.ts";
import { ada, enter, gateway, page, setStage, window } from "../support/dashboard/stage.ts";

describe.skipIf(chromiumPath === undefined)("keys and names in Chromium", () => {
  setStage();

  const newKey = (name: string, more: object = {}) =>
    issueKey(gateway.storage.keys, { accountId: gateway.accountId, name, now: Date.now(), admin: false, ...more });
  const keyRow = (id: string) => gateway.storage.keys.find(gateway.accountId, id);
  const status = async (secret: string) => {
    const answer = await fetch(`${gateway.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { ...bearer(secret), "content-type": "application/json" },
      body: JSON.stringify({ model: "embedded-chat", messages: [{ role: "user", content: "Hello" }] }),
    });
    await answer.arrayBuffer();
    return answer.status;
  };
  const focused = (what = "textContent") => page.evaluate<string>(`document.activeElement.${what}`);

  describe("keys", () => {
    const act = async (name: string, action: string) => {
      await page.getByRole("button", { name: `Actions for ${name}` }).click();
      await page.getByRole("menuitem", { name: action }).click();
    };
    const edit = async (name: string, change: (dialog: Locator) => Promise<void>) => {
      await act(name, "Edit");
      const dialog = page.getByRole("dialog");
      await change(dialog);
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.waitFor({ state: "detached" });
    };

    test("are rotated: the new secret is told, and the one before works beside it for as long as was chosen", async () => {
      const { secret } = await newKey("Rotated");
      await window.open("/keys");
      await act("Rotated", "Rotate");
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("radio", { name: "In an hour" }).click();
      await dialog.getByRole("button", { name: "Rotate" }).click();
      const fresh = await dialog.getByRole("textbox", { name: "Secret" }).inputValue();
      expect(fresh).not.toBe(secret);
      expect([await status(fresh), await status(secret)]).toEqual([200, 200]);
      await dialog.getByRole("button", { name: "I have copied it" }).click();
      await page.getByText(/^The previous secret works until/).waitFor();
    });

    test("are bounded anew by a lower limit, from the next call on", async () => {
      const { key, secret } = await newKey("Bounded", { creditLimit: 5_000_000 });
      expect(await status(secret)).toBe(200);
      const { spent } = (await keyRow(key.id)) ?? { spent: 0 };
      await window.open("/keys");
      await edit("Bounded", (dialog) => dialog.getByLabel("Credit limit").fill(String(spent / 1_000_000)));
      expect((await keyRow(key.id))?.credit_limit).toBe(spent);
      expect(await status(secret)).toBe(402);
    });

    test("no longer manage keys once the administrator's switch is off again", async () => {
      const { secret } = await newKey("Steward", { admin: true });
      const url = `${gateway.rootUrl}/api/v1/user/admin/get-api-tokens`;
      const manage = async () => (await fetch(url, { method: "POST", headers: bearer(secret) })).status;
      expect(await manage()).toBe(200);
      await window.open("/keys");
      await edit("Steward", (dialog) => dialog.getByRole("switch", { name: "Administrator" }).click());
      expect(await manage()).toBe(403);
      expect(await status(secret)).toBe(200);
    });

    test("are found by a part of their name or id, and by how they stand", async () => {
      const { key } = await newKey("Needle in hay");
      await gateway.storage.keys.update(gateway.accountId, (await newKey("Sleeping needle")).key.id, { disabled: 1 });
      await window.open("/keys");
      const buttons = () => page.getByRole("button", { name: /^Actions for/ }).all();
      const found = async () => Promise.all((await buttons()).map((button) => button.getAttribute("aria-label")));
      const search = page.getByRole("textbox", { name: "Search by name, secret or id" });
      await search.fill("NEEDLE");
      await expect.poll(found).toEqual(["Actions for Sleeping needle", "Actions for Needle in hay"]);
      await page.getByRole("combobox", { name: "Status" }).click();
      await page.getByRole("option", { name: "Disabled", exact: true }).click();
      await expect.poll(found).toEqual(["Actions for Sleeping needle"]);
      await search.fill(key.id);
      await page.getByText("No keys match").waitFor();
      await page.getByRole("button", { name: "Clear filters" }).click();
      await search.fill(key.id);
      await expect.poll(found).toEqual(["Actions for Needle in hay"]);
    });
  });

  test("limits, tags and an owner are set, told in the list, found by, and taken away again", async () => {
    const { key } = await newKey("Limited");
    const row = async () => (await keyRow(key.id)) as NonNullable<Awaited<ReturnType<typeof keyRow>>>;
    await window.open("/keys");
    const editing = async () => {
      await page.getByRole("button", { name: "Actions for Limited" }).click();
      await page.getByRole("menuitem", { name: "Edit" }).click();
      return page.getByRole("dialog");
    };
    const save = async (dialog: Locator) => {
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.waitFor({ state: "detached" });
    };
    let dialog = await editing();
    await dialog.getByLabel("Owner").fill("Ada");
    await dialog.getByLabel("Tags", { exact: true }).fill("team-a");
    await page.keyboard.press("Enter");
    await dialog.getByRole("button", { name: "Add a budget" }).click();
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("Enter an amount above 0, such as 12.50").waitFor();
    await dialog.getByLabel("Credit limit").fill("1000000000.01");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("Enter an amount, such as 12.50: at most 1000000000").waitFor();
    await dialog.getByLabel("Credit limit").fill("");
    await dialog.getByRole("textbox", { name: "Amount" }).fill("2.50");
    await dialog.getByRole("button", { name: "Rates" }).click();
    await dialog.getByLabel("Requests a minute").fill("sixty");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("Enter a whole number from 1 to 1,000,000").waitFor();
    await dialog.getByLabel("Requests a minute").fill("60");
    await dialog.getByLabel("Calls at a time").fill("3");
    await dialog.getByRole("button", { name: "Add a model" }).click();
    await dialog.getByRole("combobox", { name: "Model", exact: true }).click();
    await page.getByRole("option", { name: "embedded-chat" }).click();
    await dialog.getByRole("textbox", { name: "Tokens a minute" }).last().fill("9000");
    await dialog.getByRole("button", { name: "Addresses" }).click();
    await dialog
      .getByRole("combobox", { name: "Addresses" })
      .or(dialog.getByRole("textbox", { name: "Addresses" }))
      .fill("127.0.0.1");
    await page.keyboard.press("Enter");
    await save(dialog);
    expect(await row()).toMatchObject({
      ...{ owner: "Ada", tags: '["team-a"]', requests_per_minute: 60, max_concurrent: 3, allowed_ips: '["127.0.0.1"]' },
      model_rates: '[{"model":"embedded-chat","tokens":9000}]',
      tokens_per_minute: null,
    });
    expect(JSON.parse((await row()).budgets ?? "[]")).toMatchObject([{ amount: 2_500_000, period: "month" }]);
    await page.getByText(/^¥0(\.00)? of ¥2\.50 this month$/).waitFor();
    await page.getByText("60 requests/min · 3 at a time · 1 model rate · 1 address").waitFor();
    await page.getByRole("combobox", { name: "Tag", exact: true }).click();
    await page.getByRole("option", { name: "team-a" }).click();
    await expect.poll(() => page.getByRole("button", { name: /^Actions for/ }).count()).toBe(1);
    dialog = await editing();
    await dialog.getByLabel("Owner").fill("");
    await dialog.getByLabel("Requests a minute").first().fill("");
    await dialog.getByRole("button", { name: "Remove the rate of embedded-chat" }).click();
    await save(dialog);
    expect(await row()).toMatchObject({ owner: null, requests_per_minute: null, model_rates: null, max_concurrent: 3 });
  });

  test("several keys are tagged at once, and lose tags", async () => {
    const limits = { tags: JSON.stringify(["old", "kept"]) };
    const ids = [];
    for (const name of ["Bulk one", "Bulk two"]) ids.push((await newKey(name, { limits })).key.id);
    await window.open("/keys?find=Bulk");
    for (const name of ["Bulk one", "Bulk two"]) await page.getByRole("checkbox", { name: `Select ${name}` }).click();
    await page
      .getByRole("region", { name: "Actions for the selected keys" })
      .getByRole("button", { name: "Tag" })
      .click();
    const dialog = page.getByRole("dialog", { name: "Tags of 2 keys" });
    await dialog.getByLabel("Add").fill("new");
    await page.keyboard.press("Enter");
    // The list of tags that there are closes with that.
    await page.keyboard.press("Tab");
    await dialog.getByLabel("Remove").click();
    await page.getByRole("option", { name: "old" }).click();
    await page.keyboard.press("Tab");
    await dialog.getByRole("button", { name: "Change tags" }).click();
    await dialog.waitFor({ state: "detached" });
    for (const id of ids) expect((await keyRow(id))?.tags).toBe('["kept","new"]');
  });

  test("keys are put in order by a column's head: the newest first, until another is chosen", async () => {
    const now = Date.now();
    const accountId = newId("acc");
    await gateway.storage.accounts.insert({ id: accountId, name: "Orderly", created_at: now, postpaid: 1 });
    for (const [age, name] of [
      [3, "key 10"],
      [1, "key 9"],
      [2, "key 2"],
    ] as const)
      await newKey(name, { accountId, now: now - age * 1000 });
    await enter(await signIn(gateway, now, { accountId, email: "orderly@example.com" }));
    await window.open("/keys");
    const buttons = page.getByRole("button", { name: /^Actions for/ });
    const order = async () =>
      (await Promise.all((await buttons.all()).map((button) => button.getAttribute("aria-label")))).map((label) =>
        label?.replace("Actions for ", ""),
      );
    await expect.poll(order).toEqual(["key 9", "key 2", "key 10"]);
    await page.getByRole("button", { name: "Key", exact: true }).click();
    await expect.poll(order).toEqual(["key 2", "key 9", "key 10"]);
    await page.getByRole("button", { name: "Key", exact: true }).click();
    await expect.poll(order).toEqual(["key 10", "key 9", "key 2"]);
    const sorted = page.getByRole("columnheader", { name: "Key", exact: true });
    expect(await sorted.getAttribute("aria-sort")).toBe("descending");
  });

  test("several keys are disabled and deleted at once, after a confirmation", async () => {
    const accountId = newId("acc");
    await gateway.storage.accounts.insert({ id: accountId, name: "Bulky", created_at: Date.now(), postpaid: 1 });
    const keys: Awaited<ReturnType<typeof newKey>>[] = [];
    for (const name of ["Kept", "Bulk 1", "Bulk 2"]) keys.push(await newKey(name, { accountId }));
    await enter(await signIn(gateway, Date.now(), { accountId, email: "bulky@example.com" }));
    await window.open("/keys");
    for (const name of ["Bulk 1", "Bulk 2"]) await page.getByRole("checkbox", { name: `Select ${name}` }).check();
    const bar = page.getByRole("region", { name: "Actions for the selected keys" });
    await bar.getByText("2 keys selected").waitFor();
    await bar.getByRole("button", { name: "Disable" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Bulk 2, Bulk 1").waitFor();
    await dialog.getByRole("button", { name: "Disable" }).click();
    await bar.waitFor({ state: "detached" });
    const states = async () =>
      Promise.all(keys.map(async ({ key }) => (await gateway.storage.keys.find(accountId, key.id))?.disabled));
    expect(await states()).toEqual([0, 1, 1]);
    await page.getByRole("checkbox", { name: "Select all keys that are shown" }).check();
    await page.getByRole("checkbox", { name: "Select Kept" }).uncheck();
    await bar.getByRole("button", { name: "Delete" }).click();
    await dialog.getByRole("textbox").fill("delete");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await bar.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Actions for Bulk 1" }).waitFor({ state: "detached" });
    expect((await gateway.storage.keys.list(accountId)).filter(({ revoked_at }) => revoked_at === null)).toHaveLength(
      1,
    );
  });

  test("an operator disables, enables and deletes the key of an account on its page", async () => {
    const accountId = newId("acc");
    await gateway.storage.accounts.insert({ id: accountId, name: "Theirs", created_at: Date.now(), postpaid: 1 });
    const { secret } = await newKey("Leaked", { accountId });
    await window.open(`/operator/accounts/${accountId}`);
    const act = async (action: string, typed?: string) => {
      await page.getByRole("button", { name: "Actions for Leaked" }).click();
      await page.getByRole("menuitem", { name: action }).click();
      const dialog = page.getByRole("dialog");
      if (typed) await dialog.getByRole("textbox").fill(typed);
      await dialog.getByRole("button", { name: action }).click();
      await dialog.waitFor({ state: "detached" });
    };
    await act("Disable");
    await page.getByText("Key “Leaked” disabled").waitFor();
    expect(await status(secret)).toBe(401);
    await act("Enable");
    await page.getByText("Key “Leaked” enabled").waitFor();
    expect(await status(secret)).toBe(200);
    await act("Delete", "Leaked");
    await page.getByText("No keys yet").waitFor();
    expect(await status(secret)).toBe(401);
  });

  test("the palette finds pages, keys, accounts and calls, and does what is done most", async () => {
    const { key } = await newKey("Palatable");
    await window.open("/");
    const find = async (text: string, label: string | RegExp) => {
      await page.keyboard.press("Control+k");
      const field = page.getByRole("dialog").getByRole("combobox", { name: "Search" });
      await field.fill(text);
      await page.getByRole("dialog").getByRole("option", { name: label, selected: true }).waitFor();
      await page.keyboard.press("Enter");
    };
    await page.getByRole("button", { name: /^Search/ }).click();
    await page.getByRole("dialog").getByRole("combobox", { name: "Search" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await find("audit", "Audit log");
    await page.getByRole("heading", { level: 1, name: "Audit log" }).waitFor();
    await find("palat", /^Palatable/);
    await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
    expect(await page.getByRole("textbox", { name: "Search by name, secret or id" }).inputValue()).toBe(key.id);
    const account = await gateway.storage.accounts.find(gateway.accountId);
    await find(gateway.accountId, account?.name ?? "");
    await page.getByRole("heading", { level: 1, name: account?.name ?? "" }).waitFor();
    await find("create a key", "Create a key");
    await page.getByRole("dialog", { name: "Create an API key" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(page.url()).not.toContain("create");
    const { secret } = await newKey("Called");
    expect(await status(secret)).toBe(200);
    const [call] = await gateway.storage.requests.page({ accountId: gateway.accountId }, undefined, 1);
    await find(call?.id ?? "", /^Open req_/);
    await page.getByRole("heading", { level: 1, name: "Request" }).waitFor();
  });

  test("an address that leads nowhere is told within the frame, and the sign-in waits for what is typed", async () => {
    await window.open("/no/such/page");
    await page.getByRole("heading", { level: 1, name: "There is no such page" }).waitFor();
    await page.getByRole("link", { name: "API keys" }).waitFor();
    await window.context.clearCookies();
    await page.goto(`${gateway.rootUrl}/dashboard/sign-in`);
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    await expect.poll(() => focused("type")).toBe("email");
  });

  test.each(["/usage?model=embedded-chat&from=2026-11-01", "/settings#sessions", "/keys?find=Called"])(
    "the sign-in leads on to %s, whole as it was asked for",
    async (path) => {
      const cookies = await window.context.cookies();
      await window.context.clearCookies();
      await page.goto(`${gateway.rootUrl}/dashboard${path}`);
      await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
      await window.context.addCookies(cookies);
      await page.reload();
      await expect.poll(() => page.url()).toBe(`${gateway.rootUrl}/dashboard${path}`);
    },
  );

  test("an operator without credit adds funds to the own account on the spot, and asks nobody", async () => {
    const accountId = newId("acc");
    await gateway.storage.accounts.insert({ id: accountId, name: "Operator", created_at: Date.now() });
    await enter(await signIn(gateway, Date.now(), { accountId, email: "first@example.com", operator: true }));
    await window.open("/");
    await page.getByText("You operate the gateway, so you add funds to your own account").waitFor();
    await page.getByRole("button", { name: "Add funds" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Grant", { exact: true }).click();
    await dialog.getByLabel("Amount").fill("12.5");
    await dialog.getByRole("button", { name: "Add funds" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByText("The account can pay for calls").waitFor();
    expect((await gateway.storage.accounts.find(accountId))?.balance).toBe(12_500_000);
    const [entry] = await gateway.storage.entries.page(accountId, { kinds: [], limit: 1 });
    expect(entry?.kind).toBe(3);
  });

  test("an operator goes between the own account and the gateway's, each with its own pages", async () => {
    await window.open("/");
    const areas = page.getByRole("group", { name: "Area" });
    await page.getByRole("link", { name: "API keys" }).waitFor();
    expect(await page.getByRole("link", { name: "Accounts", exact: true }).count()).toBe(0);
    await areas.getByRole("link", { name: "Operator" }).click();
    await page.getByRole("heading", { level: 1, name: "Gateway overview" }).waitFor();
    expect(await page.getByRole("link", { name: "API keys" }).count()).toBe(0);
    await page.getByRole("link", { name: "Accounts", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Accounts" }).waitFor();
    await areas.getByRole("link", { name: "My account" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  });

  test("an account with nothing is led to its first key, and from there to its first call", async () => {
    const accountId = newId("acc");
    await gateway.storage.accounts.insert({ id: accountId, name: "Newcomer", created_at: Date.now(), postpaid: 1 });
    await enter(await signIn(gateway, Date.now(), { accountId, email: "new@example.com" }));
    await window.open("/");
    await page.getByRole("heading", { name: "First steps" }).waitFor();
    await page.getByText(`${gateway.rootUrl}/v1`, { exact: true }).waitFor();
    await page.getByRole("button", { name: "Create a key" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("First");
    await dialog.getByRole("button", { name: "Create key" }).click();
    const secret = await dialog.getByRole("textbox", { name: "Secret" }).inputValue();
    await dialog.getByRole("button", { name: "I have copied it" }).click();
    await page.getByText("You have “First”.").waitFor();
    // It is postpaid, so that it needs no credit beforehand.
    await expect.poll(() => page.getByLabel("Done").count()).toBe(2);
    expect(await page.getByRole("button", { name: "Create a key" }).count()).toBe(0);
    expect(await status(secret)).toBe(200);
    await window.open("/");
    await page.getByRole("heading", { name: "Top models" }).waitFor();
    expect(await page.getByRole("heading", { name: "First steps" }).count()).toBe(0);
  });

  test("the keyboard alone skips to the content, opens the dialog, and comes back from it", async () => {
    await window.open("/keys");
    await page.keyboard.press("Tab");
    expect(await focused()).toBe("Skip to the content");
    await page.keyboard.press("Enter");
    await expect.poll(() => focused("id")).toBe("content");
    await page.keyboard.press("Tab");
    expect(await focused()).toBe("Create key");
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await expect.poll(() => focused("tagName")).toBe("INPUT");
    await page.keyboard.type("Typed");
    expect(await dialog.getByLabel("Name").inputValue()).toBe("Typed");
    // Around within the dialog, and never out of it.
    for (let i = 0; i < 12; i++) {
      await page.keyboard.press("Tab");
      expect(await page.evaluate("document.querySelector('[role=dialog]').contains(document.activeElement)")).toBe(
        true,
      );
    }
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await expect.poll(() => focused()).toBe("Create key");
  });

  test("a script in a name is shown as it is written, and is nowhere an element", async () => {
    const script = `<img src=x onerror=alert(1)><script>alert(2)</script>`;
    const named = (what: string) => `${what} ${script}`;
    const { storage, accountId } = gateway;
    await storage.accounts.update(accountId, { name: named("Account") });
    const { secret } = await newKey(named("Key"));
    expect(await status(secret)).toBe(200);
    const entry = { id: newId("led"), accountId, kind: 3 as const, amount: 1_000_000, now: Date.now() };
    await storage.entries.record({ ...entry, note: named("Note") });
    await storage.sessions.insert({
      ...{
        id: newId("ses"),
        user_id: ada.userId,
        token_hash: "none",
        address: "127.0.0.1",
        user_agent: named("Agent"),
      },
      ...{ created_at: Date.now(), last_seen_at: Date.now(), expires_at: Date.now() + 86_400_000 },
    });
    for (const [path, shown] of [
      ["/", "Key"],
      ["/keys", "Key"],
      ["/usage", "Key"],
      ["/recharge", "Note"],
      ["/playground", undefined],
      ["/settings", "Account"],
      ["/operator/accounts", "Account"],
      [`/operator/accounts/${accountId}`, "Note"],
      ["/operator/users", "Account"],
      ["/operator/requests", undefined],
      ["/operator/audit", undefined],
    ] as const) {
      await window.open(path);
      if (shown) await page.getByText(named(shown)).first().waitFor();
      if (path === "/settings") expect(await page.getByTitle(named("Agent")).count()).toBe(1);
      const injected = "document.querySelectorAll('img[src=x], [onerror], script:not([src]):not([nonce])').length";
      expect(await page.evaluate(injected), path).toBe(0);
    }
    expect(window.dialogs).toEqual([]);
  });
});
