/**
 * What callers see of an upstream's error, in any shape and wording, from either kind of upstream: its words where
 * the error is the caller's, what clients look for where a conversation is too long, and nothing where it is the
 * operator's trouble.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Config, ModelConfig, UpstreamConfig } from "../../../src/config/config.ts";
import { readOverflow } from "../../../src/providers/errors/context-overflow.ts";
import { readErrorBody } from "../../../src/providers/errors/error-fields.ts";
import { meaningOf } from "../../../src/providers/errors/error-meaning.ts";
import { retryAfterMs } from "../../../src/providers/errors/fault.ts";
import { openAiErrors, refusalOfAnswer } from "../../../src/providers/errors/upstream-error.ts";
import { exactNumber } from "../../../src/wire/scan/exact-number.ts";
import {
  eventStream,
  type ScriptedExchange,
  type ScriptedUpstream,
  startScriptedUpstream,
} from "../../support/scripted-upstream.ts";
import { answerAsAny } from "../../support/upstreams/one-of-each.ts";
import { paidModel } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { chatAnswer } from "../../support/vendors.ts";

type Json = Readonly<Record<string, unknown>>;
type Kind = "openai" | "anthropic";

const key = "sk-operator-0123456789";
const kinds: readonly Kind[] = ["openai", "anthropic"];

let well: ScriptedUpstream;
beforeAll(async () => {
  well = await startScriptedUpstream(answerAsAny);
});
afterAll(() => well.close());

/** For each kind a model at the faulty upstream alone, and one with another target: `openai`, `openai-or-well`. */
function servedAt(faultyUrl: string): Partial<Config> {
  const upstreams = kinds.flatMap((kind): UpstreamConfig[] => [
    { name: kind, kind, base_url: faultyUrl, api_key: key },
    { name: `${kind}-well`, kind, base_url: well.baseUrl, api_key: key },
  ]);
  const models = kinds.flatMap((kind): ModelConfig[] => {
    const target = (upstream: string, priority: number) => ({ upstream, model: "far", priority, weight: 1 });
    const both = [target(kind, 0), target(`${kind}-well`, 1)];
    return [paidModel(kind, kind), paidModel(`${kind}-or-well`, kind, { targets: both })];
  });
  return { upstreams, models, embeddedModels: false, retries: { attempts: 2, share: 0 } };
}

const { upstream: faulty, gateway } = scriptedStage(servedAt);

const messages = [{ role: "user", content: "hi" }];
const paths: Readonly<Record<string, Json>> = {
  "/chat/completions": { messages },
  "/messages": { messages, max_tokens: 100 },
  "/responses": { input: "hi", store: false },
};

interface Told {
  readonly status: number;
  readonly text: string;
  readonly error: { readonly message: string; readonly type: string; readonly code?: string | null };
  readonly id: string | null;
}

