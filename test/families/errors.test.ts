/**
 * What each family's clients see of errors, in answers and inside streams, wherever the error arose: in the request,
 * in the gateway, or at an upstream of either family. And the headers that clients read.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { eventsOf } from "../support/clients/endpoints.ts";
import {
  anthropicUpstreamAt,
  behind,
  startTestGateway,
  type TestGateway,
  upstreamAt,
  withEmbeddings,
} from "../support/gateway.ts";
import {
  eventStream,
  type ScriptedExchange,
  type ScriptedUpstream,
  startScriptedUpstream,
} from "../support/scripted-upstream.ts";
import {
  answerAsAnthropic,
  answerAsOpenAi,
  anthropicError,
  anthropicFrames,
  completionPiece,
  done,
  helloChunks,
  helloEvents,
  messageAnswer,
  openaiError,
  openaiFrames,
} from "../support/vendors.ts";

type Family = "openai" | "anthropic";

const model = "embedded-chat";
const messages = [{ role: "user", content: "Hello" }];
const chat: JsonObject = { model, max_tokens: 100, messages };
const text: JsonObject = { model, prompt: "Hello" };

/** The endpoints of chat models, with a request that each answers. */
const paths: Readonly<Record<string, { readonly family: Family; readonly request: JsonObject }>> = {
  "/v1/chat/completions": { family: "openai", request: chat },
  "/v1/completions": { family: "openai", request: text },
  "/v1/messages": { family: "anthropic", request: chat },
  "/messages": { family: "anthropic", request: chat },
  "/v1/messages/count_tokens": { family: "anthropic", request: { model, messages } },
};

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | JsonObject;
  readonly apiKey?: string;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly json: () => JsonObject;
}

function open(gateway: TestGateway, path: string, sent: Sent): Promise<Response> {
  const { method = "POST", headers, body, apiKey = gateway.apiKey } = sent;
  return fetch(`${gateway.rootUrl}${path}`, {
    method,
    headers: {
      ...(apiKey === "" ? {} : { authorization: `Bearer ${apiKey}` }),
      "content-type": "application/json",
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
}

async function send(gateway: TestGateway, path: string, sent: Sent): Promise<Answer> {
  const response = await open(gateway, path, sent);
  const text = await response.text();
  const json = () => JSON.parse(text) as JsonObject;
  return { status: response.status, headers: Object.fromEntries(response.headers), text, json };
}

interface Expected {
  readonly status: number;
  /** OpenAI's words. */
  readonly type?: string;
  readonly code?: string | null;
  readonly param?: string | null;
  /** Anthropic's word. */
  readonly vendorType: string;
  readonly message?: string | RegExp;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Anthropic has a status of its own for an overloaded service. */
const statusFor = (family: Family, status: number) => (family === "anthropic" && status === 503 ? 529 : status);

function expectIds({ headers }: Answer): string {
  const { "x-request-id": id = "", "request-id": sameId } = headers;
  expect(id).toMatch(/^req_\w{25}$/);
  expect(sameId).toBe(id);
  return id;
}

/** A refusal by the gateway itself, or one translated from the other family. */
function expectRefusal(family: Family, answer: Answer, expected: Expected): void {
  const { status, type = "invalid_request_error", code = null, param = null, vendorType, headers = {} } = expected;
  const { message = /.{10}/ } = expected;
  const words = typeof message === "string" ? message : expect.stringMatching(message);
  const id = expectIds(answer);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: statusFor(family, status) });
  expect(answer.headers).toMatchObject({ "content-type": "application/json", ...headers });
  expect(answer.json()).toEqual(
    family === "openai"
      ? { error: { message: words, type, param, code } }
      : { type: "error", error: { type: vendorType, message: words }, request_id: id },
  );
}

const invalid = { status: 400, vendorType: "invalid_request_error" };

describe("a faulty request is refused in the family's shape", () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await startTestGateway({ maxBodyBytes: 2000 });
  });

  afterAll(() => gateway.close());

  for (const [path, { family, request }] of Object.entries(paths)) {
    const cases: Record<string, readonly [sent: Sent, expected: Expected]> = {
      "a body that is no JSON": [{ body: "{" }, invalid],
      "a body that is a list": [{ body: "[]" }, invalid],
      "a field of a wrong type": [
        { body: { ...request, model: 1 } },
        { ...invalid, code: "invalid_type", param: "model" },
      ],
      "no key": [
        { body: request, apiKey: "" },
        { status: 401, code: "invalid_api_key", vendorType: "authentication_error" },
      ],
      "an unknown key": [
        { body: request, apiKey: "sk-unknown" },
        { status: 401, code: "invalid_api_key", vendorType: "authentication_error" },
      ],
      "an unknown model": [
        { body: { ...request, model: "nobody/knows:it" } },
        {
          status: 404,
          code: "model_not_found",
          param: "model",
          vendorType: "not_found_error",
          message:
            family === "openai"
              ? /^The model `nobody\/knows:it` does not exist .*`GET \/v1\/models` lists/
              : "model: nobody/knows:it. `GET /v1/models` lists those that you may call.",
        },
      ],
      "a body over the limit": [
        { body: { ...request, padding: "x".repeat(2000) } },
        { status: 413, code: "request_too_large", vendorType: "request_too_large" },
      ],
      "a content type that is not read": [
        { body: "<x/>", headers: { "content-type": "application/xml" } },
        { status: 415, code: "unsupported_media_type", vendorType: "invalid_request_error" },
      ],
      "a body in a coding that is not read": [
        { body: request, headers: { "content-encoding": "compress" } },
        {
          status: 415,
          code: "unsupported_media_type",
          vendorType: "invalid_request_error",
          headers: { "accept-encoding": "gzip, deflate, br, zstd, identity" },
        },
      ],
      "a body that is not compressed as it says": [
        { body: request, headers: { "content-encoding": "gzip" } },
        { status: 400, code: null, vendorType: "invalid_request_error" },
      ],
      "a method that is not served": [
        { method: "GET" },
        {
          status: 405,
          code: "method_not_supported",
          vendorType: "invalid_request_error",
          headers: { allow: "POST" },
        },
      ],
      "another method that is not served": [
        { method: "DELETE" },
        {
          status: 405,
          code: "method_not_supported",
          vendorType: "invalid_request_error",
          headers: { allow: "POST" },
        },
      ],
    };

    for (const [name, [sent, expected]] of Object.entries(cases)) {
      test(`${name}, at ${path}`, async () => {
        expectRefusal(family, await send(gateway, path, sent), expected);
      });
    }

    test(`paths below ${path} are not found`, async () => {
      const expected = { status: 404, code: "unknown_url", vendorType: "not_found_error" };
      for (const method of ["POST", "GET"]) {
        expectRefusal(family, await send(gateway, `${path}/nothing`, { method }), expected);
        expectRefusal(family, await send(gateway, `${path}/nothing?beta=true`, { method }), expected);
      }
    });
  }

  test("a path that only begins like one of Anthropic's counts as OpenAI's", async () => {
    const expected = { status: 404, code: "unknown_url", vendorType: "" };
    for (const path of ["/v1/messagesx", "/v1/messag", "/_stainless_unknown_path", "/v1/_stainless_unknown_path"]) {
      expectRefusal("openai", await send(gateway, path, {}), expected);
    }
  });

  test("a request without what Anthropic's API requires is refused in its shape", async () => {
    for (const key of ["model", "messages", "max_tokens"]) {
      const { [key]: _, ...body } = chat;
      expectRefusal("anthropic", await send(gateway, "/v1/messages", { body }), {
        ...invalid,
        message: new RegExp(`'${key}'`),
      });
    }
  });

  test("the key is checked before anything else", async () => {
    for (const [path, { family }] of Object.entries(paths)) {
      const answer = await send(gateway, path, { apiKey: "", body: "{", headers: { "content-type": "image/png" } });
      expectRefusal(family, answer, { status: 401, code: "invalid_api_key", vendorType: "authentication_error" });
      expect(answer.headers["www-authenticate"]).toBe("Bearer");
    }
  });
});

