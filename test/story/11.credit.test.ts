/** What a call may cost is covered before anything is sent. `test/pipeline/charge/credit.test.ts` has every case. */
import { expect, test } from "vitest";
import { ask } from "../support/ask.ts";
import { hear } from "../support/clients/hear.ts";
import { openAccount } from "../support/payer.ts";
import { cost } from "../support/upstreams/paid-models.ts";
import { scriptedStage } from "../support/upstreams/scripted-stage.ts";
import { answerAsOpenAi, chatAnswer } from "../support/vendors.ts";

const { upstream, gateway, books } = scriptedStage();

const path = "/v1/chat/completions";
const body = { model: "gpt", messages: [{ role: "user", content: "Hello" }] };

test("an account without credit is refused, and nothing is sent", async () => {
  const { apiKey } = await openAccount(gateway, { recharge: 0 });
  expect((await ask(gateway, path, body, { apiKey })).status).toBe(402);
  expect(upstream.received).toEqual([]);
});

test("while a call runs the most that it may cost is held; afterwards only the cost is gone", async () => {
  const payer = await openAccount(gateway, { recharge: 100_000 });
  const heard = hear(gateway, { path, apiKey: payer.apiKey, body: { ...body, max_tokens: 100 } });
  const exchange = await upstream.next();
  const { held, holds } = await books.of(payer);
  expect(holds).toBe(1);
  expect(held).toBeGreaterThanOrEqual(100 * cost.output);
  exchange.json(200, chatAnswer({ content: "Hello" }));
  await heard.answer;
  expect(await books.of(payer)).toMatchObject({
    held: 0,
    holds: 0,
    balance: 100_000 - 9 * cost.input - 2 * cost.output,
  });
});

test("a caller who sets no bound gets the one that the credit affords", async () => {
  upstream.script = answerAsOpenAi;
  const { apiKey } = await openAccount(gateway, { recharge: 5_000 });
  expect((await ask(gateway, path, body, { apiKey })).status).toBe(200);
  const { max_completion_tokens: bound } = upstream.lastAsked;
  expect(bound).toBeGreaterThan(0);
  expect(bound * cost.output).toBeLessThanOrEqual(5_000);
});

test("no number of calls at once spends more than a key's limit", async () => {
  upstream.script = answerAsOpenAi;
  const payer = await openAccount(gateway, { recharge: 10_000_000, creditLimit: 2_000 });
  const asked = { ...body, max_tokens: 10 };
  const answers = await Promise.all(Array.from({ length: 50 }, () => ask(gateway, path, asked, payer)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 402]));
  expect((await books.of(payer)).spent).toBeLessThanOrEqual(2_000);
});