async function ask(model: string, path: string, more: Json = {}): Promise<Told> {
  const response = await fetch(`${gateway.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model, ...paths[path], ...more }),
  });
  const text = await response.text();
  const { error } = (text.startsWith("{") ? JSON.parse(text) : {}) as Told;
  return { status: response.status, text, error, id: response.headers.get("x-request-id") };
}

function answer(status: number, body: unknown, type?: string): void {
  faulty.script = (exchange) => respond(exchange, status, body, type);
}

function respond(exchange: ScriptedExchange, status: number, body: unknown, type = "text/plain"): void {
  if (typeof body !== "string" && !Buffer.isBuffer(body)) {
    exchange.json(status, body);
    return;
  }
  exchange.head(status, { "content-type": type });
  exchange.end(body);
}

const why = "temperature must be below 9001";

const shapes: Readonly<Record<string, unknown>> = {
  "OpenAI's": { error: { message: why, type: "invalid_request_error", code: null, param: null } },
  "Anthropic's": { type: "error", error: { type: "invalid_request_error", message: why }, request_id: "req_x" },
  "Gemini's list": [{ error: { code: 400, message: why, status: "INVALID_ARGUMENT", details: [] } }],
  "Ollama's": { error: why },
  "xAI's": { code: "Client specified an invalid argument", error: why },
  "SGLang's": { object: "error", message: why, type: "BadRequestError", param: null, code: 400 },
  "FastAPI's": { detail: why },
  "FastAPI's list": { detail: [{ loc: ["body", "temperature"], msg: why, type: "value_error", input: { much: 1 } }] },
  "Mistral's object": { object: "error", message: { detail: [{ loc: ["body", "x"], msg: why }] }, type: "x" },
  "Mistral's list": { object: "Error", detail: [], message: [{ loc: ["body"], msg: why }], code: 3001 },
  "Cohere's": { message: why },
  "Bedrock's": { Message: why, __type: "ValidationException" },
  "Text Generation Inference's": { error: why, error_type: "validation" },
  "Cloudflare's": { success: false, errors: [{ code: 5006, message: why }], messages: [] },
  "a list of texts": { errors: [why] },
  "MiniMax's": { base_resp: { status_code: 2013, status_msg: why } },
  "a problem's": { type: "about:blank", title: "Bad Request", status: 400, detail: why },
  "Spring's": { status: 400, error: "Bad Request", message: why, path: "/v1/chat/completions" },
  "OAuth's": { error: "invalid_request", error_description: why },
  "a code and a msg": { code: 400, msg: why },
  "OpenRouter's": {
    error: {
      code: 400,
      message: "Provider returned error",
      metadata: { raw: JSON.stringify({ error: { message: why } }) },
    },
  },
  "a quoted error": { message: JSON.stringify({ error: { message: why } }) },
  "Django's": { temperature: [why] },
  "Rails'": { errors: { temperature: [why] } },
  "Tencent's": { Response: { Error: { Code: "InvalidParameter", Message: why }, RequestId: "x" } },
  "Volcengine's": { ResponseMetadata: { RequestId: "x", Error: { Code: "X", Message: why } } },
  "iFlytek's": { header: { code: 10163, message: why, sid: "x" } },
  "gRPC's": { status: { code: 3, message: why } },
  "a result's": { success: false, result: { error: why } },
  "a datum's": { code: 400, data: { message: why } },
  "a message's content": { message: { content: why } },
  "an exception's": { exception: why },
  "one with a name of its own": { retcode: 1, retmsg: why },
  "one with another name of its own": { ErrorMessage: why, RequestId: "x" },
  "one within an object with a name of its own": { ret: { code: 1, msg: why } },
  "a list of parts": { error: { message: [{ type: "text", text: why }] } },
  "AWS's XML": `<?xml version="1.0"?><Error><Code>X</Code><Message>${why}</Message></Error>`,
  "a text": why,
  "a text with a mark of its order": `\uFEFF${why}\r\n`,
  "a text of JSON": JSON.stringify(why),
  "JSON in a text of JSON": JSON.stringify(JSON.stringify({ error: { message: why } })),
  "a stream's": `event: error\ndata: ${JSON.stringify({ error: { message: why } })}\n\n`,
};

test("JSON that a proxy wrote as a text is read as JSON", () => {
  const body = JSON.stringify(JSON.stringify({ error: { message: why } }));
  expect(readErrorBody(Buffer.from(body)).message).toBe(why);
});

describe("the upstream's words", () => {
  for (const [name, body] of Object.entries(shapes)) {
    test(`in ${name} shape reach every family from either kind of upstream`, async () => {
      // Anthropic's type says more than a status.
      const statuses = name === "Anthropic's" ? [400] : [400, 422];
      for (const [i, status] of statuses.entries()) {
        answer(status, body);
        for (const [j, kind] of kinds.entries()) {
          for (const [k, path] of Object.keys(paths).entries()) {
            // What is streamed with one status is whole with the other.
            const isOdd = (i + j + k) % 2 === 1;
            for (const stream of statuses.length > 1 ? [isOdd] : [false, true]) {
              const told = await ask(kind, path, { stream });
              expect(told, `${kind} ${path}`).toMatchObject({
                status,
                error: { message: expect.stringContaining(why) },
              });
              // Errors in the caller's own words but without a type are passed on without one.
              expect(told.error.type ?? "invalid_request_error", `${kind} ${path}`).toBe("invalid_request_error");
            }
          }
        }
      }
    });
  }

  test("are passed on inside a stream as well, as an object or a string", async () => {
    for (const error of [{ message: why, code: 400 }, why]) {
      faulty.script = (exchange) => {
        exchange.head(200, eventStream);
        exchange.end(`data: ${JSON.stringify({ error })}\n\n`);
      };
      for (const path of Object.keys(paths)) {
        const told = await ask("openai", path, { stream: true });
        expect(told, path).toMatchObject({ error: { message: why } });
        expect(told.status, path).toBe(typeof error === "string" ? 502 : 400);
      }
    }
  });

  test("are passed on from a list as well, in place of an answer and inside a stream", async () => {
    const list = [{ error: { code: 400, message: why, status: "INVALID_ARGUMENT" } }];
    for (const stream of [false, true]) {
      faulty.script = (exchange) => {
        exchange.head(200, stream ? eventStream : { "content-type": "application/json" });
        exchange.end(stream ? `data: ${JSON.stringify(list)}\n\n` : JSON.stringify(list));
      };
      for (const path of Object.keys(paths))
        expect(await ask("openai", path, { stream }), path).toMatchObject({ status: 400, error: { message: why } });
    }
    answer(200, [1]);
    expect((await ask("openai", "/messages")).status).toBe(502);
  });

  const silent: Readonly<Record<string, unknown>> = {
    "a page": `<!DOCTYPE html><html><body>${why}</body></html>`,
    "a page with words before it": `Error: <html>${why}</html>`,
    "a page in the place of a message": { error: { message: `<html>${why}</html>` } },
    "a long text": `${why} ${"x".repeat(2000)}`,
    "bytes that are no text": Buffer.from([...Buffer.from(why), 0, 1, 2, 0xff]),
    nothing: "",
    "an object without words": { code: 400, ok: false },
    "more than is read": { detail: why, input: "x".repeat(200_000) },
  };

  for (const [name, body] of Object.entries(silent)) {
    test(`are missing in ${name}: the caller gets the status alone`, async () => {
      answer(400, body, "text/html");
      for (const kind of kinds) {
        for (const path of Object.keys(paths)) {
          const told = await ask(kind, path);
          const message = "The upstream of this model answered with status 400.";
          expect(told, `${kind} ${path}`).toMatchObject({ status: 400, error: { message } });
        }
      }
    });
  }

  test("never contain the operator's key, nor the upstream's address", async () => {
    const words = `no route to ${faulty.baseUrl} with ${key}`;
    for (const body of [
      { error: { message: words } },
      { type: "error", error: { type: "x", message: words } },
      words,
    ]) {
      answer(400, body);
      for (const kind of kinds) {
        for (const path of Object.keys(paths)) {
          const { status, text } = await ask(kind, path);
          expect(status).toBe(400);
          expect(text).toContain("no route to");
          expect(text).not.toContain(key);
          expect(text).not.toContain(`127.0.0.1:${faulty.port}`);
        }
      }
    }
  });
});

/** How vendors say that a conversation is too long, and what Anthropic's clients should read. */
const overflows: readonly (readonly [status: number, message: string, told: string | RegExp, codes?: Json])[] = [
  [
    400,
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. Shorten.",
    "9001 tokens > 8192",
  ],
  [400, "Your input exceeds the context window of this model. Please adjust your input and try again.", /./],
  [
    400,
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
    "300000 tokens > 272000",
  ],
  [
    400,
    "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion).",
    /^input length and `max_tokens` exceed context limit: 122942 \+ 8192 > 131072/,
  ],
  [
    400,
    "This endpoint's maximum context length is 200000 tokens. However, you requested about 250000 tokens (200000 of text input, 20000 of tool input, 30000 in the output).",
    "220000 tokens > 200000",
  ],
  [
    400,
    "The input token count (200001) exceeds the maximum number of tokens allowed (131072).",
    "200001 tokens > 131072",
  ],
  [400, "The input token count exceeds the maximum number of tokens allowed 131072.", /./],
  [
    400,
    "This model's maximum prompt length is 131072 but the request contains 200001 tokens.",
    "200001 tokens > 131072",
  ],
  [
    400,
    "Prompt contains 200001 tokens and 0 draft tokens, too large for model with 131072 maximum context length",
    "200001 tokens > 131072",
  ],
  [
    400,
    "Invalid request: Your request exceeded model token limit: 131072 (requested: 200001)",
    "200001 tokens > 131072",
  ],
  [400, "Prompt exceeds max length", /./, { code: "1261" }],
  [400, "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]", /./],
  [
    403,
    "Input token count + max_tokens parameter must be less than the context length of the model being queried.",
    /./,
  ],
  [
    422,
    "`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 4000 `inputs` tokens and 200 `max_new_tokens`",
    /4000 \+ 200 > 4097/,
  ],
  [422, "Input validation error: `inputs` must have less than 1000 tokens. Given: 1201", "1201 tokens > 1000"],
  [
    400,
    "This model's maximum context length is 8192 tokens. However, you requested 512 output tokens and your prompt contains at least 8000 input tokens",
    /8000 \+ 512 > 8192/,
  ],
  [
    400,
    "'max_tokens' or 'max_completion_tokens' is too large: 9000. This model's maximum context length is 8192 tokens and your request has 100 input tokens (9000 > 8192 - 100).",
    /100 \+ 9000 > 8192/,
  ],
  [
    400,
    "You passed 9001 input tokens and requested 512 output tokens. However, the model's context length is only 8192 tokens",
    "9001 tokens > 8192",
  ],
  [400, "The decoder prompt (length 9001) is longer than the maximum model length of 8192.", "9001 tokens > 8192"],
  [400, "The input (9001 tokens) is longer than the model's context length (8192 tokens).", "9001 tokens > 8192"],
  [
    400,
    "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of 9001 tokens: 8801 tokens from the input messages and 200 tokens for the completion.",
    "8801 tokens > 8192",
  ],
  [
    400,
    "request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it",
    "9001 tokens > 8192",
  ],
  [400, "too much", "9001 tokens > 8192", { type: "exceed_context_size_error", n_prompt_tokens: 9001, n_ctx: 8192 }],
  [500, "Context size has been exceeded.", /./],
  [400, "The number of tokens to keep from the initial prompt is greater than the context length.", /./],
  [
    400,
    "Trying to keep the first 9001 tokens when context the overflows. However, the model is loaded with context length of only 8192 tokens",
    "9001 tokens > 8192",
  ],
  [400, "input length exceeds the context length", /./],
  [400, "prompt is longer than the context length", /./],
  [400, "Please reduce the length of the messages or completion.", /./, { code: "context_length_exceeded" }],
  [400, "Input is too long for requested model.", /./],
  [
    400,
    "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292.",
    "4292 tokens > 4081",
  ],
  [413, "Request body too large for gpt-4o model. Max size: 8000 tokens.", /./, { code: "tokens_limit_reached" }],
  [400, "litellm.ContextWindowExceededError: prompt is too long: 9001 tokens > 8192 maximum", "9001 tokens > 8192"],
  [
    400,
    "prompt token count of 9001 exceeds the limit of 8192",
    "9001 tokens > 8192",
    { code: "model_max_prompt_tokens_exceeded" },
  ],
  [
    400,
    "Unable to submit request because the input token count is 9001 but model only supports up to 8192. Reduce the input token count and try again.",
    "9001 tokens > 8192",
  ],
  [400, "length of prompt_tokens (9001) must be less than max_seq_len (8192).", "9001 tokens > 8192"],
  [400, "Input length 9001 exceeds the maximum length 8192", "9001 tokens > 8192"],
  [400, "Requested input length 9001 exceeds maximum input length 8192", "9001 tokens > 8192"],
  [400, "Prompt length 9001 is greater than max_seq_len 8192", "9001 tokens > 8192"],
  [
    500,
    "The sum of prompt length (9001.0), query length (0) should not exceed max_num_tokens (8192)",
    "9001 tokens > 8192",
  ],
  [400, "prompt too long; exceeded max context length by 123 tokens", /./],
  [400, "Total tokens of image and text exceed max message tokens.", /./],
  [400, "Total message token length exceed model limit", /./],
  [400, "input is larger than the max context size. skipped", /./],
  [400, "litellm.ContextWindowExceededError: x", /./],
  [400, "Input is too long.", /./],
  [400, "Prompt tokens too long", /./],
  [400, "Token count exceeds the limit", /./],
  [400, "prompt contains too many tokens", /./],
  [400, "输入长度超过模型最大上下文长度", /./],
  [
    500,
    "input (9001 tokens) is too large to process. increase the physical batch size (current batch size: 8192)",
    "9001 tokens > 8192",
  ],
  [400, "too many tokens: size limit exceeded by 809 tokens. Try using fewer inputs. The limit is 8192 tokens.", /./],
  [400, "The total length of all messages is too long.", /./],
  [400, "Shorten it.", /./, { type: "too_many_prompt_tokens" }],
  [400, "Prompt has 9001 tokens, but the configured context size is 8192 tokens", "9001 tokens > 8192"],
  [400, "Requested tokens (9001) exceed context window of 8192", "9001 tokens > 8192"],
  [400, "max_tokens must be at least 1, got -809. (parameter=max_tokens, value=-809)", /./],
  [400, "Token limit exceeded", /./],
  [400, "tokens in request more than max tokens allowed", /./],
  [400, "Request payload is 9001 tokens, over the 8192 token limit.", "9001 tokens > 8192"],
  [400, "Model context limit reached. Conversation size exceeds model capacity.", /./],
  [
    400,
    "The estimated number of input and maximum output tokens (9001) exceeded this model context window limit.",
    /./,
  ],
  [400, "Your request contains 9001 tokens, which exceeds the limit of 8192 of this model", "9001 tokens > 8192"],
  [400, "Context window exceeded: requested 9001 tokens", /./],
  [400, "Sequence length 9001 exceeds maximum 8192", "9001 tokens > 8192"],
  [400, "Cannot truncate prompt with n_keep (9001) >= n_ctx (8192)", /./],
  [400, "The prompt (total length 9001) is too long to fit into the model (context length 8192).", /./],
  [400, "prompt 长度超过限制", /./],
  [400, "Something else", /./, { code: "context_length_exceeded" }],
];

