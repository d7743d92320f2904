/**
 * `thread` of a request for a message: a conversation that the vendor keeps, of which a caller sends only what is new.
 *
 * A request that begins one has all of it, and loses nothing without the member. One that continues one has the last messages alone: a
 * server that keeps no threads must not answer it, for it would answer to these.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { isObject } from "../../wire/is-object.ts";
import { threadNotFound } from "../refusals.ts";

/** continuesThread reports whether most of the conversation is not in the request. */
export function continuesThread({ thread }: JsonObject): boolean {
  return isObject(thread) && thread.type === "continue";
}

/**
 * refuseThread throws a Refusal where the request continues a thread. It is the vendor's own for one that is lost, on which its SDK and agents
 * send the whole conversation.
 */
export function refuseThread(request: JsonObject): void {
  if (continuesThread(request)) throw threadNotFound();
}
