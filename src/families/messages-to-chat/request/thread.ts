/**
 * `thread`: a conversation that the vendor holds between turns, of which a caller sends only what is new.
 *
 * A chat model holds none. To begin one is to be told so in `x-gateway-dropped`; to go on from one must fail, for the
 * model would answer to the last words alone. The refusal is the vendor's own for a thread that it has lost, upon which
 * its SDK sends the whole conversation again.
 */
import type { CreateMessageRequest } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import { threadNotFound } from "../../../call/refusals.ts";
import { type JsonObject, jsonType } from "../../../wire/json.ts";

/** Throws a Refusal where the request goes on from a thread. */
export function refuseThread({ extra }: CreateMessageRequest): void {
  const thread = extra?.thread ?? null;
  if (jsonType(thread) !== "object" || (thread as JsonObject).type !== "continue") return;
  throw threadNotFound();
}
