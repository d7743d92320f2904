/**
 * Long work is done in slices: between two of them no more is done than a bound, however long the work is. The tests count items that
 * are read, and not time.
 */
import { deepStrictEqual, ok, strictEqual } from "node:assert";
import type { DescMessage, JsonObject, Message } from "@bufbuild/protobuf";
import { create, toBinary } from "@bufbuild/protobuf";
import { describe, test } from "vitest";
import {
  ChatMessageSchema,
  CreateChatCompletionRequestSchema as chat,
  Role,
} from "../../gen/modelgateway/v1/chat_pb.ts";
import { CreateEmbeddingsRequestSchema as embeddings } from "../../gen/modelgateway/v1/embeddings_pb.ts";
import { CreateMessageRequestSchema as messages } from "../../gen/modelgateway/v1/messages_pb.ts";
import { CreateResponseRequestSchema as responses } from "../../gen/modelgateway/v1/responses_pb.ts";
import { toolsAsFunctions } from "../../src/families/chat-to-chat/index.ts";
import { chatToMessages } from "../../src/families/chat-to-messages/index.ts";
import { chatToResponses } from "../../src/families/chat-to-responses/index.ts";
import { messagesToChat } from "../../src/families/messages-to-chat/index.ts";
import { responsesToChat } from "../../src/families/responses-to-chat/index.ts";
import { relayResponses } from "../../src/families/responses-to-responses/index.ts";
import type { Translation } from "../../src/families/translation.ts";
import { type CooperativeTask, runInSlices, runUntil } from "../../src/runtime/cooperative.ts";
import { isLongSurelyValid } from "../../src/wire/check/long-check.ts";
import { checkRawInSlices, readLongRequest } from "../../src/wire/json.ts";
import { join } from "../../src/wire/long/join.ts";
import { readBinary } from "../../src/wire/long/read-binary.ts";
import { readLongMessage } from "../../src/wire/long/read-long.ts";
import { readProtoJson } from "../../src/wire/long/read-proto-json.ts";
import { writeJson } from "../../src/wire/long/write-json.ts";
import { writeLongMessage } from "../../src/wire/long/write-long.ts";
import { Wire } from "../../src/wire/wire.ts";
import { longestTurn } from "../support/run/longest-turn.ts";

/** Returns what the work comes to, and in how many turns. */
function countTurns<T>(work: CooperativeTask<T>): { readonly value: T; readonly turns: number } {
  for (let turns = 1; ; turns++) {
    const { done, value } = work.next();
    if (done) return { value, turns };
  }
}

/** Counts how often an item of the list is read. */
function watched<T>(list: T[]): { readonly list: T[]; readonly taken: () => number } {
  let taken = 0;
  const get = (target: T[], key: string | symbol, receiver: unknown) => {
    if (typeof key === "string" && /^\d+$/.test(key)) taken++;
    return Reflect.get(target, key, receiver);
  };
  return { list: new Proxy(list, { get }), taken: () => taken };
}

