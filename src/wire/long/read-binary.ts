/**
 * Protobuf → message, in time slices: the result of `fromBinary`, read a few records at a time. The content of a long
 * record is read separately.
 */
import { isAscii, isUtf8 } from "node:buffer";
import {
  create,
  type DescField,
  type DescMessage,
  type JsonObject,
  type Message,
  mergeFromBinary,
} from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { binaryOptions } from "../json.ts";
import { fieldValue, holdsJson, holdsMessages, holdsTexts, setField } from "./nested.ts";
import { readStruct } from "./read-struct.ts";
import { fieldsByNumber, isPacked, skipField, typeOf } from "./records.ts";

/** Bytes read between two yields. Two bytes may be a message. */
const pieceBytes = 8192;

/** readBinary throws an Error where the bytes are not such a message. */
export function* readBinary(desc: DescMessage, bytes: Uint8Array): CooperativeTask<Message> {
  const message = create(desc);
  yield* readInto(desc, message, bytes, binaryOptions.recursionLimit);
  return message;
}

/** `depthLeft` is how much deeper the message may nest. */
function* readInto(desc: DescMessage, message: Message, bytes: Uint8Array, depthLeft: number): CooperativeTask<void> {
  if (depthLeft <= 0) throw new Error("it is nested too deep");
  const merge = (part: Uint8Array) =>
    mergeFromBinary(desc, message, part, { ...binaryOptions, recursionLimit: depthLeft });
  const fields = fieldsByNumber(desc);
  const reader = new BinaryReader(bytes);
  let from = 0;
  while (reader.pos < bytes.length) {
    const start = reader.pos;
    const [number, type] = reader.tag();
    const field = fields.get(number);
    if (field && isReadSeparately(field, type) && isLong(reader)) {
      if (start > from) merge(bytes.subarray(from, start));
      yield;
      const inner = reader.bytes();
      from = reader.pos;
      if (isPacked(field, type) && !field.message) for (const part of packedParts(field, inner)) yield void merge(part);
      else yield* readField(message, field, inner, depthLeft);
    } else skipField(reader, field, type);
    if (reader.pos - from < pieceBytes) continue;
    merge(bytes.subarray(from, reader.pos));
    from = reader.pos;
    yield;
  }
  if (reader.pos > from) merge(bytes.subarray(from, reader.pos));
}

function isReadSeparately(field: DescField, type: WireType): boolean {
  if (holdsMessages(field) || holdsJson(field) || holdsTexts(field)) return true;
  return field.fieldKind === "list" && isPacked(field, type) && typeOf(field) === WireType.Varint;
}

function isLong(reader: BinaryReader): boolean {
  const { pos } = reader;
  const length = reader.uint32();
  reader.pos = pos;
  return length >= pieceBytes;
}

function* readField(message: Message, field: DescField, bytes: Uint8Array, depthLeft: number): CooperativeTask<void> {
  if (holdsTexts(field)) setField(message, field, yield* textOf(bytes));
  else if (holdsJson(field)) {
    const json = yield* readStruct(bytes, depthLeft - 1);
    setField(message, field, { ...(fieldValue(message, field) as JsonObject | undefined), ...json });
  } else if (holdsMessages(field)) {
    const held = field.fieldKind === "list" ? undefined : (fieldValue(message, field) as Message | undefined);
    const inner = held ?? create(field.message);
    if (!held) setField(message, field, inner);
    yield* readInto(field.message, inner, bytes, depthLeft - 1);
  }
}

/** Bytes of a long string decoded between two yields. */
const textBytes = 2 ** 20;

function* textOf(bytes: Uint8Array): CooperativeTask<string> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (isAscii(buffer)) {
    yield;
    return buffer.toString("latin1");
  }
  if (!isUtf8(buffer)) throw new Error("a text is not UTF-8");
  let text = "";
  for (let at = 0; at < buffer.length; ) {
    yield;
    let end = Math.min(buffer.length, at + textBytes);
    while (end < buffer.length && ((buffer[end] as number) & 0xc0) === 0x80) end--;
    text += buffer.toString("utf8", at, end);
    at = end;
  }
  return text;
}

/** packedParts splits packed numbers into records of a bounded size. A number ends with the first byte whose highest bit is clear. */
function* packedParts(field: DescField, bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; ) {
    let end = Math.min(bytes.length, at + pieceBytes);
    while (end < bytes.length && ((bytes[end - 1] as number) & 0x80) !== 0) end++;
    yield new BinaryWriter().tag(field.number, WireType.LengthDelimited).bytes(bytes.subarray(at, end)).finish();
    at = end;
  }
}
