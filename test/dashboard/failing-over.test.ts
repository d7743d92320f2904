/**
 * What the dashboard shows of upstreams that fail, to whose calls they were and to the operator: the attempts of a call,
 * what the cache answered, upstreams that are busy or left alone, and the settings that bound it all.
 */
import { AxeBuilder } from "@axe-core/playwright";
import type { Browser } from "playwright-core";
import { afterAll, describe, expect, test } from "vitest";
import { newId } from "../../src/runtime/ids.ts";
import { chromiumPath, phone, type Visitor } from "../support/dashboard/browser.ts";
import { pricedModels, startFurnished } from "../support/dashboard/furnished.ts";
import { gateway, setFurnishedStage, signedIn } from "../support/dashboard/furnished-stage.ts";
import { eventually } from "../support/eventually.ts";
import { directMoney } from "../support/money/direct.ts";
import { type ScriptedUpstream, startScriptedUpstream } from "../support/scripted-upstream.ts";
import { paidModel } from "../support/upstreams/paid-models.ts";
import { answerAsOpenAi } from "../support/vendors.ts";

describe.skipIf(chromiumPath === undefined)("pages about upstreams, in Chromium", () => {
  let upstream: ScriptedUpstream;

  afterAll(() => upstream?.close());
  setFurnishedStage(async () => {
    upstream = await startScriptedUpstream();
    const queue = { max_concurrent: 1, max_queued: 9, max_wait_seconds: 60 };
    return startFurnished({
      upstreams: [{ name: "local", kind: "openai", base_url: upstream.baseUrl, queue }],
      models: [...pricedModels, paidModel("busy-chat", "local"), paidModel("broken-chat", "local")],
      breaker: { failures: 1, openMs: 600_000 },
      retries: { attempts: 3, share: 0.25 },
      hedging: { afterMs: 90_000, share: 0.05 },
      cache: { maxBytes: 256 * 1024 ** 2, keepMs: 3_600_000, priceShare: 0.1 },
      retention: { requestsMs: 90 * 86_400_000, auditMs: undefined, refusedMs: 7_776_000_000 },
    });
  });

  async function at(path: string, options: Parameters<Browser["newContext"]>[0] = {}): Promise<Visitor> {
    const visitor = await signedIn(options);
    await visitor.page.goto(`${gateway.rootUrl}/dashboard${path}`);
    await visitor.page.getByRole("heading", { level: 1 }).first().waitFor();
    await visitor.page.locator(".mantine-Skeleton-root").first().waitFor({ state: "detached" });
    return visitor;
  }

  async function leave({ page, context, complaints }: Visitor): Promise<void> {
    const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" "))}`)).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  }

  function ask(model: string): Promise<Response> {
    return fetch(`${gateway.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model, max_tokens: 9, messages: [{ role: "user", content: "Hello" }] }),
    });
  }

  /** write records a call, as the gateway does. */
  function write(more: object): string {
    const id = newId("req");
    const names = { account_id: gateway.accountId, key_id: gateway.keyId, operation: "chat", model: "busy-chat" };
    const used = { input: 9, cache_read: 0, cache_write: 0, output: 3, reasoning: 0, characters: 0, estimated: 0 };
    const times = { created_at: Date.now(), duration_ms: 900, first_byte_ms: 300 };
    const call = { id, ...names, upstream: "local", outcome: 1, ...used, cost: 60, ...times, ...more };
    void directMoney(gateway.storage).capture(call);
    return id;
  }

  test("a call tells of each attempt, its model, and what one that was overtaken may cost the gateway", async () => {
    const tried = JSON.stringify([
      { upstream: "far", model: "other-chat", at: Date.now(), ms: 412, failure: "it answered with status 500" },
      { upstream: "near", at: Date.now(), ms: 5210, failure: "another attempt was quicker", lost: 1830 },
    ]);
    const id = write({ tried, first_byte_ms: 700 });
    for (const path of [`/usage/${id}`, `/operator/requests/${id}`]) {
      const visitor = await at(path);
      const rows = visitor.page.getByRole("region", { name: "Upstreams that were asked" }).getByRole("row");
      await rows.nth(3).waitFor();
      const cells = await Promise.all([1, 2, 3].map((row) => rows.nth(row).getByRole("cell").allTextContents()));
      expect(cells[0]).toEqual(["farother-chat", "Failedit answered with status 500", "", "–", "412 ms"]);
      expect(cells[1]?.[0]).toBe("nearbusy-chat");
      expect(cells[1]?.[1]).toMatch(/^OvertakenAnother attempt was quicker\..*¥0\.00183.*Not charged/);
      // Its own times count from where the attempt before had failed.
      expect(cells[2]).toEqual(["localbusy-chat", "Answered", "", "288 ms", "488 ms"]);
      await leave(visitor);
    }
    const chinese = await at(`/usage/${id}`, { locale: "zh-CN", viewport: phone, colorScheme: "dark" });
    await chinese.page.getByText("另一次尝试更快返回。").waitFor();
    expect(await chinese.page.locator("main").textContent()).not.toContain("another attempt was quicker");
    await leave(chinese);
  });

  test("a call that the cache answered says so, and tells of no attempt", async () => {
    const id = write({ cached: 1, upstream: "", input: 0, output: 0 });
    const visitor = await at(`/usage/${id}`);
    await visitor.page.getByText("Answered from the cache. No upstream was asked.").waitFor();
    expect(await visitor.page.getByRole("region", { name: "Upstreams that were asked" }).count()).toBe(0);
    await visitor.page.goto(`${gateway.rootUrl}/dashboard/usage`);
    await visitor.page.getByRole("cell", { name: "Cached" }).first().waitFor();
    await leave(visitor);
  });

  test("an upstream tells how many calls run and wait there, and what is left alone", async () => {
    upstream.script = (exchange) => exchange.json(500, {});
    await ask("broken-chat");
    upstream.script = undefined;
    const calls = [ask("busy-chat"), ask("busy-chat"), ask("busy-chat")];
    const exchange = await upstream.next();
    const visitor = await at("/operator/upstreams");
    const card = visitor.page.getByRole("region", { name: "local" });
    await eventually(async () => {
      const text = await card.textContent();
      expect(text).toContain("Running now1 of 1");
      expect(text).toContain("Waiting for a place2");
      expect(text).toContain("Left alone for now, because they kept failingv-broken-chat");
    });
    upstream.script = answerAsOpenAi;
    answerAsOpenAi(exchange);
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200, 200]);
    await leave(visitor);
  });
});
