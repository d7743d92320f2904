/**
 * An error with status 200, in place of an answer or beside one, is a failed attempt: another target is tried, and
 * without one, or after the answer has begun, the caller sees an error. Nothing of it is passed on or charged as a
 * complete answer.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CallFamily, call, families, isTold } from "../../support/clients/families.ts";
import { openAccount } from "../../support/payer.ts";
import {
  eventStream,
  type ScriptedExchange,
  type ScriptedUpstream,
  startScriptedUpstream,
} from "../../support/scripted-upstream.ts";
import { answerAsAny } from "../../support/upstreams/one-of-each.ts";
import { paidModel, paidModels } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import {
  anthropicFrames,
  blockEvents,
  chatAnswer,
  chatChunk,
  done,
  messageAnswer,
  messageEnd,
  messageStart,
  openaiFrames,
} from "../../support/vendors.ts";

type Json = Readonly<Record<string, unknown>>;
type Vendor = "openai" | "anthropic";

let well: ScriptedUpstream;
beforeAll(async () => {
  well = await startScriptedUpstream(answerAsAny);
});
afterAll(() => well.close());

const target = (upstream: string, priority: number) => ({ upstream, model: "v", priority, weight: 1 });

const {
  upstream: faulty,
  gateway,
  books,
} = scriptedStage((baseUrl) => {
  const config = paidModels(baseUrl);
  const second = (kind: Vendor) => ({ name: `${kind}-well`, kind, base_url: well.baseUrl, api_key: "k" });
  return {
    ...config,
    // With another target, it costs nothing.
    retries: { attempts: 2, share: 0 },
    upstreams: [...config.upstreams, second("openai"), second("anthropic")],
    models: [
      ...config.models,
      paidModel("gpt-two", "openai", { targets: [target("openai", 0), target("openai-well", 1)] }),
      paidModel("claude-two", "anthropic", { targets: [target("anthropic", 0), target("anthropic-well", 1)] }),
    ],
  };
});

const words = "the engine died";

/** A choice that failed at the provider behind an aggregator, as OpenRouter says it. */
const choiceOf = (content: string, more: object) => ({ index: 0, finish_reason: "stop", ...more, content });
const failedChoices: Readonly<Record<string, object>> = {
  "an error within a choice": choiceOf("half", { error: { code: 502, message: words } }),
  "an error within an unfinished choice": choiceOf("", { finish_reason: null, error: { code: 502, message: words } }),
  "a provider's own word for a failure": choiceOf("", { native_finish_reason: "network_error" }),
  "that word behind half an answer": choiceOf("half", { native_finish_reason: "MALFORMED_FUNCTION_CALL" }),
};

describe.each(Object.entries(failedChoices))("%s", (_, failed) => {
  const { content, ...choice } = failed as { readonly content: string };
  const message = { role: "assistant", content };
  test.each(["chat", "messages", "responses"] as const)("is a failed attempt of %s", async (family) => {
    for (const stream of [false, true]) {
      faulty.script = (exchange) =>
        stream
          ? exchange.stream({ ...chatChunk({}), choices: [{ ...choice, delta: message }] })
          : exchange.json(200, { ...chatAnswer({}), choices: [{ ...choice, message }] });
      const payer = await openAccount(gateway);
      const answer = await call(gateway, { family, model: "gpt", stream, apiKey: payer.apiKey });
      expect(isTold(answer, family, stream), answer.text).toBe(false);
      expect(await books.of(payer)).toMatchObject({ spent: 0, holds: 0 });
      const other = await call(gateway, { family, model: "gpt-two", stream, apiKey: gateway.apiKey });
      expect(isTold(other, family, stream), other.text).toBe(true);
    }
  });
});

test("an empty error within a choice is none", async () => {
  faulty.script = (exchange) => {
    const [choice] = (chatAnswer({ content: "fine" }) as unknown as { choices: object[] }).choices;
    exchange.json(200, { ...chatAnswer({}), choices: [{ ...choice, error: null, native_finish_reason: "completed" }] });
  };
  const answer = await call(gateway, { family: "chat", model: "gpt", stream: false, apiKey: gateway.apiKey });
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining("fine")]);
});

