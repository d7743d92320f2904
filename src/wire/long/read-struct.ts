/**
 * A long google.protobuf.Struct → the JSON it stands for, in time slices. Of duplicate members the last wins. A member
 * `__proto__` is one like others; requests that have one are refused where their JSON is read.
 */
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { putMember } from "../put-member.ts";
import { skip } from "./records.ts";

const membersPerSlice = 512;

type Kind =
  | { readonly type: WireType; readonly is: "plain"; readonly read: (reader: BinaryReader) => JsonValue }
  | { readonly type: WireType; readonly is: "object" | "list" };

/** The fields of google.protobuf.Value. */
const kinds: ReadonlyMap<number, Kind> = new Map<number, Kind>([
  [1, { type: WireType.Varint, is: "plain", read: nothing }],
  [2, { type: WireType.Bit64, is: "plain", read: (reader) => reader.double() }],
  [3, { type: WireType.LengthDelimited, is: "plain", read: (reader) => reader.string() }],
  [4, { type: WireType.Varint, is: "plain", read: (reader) => reader.bool() }],
  [5, { type: WireType.LengthDelimited, is: "object" }],
  [6, { type: WireType.LengthDelimited, is: "list" }],
]);

function nothing(reader: BinaryReader): null {
  reader.int32();
  return null;
}

/** expected throws unless the record has the wire type of its field. */
function expected(own: WireType, type: WireType, reader: BinaryReader): BinaryReader {
  if (type !== own) throw new Error("a value is of another type");
  return reader;
}

interface Reading {
  members: number;
  /** depthLeft is how much deeper the value may nest. */
  depthLeft: number;
}

/** readStruct throws an Error for malformed bytes and for excessive nesting. */
export function* readStruct(bytes: Uint8Array, depthLeft: number): CooperativeTask<JsonObject> {
  return yield* objectIn(bytes, { members: 0, depthLeft });
}

function* objectIn(bytes: Uint8Array, reading: Reading): CooperativeTask<JsonObject> {
  const object: JsonObject = {};
  for (const entry of recordsIn(bytes, 1)) {
    let key = "";
    let value: JsonValue = null;
    const reader = new BinaryReader(entry);
    while (reader.pos < entry.length) {
      const [number, type] = reader.tag();
      if (number === 1) key = expected(WireType.LengthDelimited, type, reader).string();
      else if (number === 2) value = yield* valueIn(expected(WireType.LengthDelimited, type, reader).bytes(), reading);
      else skip(reader, type);
    }
    putMember(object, key, value);
  }
  return object;
}

function* listIn(bytes: Uint8Array, reading: Reading): CooperativeTask<JsonValue[]> {
  const list: JsonValue[] = [];
  for (const item of recordsIn(bytes, 1)) list.push(yield* valueIn(item, reading));
  return list;
}

function* valueIn(bytes: Uint8Array, reading: Reading): CooperativeTask<JsonValue> {
  if (++reading.members % membersPerSlice === 0) yield;
  if (--reading.depthLeft <= 0) throw new Error("it is nested too deep");
  let value: JsonValue = null;
  const reader = new BinaryReader(bytes);
  while (reader.pos < bytes.length) {
    const [number, type] = reader.tag();
    const kind = kinds.get(number);
    if (!kind) {
      skip(reader, type);
      continue;
    }
    expected(kind.type, type, reader);
    if (kind.is === "plain") value = kind.read(reader);
    else value = yield* kind.is === "object" ? objectIn(reader.bytes(), reading) : listIn(reader.bytes(), reading);
  }
  reading.depthLeft++;
  return value;
}

/** recordsIn yields the content of the records of one field. */
function* recordsIn(bytes: Uint8Array, field: number): Generator<Uint8Array> {
  const reader = new BinaryReader(bytes);
  while (reader.pos < bytes.length) {
    const [number, type] = reader.tag();
    if (number === field) yield expected(WireType.LengthDelimited, type, reader).bytes();
    else skip(reader, type);
  }
}