test("a code beside Anthropic's type is told to OpenAI's callers, and to Anthropic's with its details", async () => {
  const details = {
    error_code: "image_dimensions_too_large",
    max_side_length_pixels: 8000,
    paths: ["messages.0.content.1"],
  };
  answer(400, { type: "error", error: { type: "invalid_request_error", message: why, details } });
  for (const path of ["/chat/completions", "/responses"])
    expect((await ask("anthropic", path)).error, path).toMatchObject({ message: why, code: details.error_code });
  expect((await ask("anthropic", "/messages")).error).toMatchObject({ message: why, details });
  const secret = { error_code: `bad_${key}` };
  answer(400, { type: "error", error: { type: "invalid_request_error", message: why, details: secret } });
  expect((await ask("anthropic", "/chat/completions")).error.code).toBe("bad_[hidden]");
});

describe("a conversation that is too long", () => {
  for (const [i, [status, message, told, codes = {}]] of overflows.entries()) {
    test(`is recognised by "${message.slice(0, 60)}…"`, async () => {
      const inner = { message, type: "invalid_request_error", param: null, ...codes };
      for (const [j, body] of [{ error: inner }, [{ error: inner }], { object: "error", ...inner }].entries()) {
        answer(status, body);
        for (const [k, kind] of kinds.entries()) {
          // How words are told by kinds and paths is not a matter of the words: after the first they take turns.
          const isTold = i === 0 || (i + j + k) % 2 === 0;
          for (const path of isTold ? ["/chat/completions", "/responses"].slice(i === 0 ? 0 : j % 2) : [])
            expect(await ask(kind, path), `${kind} ${path}`).toMatchObject({
              status: 400,
              error: { code: "context_length_exceeded", message },
            });
          if (!isTold) continue;
          const { status: seen, error } = await ask(kind, "/messages");
          expect([seen, error.type]).toEqual([400, "invalid_request_error"]);
          if (typeof told === "string") expect(error.message).toBe(`prompt is too long: ${told} maximum`);
          else expect(error.message).toMatch(told);
          expect(error.message).toMatch(/^(?:prompt is too long|input length and `max_tokens` exceed context limit): /);
        }
      }
    });
  }

  test("is reported inside a stream, too", async () => {
    const error = { message: overflows[5]?.[1], code: 400, status: "INVALID_ARGUMENT" };
    faulty.script = (exchange) => {
      exchange.head(200, eventStream);
      exchange.end(`data: ${JSON.stringify({ error })}\n\n`);
    };
    const told = { status: 400, error: { message: "prompt is too long: 200001 tokens > 131072 maximum" } };
    expect(await ask("openai", "/messages", { stream: true })).toMatchObject(told);
    const { error: own } = await ask("openai", "/chat/completions", { stream: true });
    expect(own.code).toBe("context_length_exceeded");
  });

  test("has its code for callers of chat in Anthropic's own words, too, as Claude has them behind others", async () => {
    for (const message of [
      "prompt is too long: 9001 tokens > 8192 maximum",
      "input length and `max_tokens` exceed context limit: 4087 + 10 > 4096, decrease input length or `max_tokens` and try again",
    ]) {
      answer(400, { error: { message, type: "invalid_request_error", param: null, code: null } });
      const told = { status: 400, error: { message, code: "context_length_exceeded" } };
      expect(await ask("openai", "/chat/completions")).toMatchObject(told);
      expect(await ask("openai", "/messages")).toMatchObject({ status: 400, error: { message } });
    }
  });

  test("is not the upstream's fault: no other target is tried", async () => {
    answer(500, { error: { message: "Context size has been exceeded." } });
    expect((await ask("openai-or-well", "/messages")).status).toBe(400);
  });

  test("is not a rate limit, nor a bound on the output alone", async () => {
    for (const [status, message] of [
      [
        413,
        "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 9001, please reduce the length of the messages",
      ],
      [400, "max_tokens: 9001 > 8192, which is the maximum allowed number of output tokens for this model"],
      [400, "max_tokens is too large: 9001. This model supports at most 8192 completion tokens."],
      [
        400,
        "Invalid 'messages[0].content': string too long. Expected a string with maximum length 10, but got length 11.",
      ],
      [400, "image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes"],
      [400, "Too many tools: 129 exceeds the maximum of 128"],
      [400, "The input audio is too long: it exceeds the maximum duration of 25 minutes"],
      [400, "tool name too long: exceeds maximum length 64"],
      [400, "Number of stop sequences exceeds the limit"],
      [400, "metadata value length exceeds maximum 512"],
      [400, "Model far is not supported with audio."],
      [400, "The audio (9001 samples) is too large to process."],
      [429, "Too many tokens, please wait before trying again."],
      [429, "Daily token limit exceeded"],
      [429, "Tokens have exceeded token rate limit of your current pricing tier. Please retry after 5 seconds."],
      [400, "max_tokens must be at least 1, got 0"],
      [400, "The value of max_tokens in the request exceeds the maximum allowed 8192 tokens"],
      [400, "logit_bias: too many tokens: 301 > 300"],
      [400, "Prompt was blocked: harm score exceeds threshold"],
      [400, "Invalid value: 'the conversation exceeds the maximum of 8192 tokens'"],
      [400, "stop: too many stop sequences: 5 > 4"],
      [400, "Input text exceeds 4096 characters"],
      [400, why],
    ] as const) {
      answer(status, { error: { message, type: "invalid_request_error", code: null } });
      const { status: seen, error } = await ask("openai", "/messages");
      expect({ seen, message: error.message }).toEqual({ seen: status, message });
    }
  });
});

