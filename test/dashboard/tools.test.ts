/**
 * Calls on the dashboard, in a real browser: made in the playground, and told of in the list of calls.
 */
import { readFile } from "node:fs/promises";
import { afterAll, describe, expect, test } from "vitest";
import { Outcome } from "../../gen/modelgateway/v1/usage_pb.ts";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import { chromiumPath } from "../support/dashboard/browser.ts";
import { pricedModels } from "../support/dashboard/furnished.ts";
import { bearer } from "../support/dashboard/session.ts";
import { gateway, page, setStage, window } from "../support/dashboard/stage.ts";
import { startTestGateway, upstreamAt } from "../support/gateway.ts";
import { eventStream, type ScriptedUpstream, startScriptedUpstream } from "../support/scripted-upstream.ts";

describe.skipIf(chromiumPath === undefined)("the dashboard's tools in Chromium", () => {
  let upstream: ScriptedUpstream;
  let aheadMs = 0;

  afterAll(() => upstream?.close());
  setStage({
    async start() {
      upstream = await startScriptedUpstream();
      const { upstreams = [], models = [] } = upstreamAt(upstream.baseUrl);
      const slow = models.map((model) => ({ ...model, id: "slow-chat", price: { input: 500_000, output: 2_000_000 } }));
      return startTestGateway(
        { upstreams, models: [...pricedModels, ...slow], disconnectDrainMs: 100 },
        { clock: () => Date.now() + aheadMs },
      );
    },
    person: {},
  });

  const newKey = (name: string, more: object = {}) =>
    issueKey(gateway.storage.keys, { accountId: gateway.accountId, name, now: Date.now(), admin: false, ...more });
  const callsOf = (keyId: string) =>
    gateway.storage.requests.page({ accountId: gateway.accountId, keyId }, undefined, 50);
  const ask = (secret: string, content: string, more: object = {}) =>
    fetch(`${gateway.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { ...bearer(secret), "content-type": "application/json" },
      body: JSON.stringify({ model: "embedded-chat", messages: [{ role: "user", content }], ...more }),
    });
  const choose = async (label: string, option: string) => {
    await page.getByRole("combobox", { name: label, exact: true }).click();
    await page.getByRole("option", { name: option, exact: true }).click();
  };
  const frame = (rest: object) =>
    `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: "slow-chat", ...rest })}\n\n`;
  const piece = (content: string) => frame({ choices: [{ index: 0, delta: { content } }] });

  describe("the playground", () => {
    const answers = () => page.getByRole("article", { name: "Model" });
    const say = async (text: string) => {
      await page.getByRole("textbox", { name: "Message" }).fill(text);
      await page.keyboard.press("Enter");
    };

    test("streams an answer, says what it used and cost, and has the chosen key pay", async () => {
      const { key } = await newKey("Chosen");
      await window.open("/playground?model=embedded-chat");
      await choose("Key", "Chosen");
      await say("say seven purple umbrellas");
      await answers().getByText("seven purple umbrellas", { exact: true }).waitFor();
      await answers().getByText(/Cost/).waitFor();
      const [call, ...others] = await callsOf(key.id);
      expect(others).toEqual([]);
      expect(call).toMatchObject({ model: "embedded-chat", outcome: Outcome.ANSWERED });
      const measures = (await answers().getByText(/Cost/).textContent()) ?? "";
      expect(measures).toContain(`${call?.input} tokens in, ${call?.output} out`);
      expect(Math.round(Number(/Cost ¥([\d.]+)/.exec(measures)?.[1]) * 1_000_000)).toBe(call?.cost);
      expect((await gateway.storage.keys.find(gateway.accountId, key.id))?.spent).toBe(call?.cost);
      expect(call?.cost).toBeGreaterThan(0);
    });

    test("shows what a tool is called with, and goes on with the result that is typed", async () => {
      await window.open("/playground?model=embedded-chat");
      await page.getByRole("switch", { name: /^Tools/ }).click();
      await say("How warm is it in Oslo? Use get_weather.");
      await answers().getByText("Calls get_weather").waitFor();
      expect(await answers().textContent()).toContain('"city": "Oslo"');
      await page.getByRole("textbox", { name: "Result of get_weather" }).fill("21 degrees and rain");
      await page.getByRole("button", { name: "Give the results" }).click();
      await answers()
        .nth(1)
        .getByText(/21 degrees and rain/)
        .waitFor();
      expect(await page.getByRole("article", { name: "Result of get_weather" }).count()).toBe(1);
    });

    test("keeps what came of an answer that is stopped, and ends the call at the upstream", async () => {
      const { key } = await newKey("Stopping");
      await window.open("/playground?model=slow-chat");
      await choose("Key", "Stopping");
      await say("Take your time");
      const exchange = await upstream.next();
      exchange.head(200, eventStream);
      await exchange.write(piece("Half of "));
      await answers().getByText("Half of").waitFor();
      await exchange.write(piece("the way"));
      await answers().getByText("Half of the way", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Stop" }).click();
      await answers().getByText("Stopped.").waitFor();
      expect(await answers().getByText("Half of the way", { exact: true }).count()).toBe(1);
      await exchange.left;
      await expect
        .poll(async () => (await callsOf(key.id)).map(({ outcome }) => outcome), { timeout: 60_000 })
        .toEqual([Outcome.LEFT]);
      // The conversation can continue.
      expect(await page.getByRole("textbox", { name: "Message" }).isEnabled()).toBe(true);
    });

    test("sends images, a schema and how much to reason, and shows the same call as code", async () => {
      await newKey("Attaching");
      await window.open("/playground?model=slow-chat");
      await choose("Key", "Attaching");
      await page.getByRole("combobox", { name: "Reasoning effort" }).click();
      await page.getByRole("option", { name: "Low", exact: true }).click();
      await page.getByRole("switch", { name: /^JSON schema/ }).click();
      const pixel = Buffer.from(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
        "base64",
      );
      await page.locator("input[type=file]").setInputFiles({ name: "pixel.png", mimeType: "image/png", buffer: pixel });
      await page.getByRole("button", { name: "Remove pixel.png" }).waitFor();
      await say("What is it?");
      const exchange = await upstream.next();
      expect(exchange.asked).toMatchObject({
        reasoning_effort: "low",
        response_format: { type: "json_schema", json_schema: { name: "answer", strict: true } },
        messages: [
          {
            role: "user",
            content: [
              { type: "image_url", image_url: { url: `data:image/png;base64,${pixel.toString("base64")}` } },
              { type: "text", text: "What is it?" },
            ],
          },
        ],
      });
      exchange.head(200, eventStream);
      await exchange.write(piece('{"city": "Oslo", "celsius": 3}'));
      exchange.end(`${frame({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}data: [DONE]\n\n`);
      await answers().getByText('"celsius": 3').waitFor();
      await page.getByRole("button", { name: "View code" }).click();
      const dialog = page.getByRole("dialog");
      const code = dialog.getByRole("tabpanel");
      await code.getByText("/v1/chat/completions").waitFor();
      // Pasted into a new shell, code without it would be refused.
      await dialog.getByText("export GATEWAY_API_KEY=sk-…").waitFor();
      for (const [client, written] of [
        ["curl", '"reasoning_effort": "low"'],
        ["Python", 'reasoning_effort="low"'],
        ["TypeScript", "new OpenAI({ baseURL:"],
      ] as const) {
        await dialog.getByRole("tab", { name: client }).click();
        await expect.poll(() => code.textContent()).toContain(written);
        expect(await code.textContent()).toContain("<the content of pixel.png>");
        expect(await code.textContent()).not.toContain(pixel.toString("base64"));
      }
    });

    test("asks two models the same, side by side", async () => {
      const { key } = await newKey("Comparing");
      await window.open("/playground?model=embedded-chat");
      await choose("Key", "Comparing");
      await choose("Compare with", "slow-chat");
      await say("say nine green lamps");
      const exchange = await upstream.next();
      exchange.head(200, eventStream);
      await exchange.write(piece("Ten red ones"));
      exchange.end(`${frame({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}data: [DONE]\n\n`);
      const side = (model: string) => page.getByRole("region", { name: `Conversation with ${model}` });
      await side("embedded-chat").getByText("nine green lamps", { exact: true }).waitFor();
      await side("slow-chat").getByText("Ten red ones").waitFor();
      await expect
        .poll(async () => (await callsOf(key.id)).map(({ model }) => model).sort(), { timeout: 60_000 })
        .toEqual(["embedded-chat", "slow-chat"]);
    });

    test("has a text spoken, in a sound that the browser can play", async () => {
      await window.open("/playground?model=tts-1");
      await page.getByRole("textbox", { name: "Text" }).fill("Good morning to everybody.");
      await page.getByRole("button", { name: "Speak" }).click();
      await page.locator("audio").waitFor();
      const duration = () => page.evaluate<number>("document.querySelector('audio').duration");
      await expect.poll(duration).toBeGreaterThan(0.5);
      expect(await duration()).toBeLessThan(10);
      expect(await page.getByText("This browser does not play this format").count()).toBe(0);
    });
  });

  describe("the list of calls", () => {
    const rows = () =>
      page.getByRole("table", { name: "Requests", exact: true }).getByRole("row").filter({ hasNotText: "First byte" });

    test("is filtered by what stands in the address, and exported as it is filtered", async () => {
      const [one, other] = [newKey("Filtered"), newKey("Unasked")];
      await (await ask((await one).secret, "Hello")).arrayBuffer();
      await (await ask((await one).secret, "Hello", { metadata: { simulate_status: "503" } })).arrayBuffer();
      await (await ask((await other).secret, "Hello")).arrayBuffer();
      await window.open("/usage");
      await choose("Key", "Filtered");
      await expect.poll(() => rows().count()).toBe(2);
      await choose("Status", "Failed");
      await expect.poll(() => rows().count()).toBe(1);
      expect(new URL(page.url()).searchParams.get("key")).toBe((await one).key.id);
      expect(new URL(page.url()).searchParams.get("outcome")).toBe("failed");
      await page.reload();
      await rows().getByText("Failed").waitFor();
      expect(await rows().allTextContents()).toEqual([expect.stringContaining("Filtered")]);
      expect(await page.getByRole("combobox", { name: "Key" }).inputValue()).toBe("Filtered");

      const calls = await callsOf((await one).key.id);
      const idOf = (wanted: Outcome) => calls.find(({ outcome }) => outcome === wanted)?.id;
      expect(await exported()).toEqual([idOf(Outcome.FAILED)]);
      await page.getByRole("button", { name: "Clear filters" }).click();
      await choose("Key", "Filtered");
      await expect.poll(() => rows().count()).toBe(2);
      expect(await exported()).toEqual([idOf(Outcome.FAILED), idOf(Outcome.ANSWERED)]);
    });

    test("tells a request that the upstream rejected from one that failed", async () => {
      const { key, secret } = await newKey("Rejected");
      await (await ask(secret, "Hello")).arrayBuffer();
      await (await ask(secret, "Hello", { metadata: { simulate_status: "422" } })).arrayBuffer();
      await window.open(`/usage?key=${key.id}`);
      await page.getByRole("combobox", { name: "Group by" }).click();
      await page.getByRole("option", { name: "Status" }).click();
      const totals = page.getByRole("region", { name: "Totals by group" });
      await totals.getByRole("row", { name: /^Rejected upstream 1 0\s?%/ }).waitFor();
      await choose("Status", "Rejected upstream");
      await expect.poll(() => rows().count()).toBe(1);
      await rows().getByText("Rejected upstream").waitFor();
    });

    /** Exports, and returns the ids in the file. */
    async function exported(): Promise<(string | undefined)[]> {
      // The rate limit allows the next export after this time.
      aheadMs += 1000;
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Export CSV" }).click(),
      ]);
      expect(download.suggestedFilename()).toBe("requests.csv");
      const [head, ...lines] = (await readFile(await download.path(), "utf8")).trimEnd().split("\r\n");
      expect(head).toMatch(/^id,created_at,key_id,/);
      return lines.map((line) => line.split(",")[0]);
    }

    test("shows a call while it runs and when it has ended, and then what it used but never what was said", async () => {
      const { key, secret } = await newKey("Patient");
      await window.open(`/usage?key=${key.id}`);
      const answer = ask(secret, "About zanzibar", { model: "slow-chat", stream: true });
      const exchange = await upstream.next();
      exchange.head(200, eventStream);
      await exchange.write(piece("lollipop"));
      await rows().getByText("Under way").waitFor();
      expect(await rows().allTextContents()).toEqual([expect.stringContaining("≤ ¥")]);
      const usage = { prompt_tokens: 1100, prompt_tokens_details: { cached_tokens: 400 }, completion_tokens: 30 };
      await exchange.write(frame({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }));
      const told = { ...usage, total_tokens: 1130, completion_tokens_details: { reasoning_tokens: 12 } };
      exchange.end(`${frame({ choices: [], usage: told })}data: [DONE]\n\n`);
      await (await answer).arrayBuffer();
      await rows().getByText("Answered").waitFor();
      expect(await rows().count()).toBe(1);

      const [response] = await Promise.all([page.waitForResponse(/GetRequest$/), rows().getByRole("link").click()]);
      const parts = page.getByRole("table", { name: "What it used" }).getByRole("row");
      for (const [part, count] of [
        [/^Input tokens/, "700"],
        [/^Cache read tokens/, "400"],
        [/^Output tokens/, "30"],
        [/^of which reasoning/, "12"],
      ] as const) {
        expect(await parts.filter({ hasText: part }).getByRole("cell").last().textContent(), `${part}`).toBe(count);
      }
      expect(await parts.filter({ hasText: /^Cache write tokens/ }).count()).toBe(0);
      const bill = page.getByRole("table", { name: "What it was charged by" }).getByRole("row");
      expect(
        await bill
          .filter({ hasText: /^Cache read tokens/ })
          .getByRole("cell")
          .allTextContents(),
      ).toEqual(["400", expect.stringMatching(/^× ¥.* a million$/), expect.stringMatching(/^= ¥0\.0/)]);
      for (const text of [await page.content(), await response.text()]) expect(text).not.toMatch(/zanzibar|lollipop/);
    });
  });
});
