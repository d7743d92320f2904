/**
 * Failures of a server that are told with the status of the caller's mistake, or of a wrong key: they are the server's, and another
 * target answers. What the request itself is refused for stays the caller's.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import { ask } from "../../support/ask.ts";
import { hurriedClock } from "../../support/gateway.ts";
import { openAccount } from "../../support/payer.ts";
import { type ScriptedUpstream, startScriptedUpstream } from "../../support/scripted-upstream.ts";
import { paidModel } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { answerAsOpenAi } from "../../support/vendors.ts";

let well: ScriptedUpstream;
beforeAll(async () => {
  well = await startScriptedUpstream(answerAsOpenAi);
});
afterAll(() => well.close());

function servedAt(base_url: string): Partial<Config> {
  const target = (name: string, priority: number) => ({ upstream: name, model: "far", priority, weight: 1 });
  return {
    embeddedModels: false,
    retries: { attempts: 2, share: 0 },
    upstreams: [
      { name: "faulty", kind: "openai", base_url },
      { name: "well", kind: "openai", base_url: well.baseUrl },
    ],
    models: [
      paidModel("alone", "faulty"),
      paidModel("or-well", "faulty", { targets: [target("faulty", 0), target("well", 1)] }),
    ],
  };
}

/** Time goes on, so that no target rests when the next test begins. */
const { upstream, gateway, books } = scriptedStage(servedAt, { clock: hurriedClock() });

const messages = [{ role: "user", content: "hi" }];
const worded = (message: string, more: object = {}) => ({ error: { message, ...more } });

/** told are failures, each with the status it comes with and the one that the caller sees where no other target is. */
const told: Readonly<Record<string, readonly [status: number, body: object, seen: number]>> = {
  "Alibaba's": [400, worded("Model serving error", { code: "invalid_parameter_error" }), 503],
  "Alibaba's limit a minute": [
    429,
    worded("Allocated quota exceeded, please increase your quota limit.", { code: "insufficient_quota" }),
    429,
  ],
  "Cloudflare's gateway's": [
    400,
    { success: false, result: [], error: [{ code: 2005, message: "Failed to get response from provider" }] },
    503,
  ],
  "Vercel's": [400, worded("No providers available", { type: "no_providers_available" }), 503],
  "Databricks'": [400, { error_code: "INVALID_STATE", message: "Endpoint is not ready" }, 503],
  "a relay's in Chinese": [400, worded("当前模型暂时无法使用,请稍后再试", { type: "<nil>" }), 503],
  "a relay's of its disk": [
    400,
    worded("invalid request: disk storage creation failed: disk free-space floor reached"),
    503,
  ],
  "a relay's limit": [400, worded("Too many concurrent requests"), 429],
  "a code of overload": [400, worded("Sorry", { type: "overloaded_error" }), 503],
  "a code of the server": [400, worded("Sorry", { code: 500 }), 502],
  "Groq's of a call that it cannot read": [
    400,
    worded("Failed to call a function.", { type: "invalid_request_error", code: "tool_use_failed" }),
    502,
  ],
  "Groq's of JSON that it cannot read": [
    400,
    worded("Failed to generate JSON.", { type: "invalid_request_error", failed_generation: '{"a"' }),
    502,
  ],
  "Azure API Management's": [
    403,
    { statusCode: 403, message: "Out of call volume quota. Quota will be replenished in 00:12:00." },
    429,
  ],
  "Azure's of its version": [400, worded("API version not supported", { code: "BadRequest" }), 502],
  "LM Studio's": [400, { error: "Model has unloaded or crashed." }, 502],
  "GitHub's": [400, worded("Unavailable model: o1", { code: "unavailable_model" }), 502],
  "Z.ai's of a plan": [429, worded("Your plan does not yet include access to GLM-5", { code: "1311" }), 502],
};

test.each(Object.entries(told))("%s is not the caller's: another target answers", async (_, [status, body, seen]) => {
  upstream.script = (exchange) => exchange.json(status, body);
  expect((await ask(gateway, "/v1/chat/completions", { model: "or-well", messages })).status).toBe(200);
  const payer = await openAccount(gateway);
  const { apiKey } = payer;
  expect((await ask(gateway, "/v1/chat/completions", { model: "alone", messages }, { apiKey })).status).toBe(seen);
  expect((await books.of(payer)).balance).toBe(payer.begunWith);
});

const within: Readonly<Record<string, readonly [body: object, seen: number]>> = {
  "Groq's of a call that it cannot read": [
    worded("Failed to call a function.", { type: "invalid_request_error", code: "tool_use_failed", status_code: 400 }),
    502,
  ],
  "MiniMax's": [{ choices: null, base_resp: { status_code: 2064, status_msg: "load" } }, 503],
  "one without a code": [{ detail: "The model is overloaded" }, 503],
  "a limit without a code": [{ error: "Rate limit exceeded" }, 429],
};

test.each(Object.entries(within))("%s in place of a stream, too", async (_, [body, seen]) => {
  upstream.script = (exchange) => exchange.stream(body as Record<string, unknown>);
  const asked = { messages, stream: true };
  const answered = await ask(gateway, "/v1/chat/completions", { model: "or-well", ...asked });
  expect(answered.text).toContain("[DONE]");
  expect((await ask(gateway, "/v1/chat/completions", { model: "alone", ...asked })).status).toBe(seen);
});

test.each<[number, string, string?]>([
  [400, "Invalid value: 'the server is busy, please try again later'"],
  [400, "Failed to download the image, please try again later"],
  [400, "The prompt was flagged by moderation. Change it and try again later."],
  [400, "The MCP server is not ready"],
  [422, "messages.0: the model is overloaded"],
  [400, "temperature must be below 2", "invalid_request_error"],
])("%i %s is the caller's", async (status, message, type) => {
  upstream.script = (exchange) => exchange.json(status, worded(message, { type }));
  const answered = await ask(gateway, "/v1/chat/completions", { model: "or-well", messages });
  expect([answered.status, answered.json.error.message]).toEqual([status, message]);
});