/** What vendors say where the operator has not paid. */
const unpaid: readonly (readonly [status: number, body: unknown])[] = [
  [402, { error: { message: "Insufficient Balance", type: "unknown_error", code: "invalid_request_error" } }],
  [402, { error: { code: 402, message: "This request requires more credits, or fewer max_tokens." } }],
  [402, { error: { code: 402, message: "Prompt tokens limit exceeded: 9001 > 8192." } }],
  [402, "Payment Required"],
  [402, "<html>Payment Required</html>"],
  [402, ""],
  [429, { error: { code: "1113", message: "Insufficient balance or no resource package. Please recharge." } }],
  [
    429,
    {
      type: "error",
      error: { type: "rate_limit_error", message: "Insufficient balance. Please recharge.", code: "1113" },
    },
  ],
  [
    429,
    { error: { message: "Your account is suspended, please check your plan", type: "exceeded_current_quota_error" } },
  ],
  [
    429,
    { error: { message: "You exceeded your current quota", type: "insufficient_quota", code: "insufficient_quota" } },
  ],
  [
    429,
    { error: { message: "Your account is not active, please check your billing details", code: "billing_not_active" } },
  ],
  [
    400,
    {
      type: "error",
      error: { type: "invalid_request_error", message: "Your credit balance is too low to access the Anthropic API." },
    },
  ],
  [402, { type: "error", error: { type: "billing_error", message: "Pay first." } }],
  [429, detailed("rate_limit_error", "contract_spend_limit_reached")],
  [429, detailed("rate_limit_error", "enforced_spend_limit_reached")],
  [400, { error: { code: "Arrearage", message: "Access denied, please make sure your account is in good standing." } }],
  [400, { code: "Arrearage", message: "Access denied, please make sure your account is in good standing." }],
  [
    403,
    {
      code: "forbidden",
      error: "Your team has either used all available credits or reached its monthly spending limit.",
    },
  ],
  [429, [{ error: { code: 429, message: "Your prepayment credits are depleted.", status: "RESOURCE_EXHAUSTED" } }]],
  [403, { code: 30001, message: "Sorry, your account balance is insufficient", data: null }],
  [403, { error: { message: "user quota is not enough", code: "insufficient_user_quota" } }],
  [400, { error: "You have reached your specified API usage limits." }],
  [400, { code: 400, reason: "NOT_ENOUGH_BALANCE", message: "See the reason." }],
  [
    400,
    {
      error: {
        message: "Gemini API free tier is not available in your country. Please enable billing on your project.",
      },
    },
  ],
  [412, { error: { message: "Account x is suspended, possibly due to reaching the monthly spending limit." } }],
  [400, { base_resp: { status_code: 1008, status_msg: "insufficient balance" } }],
];

