/**
 * How a server that has no responses shows it: a profile may be a vendor's whose server stands elsewhere. What says so has asked no
 * model: nothing is charged for it.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { meaningOf } from "../errors/error-meaning.ts";
import { readErrorBody } from "../errors/error-words.ts";
import type { UpstreamError } from "../errors/upstream-error.ts";

/** RFC 9110, 15.5.5, 15.5.6 and 15.6.2. */
const statuses: ReadonlySet<number | undefined> = new Set([404, 405, 501]);

/** Whether an error says that nothing is at this path. One that names the model is about that. */
export function isOfUnknownPath({ status, body, model }: UpstreamError): boolean {
  if (!statuses.has(status)) return false;
  const words = readErrorBody(body);
  if (meaningOf(words, status as number) === "model") return false;
  return !model || !(words.message ?? "").includes(model);
}

/** Whether it is an answer of chat, or a chunk of one: some servers take whatever they are sent for chat. */
export function isOfChat({ object, choices }: JsonObject): boolean {
  return Array.isArray(choices) && (object === "chat.completion" || object === "chat.completion.chunk");
}
