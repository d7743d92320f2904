/** A chat request with chat's own settings in place of those in other servers' words, before it becomes one of another family. */
import type { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { type ServersWords, serversWordsIn } from "../../call/request/servers-words.ts";
import type { Wire } from "../../wire/wire.ts";

type ChatRequest = Wire<typeof CreateChatCompletionRequestSchema>;

export interface InChatsWords {
  readonly request: ChatRequest;
  /** names are the caller's keys, by those that they became. */
  readonly names: ServersWords["names"];
  /** beside are the paths of what has no meaning elsewhere. */
  readonly beside: readonly string[];
}

const none: ServersWords["names"] = new Map();

/** inChatsWords returns the same request where it has no such settings. */
export function inChatsWords(request: ChatRequest): InChatsWords {
  // Over gRPC a request has no keys but those of the contract and the extra ones, which its message has.
  const keys = request.isMessageOnly() ? (request.message().extra ?? {}) : request.outline();
  if (!serversWordsIn(keys)) return { request, names: none, beside: [] };
  // An outline may have fillers in place of long strings.
  const words = serversWordsIn(request.json());
  if (!words) return { request, names: none, beside: [] };
  return { request: request.with(words.changes), names: words.names, beside: words.dropped };
}