/** detailed returns an error of Anthropic's whose code says more than its type and its message. */
function detailed(type: string, error_code: string) {
  return { type: "error", error: { type, message: "See the code.", details: { error_code } } };
}

/** What vendors say of a wrong key, with a status that does not. */
const wrongKey: readonly (readonly [status: number, body: unknown])[] = [
  [
    400,
    [{ error: { code: 400, message: "API key not valid. Please pass a valid API key.", status: "INVALID_ARGUMENT" } }],
  ],
  [
    400,
    [
      {
        error: {
          code: 400,
          message: "API key expired. Please renew the API key.",
          status: "INVALID_ARGUMENT",
          details: [{ reason: "API_KEY_INVALID" }],
        },
      },
    ],
  ],
  [400, { code: "Client specified an invalid argument", error: "Incorrect API key provided: xa***xx." }],
  [400, { error: { message: "no", type: "authentication_error" } }],
  [400, detailed("invalid_request_error", "organization_on_hold")],
  [400, detailed("invalid_request_error", "cmek_key_disabled")],
  [400, { error: { message: "Reach out to support.", code: "organization_restricted" } }],
  [400, { type: "error", error: { type: "invalid_request_error", message: "This organization has been disabled." } }],
  [400, { error: { message: "Your API key has been revoked" } }],
  [400, { success: false, errors: [{ code: 10000, message: "Authentication error" }] }],
  [401, { detail: "Unauthorized" }],
  [403, { message: "Forbidden" }],
  [407, "Proxy Authentication Required"],
];

/** What vendors say of an unknown model. */
const noModel: readonly (readonly [status: number, body: unknown])[] = [
  [404, [{ error: { code: 404, message: "models/far is not found for API version v1main", status: "NOT_FOUND" } }]],
  [400, { object: "error", message: "Invalid model: far", type: "invalid_model", param: null, code: "1500" }],
  [404, { error: { message: "Not found the model far or Permission denied", type: "resource_not_found_error" } }],
  [400, { error: { code: "1211", message: "Unknown Model, please check the model code." } }],
  [400, { error: { message: "Model Not Exist", type: "invalid_request_error" } }],
  [400, { error: { message: "far is not a valid model ID", code: 400 } }],
  [404, { error: { message: "No endpoints found for far.", code: 404 } }],
  [404, { error: { code: "DeploymentNotFound", message: "The API deployment for this resource does not exist." } }],
  [400, { code: 20012, message: "Model does not exist. Please check it carefully.", data: null }],
  [400, { code: "Client specified an invalid argument", error: "Model not found: far" }],
  [400, { error: { message: "The model `far` has been decommissioned.", code: "model_decommissioned" } }],
  [400, { error: { message: "The model 'far' is not supported by any provider.", code: "model_not_supported" } }],
  [400, { message: "The provided model identifier is invalid." }],
  [400, { error: '"far" does not support chat' }],
  [404, { error: { code: "ModelNotOpen", message: "Your account has not activated the model far." } }],
  [
    400,
    { error: { code: "InvalidEndpoint.ClosedEndpoint", message: "The request targeted an endpoint that is closed." } },
  ],
  [404, [{ error: { code: 404, message: "This model models/far is no longer available to new users." } }]],
  [404, { message: "Access denied. This Model is marked by provider as Legacy." }],
  [404, { error: { message: "No endpoints found matching your data policy.", code: 404 } }],
  [404, { error: { message: "No allowed providers are available for the selected model.", code: 404 } }],
  [400, { error: { code: "OperationNotSupported", message: "The operation does not work with the specified model." } }],
  [404, { error_code: "RESOURCE_DOES_NOT_EXIST", message: "The given endpoint does not exist." }],
  [400, { error: { message: "There are no healthy deployments for this model." } }],
  [410, { error: { message: "The model far is no longer available. It was retired." } }],
  [400, { error: { message: "Unsupported model: far" } }],
  [404, { message: "This model version has reached the end of its life." }],
  [400, { success: false, errors: [{ code: 5007, message: "No such model @cf/far or task" }] }],
  [400, { error: { code: 400, message: "model 'far' not found", type: "invalid_request_error" } }],
  [400, { error: { message: "No models loaded. Please load a model in the developer page.", param: "model" } }],
  [400, { error: 'Failed to load model "far". Error: insufficient system resources' }],
  [400, { error: "Model unloaded." }],
  [400, { error: { message: "/chat/completions: Invalid model name passed in model=far.", code: "400" } }],
  [400, { error: { code: 400, message: "Model some/far-1.5 does not exist" } }],
  [400, { error: { message: "The supported API model names are near or nearer, but you passed far." } }],
  [400, { detail: "Model far is not supported. Supported models are ['near', 'nearer']." }],
  [404, { id: "x", message: "model 'far' was removed on May 1, 2026. See https://example.com/models." }],
  [400, { message: "Invocation of model ID far-v1:0 with on-demand throughput isn’t supported. Use a profile." }],
];