describe("the embedded model's refusals have the family's shape", () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await startTestGateway();
  });

  afterAll(() => gateway.close());

  const types: Readonly<Record<number, string>> = {
    400: "invalid_request_error",
    402: "billing_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    422: "invalid_request_error",
    429: "rate_limit_error",
    500: "api_error",
    502: "api_error",
    503: "overloaded_error",
    504: "timeout_error",
  };

  for (const [status, vendorType] of Object.entries(types)) {
    test(`a simulated ${status}, unary or before a stream`, async () => {
      const busy = ["429", "503"].includes(status);
      for (const stream of [false, true]) {
        const body = { ...chat, metadata: { simulate_status: status }, stream };
        const expected = {
          status: Number(status),
          vendorType,
          message: /^A simulated refusal/,
          ...(busy ? { headers: { "retry-after": "1" } } : {}),
        };
        expectRefusal("anthropic", await send(gateway, "/v1/messages", { body }), expected);
        const own = await send(gateway, "/v1/chat/completions", { body });
        expectIds(own);
        expect(own.status).toBe(Number(status));
        expect(own.json()).toMatchObject({ error: { message: expect.stringMatching(/^A simulated refusal/) } });
        expect(own.headers["retry-after"]).toBe(busy ? "1" : undefined);
      }
    });
  }
});

/** One upstream of each family, on real sockets, and a gateway before each. */
let openaiVendor: ScriptedUpstream;
let anthropicVendor: ScriptedUpstream;
let overOpenAi: TestGateway;
let overAnthropic: TestGateway;

beforeAll(async () => {
  openaiVendor = await startScriptedUpstream();
  anthropicVendor = await startScriptedUpstream();
  overOpenAi = await startTestGateway({ ...withEmbeddings(upstreamAt(openaiVendor.baseUrl)), keepAliveMs: 500 });
  overAnthropic = await startTestGateway({ ...anthropicUpstreamAt(anthropicVendor.baseUrl), keepAliveMs: 500 });
});

afterEach(() => {
  openaiVendor.script = answerAsOpenAi;
  anthropicVendor.script = answerAsAnthropic;
});

afterAll(async () => {
  await overOpenAi.close();
  await overAnthropic.close();
  await openaiVendor.close();
  await anthropicVendor.close();
});

const secret = "words for the operator only";

