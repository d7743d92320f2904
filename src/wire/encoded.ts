/** Answers as bytes for storage, in whichever form is at hand, and back. */
import { type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import { binaryOptions } from "./json.ts";
import { Wire } from "./wire.ts";

/** EncodedAnswer is JSON text, or protobuf where the answer was a message that never became JSON. */
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
