/**
 * A long RPC message is read in turns with the result of protobuf's own readers, and becomes the same JSON as a short
 * one.
 */
import { deepStrictEqual, ok, throws } from "node:assert";
import {
  create,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { describe, test } from "vitest";
import { CreateChatCompletionRequestSchema as chat, Role } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { CreateEmbeddingsRequestSchema as embeddings } from "../../../gen/modelgateway/v1/embeddings_pb.ts";
import { CreateMessageRequestSchema as messages } from "../../../gen/modelgateway/v1/messages_pb.ts";
import { CreateResponseRequestSchema as responses } from "../../../gen/modelgateway/v1/responses_pb.ts";
import { type CooperativeTask, runNow } from "../../../src/runtime/cooperative.ts";
import { binaryOptions } from "../../../src/wire/json.ts";
import { readBinary } from "../../../src/wire/long/read-binary.ts";
import { readProtoJson } from "../../../src/wire/long/read-proto-json.ts";
import { writeLongMessage } from "../../../src/wire/long/write-long.ts";
import { writeMessage } from "../../../src/wire/write.ts";
import { mutatedBytes } from "../../fuzz/mutate.ts";
import { randomOf } from "../../support/run/random.ts";

const many = (length: number) => Array.from({ length }, (_, i) => i);
const long = "two words and an é. ".repeat(200_000);
const plain = "a".repeat(5_000_000);
const of = { model: "m" };
const extra = {
  a: many(20_000).map((i) => ({ [`k${i}`]: [i / 3, null, true, "é", { b: [] }] })),
  b: Object.fromEntries(many(15_000).map((i) => [`m${i}`, i])),
};
const turn = (i: number) => ({
  role: i % 2 === 0 ? Role.USER : Role.ASSISTANT,
  content: { case: "text" as const, value: `${i} é` },
  extra: { i },
});
const parts = many(15_000).map((i) => ({ text: `${i}` }));

const requests: readonly (readonly [name: string, desc: DescMessage, message: Message])[] = [
  ["many messages", chat, create(chat, { ...of, messages: many(15_000).map(turn) })],
  ["one long text", chat, create(chat, { ...of, messages: [{ content: { case: "text", value: plain } }] })],
  ["a long text of many signs", chat, create(chat, { ...of, messages: [{ content: { case: "text", value: long } }] })],
  ["many parts", chat, create(chat, { ...of, messages: [{ content: { case: "parts", value: { parts } } }, turn(1)] })],
  ["much that nobody knows", chat, create(chat, { ...of, messages: [turn(0)], extra })],
  [
    "members by the name `__proto__`",
    chat,
    create(chat, {
      ...of,
      messages: [turn(0)],
      extra: JSON.parse(`{"__proto__":{"a":${JSON.stringify(many(20_000))}},"b":[{"__proto__":1}]}`) as JsonObject,
    }),
  ],
  [
    "tokens",
    embeddings,
    create(embeddings, { ...of, input: { case: "inputTokens", value: { tokens: many(300_000) } } }),
  ],
  [
    "blocks in blocks",
    messages,
    create(messages, {
      ...of,
      messages: [
        {
          content: {
            case: "blocks",
            value: {
              blocks: [
                {
                  content: {
                    case: "contentBlocks",
                    value: { blocks: many(5_000).map((i) => ({ text: `${i}`, input: { i } })) },
                  },
                },
              ],
            },
          },
        },
      ],
    }),
  ],
  [
    "items",
    responses,
    create(responses, {
      ...of,
      input: { case: "inputItems", value: { items: many(9_000).map((i) => ({ id: `${i}`, extra: { i } })) } },
    }),
  ],
];

/** Runs the task, and returns how often it yielded. */
function counted<T>(work: CooperativeTask<T>): { readonly made: T; readonly turns: number } {
  for (let turns = 1; ; turns++) {
    const { done, value } = work.next();
    if (done) return { made: value, turns };
  }
}

describe.each(requests)("%s", (_, desc, message) => {
  const bytes = toBinary(desc, message);

  test("is read from protobuf", () => {
    const { made, turns } = counted(readBinary(desc, bytes));
    deepStrictEqual(made, fromBinary(desc, bytes, binaryOptions));
    // A long plain string is copied at once, which is by far the fastest.
    ok(turns >= 4, `${turns} turns for ${bytes.length} bytes`);
  });

  test("is read from protobuf's own JSON", () => {
    const json = JSON.parse(JSON.stringify(toJson(desc, message))) as JsonValue;
    deepStrictEqual(runNow(readProtoJson(desc, json)), fromJson(desc, json));
  });

  test("is written as JSON", () => {
    deepStrictEqual(
      JSON.stringify(runNow(writeLongMessage(desc, message))),
      JSON.stringify(writeMessage(desc, message)),
    );
  });
});

describe("a field that comes in pieces", () => {
  const numberOf = (name: string) => chat.fields.find((field) => field.name === name)?.number ?? 0;
  const piece = (name: string, inner: Uint8Array) =>
    new BinaryWriter().tag(numberOf(name), WireType.LengthDelimited).bytes(inner).finish();
  const options = (length: number) => toBinary(chat, create(chat, { user: "u".repeat(length) }));

  test("is joined", () => {
    const tool = (text: string) => piece("response_format", toBinary(chat, create(chat, { user: text })));
    const bytes = Buffer.concat([
      options(20_000),
      tool("a".repeat(20_000)),
      options(9),
      tool("b"),
      tool("c".repeat(9_000)),
    ]);
    deepStrictEqual(runNow(readBinary(chat, bytes)), fromBinary(chat, bytes, binaryOptions));
  });
});

describe("refused is", () => {
  const refuses = (desc: DescMessage, json: JsonValue) => {
    throws(() => fromJson(desc, json));
    throws(() => runNow(readProtoJson(desc, json)), /cannot decode|key/);
  };
  test("a field under both its names", () => {
    refuses(chat, { model: "m", toolChoiceNamed: {}, tool_choice_named: {} });
  });
  test("two members of a oneof", () => refuses(chat, { messages: [{ text: "a", parts: { parts: [] } }] }));
  test("a list of messages with another item", () => {
    refuses(chat, { messages: [null] });
    refuses(chat, { messages: [7] });
    refuses(chat, { messages: [[]] });
  });
  test("an unknown member", () => refuses(chat, { messages: [{ nobody: 1 }] }));
});

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);

test(`bytes that mean to be a message are read as they are at once, or not at all (SEED=${seed})`, () => {
  const random = randomOf(seed);
  let read = 0;
  for (let i = 0; i < 400; i++) {
    const whole = toBinary(
      chat,
      create(chat, { messages: many(200).map(turn), extra: { a: { b: Array(900).fill("é") }, c: 7 } }),
    );
    const bytes = i % 4 === 0 ? whole : mutatedBytes(whole, random);
    const atOnce = outcome(() => fromBinary(chat, bytes, binaryOptions));
    const inTurns = outcome(() => runNow(readBinary(chat, bytes)));
    if (!inTurns) continue;
    read++;
    deepStrictEqual(inTurns, atOnce);
  }
  ok(read >= 100);
});

function outcome(read: () => Message): Message | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