describe("an OpenAI upstream's error", () => {
  const words = "Something of the vendor's own is not as it should be.";

  /** What callers see of a status; undefined where the vendor's words stay. */
  const statuses: Readonly<Record<number, readonly [status: number, vendorType: string, own?: boolean]>> = {
    400: [400, "invalid_request_error"],
    402: [502, "api_error", true],
    404: [404, "not_found_error"],
    409: [409, "conflict_error"],
    413: [413, "request_too_large"],
    422: [422, "invalid_request_error"],
    429: [429, "rate_limit_error"],
    500: [502, "api_error"],
    502: [502, "api_error"],
    503: [503, "overloaded_error"],
    401: [502, "api_error", true],
    403: [502, "api_error", true],
    408: [504, "timeout_error", true],
    504: [504, "timeout_error", true],
  };

  for (const [given, [status, vendorType, own = false]] of Object.entries(statuses)) {
    const body = JSON.stringify(openaiError("the_vendors_type", own ? secret : words, "the_vendors_code"), null, 1);
    const script = (exchange: ScriptedExchange) => {
      exchange.head(Number(given), { "content-type": "application/json" });
      exchange.end(body);
    };

    for (const stream of [false, true]) {
      test(`of status ${given} reaches both families, ${stream ? "before a stream" : "whole"}`, async () => {
        openaiVendor.script = script;
        const translated = await send(overOpenAi, "/v1/messages", { body: { ...chat, stream } });
        expectRefusal("anthropic", translated, { status, vendorType, ...(own ? {} : { message: words }) });
        for (const [path, request] of [
          ["/v1/chat/completions", chat],
          ["/v1/completions", text],
        ] as const) {
          const relayed = await send(overOpenAi, path, { body: { ...request, stream } });
          expectIds(relayed);
          expect(relayed.status).toBe(status);
          if (own) expect(relayed.text).not.toContain(secret);
          else expect(relayed.text).toBe(body);
        }
        expect(translated.text).not.toContain(secret);
      });
    }
  }

  for (const [status, seen] of [
    [400, 400],
    [500, 502],
    [503, 503],
  ] as const) {
    test(`that is a page of HTML with status ${status} has the family's shape`, async () => {
      openaiVendor.script = (exchange) => {
        exchange.head(status, { "content-type": "text/html" });
        exchange.end(`<html>${secret}</html>`);
      };
      for (const [path, { family, request }] of Object.entries(paths)) {
        if (path.endsWith("count_tokens")) continue;
        const answer = await send(overOpenAi, path, { body: request });
        expect(answer.status, path).toBe(statusFor(family, seen));
        expect(answer.text).not.toContain(secret);
        expect(Object.keys(answer.json())[0]).toBe(family === "openai" ? "error" : "type");
      }
    });
  }

  for (const [given, hint] of [
    ["1", "1"],
    ["0", "1"],
    ["0.3", "1"],
    ["59.5", "60"],
    ["120", "60"],
    ["2147483648", "60"],
  ] as const) {
    test(`says when to retry: ${given} s becomes ${hint} s`, async () => {
      for (const status of [429, 503]) {
        const headers = { "retry-after": given };
        openaiVendor.script = (exchange) => exchange.json(status, openaiError("x", words), headers);
        anthropicVendor.script = (exchange) => {
          const type = status === 429 ? "rate_limit_error" : "overloaded_error";
          exchange.json(statusFor("anthropic", status), anthropicError(type, words), headers);
        };
        for (const gateway of [overOpenAi, overAnthropic]) {
          for (const path of ["/v1/chat/completions", "/v1/messages"]) {
            const answer = await send(gateway, path, { body: chat });
            expect(answer.headers["retry-after"], path).toBe(hint);
          }
        }
      }
    });
  }
});

describe("an Anthropic upstream's error", () => {
  const words = "messages.0.content.1.signature: Extra inputs are not permitted";

  interface Seen {
    readonly given: number;
    readonly status: number;
    readonly type: string;
    readonly code: string | null;
    /**
     * Whether the gateway answers in its own words: the vendor's are about the gateway's credential, or of no use.
     */
    readonly own?: boolean;
  }

  const mistake = "invalid_request_error";
  const failed = { status: 502, type: "server_error", code: "upstream_error" };
  const types: Readonly<Record<string, Seen>> = {
    invalid_request_error: { given: 400, status: 400, type: mistake, code: null },
    billing_error: { given: 402, ...failed, own: true },
    not_found_error: { given: 404, status: 404, type: mistake, code: "model_not_found" },
    conflict_error: { given: 409, status: 409, type: mistake, code: null },
    request_too_large: { given: 413, status: 413, type: mistake, code: "request_too_large" },
    rate_limit_error: { given: 429, status: 429, type: "requests", code: "rate_limit_exceeded" },
    api_error: { given: 500, ...failed },
    overloaded_error: { given: 529, status: 503, type: "server_error", code: "service_unavailable" },
    authentication_error: { given: 401, ...failed, own: true },
    permission_error: { given: 403, ...failed, own: true },
    timeout_error: { given: 504, status: 504, type: "server_error", code: "timeout", own: true },
  };

  for (const [type, { given, status, own = false, ...seen }] of Object.entries(types)) {
    const message = own ? secret : words;
    const body = JSON.stringify(anthropicError(type, message), null, 1);
    const script = (exchange: ScriptedExchange) => {
      exchange.head(given, { "content-type": "application/json" });
      exchange.end(body);
    };

    for (const stream of [false, true]) {
      test(`of type ${type} reaches both families, ${stream ? "before a stream" : "whole"}`, async () => {
        anthropicVendor.script = script;
        for (const [path, request] of [
          ["/v1/chat/completions", chat],
          ["/v1/completions", text],
        ] as const) {
          const translated = await send(overAnthropic, path, { body: { ...request, stream } });
          expectRefusal("openai", translated, { status, ...seen, vendorType: "", ...(own ? {} : { message }) });
          expect(translated.text).not.toContain(secret);
        }
        const relayed = await send(overAnthropic, "/v1/messages", { body: { ...chat, stream } });
        expectIds(relayed);
        expect(relayed.status).toBe(statusFor("anthropic", status));
        if (own) expect(relayed.text).not.toContain(secret);
        else expect(relayed.text).toBe(body);
      });
    }
  }

  for (const message of [
    "prompt is too long: 9 tokens > 8 maximum",
    "input length and `max_tokens` exceed context limit: 9 + 9 > 8",
  ]) {
    test(`"${message.slice(0, 25)}…" is what OpenAI's clients shorten their prompt for`, async () => {
      anthropicVendor.script = (exchange) => exchange.json(400, anthropicError("invalid_request_error", message));
      for (const stream of [false, true]) {
        const answer = await send(overAnthropic, "/v1/chat/completions", { body: { ...chat, stream } });
        const told = { type: mistake, code: "context_length_exceeded", param: "messages", message };
        expect(answer.status).toBe(400);
        expect(answer.json()).toEqual({ error: told });
      }
    });
  }

  test("about a prompt that is too long has the words that Anthropic's clients look for", async () => {
    const counted =
      "This model's maximum context length is 8 tokens. However, your messages resulted in 9 tokens. Shorten them.";
    for (const [error, message] of [
      [openaiError(mistake, counted, "context_length_exceeded"), "prompt is too long: 9 tokens > 8 maximum"],
      [openaiError("BadRequestError", counted), "prompt is too long: 9 tokens > 8 maximum"],
      [openaiError(mistake, "Too much.", "context_length_exceeded"), "prompt is too long: Too much."],
    ] as const) {
      openaiVendor.script = (exchange) => exchange.json(400, error);
      const answer = await send(overOpenAi, "/v1/messages", { body: chat });
      expect(answer.status).toBe(400);
      expect(answer.json()).toMatchObject({ type: "error", error: { type: mistake, message } });
      // OpenAI's own clients get the upstream's words, under the code that they look for.
      const own = { error: { ...(error.error as JsonObject), code: "context_length_exceeded" } };
      expect((await send(overOpenAi, "/v1/chat/completions", { body: chat })).json()).toEqual(own);
    }
  });

  test("is known by its type, whatever status a proxy has given it", async () => {
    anthropicVendor.script = (exchange) => exchange.json(500, anthropicError("rate_limit_error", words));
    expect((await send(overAnthropic, "/v1/messages", { body: chat })).status).toBe(429);
    expect((await send(overAnthropic, "/v1/chat/completions", { body: chat })).status).toBe(429);
  });

  test("about counting tokens keeps its words", async () => {
    const body = JSON.stringify(anthropicError("invalid_request_error", words));
    anthropicVendor.script = (exchange) => {
      exchange.head(400, { "content-type": "application/json" });
      exchange.end(body);
    };
    const answer = await send(overAnthropic, "/v1/messages/count_tokens", { body: { model, messages } });
    expect(answer).toMatchObject({ status: 400, text: body });
  });
});

