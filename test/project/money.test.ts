/**
 * The numbers of docs/money.md are those that the gateway computes: its worked examples are read from the page, and worked out by
 * the code that charges calls.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Price } from "../../src/call/price.ts";
import { type CallUsage, nothingUsed } from "../../src/call/usage.ts";
import { type Config, loadConfig } from "../../src/config/config.ts";
import { costOfAll } from "../../src/ledger/price.ts";
import { cardOf } from "../../src/ledger/price-card.ts";
import { priceOf } from "../../src/ledger/price-of.ts";
import { type Asked, chargedRates } from "../../src/ledger/rates.ts";
import { formatDecimal, parseDecimal } from "../../src/runtime/decimal.ts";
import { newId } from "../../src/runtime/ids.ts";
import { now, startTestGateway } from "../support/gateway.ts";
import { directMoney } from "../support/money/direct.ts";
import { blocks, tableWith } from "../support/pages.ts";
import { openAccount, openBooks } from "../support/payer.ts";
import { startScriptedUpstream } from "../support/scripted-upstream.ts";
import { chatAnswer } from "../support/vendors.ts";

const page = "docs/money.md";
const blocksOf = (language: string) => blocks.filter((block) => block.page === page && block.language === language);

async function load(code: string | undefined): Promise<Config> {
  const folder = await mkdtemp(join(tmpdir(), "money-test-"));
  const file = join(folder, "gateway.yaml");
  await writeFile(file, code ?? "");
  try {
    return loadConfig(file, { UPSTREAM_KEY: "sk-upstream" });
  } finally {
    await rm(folder, { recursive: true });
  }
}

const [houseYaml, yenYaml] = blocksOf("yaml").map(({ code }) => code);

/** Reads an amount of the page as millionths. */
function millionths(text: string): number {
  const read = parseDecimal(text);
  if ("fault" in read) throw new Error(`${text} is no amount`);
  return read.value;
}

/** Reads `input=12, cache_read=3`. */
function usageOf(text: string): CallUsage {
  const names: Readonly<Record<string, string>> = { cache_read: "cacheRead", cache_write: "cacheWrite" };
  const parts = text.split(", ").map((part) => part.split("=") as [string, string]);
  return { ...nothingUsed, ...Object.fromEntries(parts.map(([name, count]) => [names[name] ?? name, Number(count)])) };
}

const ordinary: Asked = { tier: "", speed: "", region: "", searches: 0 };

/** How a row of the page says that a call was served. */
const served: Readonly<Record<string, Parameters<typeof chargedRates>[2]>> = {
  ordinary: { asked: ordinary, told: undefined, isRegional: false },
  "in a region": { asked: { ...ordinary, region: "us" }, told: undefined, isRegional: false },
  "flex, asked for and reported": { asked: { ...ordinary, tier: "flex" }, told: { tier: "flex" }, isRegional: false },
  "flex, asked for and not reported": { asked: { ...ordinary, tier: "flex" }, told: undefined, isRegional: false },
};

test("what usage costs", async () => {
  const { models } = await load(houseYaml);
  const price = priceOf(models.find(({ id }) => id === "house-chat") as (typeof models)[number]) as Price;
  const rows = tableWith(page, "used", "served", "sum, in millionths", "charged");
  expect(rows.length).toBeGreaterThan(10);
  for (const [used = "", how = "", , charged = ""] of rows) {
    const usage = usageOf(used);
    const chosen = chargedRates(price, usage, served[how] as (typeof served)[string]);
    const cost = costOfAll([{ used: usage, card: cardOf(price, chosen), requests: 1 }]);
    expect(formatDecimal(cost), `${used}, ${how}`).toBe(formatDecimal(millionths(charged)));
  }
});

