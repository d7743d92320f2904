/** A plain chat is one in which no step between door and upstream finds anything to mend: each is asked, over generated chats. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import type { Call } from "../../../src/call/call.ts";
import { isPlainChat } from "../../../src/call/request/plain-chat.ts";
import { readForeignBody } from "../../../src/families/foreign-bodies/foreign-bodies.ts";
import { plainAsWritten, translate } from "../../../src/pipeline/attempt/translate.ts";
import type { Candidate } from "../../../src/pipeline/complete/candidates.ts";
import { idsOfChats } from "../../../src/providers/own-ids/of-chats.ts";
import { fittingOf } from "../../../src/providers/profile/fit.ts";
import { createProfile } from "../../../src/providers/profile/profile.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import type { JsonObject, JsonValue } from "../../../src/wire/json.ts";
import { Wire } from "../../../src/wire/wire.ts";

type Profile = Parameters<typeof createProfile>[0];

const candidate = (profile: Profile = {}, more: object = {}) =>
  ({
    ...{ path: [], model: {}, target: {}, operation: "chat", refused: undefined },
    ...{ fitting: fittingOf(createProfile(profile).of("m"), undefined), ...more },
  }) as unknown as Candidate;

const callOf = (json: JsonObject, bytes = 1_000) =>
  ({
    ...{ id: "req_1", request: Wire.ofJson(CreateChatCompletionRequestSchema, json), header: () => undefined },
    body: { bytes, maxBytes: 1_000_000, growTo: () => {} },
  }) as unknown as Call;

const options = { form: "whole", arrivedAt: 0 } as const;
const word = fc.constantFrom("", "Hi", "text", "auto", "none", "json", "human", "MODEL", "tool");
const value: fc.Arbitrary<JsonValue> = fc.oneof(
  word,
  fc.integer({ min: -2, max: 9 }),
  fc.boolean(),
  fc.constantFrom(null, [], {}, ["Hi"], [{ type: "text", text: "Hi" }], [{ type: "input_text", text: "Hi" }]),
  fc.constantFrom({ id: "audio_1" }, { type: "json" }, { include_usage: true }),
);
const turn = fc.oneof(
  { weight: 4, arbitrary: fc.record({ role: fc.constantFrom("system", "user", "assistant"), content: word }) },
  fc.dictionary(fc.constantFrom("role", "content", "name", "tool_calls", "audio", "parts", "thinking", "tools"), value),
  value,
);
const settings = [
  ...["model", "models", "stream", "temperature", "top_p", "n", "seed", "user", "max_tokens", "max_completion_tokens"],
  ...["tools", "functions", "tool_choice", "parallel_tool_calls", "stop", "modalities", "audio", "response_format"],
  ...["input", "prompt", "system", "stop_sequences", "instructions", "text", "extra_body", "reasoning_effort"],
  ...["max_output_tokens", "kv_transfer_params", "session_params", "frequency_penalty", "presence_penalty"],
];
const chat = fc
  .tuple(fc.array(turn, { maxLength: 3 }), fc.dictionary(fc.constantFrom(...settings), value, { maxKeys: 3 }))
  .map(([messages, more]): JsonObject => ({ model: "m", messages: messages as JsonValue[], ...more }));

test("no step has anything to mend in a plain chat", () => {
  let plain = 0;
  fc.assert(
    fc.property(chat, (json) => {
      if (!isPlainChat(json)) return;
      plain++;
      const call = callOf(json);
      const way = runNow(translate(candidate(), call, options));
      expect(way.request).toBe(call.request);
      expect(way.dropped).toEqual([]);
      const answer = {};
      expect((way.answer as (answer: object) => object)(answer)).toBe(answer);
      expect(idsOfChats.request(json, { add: String, take: () => undefined }, false)).toEqual({});
      // With a member that no step knows it is not plain, and every step looks at it.
      const looked = { ...json, unknown: {} };
      expect(isPlainChat(looked)).toBe(false);
      expect(readForeignBody(callOf(looked).request)).toBeUndefined();
    }),
    { numRuns: 20_000 },
  );
  expect(plain).toBeGreaterThan(1_000);
});

const talk = { model: "m", messages: [{ role: "user", content: "Hi" }], max_tokens: 9, stream: true };

test("a plain chat goes as it came to a server of which nothing is stated, and to one without a profile", () => {
  for (const fitting of [candidate().fitting, undefined]) {
    const call = callOf(talk);
    expect(plainAsWritten(candidate({}, { fitting }), call)?.request).toBe(call.request);
  }
});

test.each([
  { of: "another operation", more: { operation: "responses" } },
  { of: "a translation", more: { path: [{ from: "chat", to: "messages" }] } },
  { of: "a server that has refused members", more: { refused: { members: ["max_tokens"], betas: [] } } },
])("a plain chat takes every step on the way to $of", ({ more }) => {
  expect(plainAsWritten(candidate({}, more), callOf(talk))).toBeUndefined();
});

test("a plain chat takes every step on the way to a server with a profile", () => {
  expect(plainAsWritten(candidate({ output_bound: "max_completion_tokens" }), callOf(talk))).toBeUndefined();
});

test.each<JsonObject>([
  { max_tokens: -1 },
  { tools: [] },
  { stop: [] },
  { messages: [{ role: "developer", content: "Hi" }] },
  { messages: [{ role: "user", content: [] }] },
  { messages: Array.from({ length: 65 }, () => ({ role: "user", content: "Hi" })) },
  { n: null },
])("a chat with %j is not plain", (more) => {
  expect(isPlainChat(talk)).toBe(true);
  expect(isPlainChat({ ...talk, ...more })).toBe(false);
});