/** Reads a stream that breaks. Returns the pieces before its last frame, and that frame. */
async function brokenStream(gateway: TestGateway, path: string, request: JsonObject) {
  const answer = await send(gateway, path, { body: { ...request, stream: true } });
  expect(answer.status).toBe(200);
  expect(answer.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
  expect(answer.text).not.toContain("[DONE]");
  expect(answer.text).not.toContain("message_stop");
  expect(answer.text.endsWith("\n\n")).toBe(true);
  const id = expectIds(answer);
  const frames = eventsOf(Buffer.from(answer.text));
  const last = frames.pop();
  return { id, pieces: frames.length, event: last?.event, payload: String(last?.data) };
}

describe("an error inside a stream", () => {
  const words = "The vendor's machine has stopped in the middle of a sentence.";
  const beginOpenAi = openaiFrames(...helloChunks.slice(0, 2));
  const beginText = openaiFrames(completionPiece("Hel"));
  const beginAnthropic = anthropicFrames(...helloEvents.slice(0, 3));

  const streamed = (begin: string, end: (exchange: ScriptedExchange) => void) => async (exchange: ScriptedExchange) => {
    exchange.head(200, eventStream);
    await exchange.write(begin);
    end(exchange);
  };

  /** A frame of the gateway's own, in the family's form. */
  function expectFrame(
    family: Family,
    { id, event, payload }: { id: string; event: string | undefined; payload: string },
    expected: { readonly message: string | RegExp; readonly code: string; readonly vendorType: string },
  ) {
    const { code, vendorType, message } = expected;
    const told = typeof message === "string" ? message : expect.stringMatching(message);
    expect(event).toBe("error");
    expect(JSON.parse(payload)).toEqual(
      family === "openai"
        ? { error: { message: told, type: "server_error", param: null, code } }
        : { type: "error", error: { type: vendorType, message: told }, request_id: id },
    );
  }

  test("of an OpenAI upstream keeps its words within the family, and is translated for the other", async () => {
    const payload = JSON.stringify(openaiError("server_error", words, "vendor_stopped"));
    const end = (exchange: ScriptedExchange) => exchange.end(`data: ${payload}\n\n${done}`);
    openaiVendor.script = streamed(beginOpenAi, end);
    const relayed = await brokenStream(overOpenAi, "/v1/chat/completions", chat);
    expect(relayed).toMatchObject({ pieces: 2, event: "error", payload });
    const translated = await brokenStream(overOpenAi, "/v1/messages", chat);
    expect(translated.pieces).toBeGreaterThan(1);
    expectFrame("anthropic", translated, { message: words, code: "502", vendorType: "api_error" });
    openaiVendor.script = streamed(beginText, end);
    const completion = await brokenStream(overOpenAi, "/v1/completions", text);
    expect(completion).toMatchObject({ pieces: 1, event: "error", payload });
  });

  for (const [type, status] of [
    ["overloaded_error", "503"],
    ["api_error", "502"],
    ["timeout_error", "504"],
  ] as const) {
    test(`of type ${type} of an Anthropic upstream keeps its words within the family`, async () => {
      const error = anthropicError(type, words);
      const payload = JSON.stringify(error);
      anthropicVendor.script = streamed(beginAnthropic, (exchange) => exchange.end(anthropicFrames(error)));
      const relayed = await brokenStream(overAnthropic, "/v1/messages", chat);
      expect(relayed).toMatchObject({ pieces: 3, event: "error" });
      if (type === "timeout_error") expect(JSON.parse(relayed.payload)).toMatchObject({ error: { type } });
      else expect(relayed.payload).toBe(payload);
      const message = type === "timeout_error" ? /./ : words;
      for (const [path, request] of [
        ["/v1/chat/completions", chat],
        ["/v1/completions", text],
      ] as const) {
        const translated = await brokenStream(overAnthropic, path, request);
        expect(translated.pieces, path).toBeGreaterThan(0);
        expectFrame("openai", translated, { message, code: status, vendorType: "" });
      }
    });
  }

  /**
   * What an OpenAI upstream's error means by its own words, and what callers see; `own` where its family sees
   * something else.
   */
  const meant: Readonly<
    Record<string, readonly [error: JsonObject, status: number, vendorType: string, own?: boolean]>
  > = {
    "a rate limit, by its code": [{ type: "requests", code: "rate_limit_exceeded" }, 429, "rate_limit_error"],
    "a quota of the gateway's that is used up": [{ type: "insufficient_quota", code: null }, 502, "api_error", true],
    "a rate limit, by a number": [{ type: "TooManyRequests", code: 429 }, 429, "rate_limit_error"],
    "a prompt that is too long": [
      { type: "invalid_request_error", code: "context_length_exceeded" },
      400,
      "invalid_request_error",
    ],
    "a mistake of the caller's, by its type": [
      { type: "invalid_request_error", code: "a_code_that_nobody_knows" },
      400,
      "invalid_request_error",
    ],
    "a mistake of the caller's, by a number": [{ type: "BadRequestError", code: 400 }, 400, "invalid_request_error"],
    "a model that it does not have": [
      { type: "invalid_request_error", code: "model_not_found" },
      502,
      "api_error",
      true,
    ],
    "an upstream that is overloaded": [{ type: "overloaded_error", code: null }, 503, "overloaded_error"],
    "an upstream that is overloaded, by a text": [{ type: "server_error", code: "503" }, 503, "overloaded_error"],
    "an upstream that ran out of time": [{ type: "server_error", code: "timeout" }, 504, "timeout_error", true],
    "a credential of the gateway's that is wrong": [
      { type: "invalid_request_error", code: "invalid_api_key" },
      502,
      "api_error",
      true,
    ],
    "a credential that may not do this": [{ type: "permission_error", code: 403 }, 502, "api_error", true],
    "a status that stands by itself": [{ type: "UNAVAILABLE", status: 503 }, 503, "overloaded_error"],
    "a number that is no status": [{ type: "server_error", code: 7301 }, 502, "api_error"],
    "words that nobody knows": [{ type: "odd", code: "constructor" }, 502, "api_error"],
  };

  for (const [name, [error, status, vendorType, own = false]] of Object.entries(meant)) {
    const message = own ? secret : words;
    const payload = JSON.stringify({ error: { message, param: null, ...error } });
    const frame = (exchange: ScriptedExchange) => exchange.end(`data: ${payload}\n\n${done}`);
    const isOverflow = error.code === "context_length_exceeded";
    const shown = own ? {} : { message: isOverflow ? `prompt is too long: ${message}` : message };
    const { code = null } = error as { code?: string | number | null };
    const typed = { error: { message, param: null, ...error, code: typeof code === "number" ? `${code}` : code } };

    test(`that means ${name} has a status where it comes first, or in place of a unary answer`, async () => {
      for (const stream of [true, false]) {
        openaiVendor.script = (exchange) => {
          exchange.head(200, stream ? eventStream : { "content-type": "application/json" });
          if (stream) frame(exchange);
          else exchange.end(payload);
        };
        const headers = status === 429 || status === 503 ? { "retry-after": "1" } : {};
        const translated = await send(overOpenAi, "/v1/messages", { body: { ...chat, stream } });
        expectRefusal("anthropic", translated, { status, vendorType, headers, ...shown });
        const relayed = await send(overOpenAi, "/v1/chat/completions", { body: { ...chat, stream } });
        expect(relayed).toMatchObject({ status, headers });
        if (own) expect(relayed.text).not.toContain(secret);
        else expect(JSON.parse(relayed.text)).toEqual(typed);
      }
    });

    test(`that means ${name} is reported as such in the middle of a stream`, async () => {
      openaiVendor.script = streamed(beginOpenAi, frame);
      const translated = await brokenStream(overOpenAi, "/v1/messages", chat);
      expectFrame("anthropic", translated, { message: /./, code: "", vendorType, ...shown });
      const relayed = await brokenStream(overOpenAi, "/v1/chat/completions", chat);
      if (own) expect(relayed.payload).not.toContain(secret);
      else expect([relayed.pieces, JSON.parse(relayed.payload)]).toEqual([2, typed]);
    });
  }

  for (const [type, status] of [
    ["rate_limit_error", 429],
    ["invalid_request_error", 400],
    ["not_found_error", 404],
    ["overloaded_error", 503],
    ["api_error", 502],
    ["permission_error", 502],
  ] as const) {
    test(`of type ${type} of an Anthropic upstream has a status where it comes first`, async () => {
      const own = type === "permission_error";
      const error = anthropicError(type, own ? secret : words);
      anthropicVendor.script = (exchange) => {
        exchange.head(200, eventStream);
        exchange.end(anthropicFrames(error));
      };
      const relayed = await send(overAnthropic, "/v1/messages", { body: { ...chat, stream: true } });
      expect(relayed.status).toBe(statusFor("anthropic", status));
      if (!own) expect(relayed.text).toBe(JSON.stringify(error));
      const translated = await send(overAnthropic, "/v1/chat/completions", { body: { ...chat, stream: true } });
      expect(translated.status).toBe(status);
      expect(translated.headers["retry-after"]).toBe(status === 429 || status === 503 ? "1" : undefined);
      for (const { text } of [relayed, translated]) expect(text).not.toContain(secret);
    });
  }

  const breaks: Readonly<Record<string, (exchange: ScriptedExchange) => void>> = {
    "that just ends": (exchange) => exchange.end(),
    "that is cut off": (exchange) => exchange.destroy(),
    "that is reset": (exchange) => exchange.reset(),
    "that says what cannot be read": (exchange) => exchange.end("data: {oops\n\n"),
  };

  for (const [name, end] of Object.entries(breaks)) {
    test(`reports a stream ${name}, in every family over every family`, async () => {
      const expected = { message: /^The upstream of this model failed/, code: "502", vendorType: "api_error" };
      anthropicVendor.script = streamed(beginAnthropic, end);
      for (const [path, { family, request }] of Object.entries(paths)) {
        if (path.endsWith("count_tokens")) continue;
        openaiVendor.script = streamed(path === "/v1/completions" ? beginText : beginOpenAi, end);
        expectFrame(family, await brokenStream(overOpenAi, path, request), expected);
        expectFrame(family, await brokenStream(overAnthropic, path, request), expected);
      }
    });
  }
});

/** Reads until this many keep-alives have come, and returns everything else that came. */
async function untilAlive(reader: ReadableStreamDefaultReader<Uint8Array>, sign: string, times: number) {
  let text = "";
  while (text.split(sign).length <= times) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`the stream ended: ${text}`);
    text += Buffer.from(value).toString();
  }
  return text.replaceAll(sign, "");
}

