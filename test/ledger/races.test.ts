/**
 * Credit that covers exactly 100 calls answers exactly 100, however many ask at once and of however many processes: it is
 * never overdrawn, and nothing of it is left over.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { hear } from "../support/clients/hear.ts";
import { type AccountInit, startTestGateway, type TestGateway } from "../support/gateway.ts";
import { type Books, openAccount, openBooks, type Payer } from "../support/payer.ts";
import { besideProcesses, configOf } from "../support/run/processes-on-database.ts";
import { type ScriptedExchange, type ScriptedUpstream, startScriptedUpstream } from "../support/scripted-upstream.ts";
import { paidModel, paidModels } from "../support/upstreams/paid-models.ts";
import { chatAnswer, chatChunk } from "../support/vendors.ts";

const calls = 500;
const covered = 100;
/** What every call is reserved and charged: output alone has a price, and the upstream uses up the bound of it. */
const tokens = 50;
const each = tokens * 10;
const price = { input: 0, output: 10_000_000 };

let upstream: ScriptedUpstream;

beforeAll(async () => {
  upstream = await startScriptedUpstream();
});

afterAll(() => upstream.close());

afterEach(() => {
  upstream.script = undefined;
});

function answer(exchange: ScriptedExchange): void {
  const usage = { prompt_tokens: 5, completion_tokens: tokens, total_tokens: tokens + 5 };
  const { stream } = exchange.asked;
  if (!stream) exchange.json(200, chatAnswer({ content: "Hello" }, "stop", { usage }));
  else exchange.stream(chatChunk({ content: "Hello" }, "stop"), { ...chatChunk({}), choices: [], usage });
}

/** Answers none before all that there is credit for are with it. */
function answerTogether(): void {
  const waiting: ScriptedExchange[] = [];
  upstream.script = (exchange) => {
    if (waiting.push(exchange) === covered) for (const one of waiting) answer(one);
  };
}

/** Asks as often as there are calls, all at once, now of one port and now of another, both families, whole and streamed. */
async function race(ports: readonly number[], { apiKey }: Payer): Promise<Record<string, number>> {
  const statuses = await Promise.all(
    Array.from({ length: calls }, async (_, i) => {
      const port = ports[i % ports.length] as number;
      const path = i % 3 === 0 ? "/v1/messages" : "/v1/chat/completions";
      const messages = [{ role: "user", content: "Hello" }];
      const body = { model: "gpt", messages, max_tokens: tokens, ...(i % 4 < 2 ? { stream: true } : {}) };
      const { status, text } = await hear({ port }, { path, apiKey, body }).answer;
      const isComplete = status !== 200 || /\[DONE\]|message_stop|"finish_reason":"stop"|"end_turn"/.test(text);
      return isComplete ? String(status) : "cut off";
    }),
  );
  return Object.fromEntries(
    Map.groupBy(statuses, (status) => status)
      .entries()
      .map(([s, { length }]) => [s, length]),
  );
}

async function expectSpent(books: Books, payer: Payer): Promise<void> {
  const { requests, hours, ...sums } = await books.of(payer);
  const spent = covered * each;
  expect(sums).toEqual({ balance: payer.begunWith - spent, spent, held: 0, keyHeld: 0, holds: 0 });
  expect(requests).toHaveLength(covered);
  expect(new Set(requests.map(({ cost, waived, estimated }) => `${cost} ${waived} ${estimated}`))).toEqual(
    new Set([`${each} 0 0`]),
  );
  expect(hours.reduce((sum, { requests }) => sum + requests, 0)).toBe(covered);
}

describe("of one process", () => {
  let gateway: TestGateway;
  let books: Books;

  beforeAll(async () => {
    const tiers = [{ name: "Fast", recharge: 0, requestsPerMinute: 100_000, tokensPerMinute: undefined }];
    const models = [paidModel("gpt", "openai", { price })];
    gateway = await startTestGateway({ ...paidModels(upstream.baseUrl), models, tiers });
    books = openBooks(gateway.database, gateway.storage);
  });

  afterAll(async () => {
    await gateway.close();
  });

  const credits: readonly [string, AccountInit][] = [
    ["a key's limit", { recharge: 300_000_000, creditLimit: covered * each }],
    ["a key's limit, of an account that is billed afterwards", { postpaid: true, creditLimit: covered * each }],
    ["an account's balance", { recharge: covered * each }],
  ];
  for (const [credit, init] of credits) {
    for (const [how, script] of [
      ["at once", () => (upstream.script = answer)],
      ["only when all that may go have gone", answerTogether],
    ] as const) {
      test(`500 calls at once on ${credit} that covers 100, answered ${how}: 100 are answered, 400 refused`, async () => {
        script();
        const payer = await openAccount(gateway, init);
        const before = upstream.received.length;
        expect(await race([gateway.port], payer)).toEqual({ 200: covered, 402: calls - covered });
        expect(upstream.received.length - before).toBe(covered);
        await expectSpent(books, payer);
        expect((await gateway.storage.reconcile()).findings).toEqual([]);
      });
    }
  }
});

describe("of two processes on one database", () => {
  test("500 calls at once on a key's limit that covers 100: 100 are answered, 400 refused", async () => {
    await besideProcesses([[], []], configOf(upstream.baseUrl), async ({ database, storage, ports }) => {
      const books = openBooks(database, storage);
      for (const script of [() => (upstream.script = answer), answerTogether]) {
        script();
        const payer = await openAccount({ storage }, { recharge: 300_000_000, creditLimit: covered * each });
        expect(await race(ports, payer)).toEqual({ 200: covered, 402: calls - covered });
        await expectSpent(books, payer);
      }
      expect((await storage.reconcile()).findings).toEqual([]);
    });
  });
});
