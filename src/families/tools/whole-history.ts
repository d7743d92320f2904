/**
 * Mends the history of calls in a request before it goes anywhere. Calls and results without an id get one (`named-calls.ts`). Agents that were interrupted, or that cut their history, send calls
 * without results and results without calls, again in each turn, and servers of all families refuse the whole request for one. A complete
 * history passes unchanged.
 */
import type { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import type { Operation } from "../../call/operations.ts";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { isObject, type JsonObject, type JsonValue } from "../../wire/json.ts";
import type { Wire } from "../../wire/wire.ts";
import type { Translated } from "../translation.ts";
import { namedItems, namedMessages, namedTurns } from "./named-calls.ts";
import { pairedItems } from "./paired-items.ts";
import { pairedResults } from "./paired-results.ts";
import { pairedTurns } from "./paired-turns.ts";

type Request = Translated<Operation, Operation>["request"];

interface History {
  /** key is the member of the request that has the history. */
  readonly key: "messages" | "input";
  readonly paired: (list: JsonValue[]) => CooperativeTask<JsonValue[]>;
}

const histories: Partial<Record<Operation, History>> = {
  chat: { key: "messages", paired: pairedMessages },
  messages: { key: "messages", paired: pairedAnthropic },
  count_tokens: { key: "messages", paired: pairedAnthropic },
  responses: { key: "input", paired: pairedResponses },
};

function* pairedMessages(list: JsonValue[]): CooperativeTask<JsonValue[]> {
  const named = yield* namedMessages(list);
  return named.every(isObject) ? yield* pairedResults(named) : named;
}

function* pairedAnthropic(list: JsonValue[]): CooperativeTask<JsonValue[]> {
  return yield* pairedTurns(yield* namedTurns(list));
}

function* pairedResponses(list: JsonValue[]): CooperativeTask<JsonValue[]> {
  return yield* pairedItems(yield* namedItems(list));
}

export interface WholeHistory {
  readonly request: Request;
  /** Returns the caller's path for a path of `request`; undefined for what the caller does not have. */
  callersPath(path: string): string | undefined;
}

/** wholeHistory returns the same request where its history is complete. */
export function* wholeHistory(operation: Operation, request: Request): CooperativeTask<WholeHistory> {
  const same = { request, callersPath: (path: string) => path };
  const history = isWithoutCalls(operation, request) ? undefined : histories[operation];
  const { [history?.key ?? ""]: outlined } = history ? (request.outline() as JsonObject) : {};
  if (!history || !Array.isArray(outlined) || (yield* history.paired(outlined)) === outlined) return same;
  // An outline may have fillers in place of long strings.
  const { key, paired } = history;
  const { [key]: written } = request.json() as { [key: string]: JsonValue[] };
  const whole = yield* paired(written as JsonValue[]);
  if (whole === written) return same;
  const changed = (request as Wire).isLong ? request.rebuiltWith({ [key]: whole }) : request.with({ [key]: whole });
  return { request: changed as Request, callersPath: pathsBefore(key, written as JsonValue[], whole) };
}

/** isWithoutCalls spares a chat over gRPC the writing of its JSON. */
function isWithoutCalls(operation: Operation, request: Request): boolean {
  if (operation !== "chat" || !request.isMessageOnly()) return false;
  const { messages } = (request as Wire<typeof CreateChatCompletionRequestSchema>).message();
  return messages.every(({ toolCalls, toolCallId }) => toolCalls.length === 0 && !toolCallId);
}

/** pathsBefore finds what was there before. What was made of it loses the rest of its path. */
function pathsBefore(key: string, before: readonly JsonValue[], after: readonly JsonValue[]) {
  const places = new Map(before.map((one, i) => [one, i]));
  return (path: string): string | undefined => {
    const [head, at, rest] = new RegExp(`^${key}\\[(\\d+)\\](.*)$`, "s").exec(path) ?? [];
    if (head === undefined) return path;
    const place = places.get(after[Number(at)] as JsonValue);
    return place === undefined ? key : `${key}[${place}]${rest}`;
  };
}
