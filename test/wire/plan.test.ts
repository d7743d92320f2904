/** Descriptors that the codec supports, and descriptors that it refuses at start because JSON would be lost. */
import { deepStrictEqual, throws } from "node:assert";
import {
  create,
  createFileRegistry,
  type DescMessage,
  fromBinary,
  type JsonValue,
  type MessageInitShape,
  setExtension,
  toBinary,
} from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  DescriptorProtoSchema,
  FieldDescriptorProtoSchema,
  type FieldOptions,
  FieldOptionsSchema,
  FileDescriptorProtoSchema,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  FieldDescriptorProto_Label as Label,
  MessageOptionsSchema,
  OneofDescriptorProtoSchema,
  OneofOptionsSchema,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import { describe, test } from "vitest";
import { FieldWireSchema, transparent, untagged, wire } from "../../gen/modelgateway/v1/wire_pb.ts";
import { operations } from "../../src/call/operations.ts";
import { planOf } from "../../src/wire/plan.ts";
import { readMessage } from "../../src/wire/read.ts";
import { writeMessage } from "../../src/wire/write.ts";

// A small language for descriptors, used by the tests below.

interface Field {
  readonly name: string;
  readonly type: Type;
  readonly typeName?: string;
  readonly label?: Label;
  readonly proto3Optional?: boolean;
  readonly options?: FieldOptions;
}

interface Oneof {
  readonly name: string;
  readonly members: readonly Field[];
  readonly tagged?: boolean;
}

interface MessageType {
  readonly transparent: boolean;
  readonly members: readonly (Field | Oneof)[];
}

const struct = ".google.protobuf.Struct";

describe("a message type may be recursive", () => {
  // Like a tool result that holds blocks, one of which may be a tool result.
  const blocks = {
    Message: object(oneof("content", string("text"), message("blocks", ".t.Blocks"))),
    Blocks: bare(list(message("items", ".t.Block"))),
    Block: object(optional(string("type")), oneof("content", string("text"), message("blocks", ".t.Blocks")), extra()),
  };

  test.each(["Message", "Blocks", "Block"])("whichever is compiled first: %s", (first) => {
    const types = compile(blocks);
    planOf(types(first));
    const json = { content: [{ type: "a", content: [{ content: "x" }, { content: [] }] }, { content: "y" }] };
    const desc = types("Message");
    const read = readMessage(desc, json, { lenient: false });
    deepStrictEqual(writeMessage(desc, fromBinary(desc, toBinary(desc, read))), json);
  });
});

describe("a field that is always written", () => {
  const types = compile({
    Always: object(
      always(string("text")),
      always(list(string("texts"))),
      always({ name: "flag", type: Type.BOOL }),
      always({ name: "double", type: Type.DOUBLE }),
      extra(),
    ),
  });
  const again = (json: JsonValue) => {
    const desc = types("Always");
    return writeMessage(desc, fromBinary(desc, toBinary(desc, readMessage(desc, json, { lenient: true }))));
  };

  test("is written as zero where it was missing", () => {
    deepStrictEqual(again({}), { text: "", texts: [], flag: false, double: 0 });
  });

  test("is written as it was read, even as null, as zero and as a value of another type", () => {
    for (const json of [
      { text: null, texts: null, flag: null, double: null },
      { text: "", texts: [], flag: false, double: 0 },
      { text: 1, texts: "x", flag: {}, double: [] },
      { text: "x", texts: ["", "y"], flag: true, double: 0.5 },
    ]) {
      deepStrictEqual(again(json), json);
    }
  });
});

describe("a union takes any JSON type once", () => {
  const types = compile({
    Union: object(
      oneof(
        "value",
        string("word"),
        { name: "number", type: Type.DOUBLE },
        { name: "flag", type: Type.BOOL },
        message("list", ".t.Numbers"),
        message("object", struct),
      ),
      extra(),
    ),
    Numbers: bare(list({ name: "items", type: Type.DOUBLE })),
  });

  test.each([["x"], [""], [1.5], [0], [true], [false], [[1, 2]], [[]], [{ a: [null] }], [{}], [null]])(
    "%j",
    (value) => {
      const desc = types("Union");
      const read = readMessage(desc, { value }, { lenient: false });
      deepStrictEqual(writeMessage(desc, fromBinary(desc, toBinary(desc, read))), { value });
    },
  );
});

describe("a union of two lists, one of numbers, chooses by the first item", () => {
  const types = compile({
    Union: object(oneof("value", message("list", ".t.Items"), message("numbers", ".t.Numbers")), extra()),
    Items: bare(list(message("items", ".t.Item"))),
    Item: bare(oneof("item", string("text"), message("numbers", ".t.Numbers"))),
    Numbers: bare(list({ name: "items", type: Type.UINT32 })),
  });
  const read = (value: JsonValue) => readMessage(types("Union"), { value }, { lenient: false });

  test.each([
    [[1, 2], "numbers"],
    [[0], "numbers"],
    [["a"], "list"],
    [[[1], "a", []], "list"],
    [[], "list"],
  ])("%j is the %s", (value, chosen) => {
    const desc = types("Union");
    const message = read(value);
    deepStrictEqual((message as unknown as { value: { case: string } }).value.case, chosen);
    deepStrictEqual(writeMessage(desc, fromBinary(desc, toBinary(desc, message))), { value });
  });

  test("and another item is the fault", () => {
    for (const value of [
      [1, "a"],
      ["a", 1],
      [[1], 1],
      [1, [1]],
      [1, -1],
    ]) {
      throws(() => read(value), { path: "value[1]" });
    }
    throws(() => read(1), { path: "value", message: "expected a list, got a number" });
  });
});

