/** Counts of tokens at servers of messages that have no such path, or answer there with something else than a count. */
import { expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { paidModel, paidModels } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const { upstream, gateway } = scriptedStage(
  (baseUrl) => ({
    ...paidModels(baseUrl),
    models: [paidModel("claude", "anthropic"), paidModel("other", "anthropic")],
  }),
  { perTest: true },
);

async function count(answer: (exchange: ScriptedExchange) => void, model = "claude") {
  upstream.script = answer;
  const before = upstream.received.length;
  const body = { model, messages: [{ role: "user", content: "How many tokens does this have?" }] };
  const { status, text } = await ask(gateway, "/v1/messages/count_tokens", body);
  return { status, json: JSON.parse(text), asked: upstream.received.length - before };
}

function page(status: number) {
  return (exchange: ScriptedExchange) => {
    exchange.head(status, { "content-type": "text/html" });
    exchange.end("<html><body>Nothing is here</body></html>");
  };
}

test.each<[string, (exchange: ScriptedExchange) => void]>([
  ["a page with status 404", page(404)],
  ["a page with status 405", page(405)],
  ["a page with status 501", page(501)],
  ["FastAPI's word for an unknown path", (exchange) => exchange.json(404, { detail: "Not Found" })],
  ["an empty object", (exchange) => exchange.json(200, {})],
  ["an object without a count", (exchange) => exchange.json(200, { object: "ok", id: "x" })],
])("a server that answers with %s is counted for, and not asked again by the next call", async (_, answer) => {
  const first = await count(answer);
  expect(first).toMatchObject({ status: 200, asked: 1 });
  expect(first.json.input_tokens).toBeGreaterThan(5);
  expect(first.json.input_tokens).toBeLessThan(25);
  expect(await count(answer)).toEqual({ ...first, asked: 0 });
  expect((await count(answer, "other")).asked).toBe(1);
});

test.each<[string, object]>([
  ["its own name", { input_tokens: 9 }],
  ["a text", { input_tokens: "9" }],
  ["a message around it", { type: "message", content: [], usage: { input_tokens: 9, output_tokens: 1 } }],
  ["the usage of a chat", { usage: { prompt_tokens: 9, total_tokens: 10 } }],
  ["a sum", { total_tokens: 9 }],
])("a count with %s is told where clients read it", async (_, answer) => {
  const told = await count((exchange) => exchange.json(200, answer));
  expect(told).toMatchObject({ status: 200, json: { input_tokens: 9 }, asked: 1 });
});

test.each<[string, number, object, number]>([
  ["a request", 400, { type: "error", error: { type: "invalid_request_error", message: "messages: too many" } }, 400],
  ["a model", 404, { type: "error", error: { type: "not_found_error", message: "model: v-claude" } }, 502],
  ["nothing but its own load", 529, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, 529],
])("a server that refuses %s has refused the count", async (_, status, body, told) => {
  for (let times = 0; times < 2; times++)
    expect(await count((exchange) => exchange.json(status, body))).toMatchObject({ status: told, asked: 1 });
});
