/**
 * `thread`: a conversation stored by the vendor, of which a caller sends only what is new.
 *
 * A chat model stores none. Starting a thread is named in `x-gateway-dropped`; continuing one must fail, since the
 * model would answer to the last messages alone. The refusal is the vendor's own for a lost thread, on which its SDK
 * sends the whole conversation again.
 */
import type { CreateMessageRequest } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import { threadNotFound } from "../../../call/refusals.ts";
import { isObject } from "../../../wire/json.ts";

/** refuseThread throws a Refusal where the request continues a thread. */
export function refuseThread({ extra }: CreateMessageRequest): void {
  const thread = extra?.thread;
  if (isObject(thread) && thread.type === "continue") throw threadNotFound();
}
