/**
 * The operator's pages for the configuration, in a real browser: an upstream is added and tried, models get prices and targets, tiers and
 * settings are changed, versions are compared and rolled back, and two who save at once are told of each other.
 */
import { AxeBuilder } from "@axe-core/playwright";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chromiumPath } from "../support/dashboard/browser.ts";
import { askRpc } from "../support/dashboard/session.ts";
import { signedInWindow, unexpected } from "../support/dashboard/signed-in-window.ts";
import { ada, browser, gateway, page, setStage, window } from "../support/dashboard/stage.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";

describe.skipIf(chromiumPath === undefined)("the configuration's pages in Chromium", () => {
  let far: TestGateway;

  beforeAll(async () => {
    far = await startTestGateway();
  });
  afterAll(() => far?.close());
  setStage();

  const ask = async (name: string, request: JsonObject = {}) => {
    const { status, json } = await askRpc(gateway, `OperatorService.${name}`, request, ada.headers);
    expect(status, JSON.stringify(json)).toBe(200);
    return json as Record<string, JsonObject>;
  };
  const inForce = async () => {
    const { configuration } = await ask("GetConfiguration");
    return configuration as { version?: number; document: Record<string, JsonObject[]>; note?: string };
  };
  const storedModel = async (id: string) => (await inForce()).document.models?.find((model) => model.id === id);
  const choose = async (label: string, option: string) => {
    await page.getByRole("combobox", { name: label, exact: true }).click();
    await page.getByRole("option", { name: option, exact: true }).click();
  };
  const dialog = () => page.getByRole("dialog");
  const review = (name = "Review and save") => page.getByRole("button", { name, exact: true }).click();
  const save = async (note: string) => {
    await dialog().getByRole("list", { name: "Differences" }).waitFor();
    await dialog().getByLabel("Note").fill(note);
    await dialog().getByRole("button", { name: "Save", exact: true }).click();
    await dialog().waitFor({ state: "detached" });
  };
  const accessible = async () => {
    const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" "))}`)).toEqual([]);
  };

  test("without an upstream an operator is led to the first", async () => {
    for (const path of ["/", "/operator"]) {
      await window.open(path);
      await page.getByRole("link", { name: "Add an upstream" }).click();
      await page.getByRole("heading", { level: 1, name: "Add an upstream" }).waitFor();
    }
  });

  test("an upstream is picked, tried with a wrong key and the right one, and saved with a note", async () => {
    await window.open("/operator/add-upstream");
    await page.getByRole("searchbox", { name: "Search vendors" }).fill("openr");
    expect(await page.getByRole("list", { name: "Vendors" }).getByRole("button").count()).toBe(2);
    await accessible();
    await page.getByRole("button", { name: /^Another server/ }).click();
    await review();
    await page.getByText("Enter a name").waitFor();
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("far");
    await page.getByRole("textbox", { name: "Base URL" }).fill(`${far.rootUrl}/v1`);
    await page.getByLabel("API key", { exact: true }).fill("sk-this-is-not-the-key");
    const steps = page.getByRole("list", { name: "Steps of the test" });
    await page.getByRole("button", { name: "Test", exact: true }).click();
    await steps.getByText("List the models: Failed").waitFor();
    expect(await steps.textContent()).toContain("It refused the credential");
    await page.getByLabel("API key", { exact: true }).fill(far.apiKey);
    await page.getByRole("button", { name: "Test", exact: true }).click();
    await page.getByText("It works.").waitFor();
    expect(await steps.textContent()).not.toContain("It lists");
    expect(await steps.textContent()).toMatch(/4 models.*embedded-chat.*Call embedded-chat: Went well.*tokens in/);
    await page.getByRole("button", { name: "More options" }).click();
    await accessible();
    await review();
    await dialog().getByText("upstreams[far]", { exact: true }).waitFor();
    await accessible();
    await save("a second gateway");
    await page.getByRole("heading", { level: 1, name: "far" }).waitFor();
    const { version, document, note } = await inForce();
    expect([version, note]).toEqual([1, "a second gateway"]);
    expect(document.upstreams).toMatchObject([{ name: "far", discover: true, api_key: `…${far.apiKey.slice(-4)}` }]);
    await page.reload();
    await page.getByText(`…${far.apiKey.slice(-4)} is stored.`).waitFor();
    expect(await page.content()).not.toContain(far.apiKey);
  });

  test("what the gateway does not take is told at its field, and nothing changes", async () => {
    await window.open("/operator/upstreams/far");
    await page.getByRole("button", { name: "More options" }).click();
    await page.getByRole("textbox", { name: "Concurrent calls" }).fill("many");
    await review();
    await page.getByRole("alert").getByText("upstreams[far].queue.max_concurrent").waitFor();
    expect(await page.getByRole("textbox", { name: "Concurrent calls" }).getAttribute("aria-invalid")).toBe("true");
    await accessible();
    expect((await inForce()).version).toBe(1);
  });

  test("in Chinese a failed test and a faulty document have no English sentence", async () => {
    const chinese = await signedInWindow(browser, gateway, ada, "zh-CN");
    const { page: there } = chinese;
    const sentence = /(?:\b[A-Za-z]{2,}\b[ ,]+){3}[A-Za-z]{2,}/;
    await chinese.open("/operator/upstreams/far");
    await there.getByRole("textbox", { name: "Base URL" }).fill("http://127.0.0.1:9/v1");
    await there.getByLabel("API 密钥", { exact: true }).fill('"sk-this-is-quoted"');
    await there.getByRole("button", { name: "测试", exact: true }).click();
    const refused = there.getByRole("alert").filter({ hasText: "upstreams[far].api_key" });
    await refused.waitFor();
    expect(await refused.textContent()).toContain("密钥两端不要加引号");
    expect(await refused.textContent()).not.toMatch(sentence);
    await there.getByLabel("API 密钥", { exact: true }).fill("sk-this-is-another-key");
    await there.getByRole("button", { name: "测试", exact: true }).click();
    const steps = there.getByRole("list", { name: "测试步骤" });
    await steps.getByText("127.0.0.1:9 没有服务在监听").waitFor();
    expect(await steps.textContent()).not.toMatch(sentence);
    expect(unexpected(chinese)).toEqual([]);
    await chinese.context.close();
  });

  test("a key that is not typed anew stays as it is stored", async () => {
    await window.open("/operator/upstreams/far");
    await page.getByRole("button", { name: "More options" }).click();
    await page.getByRole("textbox", { name: "Concurrent calls" }).fill("7");
    await page.getByRole("button", { name: "Add: Headers" }).click();
    await page.getByRole("textbox", { name: "Headers 1: name" }).fill("x-title");
    await page.getByRole("textbox", { name: "Headers 1: value" }).fill("our gateway");
    await review();
    await save("bounded");
    expect((await inForce()).document.upstreams).toMatchObject([{ queue: { max_concurrent: 7 } }]);
    await page.getByRole("button", { name: "Test", exact: true }).click();
    await page.getByText("It works.").waitFor();
  });

  test("a stored key goes to no other address", async () => {
    await window.open("/operator/upstreams/far");
    await page.getByRole("textbox", { name: "Base URL" }).fill("https://models.example/v1");
    await page.getByText("The address is another now: enter the key for it.").waitFor();
    await review();
    await page.getByRole("alert").getByText("upstreams[far].api_key").waitFor();
  });

  test("of two who save at once the second sees what the first changed, and applies theirs onto it", async () => {
    await window.open("/operator/upstreams/far");
    await page.getByRole("textbox", { name: "Base URL" }).fill(`${far.rootUrl}/v1/`);
    const { version: base = 0 } = await inForce();
    const changes = [{ settings: { retries: { attempts: 2 } } }];
    await ask("ChangeConfiguration", { baseVersion: base, changes, note: "by the other" });
    await review();
    await dialog().getByText("Somebody else has saved meanwhile").waitFor();
    await dialog().getByText("retries.attempts", { exact: true }).waitFor();
    expect(await dialog().textContent()).toContain("by the other");
    await accessible();
    await dialog().getByRole("button", { name: "Apply mine onto it" }).click();
    await dialog().getByText("upstreams[far].base_url", { exact: true }).waitFor();
    await save("mine");
    const { document, version } = await inForce();
    expect(version).toBe(base + 2);
    expect(document).toMatchObject({ retries: { attempts: 2 }, upstreams: [{ base_url: `${far.rootUrl}/v1/` }] });
  });

  test("a model of the catalogue gets our price beside the vendor's, and targets in an order by the arrow keys", async () => {
    const upstream = { name: "other", kind: "openai", base_url: "http://127.0.0.1:9/v1", discover: false };
    await ask("ChangeConfiguration", { baseVersion: (await inForce()).version ?? 0, changes: [{ upstream }] });
    await window.open("/operator/add-model");
    await choose("One of the catalogue", "gpt-4.1-mini");
    // Writes into the cache cost as much, below the further rates.
    await page.getByText("Vendor: $0.40").first().waitFor();
    await page.getByRole("textbox", { name: "Input", exact: true }).fill("70.5");
    await page.getByRole("button", { name: "Add a target" }).click();
    await page.getByText("Weight", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Add a target" }).click();
    await page.getByRole("combobox", { name: "Upstream of far" }).last().click();
    await page.getByRole("option", { name: "other", exact: true }).click();
    await page.getByRole("textbox", { name: "Weight of far" }).fill("3");
    await page.getByText("75% of calls").waitFor();
    const handle = page.getByRole("button", { name: "Move other: arrow keys up and down" });
    await handle.focus();
    await page.keyboard.press("ArrowDown");
    await page.getByText("Asked if all above fail").waitFor();
    expect(await page.locator("*:focus").getAttribute("aria-label")).toBe("Move other: arrow keys up and down");
    await page.getByText("other: level 2, place 1 of 1").waitFor({ state: "attached" });
    await accessible();
    await review();
    await save("our price");
    await page.getByRole("heading", { level: 1, name: "gpt-4.1-mini" }).waitFor();
    expect(await storedModel("gpt-4.1-mini")).toMatchObject({
      price: { input: "70.5", priority: { input: expect.any(String) } },
      targets: [
        { upstream: "far", priority: 0, weight: 3 },
        { upstream: "other", priority: 1, weight: 1 },
      ],
    });
  });

  test("targets are dragged by the pointer, too", async () => {
    await window.open("/operator/models/gpt-4.1-mini");
    const handleOf = (name: string) => page.getByRole("button", { name: `Move ${name}: arrow keys up and down` });
    const centre = async (name: string) => {
      await handleOf(name).scrollIntoViewIfNeeded();
      const box = await handleOf(name).boundingBox();
      return { x: (box?.x ?? 0) + 10, y: (box?.y ?? 0) + (box?.height ?? 0) / 2 };
    };
    await handleOf("far").scrollIntoViewIfNeeded();
    const [from, to] = [await centre("other"), await centre("far")];
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(to.x, to.y - 14, { steps: 6 });
    await page.mouse.up();
    await expect.poll(async () => (await page.getByRole("combobox", { name: /^Upstream of/ }).all()).length).toBe(2);
    const order = () =>
      page
        .getByRole("combobox", { name: /^Upstream of/ })
        .evaluateAll((all) => all.map((one) => (one as unknown as { value: string }).value));
    expect(await order()).toEqual(["other", "far"]);
    await review();
    await save("the other way round");
    expect((await storedModel("gpt-4.1-mini"))?.targets).toMatchObject([{ upstream: "other" }, { upstream: "far" }]);
  });

  test("tiers are saved with the accounts that they change", async () => {
    await window.open("/operator/limits");
    await page.getByRole("textbox", { name: "Name, tier 3" }).fill("Best");
    await page.getByRole("textbox", { name: "Requests a minute, tier 3" }).fill("9000");
    await page.getByRole("button", { name: "Review and save" }).click();
    await dialog().getByText("1 of 1 account changes:").waitFor();
    const row = dialog().getByRole("region", { name: "Accounts that change" }).getByRole("row").last();
    expect(await row.textContent()).toContain("Premium → Best10,000 → 9,000");
    await accessible();
    await save("a better name");
    expect((await inForce()).document.tiers?.at(2)).toMatchObject({ name: "Best", requests_per_minute: 9000 });
  });

  test("settings are saved by section, and an emptied one takes its default", async () => {
    await window.open("/operator/limits");
    await page.getByRole("textbox", { name: "Memory for cached answers (MiB)" }).fill("64");
    await page.getByRole("textbox", { name: "A cached answer costs (%)" }).fill("12.5");
    await review();
    await save("a cache");
    expect((await inForce()).document.cache).toEqual({ max_bytes: 64 * 1024 ** 2, price_share: 0.125 });
    // What is typed in one section stays while another is saved, and is in no conflict with that.
    await page.getByRole("textbox", { name: "Attempts at one model" }).fill("");
    await choose("Models without a price", "Refused");
    for (const section of ["Failing over", "Prices"]) {
      const part = page.locator("section", { has: page.getByRole("heading", { name: section, exact: true }) });
      await part.getByRole("button", { name: "Review and save" }).click();
      await save(section);
    }
    const { document } = await inForce();
    expect(document).toMatchObject({ unpriced_models: "refused" });
    expect(document).not.toHaveProperty("retries");
  });

  test("an upstream is switched off, and removed with the models that it alone serves", async () => {
    const model = {
      id: "only-far",
      family: "far",
      kind: "chat",
      targets: [{ upstream: "far", model: "embedded-chat" }],
    };
    await ask("ChangeConfiguration", { baseVersion: (await inForce()).version ?? 0, changes: [{ model }] });
    await window.open("/operator/upstreams/far");
    const menu = () => page.getByRole("button", { name: "Actions for far" });
    await menu().click();
    await page.getByRole("menuitem", { name: "Switch off" }).click();
    await dialog().getByText("upstreams[far].disabled", { exact: true }).waitFor();
    expect(await dialog().textContent()).toContain("only-far");
    await dialog().getByRole("button", { name: "Switch off" }).click();
    await dialog().waitFor({ state: "detached" });
    expect((await inForce()).document.upstreams?.[0]).toMatchObject({ name: "far", disabled: true });
    await window.open("/operator/upstreams");
    await page.getByRole("region", { name: "far" }).getByText("Switched off").waitFor();
    await menu().click();
    await page.getByRole("menuitem", { name: "Remove" }).click();
    await dialog().getByText("models[only-far]", { exact: true }).waitFor();
    expect(await dialog().textContent()).toContain("They are removed, too");
    await accessible();
    await dialog().getByRole("button", { name: "Remove" }).click();
    await page.getByRole("region", { name: "far" }).waitFor({ state: "detached" });
    const { document } = await inForce();
    expect(document.upstreams?.map(({ name }) => name)).toEqual(["other"]);
    expect(document.models).toMatchObject([{ id: "gpt-4.1-mini", targets: [{ upstream: "other" }] }]);
  });

  test("versions are compared, and one is gone back to as a new one", async () => {
    const { version = 0 } = await inForce();
    await window.open("/operator/history");
    await page.getByRole("row", { name: /a second gateway/ }).waitFor();
    expect(await page.getByRole("row", { name: /by the other/ }).textContent()).toContain("ada@example.com");
    await page.getByRole("textbox", { name: "From version" }).fill("0");
    await page.getByRole("textbox", { name: "To version" }).fill("1");
    await page.getByText("upstreams[far]", { exact: true }).first().waitFor();
    await accessible();
    await page.getByRole("button", { name: "Show what version 1 changed" }).click();
    await dialog().getByText("upstreams[far]", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Go back to version 1", exact: true }).click();
    await dialog().getByText("upstreams[other]", { exact: true }).waitFor();
    await dialog().getByLabel("Note").fill("as it began");
    await dialog().getByRole("button", { name: "Go back" }).click();
    await page.getByRole("row", { name: /as it began/ }).waitFor();
    const now = await inForce();
    expect(now.version).toBe(version + 1);
    expect(now.document.upstreams?.map(({ name }) => name)).toEqual(["far"]);
    expect(await page.content()).not.toContain(far.apiKey);
  });
});