/** Errors in any position: as a unary answer, or as a frame. */
const errors: Readonly<Record<string, Json>> = {
  "an error in OpenAI's shape": { error: { message: words, type: "server_error", code: null } },
  "an error in Anthropic's shape": { type: "error", error: { type: "api_error", message: words } },
  "an error that is a text": { error: words },
  "an error of a number and a message": { error: { code: 502, message: words } },
  "an error without a message": { error: { code: "boom" } },
  "a list of errors": { error: [{ message: words }] },
  "an object named error": { object: "error", message: words, type: "InternalServerError", code: 500 },
  "a detail": { detail: words },
  "a detail of parts": { detail: [{ msg: words, loc: ["body"] }] },
  "a code and a msg": { code: 5001, msg: words },
  "a code and a message": { code: "InternalError", message: words, request_id: "r" },
  "a status and a message": { status: 500, message: words },
  "a success that is none": { success: false, error_msg: words },
  "an error in Tencent's envelope": { Response: { Error: { Code: "InternalError", Message: words }, RequestId: "r" } },
};

const failedEnds = ["error", "ERROR", "abort", "network_error", "insufficient_system_resource"];

const beside = { code: 502, message: words };

/** Further values that are no unary answer. */
const noAnswers: Readonly<Record<Vendor, Readonly<Record<string, unknown>>>> = {
  openai: {
    ...{
      nothing: {},
      "null for everything": { id: null, choices: null, usage: null },
      "no choices": { ...chatAnswer({}), choices: [] },
    },
    ...{
      "a choice of nothing": { ...chatAnswer({}), choices: [{}] },
      "choices of null": { ...chatAnswer({}), choices: [null] },
    },
    ...{
      "usage alone": { usage: { prompt_tokens: 9, completion_tokens: 2 } },
      "a list": [],
      "a text": "oh",
      "a number": 5,
    },
    "an error beside choices": { ...chatAnswer({ content: "half" }), error: beside },
    "an error beside choices, as a text": { ...chatAnswer({ content: "half" }), error: words },
    ...Object.fromEntries(failedEnds.map((end) => [`an end by ${end}`, chatAnswer({ content: "half" }, end)])),
  },
  anthropic: {
    ...{
      nothing: {},
      "no content": { ...messageAnswer([]), content: null },
      "usage alone": { usage: { input_tokens: 9 } },
    },
    ...{ "a list": [], "a text": "oh" },
    "an error beside content": { ...messageAnswer([{ type: "text", text: "half" }]), error: beside },
    ...Object.fromEntries(
      failedEnds.map((end) => [`an end by ${end}`, messageAnswer([{ type: "text", text: "half" }], end)]),
    ),
  },
};

/** Further values that fail a stream; `opened` comes before them in the middle of one. */
const noFrames: Readonly<Record<Vendor, Readonly<Record<string, string>>>> = {
  openai: {
    "an error beside choices": openaiFrames(chatChunk({ content: "" }, "error", { error: beside })) + done,
    "an error beside choices, which go on": openaiFrames(chatChunk({ content: "" }, null, { error: beside })) + done,
    ...Object.fromEntries(failedEnds.map((end) => [`an end by ${end}`, openaiFrames(chatChunk({}, end)) + done])),
    "an event named error": `event: error\ndata: {"error":"${words}"}\n\n${done}`,
    "an event named error, of a text": `event: error\ndata: ${words}\n\n${done}`,
    "an event named error, of nothing that is known": `event: error\ndata: {"oh":1}\n\n${done}`,
    "an event named error, of another's shape": `event: error\ndata: {"msg":"${words}"}\n\n${done}`,
    "a text": `data: ${words}\n\n${done}`,
    "an error on several lines, without data": JSON.stringify([{ error: { message: words } }], null, 2),
    "its end by the body's, with empty reasons": openaiFrames(chatChunk({}, "")),
    "its end by the body's": openaiFrames(chatChunk({ content: "" })),
  },
  anthropic: {
    ...Object.fromEntries(
      failedEnds.map((end) => [`an end by ${end}`, anthropicFrames(...(messageEnd(end) as [Json, Json]))]),
    ),
    "an error without its type": `data: {"error":{"message":"${words}"}}\n\n`,
    "an event named error": `event: error\ndata: {"error":"${words}"}\n\n`,
    "an event named error, of a text": `event: error\ndata: ${words}\n\n`,
    "its end by the body's": anthropicFrames({ type: "ping" }),
  },
};