/** The words of servers and proxies that have nothing at the path. */
const noPath: readonly (readonly [status: number, body: unknown])[] = [
  [404, { detail: "Not Found" }],
  [404, { error: { code: "404", message: "Resource not found" } }],
  [404, "404 page not found\n"],
  [404, "<!DOCTYPE html><html><body><pre>Cannot POST /v1/chat/completions</pre></body></html>"],
  [404, ""],
  [404, { error: { message: "Invalid URL (POST /v1/v1/chat/completions)", type: "invalid_request_error" } }],
  [404, { error: { code: 404, message: "File Not Found", type: "not_found_error" } }],
  [405, { detail: "Method Not Allowed" }],
  [400, { code: "InvalidParameter", message: "url error, please check url！" }],
  [
    400,
    { success: false, errors: [{ code: 7003, message: "Could not route to /accounts/x, perhaps it is invalid?" }] },
  ],
];

test.each(noPath)(
  "a path without a server, as %i %j, is 502 in our words, or another target's answer",
  async (status, body) => {
    answer(status, body);
    for (const kind of kinds) {
      // A path of responses alone is tried as chat before.
      for (const path of ["/chat/completions", "/messages"]) {
        const seen = await ask(kind, path);
        expect(seen, `${kind} ${path}`).toMatchObject({ status: 502, error: { message: /serves nothing at its/ } });
        expect((await ask(`${kind}-or-well`, path)).status).toBe(200);
      }
    }
  },
);

/** Errors with status 200, and the status that callers see. */
const meant: readonly (readonly [body: unknown, status: number])[] = [
  [{ base_resp: { status_code: 1002, status_msg: why } }, 429],
  [{ choices: [], base_resp: { status_code: 1027, status_msg: why } }, 400],
  [chatAnswer({ content: "" }, "stop", { base_resp: { status_code: 1026, status_msg: why } }), 400],
  [{ error: { code: "1302", message: why } }, 429],
  [{ error: { code: "1301", message: why } }, 400],
  [{ error: { code: "TooManyRequests", message: why } }, 429],
  [{ code: "Throttling.RateQuota", message: why }, 429],
  [{ code: "DataInspectionFailed", message: why }, 400],
  [{ error: { type: "server_overloaded", message: why } }, 503],
  [{ error: { code: "InvalidParameter.DataInspection", message: why } }, 400],
];

test.each(meant)("%j with status 200 means %i", async (body, status) => {
  answer(200, body, "application/json");
  expect(await ask("openai", "/chat/completions")).toMatchObject({ status, error: { message: why } });
});

/** Errors whose codes say that there is too much to do, though their status does not, and the status that callers see. */
const busy: readonly (readonly [status: number, body: unknown, seen: number])[] = [
  [403, { error: { code: "rate_limit_exceeded", message: why } }, 429],
  [400, { code: "Throttling.RateQuota", message: why }, 429],
  [500, [{ error: { code: 429, status: "RESOURCE_EXHAUSTED", message: why } }], 429],
  [503, { error: { code: 429, message: why } }, 429],
  [500, { error: { type: "overloaded", message: why } }, 503],
  [502, { error: { code: 503, message: why } }, 503],
  [400, { error: { code: "service_unavailable", message: why } }, 503],
  [404, { error: { code: 429, message: why } }, 404],
];

test.each(busy)("status %i with %j means %i", async (status, body, seen) => {
  answer(status, body, "application/json");
  expect(await ask("openai", "/chat/completions")).toMatchObject({ status: seen, error: { message: why } });
});

test.each([
  [500, { error: { type: "timeout", message: why } }],
  [524, "<html>A timeout occurred</html>"],
  [522, "<html>Connection timed out</html>"],
])("status %i with %j is a time-out", async (status, body) => {
  answer(status, body, "text/html");
  expect(await ask("openai", "/chat/completions")).toMatchObject({ status: 504, error: { code: "timeout" } });
});

test("a feature that a model lacks is the request's matter", async () => {
  for (const [status, message] of [
    [404, "No endpoints found that support tool use."],
    [400, "This model is not supported with audio."],
    [400, "The model `far` does not support image input."],
    [400, "Unsupported model parameter: seed"],
  ] as const) {
    answer(status, { error: { message } });
    expect(await ask("openai", "/messages")).toMatchObject({ status, error: { message } });
  }
});

/** Returns the first line of a log with these words in it. */
function lineWith(words: string, logged: string): string {
  const at = logged.indexOf(words);
  return at < 0 ? "" : logged.slice(logged.lastIndexOf("\n", at) + 1, logged.indexOf("\n", at));
}

const operators: Readonly<Record<string, readonly [cases: typeof unpaid, why: string]>> = {
  "an account without credit": [unpaid, "it refused the gateway's own account"],
  "a wrong key": [wrongKey, "it refused the gateway's own credential"],
  "a model that is not there": [noModel, "it does not have the model that it is configured with"],
};

