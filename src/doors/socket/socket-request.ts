/** A message of a client on a WebSocket → the request for a response that it holds. */
import type { DescMethod } from "@bufbuild/protobuf";
import { invalidValue } from "../../call/refusals.ts";
import { Wire } from "../../wire/wire.ts";
import type { BodyShare } from "../body/body-budget.ts";

/** What a client says that has taken an answer. */
const receipt = /^\s*\{\s*"type"\s*:\s*"response\.processed"/;
const longestReceipt = 1024;

/** Whether it is no request, and is answered by nothing. */
export function isReceipt(data: Buffer): boolean {
  return data.length < longestReceipt && receipt.test(data.toString("latin1"));
}

/** Counts the message as a body. Throws a Refusal, or the WireFault of what is no JSON object. */
export async function socketRequest({ input }: DescMethod, data: Buffer, share: BodyShare): Promise<Wire> {
  share.add(data.length);
  const message = await Wire.ofBytes(input, data).parseInSlices();
  const { type, background, stream_id } = message.outline();
  if (type !== "response.create") throw invalidValue("type", "expected response.create");
  if (background === true) throw invalidValue("background", "over a WebSocket responses are answered at once");
  if ((stream_id ?? null) !== null) throw invalidValue("stream_id", "a connection has one stream; leave it out");
  return message.with({ type: undefined, stream: undefined, background: undefined, stream_id: undefined });
}
