/**
 * A server may lack responses although its profile names them. Then the same call is made by chat, and later calls are made by chat at
 * once.
 */
import { afterEach, describe, expect, test } from "vitest";
import type { ProfileConfig } from "../../../src/config/schema-profile.ts";
import type { JsonObject } from "../../../src/wire/json.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";
import {
  type ScriptedExchange,
  type ScriptedUpstream,
  startScriptedUpstream,
} from "../../support/scripted-upstream.ts";
import { cost, paidModel } from "../../support/upstreams/paid-models.ts";
import { answerAsOpenAi } from "../../support/vendors.ts";

const profile: ProfileConfig = {
  operations: { chat: "/chat/completions", responses: "/responses" },
  responses: "tools",
  efforts: ["none", "low", "medium", "high"],
  effort_default: "medium",
};

let upstream: ScriptedUpstream;
let gateway: TestGateway;
let asked: string[] = [];

afterEach(async () => {
  await gateway.close();
  await upstream.close();
});

/** The answers of servers without responses. */
async function start(responses: (exchange: ScriptedExchange) => void, own: ProfileConfig = profile): Promise<void> {
  asked = [];
  upstream = await startScriptedUpstream((exchange) => {
    asked.push(exchange.path);
    if (exchange.path === "/v1/responses") responses(exchange);
    else answerAsOpenAi(exchange);
  });
  gateway = await startTestGateway({
    embeddedModels: false,
    upstreams: [{ name: "far", kind: "openai", base_url: upstream.baseUrl, profile: own }],
    models: [paidModel("thinker", "far")],
  });
}

async function call(path: string, body: JsonObject) {
  const answer = await fetch(`${gateway.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "thinker", ...body }),
  });
  return { status: answer.status, cost: answer.headers.get("x-gateway-cost"), text: await answer.text() };
}

const failed = (status: number, body: JsonObject) => (exchange: ScriptedExchange) => exchange.json(status, body);
const nobodys: Readonly<Record<string, (exchange: ScriptedExchange) => void>> = {
  "404 in FastAPI's words": failed(404, { detail: "Not Found" }),
  "404 in llama.cpp's words": failed(404, { error: { code: 404, message: "File Not Found", type: "not_found_error" } }),
  "405": failed(405, { detail: "Method Not Allowed" }),
  "501": failed(501, {}),
  "404 as a page": (exchange) => {
    exchange.head(404, { "content-type": "text/html" });
    exchange.end("<html><body>404 page not found</body></html>");
  },
};

const tools = [{ type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } }];
const requests: Readonly<Record<string, JsonObject>> = {
  "/responses": { input: "hi" },
  "/chat/completions": { messages: [{ role: "user", content: "hi" }], tools },
  "/messages": {
    max_tokens: 50,
    messages: [{ role: "user", content: "hi" }],
    tools: [{ name: "f", input_schema: { type: "object" } }],
  },
};

describe.each(Object.entries(nobodys))("a server that answers responses by %s", (_, answer) => {
  const ways = Object.entries(requests).flatMap(([path, body]) =>
    [false, true].map((stream) => ({ path, body, stream })),
  );
  test.each(ways)("is asked by chat for $path, stream: $stream", async ({ path, body, stream }) => {
    await start(answer);
    for (const before of [1, 0]) {
      asked = [];
      const told = await call(path, { ...body, stream });
      expect([told.status, told.text.slice(0, 200)]).toEqual([200, expect.stringContaining("")]);
      expect(asked).toEqual([...Array(before).fill("/v1/responses"), "/v1/chat/completions"]);
      // The first of the two has used nothing.
      if (!stream) expect(Number(told.cost) * 1e6).toBe(9 * cost.input + 2 * cost.output);
    }
  });
});

/** Answers every request as chat, whatever its path. */
function answerAsChat(exchange: ScriptedExchange): void {
  answerAsOpenAi({ ...exchange, path: "/v1/chat/completions" });
}

describe("is not asked by chat", () => {
  test.each(
    Object.entries(requests).flatMap(([path, body]) => [false, true].map((stream) => ({ path, body, stream }))),
  )("one that answers responses by a chat, for $path, stream: $stream", async ({ path, body, stream }) => {
    await start(answerAsChat);
    for (const _ of [1, 2]) {
      asked = [];
      const told = await call(path, { ...body, stream });
      expect(told.status, told.text).toBe(200);
      expect(asked).toEqual(["/v1/responses"]);
      // It has been billed: it is not made again.
      if (!stream) expect(Number(told.cost) * 1e6).toBe(9 * cost.input + 2 * cost.output);
    }
  });

  test.each([
    [
      "one that does not know the model",
      404,
      { error: { code: "model_not_found", message: "The model does not exist" } },
    ],
    ["one that names it", 404, { error: { message: "The model `v-thinker` was not found" } }],
    ["one that refuses the request", 400, { error: { message: "no such tool" } }],
    ["one that is broken", 500, { error: { message: "oops" } }],
  ])("%s", async (_, status, error) => {
    await start(failed(status, error));
    const told = await call("/responses", { input: "hi" });
    expect(told.status).not.toBe(200);
    expect(asked).not.toContain("/v1/chat/completions");
  });

  test("one whose model has nothing but responses: who operates the gateway is told", async () => {
    await start(failed(404, { detail: "Not Found" }), { ...profile, responses: "always" });
    const told = await call("/chat/completions", { messages: [{ role: "user", content: "hi" }] });
    expect([told.status, told.text]).toEqual([502, expect.stringContaining("it serves no responses")]);
    expect(asked).toEqual(["/v1/responses"]);
  });
});
