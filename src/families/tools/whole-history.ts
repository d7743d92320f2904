/**
 * Mends the history of calls in a request before it goes anywhere. Calls and results without an id get one (`named-calls.ts`). Agents that
 * were interrupted, or that cut their history, send calls without results and results without calls, again in each turn, and servers of
 * all families refuse the whole request for one. A complete history passes unchanged, and so does one whose beginning the vendor keeps: the
 * calls of its first results are there.
 */
import { type CreateChatCompletionRequestSchema, Role } from "../../../gen/modelgateway/v1/chat_pb.ts";
import type { Operation } from "../../call/operations.ts";
import { continuesThread } from "../../call/request/stored-thread.ts";
import { hasToolTurns } from "../../call/tools/has-tool-turns.ts";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { isObject, type JsonObject, type JsonValue } from "../../wire/json.ts";
import type { Wire } from "../../wire/wire.ts";
import type { Translated } from "../translation.ts";
import { namedItems, namedMessages, namedTurns } from "./named-calls.ts";
import { pairedItems } from "./paired-items.ts";
import { pairedResults } from "./paired-results.ts";
import { pairedTurns } from "./paired-turns.ts";

type Request = Translated<Operation, Operation>["request"];

type Mend = (list: JsonValue[]) => CooperativeTask<JsonValue[]>;

interface History {
  /** key is the member of the request that has the history. */
  readonly key: "messages" | "input";
  /** hasCalls is a quick look whether a history has calls or results. Where it is omitted, each history is taken to have some. */
  readonly hasCalls?: (list: JsonValue[]) => CooperativeTask<boolean>;
  /** named gives ids and names, and leaves each part in its place. */
  readonly named: Mend;
  readonly paired: Mend;
}

const turns: History = { key: "messages", named: namedTurns, paired: pairedTurns };

const histories: Partial<Record<Operation, History>> = {
  chat: { key: "messages", hasCalls: hasToolTurns, named: namedMessages, paired: pairedMessages },
  messages: turns,
  count_tokens: turns,
  responses: { key: "input", named: namedItems, paired: pairedItems },
};

function* pairedMessages(list: JsonValue[]): CooperativeTask<JsonValue[]> {
  return list.every(isObject) ? yield* pairedResults(list) : list;
}

/** isWhole reports whether a history stays as it is, as one without calls and results does. */
function* isWhole({ hasCalls, named, paired }: History, list: JsonValue[]): CooperativeTask<boolean> {
  if (hasCalls && !(yield* hasCalls(list))) return true;
  return (yield* named(list)) === list && (yield* paired(list)) === list;
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
  const outline = history ? (request.outline() as JsonObject) : {};
  const { [history?.key ?? ""]: outlined } = continuesThread(outline) ? {} : outline;
  if (!history || !Array.isArray(outlined) || (yield* isWhole(history, outlined))) return same;
  // An outline may have fillers in place of long strings.
  const { key } = history;
  const { [key]: written } = request.json() as { [key: string]: JsonValue[] };
  const named = yield* history.named(written as JsonValue[]);
  const whole = yield* history.paired(named);
  if (whole === written) return same;
  const changed = (request as Wire).changedBy({ [key]: whole });
  return { request: changed as Request, callersPath: pathsBefore(key, named, whole) };
}

/** isWithoutCalls spares a chat over gRPC the writing of its JSON. */
function isWithoutCalls(operation: Operation, request: Request): boolean {
  if (operation !== "chat" || !request.isMessageOnly()) return false;
  const { messages } = (request as Wire<typeof CreateChatCompletionRequestSchema>).message();
  return messages.every(({ role, toolCalls }) => toolCalls.length === 0 && role !== Role.TOOL);
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