/** Values that make no answer where they are the whole stream. */
const emptyStreams: Readonly<Record<Vendor, Readonly<Record<string, string>>>> = {
  openai: {
    ...{
      "nothing at all": "",
      "a comment": ": oh\n\n",
      "its end alone": done,
      "an object of nothing": `data: {}\n\n${done}`,
    },
    "a role alone": openaiFrames(chatChunk({ role: "assistant", content: "" })) + done,
    "no choices": openaiFrames({ ...chatChunk({}), choices: [] }) + done,
    "a page": "<html><body>Sign in</body></html>",
  },
  anthropic: {
    ...{
      "nothing at all": "",
      "a ping": anthropicFrames({ type: "ping" }),
      "its end alone": anthropicFrames({ type: "message_stop" }),
    },
    "the word of OpenAI's alone": done,
  },
};

const vendors = ["openai", "anthropic"] as const;
const modelOf = { openai: "gpt", anthropic: "claude" } as const;
const callers: readonly CallFamily[] = ["chat", "messages", "responses"];

const framesOf = (vendor: Vendor, json: Json) =>
  vendor === "openai" ? openaiFrames(json) + done : `data: ${JSON.stringify(json)}\n\n`;

const streamFaults = (vendor: Vendor): readonly (readonly [name: string, bytes: string])[] => [
  ...Object.entries(errors).map(([name, json]) => [name, framesOf(vendor, json)] as const),
  ...Object.entries(noFrames[vendor]),
];

/** The beginning of an answer: before its first content, or with some. */
function opened(vendor: Vendor, hasContent: boolean): string {
  if (vendor === "openai")
    return openaiFrames(chatChunk(hasContent ? { content: "half" } : { role: "assistant", content: "" }));
  const [begin, delta] = blockEvents(0, { type: "text", text: "" }, { type: "text_delta", text: "half" });
  return anthropicFrames(messageStart(), ...(hasContent ? [begin as Json, delta as Json] : []));
}

async function expectFailed(vendor: Vendor, stream: boolean, script: (exchange: ScriptedExchange) => void) {
  faulty.script = script;
  for (const family of callers) {
    const payer = await openAccount(gateway);
    const asked = { family, stream, apiKey: payer.apiKey };
    const alone = await call(gateway, { ...asked, model: modelOf[vendor] });
    expect([family, alone.status, isTold(alone, family, stream)], alone.text).toEqual([
      family,
      expect.any(Number),
      false,
    ]);
    expect(alone.status).toBeGreaterThanOrEqual(400);
    expect(await books.of(payer)).toMatchObject({ spent: 0, held: 0, holds: 0 });
    const second = await call(gateway, { ...asked, model: `${modelOf[vendor]}-two` });
    expect([family, second.status, isTold(second, family, stream)], second.text).toEqual([family, 200, true]);
    expect(second.text).toContain(stream ? "Hel" : "Hello");
    expect(second.text).not.toContain("half");
  }
}

describe.each(vendors)("an upstream of %s that says 200 and", (vendor) => {
  test.each([...Object.entries(errors), ...Object.entries(noAnswers[vendor])])(
    "%s in a whole answer has failed",
    async (_, json) => expectFailed(vendor, false, (exchange) => exchange.json(200, json)),
  );

  test.each([...Object.entries(errors), ...Object.entries(noAnswers[vendor])])(
    "%s as JSON where a stream was asked for has failed",
    async (_, json) => expectFailed(vendor, true, (exchange) => exchange.json(200, json)),
  );

  test.each([...streamFaults(vendor), ...Object.entries(emptyStreams[vendor])])(
    "%s first in a stream has failed",
    async (_, bytes) =>
      expectFailed(vendor, true, (exchange) => {
        exchange.head(200, eventStream);
        exchange.end(bytes);
      }),
  );

  test.each(streamFaults(vendor))("%s before the first content of a stream has failed", async (_, bytes) =>
    expectFailed(vendor, true, (exchange) => {
      exchange.head(200, eventStream);
      exchange.end(opened(vendor, false) + bytes);
    }),
  );

  test.each(streamFaults(vendor))("%s after some content ends the stream with an error", async (_, bytes) => {
    faulty.script = async (exchange) => {
      exchange.head(200, eventStream);
      await exchange.write(opened(vendor, true));
      exchange.end(bytes);
    };
    for (const family of callers) {
      const payer = await openAccount(gateway);
      const answer = await call(gateway, {
        family,
        stream: true,
        model: `${modelOf[vendor]}-two`,
        apiKey: payer.apiKey,
      });
      expect([family, answer.status, answer.text.includes(families[family].end)], answer.text).toEqual([
        family,
        200,
        false,
      ]);
      expect(answer.text).toContain("half");
      expect(answer.text).toMatch(/"error"|response\.failed/);
      // The input, and the output up to there; more where the failure reports more.
      const output = bytes.includes('"output_tokens":2') ? 2 : 1;
      expect(await books.of(payer)).toMatchObject({ holds: 0, held: 0, requests: [{ output }] });
    }
  });
});

