/** Takes JSON through the codec and back. */
import { deepStrictEqual } from "node:assert";
import { type DescMessage, fromBinary, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { binaryOptions } from "../../../src/wire/json.ts";
import { readMessage } from "../../../src/wire/read.ts";
import { writeMessage } from "../../../src/wire/write.ts";

/** Returns what is written of JSON that was read as a message, and was protobuf's binary in between. */
export function throughBinary(desc: DescMessage, json: JsonValue, lenient: boolean): JsonValue {
  const message = readMessage(desc, json, { lenient });
  return writeMessage(desc, fromBinary(desc, toBinary(desc, message), binaryOptions));
}

/** Compares what reaches the wire: texts, in which zero has no sign. */
export function sameJson(actual: JsonValue, expected: JsonValue): void {
  deepStrictEqual(JSON.parse(JSON.stringify(actual)), JSON.parse(JSON.stringify(expected)));
}

/** Reads JSON strictly as a message, and checks that it comes back the same. */
export function expectStrict(desc: DescMessage, json: JsonValue): void {
  sameJson(writeMessage(desc, readMessage(desc, json, { lenient: false })), json);
}
