/**
 * Reading what others wrote: a caller's words that may not fit, an upstream's answer that may be broken.
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { upstreamFailed } from "../../call/refusals.ts";
import { WireFault } from "../../wire/fault.ts";
import type { JsonValue } from "../../wire/json.ts";
import { readMessage } from "../../wire/read.ts";
import type { Wire } from "../../wire/wire.ts";

/** Whether JSON that came in a chat request's `extra` fits the message that it is to become. */
export function reads(desc: DescMessage, json: JsonValue): boolean {
  try {
    readMessage(desc, json, { lenient: false });
    return true;
  } catch (fault) {
    if (fault instanceof WireFault) return false;
    throw fault;
  }
}

/** Reads a piece of the upstream's answer. What is no JSON object is the upstream's failure, not the caller's. */
export function readAnswer<D extends DescMessage>(answer: Wire<D>): MessageShape<D> {
  try {
    return answer.message();
  } catch (error) {
    throw error instanceof WireFault ? upstreamFailed("its answer cannot be read", error) : error;
  }
}
