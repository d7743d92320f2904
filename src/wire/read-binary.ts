/**
 * Protobuf → message, in turns: what `fromBinary` makes of a long message, some of its records at a time. A long record that is a
 * message is read by itself.
 */
import { create, type DescMessage, type Message, mergeFromBinary } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import type { Work } from "../work.ts";
import { binaryOptions } from "./json.ts";
import { hold, holdsMessages } from "./nested.ts";
import { fieldsByNumber, skipField } from "./records.ts";

/** In bytes: so much is read before it may be interrupted. Two bytes may be a message of its own. */
const pieceBytes = 8192;

/** Throws an Error where it is no such message. */
export function* readBinary(desc: DescMessage, bytes: Uint8Array): Work<Message> {
  const message = create(desc);
  yield* readInto(desc, message, bytes, 0);
  return message;
}

function* readInto(desc: DescMessage, message: Message, bytes: Uint8Array, depth: number): Work<void> {
  const recursionLimit = binaryOptions.recursionLimit - depth;
  if (recursionLimit <= 0) throw new Error("it is nested too deep");
  const fields = fieldsByNumber(desc);
  const reader = new BinaryReader(bytes);
  let from = 0;
  const readUpTo = (to: number) => {
    if (to > from) mergeFromBinary(desc, message, bytes.subarray(from, to), { ...binaryOptions, recursionLimit });
    from = to;
  };
  while (reader.pos < bytes.length) {
    const start = reader.pos;
    const [number, type] = reader.tag();
    const field = fields.get(number);
    if (field && holdsMessages(field) && isLong(reader)) {
      readUpTo(start);
      yield;
      const inner = reader.bytes();
      yield* readInto(
        field.message,
        hold(message, field, () => create(field.message)),
        inner,
        depth + 1,
      );
      from = reader.pos;
    } else skipField(reader, field, type);
    if (reader.pos - from >= pieceBytes) {
      readUpTo(reader.pos);
      yield;
    }
  }
  readUpTo(reader.pos);
}

/** Whether the message that comes is long. */
function isLong(reader: BinaryReader): boolean {
  const { pos } = reader;
  const length = reader.uint32();
  reader.pos = pos;
  return length >= pieceBytes;
}
