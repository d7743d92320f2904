/** Answers in bytes, by the shortest way, and out of them. */
import { type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import { binaryOptions } from "./json.ts";
import { Wire } from "./wire.ts";

/** One form of a payload in bytes: JSON text, or protobuf of one that was a message and never became JSON. */
export interface EncodedAnswer {
  readonly isJson: boolean;
  readonly bytes: Uint8Array;
}

export function encode(answer: Wire): EncodedAnswer {
  return answer.isMessageOnly()
    ? { isJson: false, bytes: toBinary(answer.desc, answer.message()) }
    : { isJson: true, bytes: answer.bytes() };
}

export function decode<D extends DescMessage>(desc: D, { isJson, bytes }: EncodedAnswer): Wire<D> {
  if (!isJson) return Wire.ofMessage(desc, fromBinary(desc, bytes, binaryOptions));
  return Wire.ofBytes(desc, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), true);
}
