/**
 * The ids of a response's items, for servers that take only such as their own: of letters, digits, dashes and lines, with the prefix of
 * the item's type, and each once. A conversation that began at another server, or that a client has put together itself, has others, for which
 * OpenAI refuses the whole request. An id says nothing to the model: where an item may do without, it is left out.
 */
import { createHash } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { isObject, mappedInSlices } from "../../wire/json.ts";
import type { Capabilities } from "./profile.ts";

/** prefixes have what ids of the server's own begin with, by the type of the item. */
const prefixes: ReadonlyMap<JsonValue | undefined, string> = new Map(
  Object.entries({
    ...{ message: "msg", reasoning: "rs", function_call: "fc", custom_tool_call: "ctc", web_search_call: "ws" },
    ...{ file_search_call: "fs", image_generation_call: "ig", code_interpreter_call: "ci", computer_call: "cu" },
    ...{ mcp_call: "mcp", mcp_list_tools: "mcpl", mcp_approval_request: "mcpr" },
  }),
);

/** bound are the types of items that have no other id: theirs is replaced. */
const bound: ReadonlySet<JsonValue | undefined> = new Set([
  ...["web_search_call", "file_search_call", "image_generation_call", "code_interpreter_call", "computer_call"],
  ...["mcp_call", "mcp_list_tools", "mcp_approval_request"],
]);

/** fits also holds for the longest id, and none ends with a line. */
const fits = /^[A-Za-z0-9_-]{0,63}[A-Za-z0-9-]$/;

/** fitOwnIds returns the items with ids that the server takes; the same value where all have such, and for other servers. */
export function* fitOwnIds(
  input: JsonValue | undefined,
  { item_ids: taken }: Capabilities,
): CooperativeTask<JsonValue | undefined> {
  if (taken !== "own" || !Array.isArray(input)) return input;
  const ids = new UsedIds();
  return yield* mappedInSlices(input, (item) => (isObject(item) ? withOwnId(withOwnRequest(item), ids) : item));
}

/** withOwnRequest holds the answer to a request, and the call that was approved, to the id that the request has got. */
function withOwnRequest(item: JsonObject): JsonObject {
  const { approval_request_id: request } = item;
  if (typeof request !== "string" || isOwn(request, "mcp_approval_request")) return item;
  return { ...item, approval_request_id: madeId(request, "mcp_approval_request") };
}

function withOwnId(item: JsonObject, ids: UsedIds): JsonObject {
  const { type = "message", id } = item;
  // Results of a local shell have their call's id there.
  if (typeof id !== "string" || type === "local_shell_call_output" || type === "item_reference") return item;
  if (isOwn(id, type) && ids.take(id)) return item;
  const { id: _, ...rest } = item;
  return bound.has(type) ? { ...rest, id: ids.made(id, type) } : rest;
}

function isOwn(id: string, type: JsonValue): boolean {
  return fits.test(id) && id.startsWith(prefixes.get(type) ?? "");
}

/** UsedIds makes ids that no earlier item has. Where an id comes many times, none is tried twice. */
class UsedIds {
  readonly #used = new Set<string>();
  /** How often each id has been replaced, by the first id that was made of it. */
  readonly #timesMade = new Map<string, number>();

  /** Returns whether no earlier item has the id. */
  take(id: string): boolean {
    return this.#used.size < this.#used.add(id).size;
  }

  made(id: string, type: JsonValue): string {
    const first = madeId(id, type);
    let times = (this.#timesMade.get(first) ?? 0) + 1;
    let made = times === 1 ? first : madeId(`${id} ${times}`, type);
    while (!this.take(made)) made = madeId(`${id} ${++times}`, type);
    this.#timesMade.set(first, times);
    return made;
  }
}

/** madeId returns an id in place of another. It follows from it, so that a prompt cache keeps hitting. */
function madeId(id: string, type: JsonValue): string {
  return `${prefixes.get(type)}_${createHash("sha256").update(id).digest("hex").slice(0, 40)}`;
}
