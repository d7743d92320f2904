/**
 * The parts of a protobuf message are counted before it is read, as those of JSON are: two bytes may be a message.
 * However the records are written, the count equals what the reader would build.
 */
import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CreateChatCompletionRequestSchema as chat } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { CreateEmbeddingsRequestSchema as embeddings } from "../../../gen/modelgateway/v1/embeddings_pb.ts";
import { ErrorDetailSchema, Reason } from "../../../gen/modelgateway/v1/errors_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import { maxItems, maxParts } from "../../../src/wire/bounds.ts";
import { binaryOptions } from "../../../src/wire/json.ts";
import { checkBinary } from "../../../src/wire/long/binary-bounds.ts";
import { anyMessage } from "../../fuzz/messages.ts";
import { mutatedBytes } from "../../fuzz/mutate.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { randomOf } from "../../support/run/random.ts";

const numberOf = (desc: DescMessage, name: string) => desc.fields.find((field) => field.name === name)?.number ?? 0;
const messages = numberOf(chat, "messages");
const metadata = numberOf(chat, "metadata");

function written(times: number, write: (writer: BinaryWriter) => void): Uint8Array {
  const writer = new BinaryWriter();
  for (let i = 0; i < times; i++) write(writer);
  return writer.finish();
}

const checkNow = (desc: DescMessage, bytes: Uint8Array) => runNow(checkBinary(desc, bytes));
const empty = new Uint8Array();
const tooMany = /more than \d+ (?:lists, objects and members|items of lists)/;

describe("a message is counted by", () => {
  const cases: readonly (readonly [name: string, most: number, write: (writer: BinaryWriter) => void])[] = [
    [
      "messages without anything in them",
      maxParts,
      (writer) => writer.tag(messages, WireType.LengthDelimited).bytes(empty),
    ],
    ["messages in records of another type", maxParts, (writer) => writer.tag(messages, WireType.Varint).bytes(empty)],
    ["members that nobody knows", maxParts, (writer) => writer.tag(5000, WireType.Varint).uint32(1)],
    ["a member again and again", maxParts, (writer) => writer.tag(numberOf(chat, "n"), WireType.Varint).uint32(1)],
    ["members of a map", maxParts, (writer) => writer.tag(metadata, WireType.LengthDelimited).bytes(empty)],
  ];
  test.each(cases)("%s", (_, most, write) => {
    checkNow(chat, written(most, write));
    expect(() => checkNow(chat, written(most + 1, write))).toThrow(tooMany);
  });

  test("the content of messages, whatever length they declare", () => {
    const inner = written(60_000, (writer) => writer.tag(5000, WireType.Varint).uint32(1));
    const one = (writer: BinaryWriter) => writer.tag(messages, WireType.LengthDelimited).bytes(inner);
    checkNow(chat, written(1, one));
    expect(() => checkNow(chat, written(2, one))).toThrow(tooMany);
    // The reader goes on past the end that the message declares.
    const short = written(1, (writer) => writer.tag(messages, WireType.Varint).uint32(1));
    expect(() => checkNow(chat, Buffer.concat([short, inner, short, inner]))).toThrow(tooMany);
  });

  test("packed numbers", () => {
    const tokens = (count: number) => {
      const input = { case: "inputTokens", value: { tokens: Array(count).fill(1) } } as const;
      return toBinary(embeddings, create(embeddings, { model: "m", input }));
    };
    checkNow(embeddings, tokens(maxItems));
    expect(() => checkNow(embeddings, tokens(maxItems + 1))).toThrow(tooMany);
  });

  test("no group: groups are refused, since their content would go uncounted", () => {
    const group = (writer: BinaryWriter) => writer.tag(5000, WireType.StartGroup).tag(5000, WireType.EndGroup);
    expect(() => checkNow(chat, written(maxParts, group))).toThrow(/a group/);
  });
});

test("a small message is accepted, and a malformed one is left to its reader", () => {
  // Long enough to be counted.
  const padding = written(1, (writer) =>
    writer.tag(5000, WireType.LengthDelimited).bytes(new Uint8Array(2 * maxParts)),
  );
  for (let seed = 0; seed < 500; seed++) {
    const random = randomOf(seed);
    const sound = toBinary(chat, anyMessage(chat, 3, random) as MessageShape<typeof chat>);
    const long = Buffer.concat([sound, padding]);
    fromBinary(chat, long, binaryOptions);
    checkNow(chat, long);
    const broken = Buffer.concat([mutatedBytes(sound, random), padding]);
    try {
      checkNow(chat, broken);
    } catch (fault) {
      expect(String(fault)).toMatch(/a group|more than/);
    }
  }
});

describe("a request with too many parts is refused before it is read", () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await startTestGateway();
  });

  afterAll(() => gateway.close());

  const transports: Readonly<Record<string, () => Transport>> = {
    gRPC: () => createGrpcTransport({ baseUrl: gateway.rootUrl, binaryOptions }),
    "gRPC, JSON": () => createGrpcTransport({ baseUrl: gateway.rootUrl, useBinaryFormat: false }),
    "gRPC-Web": () => createGrpcWebTransport({ baseUrl: gateway.rootUrl, httpVersion: "1.1", binaryOptions }),
    "Connect, binary": () => createConnectTransport({ baseUrl: gateway.rootUrl, httpVersion: "1.1", binaryOptions }),
    "Connect, JSON": () =>
      createConnectTransport({ baseUrl: gateway.rootUrl, httpVersion: "1.1", useBinaryFormat: false }),
  };

  test.each(Object.entries(transports))("over %s", async (_, transport) => {
    const request = { model: "embedded-chat", messages: Array.from({ length: maxParts }, () => ({})) };
    const client = createClient(InferenceService, transport());
    const options = { headers: { authorization: `Bearer ${gateway.apiKey}` } };
    const error = ConnectError.from(await client.createChatCompletion(request, options).catch((error) => error));
    expect(error.findDetails(ErrorDetailSchema)[0]).toMatchObject({ reason: Reason.MALFORMED_BODY, httpStatus: 400 });
  });
});
