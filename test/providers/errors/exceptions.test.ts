/**
 * Errors that are told by their name, as AWS's are: in a member of that name, as the type, or as the name of the event. From every kind of
 * upstream the caller gets the upstream's words with the status that the name means, and no such frame is passed on.
 */
import { describe, expect, test } from "vitest";
import { exceptionIn, isExceptionName, readErrorJson } from "../../../src/providers/errors/error-fields.ts";
import { openAiErrors, refusalOfErrorIn } from "../../../src/providers/errors/upstream-error.ts";
import { call } from "../../support/clients/families.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { paidModel } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import {
  anthropicFrames,
  chatChunk,
  messageStart,
  openaiFrames,
  outputMessage,
  responseAnswer,
  responseEvents,
} from "../../support/vendors.ts";

const kinds = ["chat", "messages", "responses"] as const;
const key = "sk-operator-0123456789";
const { upstream, gateway } = scriptedStage((base_url) => ({
  embeddedModels: false,
  upstreams: [
    { name: "chat", kind: "openai", base_url, api_key: key },
    { name: "messages", kind: "anthropic", base_url, api_key: key },
    { name: "responses", kind: "openai", base_url, api_key: key, profile: { operations: { responses: "/responses" } } },
  ],
  models: kinds.map((kind) => paidModel(kind, kind)),
}));

const words = `Wait before you ask again, ${key}.`;

/** begun is what each kind of upstream says before the error. */
const begun = {
  chat: openaiFrames(chatChunk({ role: "assistant", content: "Hel" })),
  messages: anthropicFrames(messageStart()),
  responses: anthropicFrames(...responseEvents(responseAnswer([outputMessage("Hello")])).slice(0, 5)),
};

const data = (json: object) => `data: ${JSON.stringify(json)}\n\n`;
const frames = {
  "a member": data({ throttlingException: { message: words } }),
  "a member with a capital": data({ ThrottlingException: { Message: words } }),
  "the type": data({ type: "throttlingException", message: words }),
  "the type in its namespace": data({ __type: "com.amazon.coral.service#ThrottlingException", message: words }),
  "the event": `event: throttlingException\n${data({ message: words })}`,
  "the event and a member": `event: throttlingException\n${data({ throttlingException: { message: words } })}`,
  "the event of a mere text": `event: throttlingException\ndata: ${words}\n\n`,
};

describe.each(kinds)("an exception in a stream of %s", (kind) => {
  test.each(Object.entries(frames))("by %s has its words and its status", async (_, frame) => {
    for (const before of ["", begun[kind]]) {
      upstream.script = (exchange) => {
        exchange.head(200, eventStream);
        exchange.end(before + frame);
      };
      for (const family of kinds) {
        const told = await call(gateway, { family, model: kind, stream: true, apiKey: gateway.apiKey });
        if (before === "") expect(told.status, told.text).toBe(429);
        expect(told.text).toContain("Wait before you ask again, [hidden].");
        expect(told.text).toContain(family === "messages" ? '"rate_limit_error"' : '"rate_limit_exceeded"');
        expect(told.text).not.toMatch(/throttlingException/i);
      }
    }
  });

  test("in place of a whole answer has them, too", async () => {
    upstream.script = (exchange) => exchange.json(200, { throttlingException: { message: words } });
    const told = await call(gateway, { family: kind, model: kind, stream: false, apiKey: gateway.apiKey });
    expect(told).toMatchObject({ status: 429 });
    expect(told.text).toContain("Wait before you ask again");
  });
});

const statusOf = (json: object) => {
  const errors = openAiErrors((text) => text);
  return refusalOfErrorIn(json as never, Buffer.from(JSON.stringify(json)), errors).status;
};

test.each([
  ["modelStreamErrorException", 502],
  ["internalServerException", 502],
  ["InternalStreamFailure", 502],
  ["serviceUnavailableException", 503],
  ["modelNotReadyException", 429],
  ["serviceQuotaExceededException", 429],
  ["validationException", 400],
  ["modelTimeoutException", 504],
  ["expiredTokenException", 502],
])("%s means %i", (name, status) => {
  expect(statusOf({ [name]: { message: "something happened" } })).toBe(status);
});

test.each<[object, number]>([
  [{ Code: "Throttling.User", Message: "slow down" }, 429],
  [{ errorCode: "ServiceUnavailable", message: "come back" }, 503],
  [{ fault: { faultstring: "no more", detail: { errorcode: "policies.ratelimit.QuotaViolation" } } }, 429],
  [{ fault: { faultstring: "no more", detail: "none" } }, 502],
])("%j means %i", (json, status) => {
  expect(statusOf(json)).toBe(status);
});

test("the status and the words of the model behind it count", () => {
  const told = { message: "it failed", originalMessage: "the picture is broken", originalStatusCode: 400 };
  expect(statusOf({ modelStreamErrorException: told })).toBe(400);
  expect(readErrorJson({ modelStreamErrorException: told }).message).toBe("it failed: the picture is broken");
});

test("answers, parts of them and what says nothing are no exceptions", () => {
  expect(exceptionIn({ choices: [], lastError: { message: "no" } })).toBeUndefined();
  expect(exceptionIn({ type: "message", lastError: { message: "no" } })).toBeUndefined();
  expect(exceptionIn({ throttlingException: null, Error: {} })).toBeUndefined();
  expect(isExceptionName("error")).toBe(false);
  expect(isExceptionName("response.error")).toBe(false);
});