describe("an error's words under status 200", () => {
  test.each(Object.entries(errors).filter(([name]) => name !== "an error without a message"))(
    "reach the caller in the family's shape: %s",
    async (_, json) => {
      for (const vendor of vendors) {
        for (const stream of [false, true]) {
          faulty.script = (exchange) => exchange.json(200, json);
          for (const family of callers) {
            const answer = await call(gateway, { family, stream, model: modelOf[vendor], apiKey: gateway.apiKey });
            const told = JSON.parse(answer.text) as { error: { message: string } };
            expect([vendor, family, told.error.message]).toEqual([vendor, family, words]);
          }
        }
      }
    },
  );
});

test.each([
  ["an event of a text", `event: error\ndata: ${words}\n\n`],
  ["several lines, which nobody calls data", JSON.stringify([{ error: { code: 503, message: words } }], null, 2)],
])("an error's words reach the caller after some content, from %s", async (_, bytes) => {
  for (const vendor of vendors) {
    faulty.script = async (exchange) => {
      exchange.head(200, eventStream);
      await exchange.write(opened(vendor, true));
      exchange.end(bytes);
    };
    for (const family of callers) {
      const answer = await call(gateway, { family, stream: true, model: modelOf[vendor], apiKey: gateway.apiKey });
      expect([vendor, family, answer.text]).toEqual([vendor, family, expect.stringContaining(words)]);
    }
  }
});

describe("what only looks like an error", () => {
  const empties = [null, "", false, {}, [], { message: "", code: null, type: "" }];
  test.each(empties.map((error) => [JSON.stringify(error), error]))(
    "is none: %s beside an answer",
    async (_, error) => {
      for (const family of callers) {
        for (const stream of [false, true]) {
          faulty.script = (exchange) =>
            stream
              ? exchange.stream(chatChunk({ content: "Hello" }, null, { error }), chatChunk({}, "stop", { error }))
              : exchange.json(200, { ...chatAnswer({ content: "Hello" }), error });
          const answer = await call(gateway, { family, stream, model: "gpt", apiKey: gateway.apiKey });
          expect([family, isTold(answer, family, stream)], answer.text).toEqual([family, true]);
        }
      }
    },
  );

  test("is none: what some servers send between chunks", async () => {
    faulty.script = (exchange) => {
      exchange.head(200, eventStream);
      const piece = openaiFrames(chatChunk({ content: "Hello" }));
      exchange.end(
        `data: {}\n\n${openaiFrames({ type: "ping" })}${piece}event: ping\n\n: oh\n\n${openaiFrames(chatChunk({}, "stop"))}${done}`,
      );
    };
    const answer = await call(gateway, { family: "messages", stream: true, model: "gpt", apiKey: gateway.apiKey });
    expect(isTold(answer, "messages", true), answer.text).toBe(true);
  });

  test("is none: an answer with empty content", async () => {
    for (const stream of [false, true]) {
      faulty.script = (exchange) =>
        stream ? exchange.stream(chatChunk({}, "stop")) : exchange.json(200, chatAnswer({ content: null }));
      const answer = await call(gateway, { family: "chat", stream, model: "gpt", apiKey: gateway.apiKey });
      expect(isTold(answer, "chat", stream), answer.text).toBe(true);
    }
  });
});
