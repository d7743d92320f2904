/** A message on a WebSocket → the request in it. */
import type { DescMethod } from "@bufbuild/protobuf";
import { invalidValue } from "../../call/refusals.ts";
import { isObject, type JsonValue, parseJson } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";
import type { BodyShare } from "../body/body-budget.ts";

/** receipt is the type of the message by which a client confirms an answer. */
const receipt = "response.processed";
/** maxReceiptBytes is the length of the longest receipt, in bytes. */
const maxReceiptBytes = 1024;

/** isReceipt reports whether a message is a receipt, which gets no answer. One that can be read in two ways is none. */
export function isReceipt(data: Buffer): boolean {
  if (data.length >= maxReceiptBytes || !data.includes(receipt)) return false;
  try {
    const message: JsonValue = parseJson(data, false);
    return isObject(message) && message.type === receipt;
  } catch {
    return false;
  }
}

/** socketRequest reads a message, and counts it as a body. Throws a Refusal, or a WireFault if it is no JSON object. */
export async function socketRequest({ input }: DescMethod, data: Buffer, share: BodyShare): Promise<Wire> {
  share.add(data.length);
  const message = await Wire.ofBytes(input, data).parseInSlices();
  const { type, background, stream_id } = message.outline();
  if (type !== "response.create") throw invalidValue("type", "expected response.create");
  if (background === true) throw invalidValue("background", "over a WebSocket responses are answered at once");
  if ((stream_id ?? null) !== null) throw invalidValue("stream_id", "a connection has one stream; leave it out");
  return message.with({ type: undefined, stream: undefined, background: undefined, stream_id: undefined });
}
