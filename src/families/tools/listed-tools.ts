/**
 * Moves the tools that messages of a chat add, as Kimi's API has them, into the list of tools, for servers that take tools there alone: without
 * them the model could not call what the conversation gave it. Of two tools of a name the later holds. A message that only adds tools goes
 * with them: most servers refuse one without a content.
 *
 * Source: https://docs.morphllm.com/sdk/components/dynamic-tool-loading
 */
import { type CreateChatCompletionRequestSchema, ToolSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { toolName } from "../../call/tools/tool-name.ts";
import { type CooperativeTask, endsSlice } from "../../runtime/cooperative.ts";
import { isFilled, isObject, type JsonObject, type JsonValue, listOrEmpty } from "../../wire/json.ts";
import type { Wire } from "../../wire/wire.ts";
import { fitsSchema } from "../chat-to-messages/fits-schema.ts";
import type { WholeHistory } from "./whole-history.ts";

/** withListedTools returns a chat whose tools are all in its list; the same one where they are. */
export function* withListedTools(whole: WholeHistory): CooperativeTask<WholeHistory> {
  const { request } = whole;
  if (!hasLateTools(request as Wire<typeof CreateChatCompletionRequestSchema>)) return whole;
  // An outline has fillers in place of long strings.
  const { messages, tools } = request.json() as JsonObject;
  const listed = new ListedTools(listOrEmpty(tools));
  const kept: JsonValue[] = [];
  const places: number[] = [];
  for (const [i, message] of (messages as JsonValue[]).entries()) {
    if (endsSlice(i)) yield;
    const left = yield* withoutTools(message, i, listed);
    if (left === undefined) continue;
    kept.push(left);
    places.push(i);
  }
  const changes = { messages: kept, tools: listed.tools };
  const changed = request.changedBy(changes);
  const written = (path: string) => {
    const [, key, at, rest] = /^(messages|tools)\[(\d+)\](.*)$/s.exec(path) ?? [];
    if (key === undefined) return path;
    return key === "tools" ? `${listed.paths[Number(at)]}${rest}` : `messages[${places[Number(at)]}]${rest}`;
  };
  return { request: changed as WholeHistory["request"], callersPath: (path) => whole.callersPath(written(path)) };
}

/** hasLateTools reports whether any message adds tools. It spares a chat over gRPC the writing of its JSON. */
function hasLateTools(request: Wire<typeof CreateChatCompletionRequestSchema>): boolean {
  if (request.isMessageOnly()) return request.message().messages.some(({ extra }) => Array.isArray(extra?.tools));
  const { messages } = request.outline();
  return Array.isArray(messages) && messages.some((one) => isObject(one) && Array.isArray(one.tools));
}

/** withoutTools lists the tools of a message, and returns what is left of it; undefined where that is nothing. */
function* withoutTools(message: JsonValue, i: number, listed: ListedTools): CooperativeTask<JsonValue | undefined> {
  if (!isObject(message) || !Array.isArray(message.tools)) return message;
  const { tools, ...others } = message;
  const odd: JsonValue[] = [];
  for (const [k, tool] of message.tools.entries()) {
    yield;
    if (fitsSchema(ToolSchema, tool)) listed.add(tool, `messages[${i}].tools[${k}]`);
    else odd.push(tool);
  }
  if (odd.length > 0) return odd.length === message.tools.length ? message : { ...others, tools: odd };
  const { role, ...said } = others;
  return role === "system" && !Object.values(said).some(isFilled) ? undefined : others;
}

/** ListedTools are the tools of a list, and further ones. */
class ListedTools {
  readonly tools: JsonValue[] = [];
  /** paths are where the caller has each of them. */
  readonly paths: string[] = [];
  readonly #places = new Map<string, number>();

  constructor(tools: readonly JsonValue[]) {
    for (const [i, tool] of tools.entries()) this.add(tool, `tools[${i}]`);
  }

  add(tool: JsonValue, path: string): void {
    const name = toolName(tool);
    const place = (name === undefined ? undefined : this.#places.get(name)) ?? this.tools.length;
    if (name !== undefined) this.#places.set(name, place);
    this.tools[place] = tool;
    this.paths[place] = path;
  }
}
