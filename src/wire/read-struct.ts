/**
 * A long google.protobuf.Struct → the JSON that it stands for, in turns. A member that is there twice is what was said last, and
 * `__proto__` is left out.
 */
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import type { Work } from "../work.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import { skip } from "./records.ts";

const membersATurn = 512;
/** The fields of a Value; a list has its values in field 1, an object its members, and each of these its name and its value. */
const kinds = { number: 2, string: 3, boolean: 4, object: 5, list: 6 };

interface Reading {
  members: number;
  /** How much deeper it may be nested. */
  room: number;
}

/** Throws an Error where it is none, or is nested too deep. */
export function* readStruct(bytes: Uint8Array, room: number): Work<JsonObject> {
  return yield* objectIn(bytes, { members: 0, room });
}

function* objectIn(bytes: Uint8Array, reading: Reading): Work<JsonObject> {
  const object: JsonObject = {};
  for (const entry of recordsIn(bytes, 1)) {
    let key = "";
    let value: JsonValue = null;
    const reader = new BinaryReader(entry);
    while (reader.pos < entry.length) {
      const [number, type] = reader.tag();
      if (number === 1) key = reader.string();
      else if (number === 2) value = yield* valueIn(reader.bytes(), reading);
      else skip(reader, type);
    }
    if (key !== "__proto__") object[key] = value;
  }
  return object;
}

function* listIn(bytes: Uint8Array, reading: Reading): Work<JsonValue[]> {
  const list: JsonValue[] = [];
  for (const item of recordsIn(bytes, 1)) list.push(yield* valueIn(item, reading));
  return list;
}

function* valueIn(bytes: Uint8Array, reading: Reading): Work<JsonValue> {
  if (++reading.members % membersATurn === 0) yield;
  if (--reading.room <= 0) throw new Error("it is nested too deep");
  let value: JsonValue = null;
  const reader = new BinaryReader(bytes);
  while (reader.pos < bytes.length) {
    const [number, type] = reader.tag();
    if (number === kinds.number) value = reader.double();
    else if (number === kinds.string) value = reader.string();
    else if (number === kinds.boolean) value = reader.bool();
    else if (number === kinds.object) value = yield* objectIn(reader.bytes(), reading);
    else if (number === kinds.list) value = yield* listIn(reader.bytes(), reading);
    else skip(reader, type);
  }
  reading.room++;
  return value;
}

/** Yields what stands in the records of a field. */
function* recordsIn(bytes: Uint8Array, field: number): Generator<Uint8Array> {
  const reader = new BinaryReader(bytes);
  while (reader.pos < bytes.length) {
    const [number, type] = reader.tag();
    if (number === field && type === WireType.LengthDelimited) yield reader.bytes();
    else skip(reader, type);
  }
}