describe("the operator's trouble", () => {
  for (const [name, [cases, told]] of Object.entries(operators)) {
    for (const [i, [status, body]] of cases.entries()) {
      test(`${name}, as ${status} ${JSON.stringify(body).slice(0, 90)}, is 502 in our words, or another target's answer`, async () => {
        answer(status, body);
        for (const kind of kinds) {
          for (const [j, path] of Object.keys(paths).entries()) {
            const seen = await ask(kind, path);
            const message = `The upstream of this model failed: ${told}. The operator of the gateway must mend it.`;
            expect(seen, `${kind} ${path}`).toMatchObject({ status: 502, error: { message } });
            expect(seen.text).not.toMatch(/credit|balance|quota|recharge|billing/i);
            const line = lineWith(`"${seen.id}"`, gateway.logged());
            expect(JSON.parse(line)).toMatchObject({ status: 502, failures: [{ upstream: kind }] });
            expect(line).toContain(told);
            // Each path in its turn: whether another target is asked is not a matter of the path.
            if (i % 3 === j) expect((await ask(`${kind}-or-well`, path)).status).toBe(200);
          }
        }
      });
    }
  }

  test("is not read from the caller's own words, which an upstream repeats", async () => {
    for (const [status, message] of [
      [400, "Invalid value: 'insufficient balance, please recharge'"],
      [422, "body.messages.0: insufficient balance is no role"],
      [404, "No file is named invalid api key."],
      [400, `${"The text is not allowed here. ".repeat(12)} insufficient balance`],
    ] as const) {
      answer(status, { error: { message, type: "invalid_request_error" } });
      expect(await ask("openai", "/messages")).toMatchObject({ status, error: { message } });
    }
  });

  test("is neither Google's rate limit, nor content that a provider refuses", async () => {
    answer(429, [
      { error: { code: 429, message: "You exceeded your current quota, …", status: "RESOURCE_EXHAUSTED" } },
    ]);
    expect((await ask("openai", "/chat/completions")).status).toBe(429);
    for (const error of [
      "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO",
      "violates our content policies",
    ]) {
      answer(403, { code: "The caller does not have permission to execute the specified operation", error });
      expect(await ask("openai", "/chat/completions")).toMatchObject({ status: 403, error: { message: error } });
    }
    answer(403, { error: { code: 403, message: "Your input was flagged by moderation" } });
    expect(await ask("openai", "/messages")).toMatchObject({ status: 403, error: { message: /flagged/ } });
  });
});

test("a single vendor's statuses become those that clients know", async () => {
  for (const [given, seen] of [
    [498, 503],
    [529, 503],
    [424, 502],
    [520, 502],
  ] as const) {
    answer(given, { error: { message: why } });
    expect(await ask("openai", "/chat/completions")).toMatchObject({ status: seen, error: { message: why } });
  }
});

test("of a server of tools, or a picture, that the caller has named the caller is told, and no target is left alone for it", async () => {
  const failed = "Error retrieving tool list from MCP server: 'mine'. Http status code: 401 (Unauthorized)";
  const openai = { error: { message: failed, type: "external_connector_error", param: "tools", code: "http_error" } };
  const words = "Authentication error while communicating with MCP server. Please check your authorization token.";
  const anthropic = { type: "error", error: { type: "invalid_request_error", message: words } };
  for (let i = 0; i < 10; i++) {
    answer(424, openai);
    expect(await ask("openai", "/responses")).toMatchObject({ status: 424, error: { message: failed } });
    answer(400, anthropic);
    expect(await ask("anthropic", "/messages")).toMatchObject({ status: 400, error: { message: words } });
    for (const place of ["https://mine.example/insufficient_quota", "https://mine.example/invalid api key"]) {
      const message = `Error while downloading ${place}.`;
      answer(400, { error: { message, type: "invalid_request_error", param: "url", code: null } });
      expect(await ask("openai", "/chat/completions")).toMatchObject({ status: 400, error: { message } });
    }
    answer(400, { error: { message: "Unknown scheme: data:insufficient_quota", type: "invalid_request_error" } });
    expect((await ask("openai", "/chat/completions")).status).toBe(400);
  }
  // Where nobody says so, a failed dependency is the server's own, and so is what it cannot fetch by its own code.
  for (const code of [500, "server_error", null]) {
    answer(200, { error: { message: "Failed to fetch the result of a worker", type: null, code } });
    expect((await ask("openai", "/chat/completions")).status).toBe(502);
  }
  answer(424, { error: { message: "Request failed during generation", type: "generation" } });
  expect((await ask("openai", "/chat/completions")).status).toBe(502);
});

test("messages crafted to take long are read quickly", () => {
  const long = 64 * 1024;
  const hostile = [
    ..."context length is 1 tokens. |input token count |prompt contains 1 tokens |first 1 tokens when context the overflows ".split(
      "|",
    ),
    ...[
      "(1 in the ",
      "insufficient_",
      "your all your ",
      "<",
      "exceeds the the the ",
      "model ",
      "context window ",
      "1 > ",
      "token exceeds ",
      "data:",
      '[{"error":',
    ],
  ];
  const begun = performance.now();
  for (const piece of hostile) {
    const text = piece.repeat(Math.ceil(long / Math.max(1, piece.length))).slice(0, long);
    for (const body of [
      text,
      JSON.stringify({ error: { message: text } }),
      JSON.stringify({ message: { detail: text } }),
    ]) {
      const words = readErrorBody(Buffer.from(body));
      readOverflow(words);
      meaningOf(words, 400);
    }
  }
  const nested = `${'{"error":{"message":'.repeat(1000)}1${"}}".repeat(1000)}`;
  expect(readErrorBody(Buffer.from(nested)).message).toBeUndefined();
  // Some ms for each of the forty, and minutes where the time grows as the square of the text.
  expect(performance.now() - begun).toBeLessThan(30_000);
});