describe("a descriptor that would lose JSON is refused", () => {
  const members: [why: string, broken: Field | Oneof][] = [
    ["a field without presence needs `always`", string("text")],
    ["a field without presence needs `always`", { name: "count", type: Type.UINT32 }],
    ["`always` is for fields without presence", always(optional(string("text")))],
    ["`extra` is no google.protobuf.Struct", option(optional(string("extra")), { extra: true })],
    ["this type has no public form", optional({ name: "count", type: Type.INT64 })],
    ["this type has no public form", optional({ name: "count", type: Type.INT32 })],
    ["this type has no public form", optional({ name: "ratio", type: Type.FLOAT })],
    ["`decimals` is for int64, without `number`", option(optional(string("cost")), { decimals: 6 })],
    ["`decimals` is for int64, without `number`", option(optional(int64("cost")), { decimals: 6, number: true })],
    ["`decimals` is 2 to 9", option(optional(int64("cost")), { decimals: 1 })],
    ["`decimals` is 2 to 9", option(optional(int64("cost")), { decimals: 10 })],
    ["a field without presence needs `always`", option(int64("cost"), { decimals: 6 })],
    ["a decimal may be a string or a number", oneof("value", option(int64("cost"), { decimals: 6 }))],
    ["two members read string", oneof("value", string("a"), string("b"))],
    ["two members read string", oneof("value", string("a"), message("b", ".google.protobuf.Timestamp"))],
    ["two members read object", oneof("value", message("a", struct), message("b", ".t.Other"))],
    ["two members read list", oneof("value", message("a", ".t.List"), message("b", ".t.List"))],
    ["two members read list of numbers", oneof("value", message("a", ".t.Numbers"), message("b", ".t.Numbers"))],
    ["a oneof is untagged", { ...oneof("value", string("a")), tagged: true }],
  ];

  test.each(members)("%s", (why, broken) => {
    const types = compile({
      Broken: object(broken),
      Other: object(extra()),
      List: bare(list(string("items"))),
      Numbers: bare(list({ name: "items", type: Type.UINT32 })),
    });
    throws(() => planOf(types("Broken")), { message: new RegExp(`t\\.Broken.* cannot be written .*: ${why}`) });
  });

  test("a transparent message has one member", () => {
    for (const fields of [[], [list(string("a")), list(string("b"))], [list(string("a")), extra()]]) {
      const types = compile({ Broken: bare(...fields) });
      throws(() => planOf(types("Broken")), /a transparent message has one member/);
    }
  });

  test("and none of the gateway's own descriptors is", () => {
    for (const { input, whole, stream } of Object.values(operations)) {
      for (const desc of [input, whole, stream]) planOf(desc);
    }
  });
});

function string(name: string): Field {
  return { name, type: Type.STRING };
}

function int64(name: string): Field {
  return { name, type: Type.INT64 };
}

function message(name: string, typeName: string): Field {
  return { name, type: Type.MESSAGE, typeName };
}

function list(field: Field): Field {
  return { ...field, label: Label.REPEATED };
}

function optional(field: Field): Field {
  return { ...field, proto3Optional: true };
}

function always(field: Field): Field {
  return option(field, { always: true });
}

function extra(): Field {
  return option(message("extra", struct), { extra: true });
}

function option(field: Field, init: MessageInitShape<typeof FieldWireSchema>): Field {
  const options = create(FieldOptionsSchema);
  setExtension(options, wire, create(FieldWireSchema, init));
  return { ...field, options };
}

function oneof(name: string, ...members: Field[]): Oneof {
  return { name, members };
}

function object(...members: (Field | Oneof)[]): MessageType {
  return { transparent: false, members };
}

function bare(...members: (Field | Oneof)[]): MessageType {
  return { transparent: true, members };
}

const known = [file_google_protobuf_struct, file_google_protobuf_timestamp];

/** Compiles message types of the package `t`. Each call makes new descriptors. */
function compile(types: Record<string, MessageType>): (name: string) => DescMessage {
  const file = create(FileDescriptorProtoSchema, {
    name: "t.proto",
    package: "t",
    syntax: "proto3",
    dependency: known.map(({ proto }) => proto.name),
    messageType: Object.entries(types).map(([name, type]) => descriptor(name, type)),
  });
  const registry = createFileRegistry(file, (name) => known.find(({ proto }) => proto.name === name));
  return (name) => registry.getMessage(`t.${name}`) as DescMessage;
}

function descriptor(name: string, type: MessageType): DescriptorProto {
  const proto = create(DescriptorProtoSchema, { name, options: create(MessageOptionsSchema) });
  if (proto.options && type.transparent) setExtension(proto.options, transparent, true);
  const add = (field: Field, oneofIndex?: number) => {
    const number = proto.field.length + 1;
    const init = oneofIndex === undefined ? field : { ...field, oneofIndex };
    proto.field.push(create(FieldDescriptorProtoSchema, { label: Label.OPTIONAL, ...init, number }));
  };
  const addOneof = (oneof: Oneof) => {
    const options = create(OneofOptionsSchema);
    if (!oneof.tagged) setExtension(options, untagged, true);
    proto.oneofDecl.push(create(OneofDescriptorProtoSchema, { name: oneof.name, options }));
    for (const field of oneof.members) add(field, proto.oneofDecl.length - 1);
  };
  for (const member of type.members) {
    if ("members" in member) addOneof(member);
    else if (!member.proto3Optional) add(member);
  }
  // The oneof behind an optional field comes after those that the author wrote.
  for (const member of type.members) {
    if ("members" in member || !member.proto3Optional) continue;
    addOneof({ name: `_${member.name}`, members: [member], tagged: true });
  }
  return proto;
}
