/** Checks JSON that a caller added to a chat request in the Messages API's own words. */
import type { DescMessage } from "@bufbuild/protobuf";
import { WireFault } from "../../wire/fault.ts";
import type { JsonValue } from "../../wire/json.ts";
import { readMessage } from "../../wire/read.ts";

/** fitsSchema reports whether JSON fits the message type. */
export function fitsSchema(desc: DescMessage, json: JsonValue): boolean {
  try {
    readMessage(desc, json, { lenient: false });
    return true;
  } catch (fault) {
    if (fault instanceof WireFault) return false;
    throw fault;
  }
}
