/** A page a model for callers: what it costs them, how it does, what limits and what they used, and nothing of anybody else's use. */
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { mayUse, snippetsOf } from "../../dashboard/src/pages/keys/snippets.ts";
import { ModelKind } from "../../gen/modelgateway/v1/accounts_pb.ts";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import { chromiumPath } from "../support/dashboard/browser.ts";
import { gateway, setFurnishedStage, signedIn } from "../support/dashboard/furnished-stage.ts";
import { signIn } from "../support/dashboard/session.ts";

describe("examples of calls", () => {
  test.for([
    [ModelKind.CHAT, "chat/completions", ["curl", "Python", "TypeScript", "Anthropic SDK", "gRPC"]],
    [ModelKind.EMBEDDING, "embeddings", ["curl", "Python", "TypeScript"]],
    [ModelKind.SPEECH, "audio/speech", ["curl", "Python", "TypeScript"]],
  ] as const)("of kind %s ask %s, in each client that has it", ([kind, path, clients]) => {
    const snippets = snippetsOf("https://gateway.example", { id: 'a "model"', kind });
    expect(snippets.map(({ name }) => name)).toEqual(clients);
    for (const { name, code } of snippets) {
      expect(code, name).toContain("https://gateway.example");
      expect(code, name).toContain('a \\"model\\"');
    }
    expect(snippets[0]?.code).toContain(`/v1/${path} `);
  });

  test("are of the models that a key may use: all, some, or a family", () => {
    const model = { id: "gpt-4.1", family: "gpt" };
    expect(mayUse([], model)).toBe(true);
    expect(mayUse(["o3", "family:gpt"], model)).toBe(true);
    expect(mayUse(["gpt-4.1-mini", "family:o"], model)).toBe(false);
  });
});

describe.skipIf(chromiumPath === undefined)("a model's page in Chromium", () => {
  setFurnishedStage();

  beforeAll(async () => {
    const { storage, accountId } = gateway;
    await issueKey(storage.keys, {
      ...{ accountId, name: "Other models", admin: false, now: Date.now() },
      models: '["family:other"]',
    });
  });

  async function open(page: Page, path: string): Promise<void> {
    await page.goto(`${gateway.rootUrl}/dashboard${path}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.locator(".mantine-Skeleton-root").first().waitFor({ state: "detached" });
  }

  const section = (page: Page, title: string) =>
    page
      .locator("section")
      .filter({ has: page.getByRole("heading", { name: title, exact: true }) })
      .last();

  test("is opened from the list, and tells abilities, every rate, limits, own use and how to call it", async () => {
    const { page, complaints, context } = await signedIn();
    await open(page, "/models");
    await page.getByRole("link", { name: "embedded-chat", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "embedded-chat" }).waitFor();
    await page.locator(".mantine-Skeleton-root").first().waitFor({ state: "detached" });
    expect(await section(page, "What it can do").textContent()).toContain("/v1/responses");
    const rates = page.getByRole("region", { name: "Rates" });
    expect(await rates.getByRole("row").allTextContents()).toEqual([
      "RatesInputCache readCache writeOutput",
      "Ordinary¥0.50¥0.50¥0.50¥2.00",
      "Above 100,000 prompt tokens¥1.00¥1.00¥1.00¥3.00",
      "Priority¥1.25¥1.25¥1.25¥5.00",
    ]);
    const limits = section(page, "Limits");
    expect(await limits.textContent()).toContain("3 of 4 keys may call it.");
    const production = limits.getByRole("row", { name: /Production/ });
    expect(await production.textContent()).toContain("300 requests, 500K tokens/min");
    expect(await production.textContent()).toContain("20 at a time");
    expect(await section(page, "Your use of it").textContent()).toMatch(/Requests\d/);
    const code = section(page, "How to call it");
    await code.getByRole("tab", { name: "Python" }).click();
    expect(await code.getByRole("tabpanel").textContent()).toContain(`base_url="${gateway.baseUrl}"`);
    // The operator sees in addition who calls it, and where its calls go.
    expect(await section(page, "Who uses it").textContent()).toContain("Acme");
    expect(await section(page, "Where its calls go").textContent()).toContain("embedded");
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("shows another account how the model does, and neither who calls it nor how often", async () => {
    const { storage, accountId, keyId, otherAccountId, rootUrl } = gateway;
    expect((await storage.requests.page({ accountId, model: "embedded-chat" }, undefined, 100)).length).toBeGreaterThan(
      20,
    );
    const tenant = await signIn(gateway, Date.now(), { accountId: otherAccountId });
    const { page, complaints, context } = await signedIn({}, tenant.headers.cookie?.split("=")[1] ?? "");
    const answers: string[] = [];
    page.on("response", (response) => {
      if (response.url().startsWith(`${rootUrl}/modelgateway`)) void response.text().then((text) => answers.push(text));
    });
    await open(page, "/models/embedded-chat");
    await page.getByText("30 days").click();
    await page.getByText("As the gateway measured").waitFor();
    const did = page.getByRole("region", { name: "How it does", exact: true });
    expect(await did.textContent()).toContain("100%");
    expect(await section(page, "Your use of it").textContent()).toContain("You have not called it in this time.");
    const shown = (await page.locator("main").textContent()) ?? "";
    for (const hidden of ["Who uses it", "Where its calls go", "Acme", "For the operator"]) {
      expect(shown).not.toContain(hidden);
    }
    for (const secret of [accountId, keyId, "Acme"]) expect(answers.join("\n")).not.toContain(secret);
    expect(answers.some((answer) => answer.includes('"answered"'))).toBe(true);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("is missing for a model that is not served", async () => {
    const { page, context } = await signedIn();
    await open(page, "/models/gpt-4.1");
    await page.getByRole("heading", { level: 1, name: "There is no such page" }).waitFor();
    await context.close();
  });
});