describe("Google's retry delay", () => {
  const info = (retryDelay: unknown) => ({ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay });
  const quota = { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [] };
  const exhausted = (...details: unknown[]) => [
    { error: { code: 429, message: "quota exceeded", status: "RESOURCE_EXHAUSTED", details } },
  ];

  test.each<[unknown, string]>([
    [exhausted(quota, info("34.07s")), "35"],
    [exhausted(info("7s")), "7"],
    [exhausted(info("3600s")), "60"],
    [exhausted(info("0s")), "1"],
    [exhausted(info("soon")), "1"],
    [exhausted(info(5)), "5"],
    [exhausted({ ...info("30s"), "@type": "type.googleapis.com/google.rpc.Help" }), "1"],
    [exhausted(null, "30s"), "1"],
    [{ error: { code: 429, message: "quota exceeded", details: { retryDelay: "30s" } } }, "1"],
  ])("in %j becomes `Retry-After` %s", async (body, seconds) => {
    answer(429, body);
    const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "openai", messages }),
    });
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, seconds]);
  });

  test("yields to a header", async () => {
    faulty.script = (exchange) => exchange.json(429, exhausted(info("34s")), { "retry-after": "9" });
    const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "openai", messages }),
    });
    expect(response.headers.get("retry-after")).toBe("9");
  });
});

describe("what an upstream asks to wait", () => {
  const error = { message: "slow down" };
  const exact = exactNumber("11.500000000000000001");
  const inSeconds = (seconds: number) => Date.now() + seconds * 1000;

  test.each<[string, Record<string, string>, object, number]>([
    ["a header in milliseconds", { "retry-after-ms": "12000" }, error, 12],
    ["that beside one in seconds", { "retry-after": "9", "retry-after-ms": "12000" }, error, 12],
    ["Azure's other header in milliseconds", { "x-ms-retry-after-ms": "12000" }, error, 12],
    ["a header in milliseconds that is none", { "retry-after-ms": "soon", "retry-after": "12" }, error, 12],
    ["a header with a fraction", { "retry-after": "11.5" }, error, 12],
    ["a header with a unit", { "retry-after": "12s" }, error, 12],
    [
      "a limit that is used up",
      { "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "11.5s" },
      error,
      12,
    ],
    [
      "Cerebras' limit that is used up",
      { "x-ratelimit-remaining-tokens-minute": "0", "x-ratelimit-reset-tokens-minute": "11.38123456789012" },
      error,
      12,
    ],
    [
      "the last to be renewed of several limits",
      {
        "anthropic-ratelimit-requests-remaining": "0",
        "anthropic-ratelimit-requests-reset": "12",
        "anthropic-ratelimit-input-tokens-remaining": "-3",
        "anthropic-ratelimit-input-tokens-reset": "15",
        "anthropic-ratelimit-output-tokens-remaining": "9",
        "anthropic-ratelimit-output-tokens-reset": "50",
      },
      error,
      15,
    ],
    ["a limit without a name", { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "12" }, error, 12],
    ["the IETF's headers", { "ratelimit-remaining": "0", "ratelimit-reset": "12" }, error, 12],
    ["the IETF's one header", { ratelimit: '"default";r=0;t=12' }, error, 12],
    ["that of an older draft", { ratelimit: "limit=10, remaining=0, reset=12" }, error, 12],
    ["that where something is left", { ratelimit: '"default";r=5;t=12' }, error, 1],
    ["GitHub's header", { "x-ratelimit-timeremaining": "12" }, error, 12],
    ["a header that came twice", { "retry-after": "12, 12" }, error, 12],
    ["a header in quotes", { "retry-after": '"12"' }, error, 12],
    ["a header that is less than nothing", { "retry-after": "-12" }, error, 1],
    ["a limit that is not", { "x-ratelimit-remaining-tokens": "9", "x-ratelimit-reset-tokens": "9s" }, error, 1],
    ["a member", {}, { ...error, retry_after: 12 }, 12],
    ["a member of the metadata", {}, { ...error, metadata: { retry_after_seconds: 12 } }, 12],
    ["such a member with more digits than a double has", {}, { ...error, metadata: { retry_after: exact } }, 12],
    ["a member in another spelling", {}, { ...error, retryAfter: 12 }, 12],
    ["a member of the details", {}, { ...error, details: { retry_after: 12 } }, 12],
    ["ChatGPT's member", {}, { ...error, resets_in_seconds: 12 }, 12],
    ["words that name the header", {}, { message: "Too many requests. Retry-After: 12" }, 12],
    ["words that ask to wait", {}, { message: "Please wait 12 seconds before retrying." }, 12],
    ["words of a limit", {}, { message: "The limit resets in 12 seconds." }, 12],
    ["Chinese words", {}, { message: "请求过于频繁，请在 12 秒后重试" }, 12],
    ["OpenAI's words", {}, { message: "Rate limit reached. Please try again in 11.6s. Visit us." }, 12],
    ["Groq's words", {}, { message: "Rate limit reached. Please try again in 1m59.56s." }, 60],
    ["Azure's words", {}, { message: "Requests have exceeded the limit. Please retry after 12 seconds." }, 12],
    ["words in milliseconds", {}, { message: "Please try again in 120ms." }, 1],
    ["words that say nothing", {}, { message: "Please try again in a while." }, 1],
  ])("in %s is told", async (_, headers, body, seconds) => {
    faulty.script = (exchange) => exchange.json(429, { error: body }, headers);
    const { status, headers: told } = await post("/chat/completions");
    expect([status, told.get("retry-after")]).toEqual([429, `${seconds}`]);
  });

  test.each([
    ["a date", () => new Date(inSeconds(30)).toUTCString()],
    ["a moment in seconds", () => `${Math.round(inSeconds(30) / 1000)}`],
    ["a moment in milliseconds", () => `${inSeconds(30)}`],
  ])("until %s is told", async (_, moment) => {
    faulty.script = (exchange) => exchange.json(429, { error }, { "retry-after": moment() });
    const { headers: told } = await post("/chat/completions");
    expect(Math.abs(Number(told.get("retry-after")) - 29)).toBeLessThanOrEqual(2);
  });

  test("is not shortened for the upstream, as it is for the caller", () => {
    const answered = { status: 429, body: Buffer.from('{"error":{"message":"slow down"}}'), retryAfter: 600 };
    const refusal = refusalOfAnswer(
      answered,
      openAiErrors((text) => text),
    );
    expect([refusal.headers["retry-after"], retryAfterMs(refusal)]).toEqual(["60", 600_000]);
  });
});

function post(path: string): Promise<Response> {
  return fetch(`${gateway.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "openai", ...paths[path] }),
  });
}