async function restOf(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  let text = "";
  for (let next = await reader.read(); !next.done; next = await reader.read()) text += Buffer.from(next.value);
  return text;
}

describe("a silent stream is kept alive", () => {
  let [hastyOpenAi, hastyAnthropic]: TestGateway[] = [];
  beforeAll(async () => {
    const keepAliveMs = 50;
    hastyOpenAi = await startTestGateway({ ...upstreamAt(openaiVendor.baseUrl), keepAliveMs });
    hastyAnthropic = await startTestGateway({ ...anthropicUpstreamAt(anthropicVendor.baseUrl), keepAliveMs });
  });
  afterAll(() => Promise.all([hastyOpenAi?.close(), hastyAnthropic?.close()]));

  const signs: Readonly<Record<Family, string>> = {
    openai: ": keep-alive\n\n",
    anthropic: 'event: ping\ndata: {"type":"ping"}\n\n',
  };

  for (const [path, { family, request }] of Object.entries(paths)) {
    if (path.endsWith("count_tokens")) continue;
    for (const vendor of ["openai", "anthropic"] as const) {
      test(`as the family does, at ${path} over an upstream of ${vendor}'s family`, async () => {
        const [upstream, gateway] =
          vendor === "openai" ? [openaiVendor, hastyOpenAi] : [anthropicVendor, hastyAnthropic];
        upstream.script = undefined;
        const sign = signs[family];
        const opened = open(gateway as TestGateway, path, { body: { ...request, stream: true } });
        const exchange = await upstream.next();
        // The upstream has sent nothing, and yet the caller reads.
        const response = await opened;
        const reader = (response.body as ReadableStream<Uint8Array>).getReader();
        expect(await untilAlive(reader, sign, 2)).toBe("");
        const isText = exchange.path === "/v1/completions";
        const [begin, end] =
          vendor === "anthropic"
            ? [anthropicFrames(...helloEvents.slice(0, 3)), anthropicFrames(...helloEvents.slice(3))]
            : isText
              ? [openaiFrames(completionPiece("Hel")), openaiFrames(completionPiece("lo", "stop")) + done]
              : [openaiFrames(...helloChunks.slice(0, 2)), openaiFrames(...helloChunks.slice(2)) + done];
        exchange.head(200, eventStream);
        await exchange.write(begin);
        // Also in the middle of the stream.
        expect(await untilAlive(reader, sign, 2)).toContain("Hel");
        exchange.end(end);
        const rest = (await restOf(reader)).replaceAll(sign, "");
        expect(rest).toContain("lo");
        expect(rest.endsWith(family === "openai" ? done : '{"type":"message_stop"}\n\n')).toBe(true);
      });
    }

    test(`and gets a later error in a frame, at ${path}`, async () => {
      openaiVendor.script = undefined;
      const opened = open(hastyOpenAi as TestGateway, path, { body: { ...request, stream: true } });
      const exchange = await openaiVendor.next();
      const response = await opened;
      expect(response.status).toBe(200);
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      await untilAlive(reader, signs[family], 1);
      exchange.json(429, openaiError("requests", "Slow down, please.", "rate_limit_exceeded"));
      const rest = (await restOf(reader)).replaceAll(signs[family], "");
      expect(rest).toMatch(family === "openai" ? /^data: \{"error"/ : /^event: error\ndata: \{"type":"error"/);
      expect(rest).toContain("Slow down, please.");
      if (family === "anthropic") expect(rest).toContain("rate_limit_error");
    });
  }

  test("as long as nothing comes, and its upstream is stopped when its caller disconnects", async () => {
    openaiVendor.script = undefined;
    const opened = open(hastyOpenAi as TestGateway, "/v1/messages", { body: { ...chat, stream: true } });
    const exchange = await openaiVendor.next();
    const reader = ((await opened).body as ReadableStream<Uint8Array>).getReader();
    expect(await untilAlive(reader, signs.anthropic, 5)).toBe("");
    await reader.cancel();
    await exchange.left;
  });
});

describe("request ids", () => {
  beforeAll(() => {
    openaiVendor.script = answerAsOpenAi;
    anthropicVendor.script = answerAsAnthropic;
  });

  test("are on every answer under both names, and unique", async () => {
    const ids: string[] = [];
    for (const gateway of [overOpenAi, overAnthropic]) {
      for (const [path, { request }] of Object.entries(paths)) {
        for (const stream of path.endsWith("count_tokens") ? [false] : [false, true]) {
          const answer = await send(gateway, path, { body: { ...request, stream } });
          expect(answer.status, path).toBe(200);
          ids.push(expectIds(answer));
        }
      }
      for (const path of ["/v1/models", "/v1/models/embedded-chat", "/v1/models/nobody", "/nobody"]) {
        ids.push(expectIds(await send(gateway, path, { method: "GET" })));
      }
    }
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("are the gateway's own: ids of a caller or an upstream are neither adopted nor lost", async () => {
    const headers = { "x-request-id": "mine", "request-id": "mine" };
    anthropicVendor.script = (exchange) => exchange.json(400, anthropicError("invalid_request_error", "No."), headers);
    const before = anthropicVendor.received.length;
    const answer = await send(overAnthropic, "/v1/messages", { body: chat, headers });
    const id = expectIds(answer);
    expect(answer.json()).toMatchObject({ request_id: "req_of_the_vendor" });
    // The upstream got the id, and so did the log.
    expect(anthropicVendor.received[before]?.headers["x-request-id"]).toBe(id);
    expect(overAnthropic.logged()).toContain(id);
  });

  test("are on the answers of probes and of the root", async () => {
    for (const path of ["/", "/healthz", "/readyz"]) {
      for (const method of ["GET", "HEAD"]) {
        const answer = await send(overOpenAi, path, { method, apiKey: "" });
        expect(answer.status).toBe(200);
        expectIds(answer);
      }
      const refused = await send(overOpenAi, path, { method: "POST", apiKey: "" });
      expect(refused.status).toBe(405);
      expectIds(refused);
    }
  });

  test("are on the answers of RPCs", async () => {
    const service = "/modelgateway.v1.InferenceService";
    const answer = await send(overOpenAi, `${service}/ListModels`, { body: {} });
    expect(answer.status).toBe(200);
    expectIds(answer);
    const refused = await send(overOpenAi, `${service}/ListModels`, { body: {}, apiKey: "" });
    expect(refused.status).toBe(401);
    expectIds(refused);
    expectIds(await send(overOpenAi, "/grpc.health.v1.Health/Check", { body: {}, apiKey: "" }));
  });
});

describe("what a translation drops", () => {
  interface Translation {
    readonly gateway: () => TestGateway;
    readonly upstream: () => ScriptedUpstream;
    readonly path: string;
    readonly request: JsonObject;
    /** The header's value. */
    readonly dropped: string;
  }

  const cached = [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }];
  const translations: Readonly<Record<string, Translation>> = {
    "from messages to chat": {
      gateway: () => overOpenAi,
      upstream: () => openaiVendor,
      path: "/v1/messages",
      request: { ...chat, system: cached, top_k: 5 },
      dropped: "system[0].cache_control, top_k",
    },
    "from chat to messages": {
      gateway: () => overAnthropic,
      upstream: () => anthropicVendor,
      path: "/v1/chat/completions",
      request: { ...chat, seed: 7, presence_penalty: 1 },
      dropped: "seed, presence_penalty",
    },
    "from completions over chat to messages": {
      gateway: () => overAnthropic,
      upstream: () => anthropicVendor,
      path: "/v1/completions",
      request: { ...text, suffix: "!", seed: 7 },
      dropped: "suffix, seed",
    },
  };

  beforeAll(() => {
    openaiVendor.script = answerAsOpenAi;
    anthropicVendor.script = answerAsAnthropic;
  });

  for (const [name, { gateway, upstream, path, request, dropped }] of Object.entries(translations)) {
    test(`${name} is named in the header of a unary answer`, async () => {
      const answer = await send(gateway(), path, { body: request });
      expect(answer).toMatchObject({ status: 200, headers: { "x-gateway-dropped": dropped } });
    });

    test(`${name} is named in the header of a stream`, async () => {
      const answer = await send(gateway(), path, { body: { ...request, stream: true } });
      expect(answer).toMatchObject({ status: 200, headers: { "x-gateway-dropped": dropped } });
    });

    test(`${name} is refused by its first path in strict mode, and nothing is sent`, async () => {
      const before = upstream().received.length;
      const { family } = paths[path] as (typeof paths)[string];
      for (const stream of [false, true]) {
        for (const strict of ["true", "TRUE", " true "]) {
          const headers = { "x-gateway-strict": strict };
          const answer = await send(gateway(), path, { body: { ...request, stream }, headers });
          const [param = ""] = dropped.split(", ");
          expectRefusal(family, answer, {
            ...invalid,
            code: "unsupported_parameter",
            param,
            message: new RegExp(
              dropped
                .split(", ")
                .map((field) => `'${RegExp.escape(field)}'`)
                .join(", "),
            ),
          });
          expect(answer.headers["x-gateway-dropped"]).toBeUndefined();
        }
      }
      expect(upstream().received.length).toBe(before);
    });

    test(`${name} is dropped without strict mode`, async () => {
      for (const strict of ["false", "FALSE", " false "]) {
        const headers = { "x-gateway-strict": strict };
        expect((await send(gateway(), path, { body: request, headers })).status).toBe(200);
      }
    });
  }

  const relays: Readonly<Record<string, Omit<Translation, "dropped">>> = {
    "chat to an OpenAI upstream": {
      gateway: () => overOpenAi,
      upstream: () => openaiVendor,
      path: "/v1/chat/completions",
      request: { ...chat, seed: 7, top_k: 5, chat_template_kwargs: { x: 1 } },
    },
    "completions to an OpenAI upstream": {
      gateway: () => overOpenAi,
      upstream: () => openaiVendor,
      path: "/v1/completions",
      request: { ...text, suffix: "!", best_of: 2, min_p: 0.5 },
    },
    "embeddings to an OpenAI upstream": {
      gateway: () => overOpenAi,
      upstream: () => openaiVendor,
      path: "/v1/embeddings",
      request: { model: "embedded-embedding", input: "x", truncate: "END" },
    },
    "messages to an Anthropic upstream": {
      gateway: () => overAnthropic,
      upstream: () => anthropicVendor,
      path: "/v1/messages",
      request: { ...chat, system: cached, top_k: 5, context_management: { edits: [] } },
    },
    "counting to an Anthropic upstream": {
      gateway: () => overAnthropic,
      upstream: () => anthropicVendor,
      path: "/v1/messages/count_tokens",
      request: { model, messages, system: cached, mcp_servers: [] },
    },
  };

  /** What this gateway drops, what the one behind it drops, and what the caller sees. */
  const merged: Readonly<Record<string, readonly [own: JsonObject, inner: string, told: string | RegExp]>> = {
    "what it alone leaves out": [{}, "top_k, messages[0].name", "top_k, messages[0].name"],
    "what both leave out, each once": [{ seed: 7 }, "top_k,  seed, top_k", "seed, top_k"],
    "nothing where its list is empty": [{}, " , ", ""],
    "no character that a header should not have": [{}, "a\u00e9\tb", /^a\?{2,3}b$/],
    "no more than a proxy takes": [{ seed: 7 }, "x".repeat(4000), /^seed, x{2042}\.\.\.$/],
  };

  for (const [name, [own, inner, told]] of Object.entries(merged)) {
    test(`by a gateway behind this one is reported: ${name}`, async () => {
      const headers = { "x-gateway-dropped": inner };
      anthropicVendor.script = (exchange) => {
        const { stream } = exchange.asked;
        if (!stream) return exchange.json(200, messageAnswer([{ type: "text", text: "Hello" }]), headers);
        exchange.head(200, { ...eventStream, ...headers });
        exchange.end(anthropicFrames(...helloEvents));
      };
      for (const stream of [false, true]) {
        const answer = await send(overAnthropic, "/v1/chat/completions", { body: { ...chat, ...own, stream } });
        expect(answer.status).toBe(200);
        const value = answer.headers["x-gateway-dropped"] ?? "";
        if (typeof told === "string") expect(value).toBe(told);
        else expect(value).toMatch(told);
      }
    });
  }

  test("is refused by a gateway behind this one, which gets strict mode from the caller alone", async () => {
    const far = await startTestGateway(behind(overAnthropic));
    anthropicVendor.script = answerAsAnthropic;
    const before = anthropicVendor.received.length;
    const body = { ...chat, seed: 7 };
    const lax = await send(far, "/v1/chat/completions", { body });
    expect(lax).toMatchObject({ status: 200, headers: { "x-gateway-dropped": "seed" } });
    expect(anthropicVendor.received[before]?.headers).not.toHaveProperty("x-gateway-strict");
    for (const stream of [false, true]) {
      const headers = { "x-gateway-strict": "true" };
      const refused = await send(far, "/v1/chat/completions", { body: { ...body, stream }, headers });
      expectRefusal("openai", refused, { ...invalid, code: "unsupported_parameter", param: "seed", message: /'seed'/ });
    }
    expect(anthropicVendor.received.length).toBe(before + 1);
    const strict = await send(far, "/v1/chat/completions", { body: chat, headers: { "x-gateway-strict": "true" } });
    expect(strict.status).toBe(200);
    expect(anthropicVendor.received.at(-1)?.headers).toMatchObject({ "x-gateway-strict": "true" });
    await far.close();
  });

  for (const [name, { gateway, upstream, path, request }] of Object.entries(relays)) {
    test(`is nothing within a family: ${name}, even in strict mode`, async () => {
      for (const strict of ["true", "false"]) {
        const before = upstream().received.length;
        const answer = await send(gateway(), path, { body: request, headers: { "x-gateway-strict": strict } });
        expect(answer.status).toBe(200);
        expect(answer.headers["x-gateway-dropped"]).toBeUndefined();
        expect(JSON.parse(String(upstream().received[before]?.body))).toEqual(request);
      }
    });
  }

  for (const [name, { gateway, upstream, path, request }] of Object.entries({ ...translations, ...relays })) {
    test(`is not guessed from an invalid header: ${name} is refused, and nothing is sent`, async () => {
      const before = upstream().received.length;
      const { family } = paths[path] ?? { family: "openai" };
      for (const strict of ["maybe", "", "1", "true, true"]) {
        const answer = await send(gateway(), path, { body: request, headers: { "x-gateway-strict": strict } });
        const message = "Invalid value for 'x-gateway-strict': expected true or false.";
        expectRefusal(family, answer, { ...invalid, code: "invalid_value", param: "x-gateway-strict", message });
      }
      expect(upstream().received.length).toBe(before);
    });
  }
});

describe("the path of models has two shapes of error", () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await startTestGateway();
  });

  afterAll(() => gateway.close());

  const version = { "anthropic-version": "2023-06-01" };
  const cases: Record<string, readonly [path: string, sent: Sent, expected: Expected]> = {
    "an unknown model": [
      "/models/nobody/knows:it",
      {},
      {
        status: 404,
        code: "model_not_found",
        param: "model",
        vendorType: "not_found_error",
        message: /nobody\/knows:it/,
      },
    ],
    "no key": ["/models", { apiKey: "" }, { status: 401, code: "invalid_api_key", vendorType: "authentication_error" }],
    "no key for one model": [
      "/models/embedded-chat",
      { apiKey: "" },
      { status: 401, code: "invalid_api_key", vendorType: "authentication_error" },
    ],
    "a page out of bounds": ["/models?limit=0", {}, { ...invalid, code: "invalid_value", param: "limit" }],
    "a page in words": ["/models?limit=many", {}, { ...invalid, code: "invalid_type", param: "limit" }],
    "a page after nobody": ["/models?after_id=nobody", {}, { ...invalid, code: "invalid_value", param: "after_id" }],
    "a page before nobody": ["/models?before_id=nobody", {}, { ...invalid, code: "invalid_value", param: "before_id" }],
    "a method that is not served": [
      "/models",
      { method: "POST" },
      {
        status: 405,
        code: "method_not_supported",
        vendorType: "invalid_request_error",
        headers: { allow: "GET, HEAD" },
      },
    ],
    "a method that is not served for one model": [
      "/models/embedded-chat",
      { method: "DELETE" },
      {
        status: 405,
        code: "method_not_supported",
        vendorType: "invalid_request_error",
        headers: { allow: "GET, HEAD" },
      },
    ],
  };

  for (const [name, [path, sent, expected]] of Object.entries(cases)) {
    test(`${name}, by the version that Anthropic's clients send`, async () => {
      for (const root of ["", "/v1"]) {
        const plain = await send(gateway, `${root}${path}`, { method: "GET", ...sent });
        expectRefusal("openai", plain, expected);
        const headers = { ...version, ...sent.headers };
        expectRefusal(
          "anthropic",
          await send(gateway, `${root}${path}`, { method: "GET", ...sent, headers }),
          expected,
        );
      }
    });
  }

  test("answers are the same for both", async () => {
    for (const path of ["/v1/models", "/v1/models/embedded-chat"]) {
      const plain = await send(gateway, path, { method: "GET" });
      const versioned = await send(gateway, path, { method: "GET", headers: version });
      expect(versioned.json()).toEqual(plain.json());
    }
  });

  test("no other path changes its shape by the version", async () => {
    const answer = await send(gateway, "/v1/chat/completions", { body: "{", headers: version });
    expectRefusal("openai", answer, invalid);
  });
});
