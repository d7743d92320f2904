/** How often an account may ask: as its tier says, and the answer tells what is left. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask } from "../support/ask.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";
import { openAccount, type Payer } from "../support/payer.ts";

let gateway: TestGateway;
let payer: Payer;
let time = Date.UTC(2026, 0, 2);

beforeAll(async () => {
  gateway = await startTestGateway({}, { clock: () => time });
  payer = await openAccount(gateway, { recharge: 0 });
});
afterAll(() => gateway.close());

const models = () => ask(gateway, "/v1/models", undefined, { apiKey: payer.apiKey });
const left = ({ headers }: Awaited<ReturnType<typeof models>>) => headers.get("x-ratelimit-remaining-requests");

test("the lowest tier has 60 requests at once, and each answer says how many are left", async () => {
  const answers = [];
  for (let i = 0; i < 60; i++) answers.push(await models());
  expect(answers.every(({ status }) => status === 200)).toBe(true);
  expect([left(answers[0] as never), left(answers[59] as never)]).toEqual(["59", "0"]);
});

test("the next one is refused, and told when to come back", async () => {
  const { status, headers } = await models();
  expect([status, headers.get("retry-after")]).toEqual([429, "1"]);
});

test("a second later there is room for one more", async () => {
  time += 1000;
  expect((await models()).status).toBe(200);
  expect((await models()).status).toBe(429);
});

test("another account has never felt it", async () => {
  expect((await ask(gateway, "/v1/models")).status).toBe(200);
});
