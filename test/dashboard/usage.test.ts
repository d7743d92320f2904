import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { newId } from "../../src/runtime/ids.ts";
import type { Capture } from "../../src/storage/columns.ts";
import { chromiumPath } from "../support/dashboard/browser.ts";
import { gateway, page, setStage, window } from "../support/dashboard/stage.ts";

const hour = 3_600_000;

describe.skipIf(chromiumPath === undefined)("usage in Chromium", () => {
  setStage();
  let retried: string;

  beforeAll(async () => {
    const now = Date.now();
    retried = newId("req", now - 2 * hour);
    const tried = [
      { upstream: "north", at: now - 2 * hour, ms: 400, failure: "the upstream answered with status 503" },
    ];
    await record([
      ...Array.from({ length: 8 }, (_, n) => ({ at: now - hour - n, model: "alpha", upstream: "north", cost: 10_000 })),
      { at: now - hour - 20, model: "beta", upstream: "south", cost: 0, outcome: 2 },
      { at: now - hour - 30, model: "beta", upstream: "south", cost: 1_234_567 },
      ...[
        { id: retried, at: now - 2 * hour, model: "alpha", upstream: "south", tried: JSON.stringify(tried), cost: 30 },
      ],
    ]);
  });

  async function record(calls: readonly (Partial<Capture> & { readonly at: number })[]): Promise<void> {
    const books = gateway.storage.openBooks(false)({
      ...{ node: newId("nod"), clock: Date.now, recall: () => ({ records: [], leases: [] }) },
      onError: (error) => expect(error).toBeUndefined(),
    });
    const captures = calls.map(({ at, ...call }) => ({
      call: {
        ...{
          id: newId("req", at),
          account_id: gateway.accountId,
          key_id: "key_gone",
          created_at: at,
          operation: "chat",
        },
        ...{ outcome: 1, input: 1000, cache_read: 0, cache_write: 0, output: 200, reasoning: 0, characters: 0 },
        ...{ estimated: 0, duration_ms: 1000, first_byte_ms: 300, upstream: "north", ...call },
      } as Capture,
      most: call.cost ?? 0,
    }));
    await books.decide(() => ({ records: [], leases: [], releases: [], holds: [], captures }));
    await books.close();
  }

  const totals = () => page.getByRole("region", { name: "Totals by group" }).getByRole("row").allTextContents();

  test("totals are of what the filters select, and groups are chosen", async () => {
    await window.open("/usage");
    await expect
      .poll(totals)
      .toEqual([
        "ModelRequestsErrorsTokens95th percentileSpend",
        expect.stringMatching(/^beta250%2\.4K.*¥1\.23$/),
        expect.stringMatching(/^alpha90%10\.8K.*¥0\.080$/),
      ]);
    await page.getByRole("combobox", { name: "Group by" }).click();
    await page.getByRole("option", { name: "Status" }).click();
    await expect
      .poll(totals)
      .toEqual([
        "StatusRequestsErrorsTokens95th percentileSpend",
        expect.stringMatching(/^Answered100%/),
        expect.stringMatching(/^Failed1100%/),
      ]);
    await page.getByRole("combobox", { name: "Upstream" }).click();
    await page.getByRole("option", { name: "south" }).click();
    await expect
      .poll(() => page.getByRole("table", { name: "Requests", exact: true }).getByRole("row").count())
      .toBe(4);
    await expect.poll(totals, { timeout: 60_000 }).toHaveLength(3);
    expect(page.url()).toContain("upstream=south");
  });

  test("a call is found by its id, and leads with its attempts; parts that are 0 are not there", async () => {
    await window.open("/usage");
    const field = page.getByRole("textbox", { name: "Find a request by its id" });
    await field.fill("req_what");
    await field.press("Enter");
    await page.getByText("A request id is req_ and 25 characters").waitFor();
    await field.fill(` ${retried} `);
    await field.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Request" }).waitFor();
    const attempts = page.getByRole("region", { name: "Upstreams that were asked" });
    const rows = attempts.getByRole("row");
    await expect.poll(() => rows.count()).toBe(3);
    expect(await rows.nth(1).getByRole("img").getAttribute("aria-label")).toMatch(/^From 0 ms to 400 ms of the call/);
    expect(await rows.nth(2).getByRole("img").getAttribute("aria-label")).toMatch(/^From 400 ms to 1 sec/);
    const used = page.getByRole("table", { name: "What it used" });
    expect(await used.getByRole("row").count()).toBe(3);
    expect(await used.getByText("Cache read tokens").count()).toBe(0);
  });

  test("refused calls have a view of their own: by reason, with what was refused, and each by its id", async () => {
    const { keyId, accountId } = gateway;
    const [limited, unknown] = [newId("req", Date.now() - 500), newId("req", Date.now())];
    const base = { account_id: accountId, key_id: keyId, operation: "chat", created_at: Date.now() };
    const minute = Date.now() - (Date.now() % 60_000);
    const count = { account_id: accountId, key_id: keyId, minute, node: "nod_test" };
    await gateway.storage.refused.write({
      counts: [
        { ...count, model: "alpha", reason: 25, requests: 41 },
        { ...count, model: "", reason: 9, requests: 1 },
      ],
      calls: [
        { ...base, id: limited, model: "alpha", reason: 25, status: 429, detail: "Rate limit reached: 60 a minute." },
        { ...base, id: unknown, model: "gpt-nine", reason: 9, status: 404, detail: "model" },
      ],
    });
    await window.open("/");
    await page.getByRole("link", { name: "42 refused besides" }).click();
    const table = page.getByRole("table", { name: "Refused requests" });
    await expect
      .poll(() => table.getByRole("row").allTextContents())
      .toEqual([
        "TimeReasonModelKeyOperationDetail",
        expect.stringMatching(/No such model404gpt-nine.*chatField model of the request$/),
        expect.stringMatching(/Rate limit429alpha.*Rate limit reached: 60 a minute\.$/),
      ]);
    await page.getByText("42", { exact: true }).first().waitFor();
    await page.getByRole("combobox", { name: "Reason" }).click();
    await page.getByRole("option", { name: "Rate limit", exact: true }).click();
    await expect.poll(() => table.getByRole("row").count()).toBe(2);
    await page.getByText("41", { exact: true }).first().waitFor();
    await page.getByText("The last hour").click();
    await page.getByText("41", { exact: true }).first().waitFor();
    // By its id, for the account and for the operator, who has a list of all accounts.
    await window.open(`/usage/${limited}`);
    await page.getByText("Refused before a model was asked").waitFor();
    await window.open("/operator/requests?view=refused");
    await table.getByRole("link").first().waitFor();
    expect(await table.getByRole("row").first().textContent()).toBe("TimeAccountReasonModelKeyOperationDetail");
    // Among the groups by status they are one.
    await window.open("/usage");
    await page.getByRole("combobox", { name: "Group by" }).click();
    await page.getByRole("option", { name: "Status" }).click();
    await expect.poll(totals).toContainEqual(expect.stringMatching(/^Refused42/));
  });

  test("calls of all accounts are filtered by upstream", async () => {
    await window.open("/operator/requests?upstream=south");
    const table = page.getByRole("table", { name: "Requests", exact: true });
    await expect.poll(() => table.getByRole("row").count()).toBe(4);
  });

  test("the totals of dates are of the calls of the list, in whatever zone the reader is", async () => {
    const zone = "Asia/Shanghai";
    const session = await window.context.newCDPSession(page);
    await session.send("Emulation.setTimezoneOverride", { timezoneId: zone });
    const day = (at: number) => new Intl.DateTimeFormat("en-CA", { timeZone: zone }).format(at);
    const from = day(Date.now() - 3 * 24 * hour);
    const midnight = Date.parse(`${from}T00:00:00+08:00`);
    // Both are in the day of UTC on which the chosen one begins.
    await record(
      [{ at: midnight - hour }, { at: midnight + hour }].map((call) => ({ ...call, model: "delta", cost: 1 })),
    );
    await window.open(`/usage?model=delta&from=${from}&to=${day(Date.now())}`);
    const table = page.getByRole("table", { name: "Requests", exact: true });
    await expect.poll(() => table.getByRole("row").count()).toBe(2);
    await page.getByText("Of the dates that are chosen").waitFor();
    expect(await page.locator("section dl").first().innerText()).toMatch(/^Requests\s+1\s/);
  });

  test("an operator sees what each account has spent, and has the totals as a file", async () => {
    const name = "=Globex";
    const other = newId("acc");
    await gateway.storage.accounts.insert({ id: other, name, created_at: Date.now() });
    const at = Date.now() - hour;
    const models = Array.from({ length: 101 }, (_, n) => `model-${n}`);
    await record(models.map((model, n) => ({ at: at - n, account_id: other, model, cost: 1_000_001 })));
    await window.open("/operator/requests");
    await expect.poll(totals).toContainEqual(expect.stringMatching(/^=Globex101.*¥101\.00$/));
    const exported = async (by: string) => {
      const [file] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Export totals" }).click(),
      ]);
      expect(file.suggestedFilename()).toBe(`totals-by-${by}.csv`);
      return (await readFile(await file.path(), "utf8")).split("\r\n");
    };
    const [head, ...lines] = await exported("account");
    expect(head).toMatch(/^group_by,group,name,from,to,requests,errors,cached,input_tokens,/);
    const line = lines.find((line) => line.includes(other));
    // A spreadsheet takes no name for a formula.
    expect(line).toMatch(
      new RegExp(`^account,${other},'=Globex,[^,]+Z,[^,]+Z,101,0,0,101000,0,0,20200,0,101.000101,JPY$`),
    );
    const later = Date.now();
    await record([{ at: later, account_id: other, model: "model-0", cost: 1 }]);
    await page.getByRole("combobox", { name: "Group by" }).click();
    await page.getByRole("option", { name: "Model", exact: true }).click();
    const ofModel = (await exported("model")).find((line) => line.startsWith("model,model-0,")) ?? "";
    // The time goes to when the gateway was asked, not to when the page was opened.
    const [, , , , to = "", requests] = ofModel.split(",");
    expect([requests, Date.parse(to) >= later]).toEqual(["2", true]);
    await window.open(`/operator/requests?account=${other}`);
    await expect.poll(async () => (await totals()).length).toBe(11);
    await page.getByRole("button", { name: "Show all 100" }).click();
    await expect.poll(async () => (await totals()).length).toBe(101);
    await page.getByText("Only the 100 groups with the greatest spend are listed and exported.").waitFor();
  });

  test("money is rounded, and told exactly to whom points at it", async () => {
    await window.open("/usage");
    const cost = page.getByRole("table", { name: "Requests", exact: true }).getByText("¥1.23", { exact: true });
    expect(await cost.getAttribute("title")).toBe("¥1.234567");
  });
});