const count = 6_000;
const many = <T>(make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const role = (i: number) => (i % 2 === 0 ? "user" : "assistant");
const called = (i: number) => ({ id: `c${i % 7}`, type: "function", function: { name: "f", arguments: "{}" } });

interface Case {
  readonly translation: Translation;
  readonly desc: DescMessage;
  readonly json: JsonObject;
  /** Returns the long list, and puts another in its place. */
  readonly place: (message: never) => { readonly holder: object; readonly key: string };
}

const of = { model: "m", max_tokens: 5 };
// biome-ignore format: a row each
const translations: Readonly<Record<string, Case>> = {
  "messages of a chat": { translation: chatToMessages as never, desc: chat, json: { ...of, messages: many((i) => ({ role: role(i), content: "a", name: "n" })) }, place: (message) => ({ holder: message, key: "messages" }) },
  "parts of a chat's message": { translation: chatToMessages as never, desc: chat, json: { ...of, messages: [{ role: "user", content: many(() => ({ type: "text", text: "a" })) }] }, place: (message: { messages: { content: { value: object } }[] }) => ({ holder: message.messages[0]?.content.value as object, key: "parts" }) },
  "calls of a chat's message": { translation: chatToMessages as never, desc: chat, json: { ...of, messages: [{ role: "assistant", tool_calls: many(called) }] }, place: (message: { messages: object[] }) => ({ holder: message.messages[0] as object, key: "toolCalls" }) },
  "messages of the Messages API": { translation: messagesToChat as never, desc: messages, json: { ...of, messages: many((i) => ({ role: role(i), content: "a" })) }, place: (message) => ({ holder: message, key: "messages" }) },
  "items of a response": { translation: responsesToChat as never, desc: responses, json: { model: "m", input: many((i) => ({ role: role(i), content: "a" })) }, place: (message: { input: { value: object } }) => ({ holder: message.input.value, key: "items" }) },
};

const context = { form: "whole", maxOutputTokens: 9, answerId: "1", now: 1, estimateTokens: () => 1 } as const;

/** As many items as are processed between two interruptions, and one that begins the next. */
const mostItems = 65;

describe("translated in turns are", () => {
  test.each(Object.entries(translations))("%s", (_, { translation, desc, json, place }) => {
    const request = Wire.ofJson(desc, json);
    const { holder, key } = place(request.message() as never);
    const members = holder as Record<string, unknown[]>;
    const { list, taken } = watched(members[key] as unknown[]);
    strictEqual(list.length, count);
    Object.assign(members, { [key]: list });
    const { most, all } = longestTurn(translation.translate(request as never, context), taken);
    ok(all >= count, `${all} of ${count} were looked at`);
    ok(most <= mostItems, `${most} in a turn`);
  });
});

/** The tasks that read JSON instead of a message, each with the long list. */
// biome-ignore format: a row each
const ofJson: Readonly<Record<string, readonly [Translation, DescMessage, (list: unknown[]) => unknown, unknown[]]>> = {
  "messages of a chat, for responses": [chatToResponses as never, chat, (list) => ({ ...of, messages: list }), many((i) => ({ role: role(i), content: "a", name: "n" }))],
  "parts of a chat's message, for responses": [chatToResponses as never, chat, (list) => ({ ...of, messages: [{ role: "user", content: list }] }), many(() => ({ type: "text", text: "a" }))],
  "calls of a chat's message, for responses": [chatToResponses as never, chat, (list) => ({ ...of, messages: [{ role: "assistant", tool_calls: list }] }), many(() => ({ id: "c", type: "function", function: { name: "f", arguments: "{}" } }))],
  "messages of a chat, for functions only": [toolsAsFunctions as never, chat, (list) => ({ ...of, tools: [{ type: "custom", custom: { name: "f" } }], messages: list }), many((i) => ({ role: role(i), content: "a" }))],
  "items of a response, relayed": [relayResponses as never, responses, (list) => ({ model: "m", input: list }), many((i) => ({ role: role(i), content: "a", id: `msg_0abc_${i}` }))],
};

describe("translated in turns, too, are", () => {
  test.each(Object.entries(ofJson))("%s", (_, [translation, desc, place, items]) => {
    const { list, taken } = watched(items);
    const request = Wire.ofJson(desc, place(list) as JsonObject);
    const { most, all } = longestTurn(translation.translate(request as never, context), taken);
    ok(all >= count, `${all} of ${count} were looked at`);
    ok(most <= mostItems, `${most} in a turn`);
  });
});

/** The most characters of a file's base64 that are read between two interruptions. */
const mostCharacters = 65_536;

describe("read in turns is the text of a file", () => {
  test.each(["text/plain", "video/mp2t"])("whose type is %s", (type) => {
    const text = "const naïve = '世界';\n".repeat(60_000);
    const base64 = Buffer.from(text).toString("base64");
    const file = { type: "file", file: { file_data: `data:${type};base64,${base64}` } };
    const request = Wire.ofJson(chat, { ...of, messages: [{ role: "user", content: [file] }] });
    const { value, turns } = countTurns(chatToMessages.translate(request, context));
    const source = { type: "text", media_type: "text/plain", data: text };
    deepStrictEqual(value.request.json().messages, [{ role: "user", content: [{ type: "document", source }] }]);
    ok(turns >= base64.length / mostCharacters, `${turns} turns`);
  });
});

const rows: JsonObject = {
  model: "m",
  messages: many((i) => ({ role: role(i), content: "a" })),
  more: many((i) => ({ [`k${i}`]: [i, { b: "c" }] })),
};

describe("checked in turns are", () => {
  /** Some tenths of a millisecond: what `valuesATurn` says. */
  const mostValues = 4_096;
  test.each([
    ["messages, and what nobody knows", chat, rows],
    ["numbers", embeddings, { model: "m", input: Array.from({ length: 300_000 }, (_, i) => i) }],
    ["texts", embeddings, { model: "m", input: many((i) => `${i}`) }],
  ])("%s", (_, desc, json) => {
    const walked = { visited: 0 };
    const { most, all } = longestTurn(isLongSurelyValid(desc, json, walked), () => walked.visited);
    ok(all >= count && most <= mostValues, `${most} of ${all} in a turn`);
  });

  test("what no schema describes", () => {
    const walked = { visited: 0 };
    const { most, all } = longestTurn(checkRawInSlices(rows, 1, walked), () => walked.visited);
    ok(all >= 3 * count && most <= mostValues, `${most} of ${all} in a turn`);
  });
});

describe("read and written in turns are", () => {
  const text = Buffer.from(JSON.stringify({ ...rows, tail: "x".repeat(2_000_000) }));

  test("the bytes of JSON that are put together", () => {
    const steps = { count: 0 };
    const { most, all } = longestTurn(readLongRequest(text, steps), () => steps.count);
    ok(all >= text.length / 2 && most <= 600_000, `${most} of ${all} in a turn`);
  });

  test("the messages of JSON", () => {
    const { list, taken } = watched(rows.messages as JsonObject[]);
    const { most, all } = longestTurn(readLongMessage(chat, { ...rows, messages: list }), taken);
    ok(all >= count && most <= mostItems + 1, `${most} of ${all} in a turn`);
  });

  test("characters that are written", () => {
    let written = 0;
    const writing = writeJson(JSON.parse(text.toString()), (part) => {
      written += part.length;
    });
    const { most, all } = longestTurn(writing, () => written);
    ok(all === text.length && most <= 2 * 65_536, `${most} of ${all} in a turn`);
  });

  test("bytes that are joined", () => {
    const { list, taken } = watched(Array.from({ length: 4_000 }, () => Buffer.alloc(16_384)));
    const { most } = longestTurn(join(list), taken);
    // All are read once for their lengths; 64 of them are a megabyte.
    ok(most <= 4_000 + mostItems, `${most} in a turn`);
  });

  const message = create(chat, {
    model: "m",
    messages: many((i) => create(ChatMessageSchema, { role: Role.USER, content: { case: "text", value: `${i}` } })),
  });

  test("the messages of protobuf's own JSON", () => {
    const { list, taken } = watched(many((i) => ({ role: "ROLE_USER", text: `${i}` })));
    const { most, all } = longestTurn(readProtoJson(chat, { model: "m", messages: list }), taken);
    ok(all >= count && most <= mostItems, `${most} of ${all} in a turn`);
  });

  test("the messages that become JSON", () => {
    const { list, taken } = watched(message.messages);
    const { most, all } = longestTurn(writeLongMessage(chat, { ...message, messages: list } as Message), taken);
    ok(all >= count && most <= mostItems + 1, `${most} of ${all} in a turn`);
  });

  test("the records of protobuf", () => {
    const bytes = toBinary(chat, message);
    const turns = [...turnsOf(readBinary(chat, bytes))].length;
    // Each has less than 8 KiB and one record.
    ok(turns >= Math.floor(bytes.length / 8_300), `${turns} turns for ${bytes.length} bytes`);
  });
});

test("work that is wanted no more ends where it yields next", async () => {
  let done = 0;
  function* work(): CooperativeTask<void> {
    while (done < 10) {
      done++;
      yield;
    }
  }
  await runInSlices(runUntil(work(), () => done === 3));
  strictEqual(done, 3);
  await runInSlices(runUntil(work(), () => false));
  strictEqual(done, 10);
});

function* turnsOf(work: CooperativeTask<unknown>): Generator<number> {
  for (let turn = 0; !work.next().done; turn++) yield turn;
}
