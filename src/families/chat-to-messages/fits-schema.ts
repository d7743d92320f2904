/**
 * Reading what others wrote: a caller's words that may not fit, an upstream's answer that may be broken.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import { WireFault } from "../../wire/fault.ts";
import type { JsonValue } from "../../wire/json.ts";
import { readMessage } from "../../wire/read.ts";

/** Whether JSON that came in a chat request's `extra` fits the message that it is to become. */
export function fitsSchema(desc: DescMessage, json: JsonValue): boolean {
  try {
    readMessage(desc, json, { lenient: false });
    return true;
  } catch (fault) {
    if (fault instanceof WireFault) return false;
    throw fault;
  }
}