test("a call from its hold to its charge, and from the cache", async () => {
  const { unit, cache, models } = await load(houseYaml);
  const upstream = await startScriptedUpstream();
  const upstreams = [{ name: "house", kind: "openai", base_url: upstream.baseUrl, api_key: "sk-upstream" }] as const;
  const own = models.filter(({ id }) => id === "house-chat");
  const gateway = await startTestGateway({ unit, cache, upstreams, models: own, embeddedModels: false });
  const rows = tableWith(page, "moment", "balance", "held", "available");
  const [before, running, charged, cached] = rows.map(([, ...amounts]) => amounts.map(millionths));
  const payer = await openAccount(gateway, { recharge: before?.[0] ?? 0 });
  const books = openBooks(gateway.database, gateway.storage);
  const standing = async () => {
    const { balance, held } = await books.of(payer);
    return [balance, held, balance - held];
  };
  const body = blocksOf("json")[0]?.code.trim() ?? "";
  const ask = () =>
    fetch(`${gateway.rootUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${payer.apiKey}`, "content-type": "application/json" },
      body,
    });
  expect(await standing()).toEqual(before);
  const answering = ask();
  const exchange = await upstream.next();
  expect(await standing()).toEqual(running);
  const usage = { prompt_tokens: 12, completion_tokens: 40, total_tokens: 52 };
  exchange.json(200, chatAnswer({ content: "You are kind." }, "stop", { usage }));
  await (await answering).text();
  expect(await standing()).toEqual(charged);
  const again = await ask();
  await again.text();
  expect(again.headers.get("x-gateway-cache")).toBe("hit");
  expect(await standing()).toEqual(cached);
  await gateway.close();
  await upstream.close();
});

test("prices of the catalogue in another currency", async () => {
  const { models } = await load(yenYaml);
  const dollars = await load(yenYaml?.replace(/unit:.*\ncatalogue_prices:.*/, 'unit: { code: USD, symbol: "$" }'));
  const rows = tableWith(page, "model", "in the catalogue, dollars for a million");
  expect(rows.length).toBe(3);
  for (const [name = "", inDollars = "", , inYen = ""] of rows) {
    const [, id, part] = /^`(.+)`, (\w+)$/.exec(name) ?? [];
    const rate = (of: Config) =>
      (of.models.find((model) => model.id === id)?.price as Record<string, number> | undefined)?.[part ?? ""];
    expect(rate(dollars), name).toBe(millionths(inDollars));
    expect(formatDecimal(rate({ ...dollars, models }) ?? 0), name).toBe(formatDecimal(millionths(inYen)));
  }
});

describe("refunds", () => {
  const rows = tableWith(page, "recharged", "granted", "spent", "balance", "refund at most");

  test.each(rows.map((row) => [row.join(" | "), row] as const))("%s", async (_, row) => {
    const [recharge = 0, grant = 0, spent = 0, balance, most = 0] = row.map(millionths);
    const gateway = await startTestGateway();
    const payer = await openAccount(gateway, { recharge, grant });
    const { storage } = gateway;
    if (spent > 0) charge(gateway.storage, payer, spent);
    const books = openBooks(gateway.database, storage);
    expect((await books.of(payer)).balance).toBe(balance);
    const refund = (amount: number) =>
      storage.entries.record({ id: newId("led"), accountId: payer.accountId, kind: 2, amount, note: null, now });
    expect(await refund(most + 1)).toEqual({ kind: "short", available: most });
    if (most > 0) expect((await refund(most)).kind).toBe("recorded");
    expect((await storage.reconcile()).findings).toEqual([]);
    await gateway.close();
  });
});

/** Charges an account, as a call does. */
function charge(
  storage: Awaited<ReturnType<typeof startTestGateway>>["storage"],
  { accountId, keyId }: { readonly accountId: string; readonly keyId: string },
  cost: number,
): void {
  const of = { account_id: accountId, key_id: keyId, operation: "chat", model: "m", upstream: "u" };
  const used = { input: 0, cache_read: 0, cache_write: 0, output: 0, reasoning: 0, characters: 0 };
  const times = { created_at: now, duration_ms: 1, first_byte_ms: 1 };
  void directMoney(storage).capture({ id: newId("req"), ...of, ...used, ...times, outcome: 1, estimated: 0, cost });
}
