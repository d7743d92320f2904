/** The same call once more: answered from what is kept, and paid once. */
import { beforeEach, expect, test } from "vitest";
import { ask } from "../support/ask.ts";
import { openAccount, type Payer } from "../support/payer.ts";
import { paidModels } from "../support/upstreams/paid-models.ts";
import { scriptedStage } from "../support/upstreams/scripted-stage.ts";
import { answerAsOpenAi } from "../support/vendors.ts";

let payer: Payer;
const { upstream, gateway, books } = scriptedStage(paidModels, { script: answerAsOpenAi });

beforeEach(async () => {
  payer = await openAccount(gateway);
  upstream.received.length = 0;
});
function chat(key: string, content = "Hello") {
  const body = { model: "gpt", messages: [{ role: "user", content }] };
  return ask(gateway, "/v1/chat/completions", body, { apiKey: payer.apiKey, headers: { "idempotency-key": key } });
}

test("under the same Idempotency-Key the first answer comes again, and is paid once", async () => {
  const [first, second] = [await chat("k-1"), await chat("k-1")];
  expect(second.text).toBe(first.text);
  expect([first, second].map(({ headers }) => headers.get("x-gateway-replayed"))).toEqual([null, "true"]);
  expect(upstream.received).toHaveLength(1);
  expect((await books.of(payer)).requests.filter(({ cost }) => cost > 0)).toHaveLength(1);
});

test("under another it is another call", async () => {
  await chat("k-1");
  await chat("k-2");
  expect(upstream.received).toHaveLength(2);
});

test("the same key for something else is refused", async () => {
  await chat("k-1");
  expect((await chat("k-1", "Good bye")).status).toBe(409);
});
