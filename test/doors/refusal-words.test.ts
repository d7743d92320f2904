/**
 * A refusal says what to do, by the names of the public wire, and gives no advice that would not help.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { anthropicUpstreamAt, startTestGateway, type TestGateway, upstreamAt } from "../support/gateway.ts";
import { type ScriptedExchange, type ScriptedUpstream, startScriptedUpstream } from "../support/scripted-upstream.ts";
import { anthropicError, openaiError } from "../support/vendors.ts";

const messages = [{ role: "user", content: "Hello" }];
const chat = { model: "embedded-chat", max_tokens: 100, messages };

interface Told {
  readonly status: number;
  readonly message: string;
  readonly type: string;
  readonly code?: string | null;
  readonly param?: string | null;
}

async function send(
  gateway: TestGateway,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Told> {
  const isForm = body instanceof FormData;
  const response = await fetch(`${gateway.rootUrl}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${gateway.apiKey}`,
      ...(isForm ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    body: isForm ? body : JSON.stringify(body),
  });
  const { error } = (await response.json()) as { error: Omit<Told, "status"> };
  return { status: response.status, ...error };
}

describe("a refusal says what is wrong with the request:", () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await startTestGateway();
  });

  afterAll(() => gateway.close());

  const invalid = (param: string, why: string): Partial<Told> => ({
    status: 400,
    code: "invalid_value",
    param,
    message: `Invalid value for '${param}': ${why}.`,
  });

  const cases: Record<string, readonly [path: string, body: unknown, told: Partial<Told>]> = {
    "a role that Anthropic's API does not have": [
      "/v1/messages",
      { ...chat, messages: [{ role: "function", content: "x" }] },
      { status: 400, message: "Invalid value for 'messages[0].role': expected one of system, user, assistant." },
    ],
    "a role that nobody has": [
      "/v1/chat/completions",
      { ...chat, messages: [{ role: "sesame", content: "x" }] },
      invalid("messages[0].role", "expected one of system, developer, user, assistant, tool, function"),
    ],
    "a format that nobody has": [
      "/v1/audio/speech",
      { model: "tts-1", input: "x", voice: "alloy", response_format: "sesame" },
      invalid("response_format", "this model has the formats mp3, opus, aac, flac, wav, pcm"),
    ],
    "a format that is a number": [
      "/v1/audio/speech",
      { model: "tts-1", input: "x", voice: "alloy", response_format: 7 },
      { status: 400, code: "invalid_type", param: "response_format", message: expect.stringContaining("got a number") },
    ],
    "no messages": [
      "/v1/chat/completions",
      { model: "embedded-chat" },
      {
        status: 400,
        code: "missing_required_parameter",
        param: "messages",
        message: "Missing required parameter: 'messages'.",
      },
    ],
    "null in the place of messages": [
      "/v1/chat/completions",
      { model: "embedded-chat", messages: null },
      { status: 400, code: "missing_required_parameter", param: "messages" },
    ],
    "an empty list of messages": [
      "/v1/chat/completions",
      { model: "embedded-chat", messages: [] },
      invalid("messages", "must not be empty"),
    ],
    "no messages for Anthropic's clients": [
      "/v1/messages",
      { model: "embedded-chat", max_tokens: 1 },
      { status: 400, message: "Missing required parameter: 'messages'." },
    ],
    "an empty text to speak": [
      "/v1/audio/speech",
      { model: "tts-1", input: "", voice: "alloy" },
      invalid("input", "must not be empty"),
    ],
    "too many texts": [
      "/v1/embeddings",
      { model: "embedded-embedding", input: Array(2049).fill("a") },
      invalid("input", "expected at most 2048 items"),
    ],
    "a speech model on chat": [
      "/v1/chat/completions",
      { ...chat, model: "tts-1" },
      {
        status: 404,
        code: "model_not_found",
        param: "model",
        message: "The model `tts-1` is a speech model: call it at /v1/audio/speech.",
      },
    ],
    "a chat model on embeddings": [
      "/v1/embeddings",
      { model: "embedded-chat", input: "x" },
      {
        status: 404,
        code: "model_not_found",
        param: "model",
        message:
          "The model `embedded-chat` is a chat model: call it at /v1/chat/completions, /v1/messages or /v1/responses.",
      },
    ],
    "a path of a vendor's that is not served": [
      "/v1/images/generations",
      { prompt: "a cat" },
      {
        status: 404,
        code: "unknown_url",
        message:
          "Invalid URL (POST /v1/images/generations): nothing is served there. " +
          "Check the base address and the path; `GET /openapi.json` lists what is.",
      },
    ],
    "an embedding model on messages": [
      "/v1/messages",
      { ...chat, model: "embedded-embedding" },
      {
        status: 404,
        type: "not_found_error",
        message: "model: embedded-embedding is an embedding model: call it at /v1/embeddings",
      },
    ],
  };

  for (const [name, [path, body, told]] of Object.entries(cases)) {
    test(name, async () => expect(await send(gateway, path, body)).toMatchObject(told));
  }

  test("a file in a form, which no header would mend", async () => {
    const form = new FormData();
    form.set("model", "embedded-embedding");
    form.set("input", new Blob(["x"]), "x.txt");
    const { status, message } = await send(gateway, "/v1/embeddings", form);
    expect(status).toBe(415);
    expect(message).toMatch(/Send text fields only\.$/);
  });
});

test("fields that would be dropped are named in singular or plural", async () => {
  const upstream = await startScriptedUpstream();
  const gateway = await startTestGateway(anthropicUpstreamAt(upstream.baseUrl));
  const strict = { "x-gateway-strict": "true" };
  const one = await send(gateway, "/v1/chat/completions", { ...chat, seed: 1 }, strict);
  expect(one).toMatchObject({ status: 400, message: expect.stringMatching(/'seed'\. Leave it out\.$/) });
  const two = await send(gateway, "/v1/chat/completions", { ...chat, seed: 1, presence_penalty: 1 }, strict);
  expect(two).toMatchObject({ status: 400, message: expect.stringMatching(/'seed'.*\. Leave them out\.$/) });
  expect(upstream.received).toEqual([]);
  await gateway.close();
  await upstream.close();
});

describe("a fault that only the operator can mend is not the caller's, and not to be retried:", () => {
  const upstreams: ScriptedUpstream[] = [];
  const gateways: TestGateway[] = [];
  let openai: TestGateway;
  let anthropic: TestGateway;
  const answer = (script: (exchange: ScriptedExchange) => void) => {
    for (const upstream of upstreams) upstream.script = script;
  };

  beforeAll(async () => {
    upstreams.push(await startScriptedUpstream(), await startScriptedUpstream());
    openai = await startTestGateway(upstreamAt(upstreams[0]?.baseUrl as string));
    anthropic = await startTestGateway(anthropicUpstreamAt(upstreams[1]?.baseUrl as string));
    gateways.push(openai, anthropic);
  });

  afterAll(async () => {
    for (const gateway of gateways) await gateway.close();
    for (const upstream of upstreams) await upstream.close();
  });

  const far = "name-at-the-upstream";
  const lacking = "it does not have the model that it is configured with";
  const refused = "it refused the gateway's own credential";
  const openaiCases: Record<string, readonly [status: number, body: object, why: string]> = {
    "a model that OpenAI does not have": [404, openaiError("x", `no ${far}`, "model_not_found"), lacking],
    "a model that OpenAI's project may not use": [403, openaiError("x", `no ${far}`, "model_not_found"), lacking],
    "a model that vLLM does not have": [
      404,
      { error: { message: `The model \`${far}\` does not exist.`, type: "NotFoundError", param: "model", code: 404 } },
      lacking,
    ],
    "a model that Ollama does not have": [404, openaiError("not_found_error", `model '${far}' not found`), lacking],
    "a wrong key for OpenAI": [401, openaiError("x", far, "invalid_api_key"), refused],
  };
  const anthropicCases: typeof openaiCases = {
    "a model that Anthropic does not have": [404, anthropicError("not_found_error", `model: ${far}`), lacking],
    "a wrong key for Anthropic": [401, anthropicError("authentication_error", far), refused],
  };

  for (const [cases, gateway] of [
    [openaiCases, () => openai],
    [anthropicCases, () => anthropic],
  ] as const) {
    for (const [name, [status, body, why]] of Object.entries(cases)) {
      test(name, async () => {
        answer((exchange) => exchange.json(status, body));
        for (const path of ["/v1/chat/completions", "/v1/messages"]) {
          const told = await send(gateway(), path, chat);
          const message = `The upstream of this model failed: ${why}. The operator of the gateway must mend it.`;
          expect(told, path).toMatchObject({ status: 502, message });
        }
      });
    }
  }

  test("but any other 404 is the caller's, in the upstream's words", async () => {
    const words = "No file has this id.";
    answer((exchange) => exchange.json(404, openaiError("invalid_request_error", words)));
    expect(await send(openai, "/v1/messages", chat)).toMatchObject({ status: 404, message: words });
    answer((exchange) => exchange.json(404, anthropicError("not_found_error", words)));
    expect(await send(anthropic, "/v1/chat/completions", chat)).toMatchObject({ status: 404, message: words });
  });
});
