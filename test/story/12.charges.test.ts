/** What a call is charged, told to its caller and written down. `test/pipeline/charge/charges.test.ts` has every case. */
import { expect, test } from "vitest";
import { Outcome } from "../../gen/modelgateway/v1/usage_pb.ts";
import { ask } from "../support/ask.ts";
import { openAccount } from "../support/payer.ts";
import { eventStream } from "../support/scripted-upstream.ts";
import { cost } from "../support/upstreams/paid-models.ts";
import { scriptedStage } from "../support/upstreams/scripted-stage.ts";
import { chatAnswer, chatChunk, openaiError, openaiFrames } from "../support/vendors.ts";

const { upstream, gateway, books } = scriptedStage();

const body = { model: "gpt", messages: [{ role: "user", content: "Hello" }], max_tokens: 50 };

/** Makes a call of an account of its own, and returns its answer and its one row. */
async function charged(more: object = {}) {
  const payer = await openAccount(gateway);
  const answer = await ask(gateway, "/v1/chat/completions", { ...body, ...more }, payer);
  const { requests, holds, spent } = await books.of(payer);
  expect(holds).toBe(0);
  return { answer, row: requests[0], spent };
}

test("an answer with its usage: each part at its own price, told in a header", async () => {
  const usage = {
    prompt_tokens: 9,
    completion_tokens: 2,
    total_tokens: 11,
    prompt_tokens_details: { cached_tokens: 4 },
  };
  upstream.script = (exchange) => exchange.json(200, chatAnswer({ content: "Hello" }, "stop", { usage }));
  const { answer, row, spent } = await charged();
  const due = 5 * cost.input + 4 * cost.cacheRead + 2 * cost.output;
  expect(row).toMatchObject({ input: 5, cache_read: 4, output: 2, cost: due, estimated: 0, outcome: Outcome.ANSWERED });
  expect(Number(answer.headers.get("x-gateway-cost"))).toBe(due / 1_000_000);
  expect(spent).toBe(due);
});

test("an answer without its usage: counted, and marked as estimated", async () => {
  upstream.script = (exchange) => exchange.json(200, chatAnswer({ content: "Hello" }, "stop", { usage: undefined }));
  expect((await charged()).row).toMatchObject({ output: 1, estimated: 1 });
});

test("a stream that breaks in the middle: the input, and the output up to then", async () => {
  upstream.script = async (exchange) => {
    exchange.head(200, eventStream);
    await exchange.write(openaiFrames(chatChunk({ role: "assistant", content: "Hello" })));
    exchange.destroy();
  };
  const { row, spent } = await charged({ stream: true });
  expect(row).toMatchObject({ output: 1, estimated: 1, outcome: Outcome.BROKEN });
  expect(spent).toBeGreaterThan(cost.output);
});

test("a call that fails, or is refused: nothing", async () => {
  upstream.script = (exchange) => exchange.json(500, openaiError("server_error", "Broken."));
  expect((await charged()).spent).toBe(0);
  expect((await charged({ temperature: 99 })).spent).toBe(0);
});
