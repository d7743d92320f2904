/** The ids of what Anthropic keeps: messages by which threads go on, or with which prompts are compared, and containers of code that has run. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { threadNotFound } from "../../call/refusals.ts";
import { continuesThread } from "../../call/request/stored-thread.ts";
import { isObject, listOrEmpty } from "../../wire/json.ts";
import type { Changes } from "../../wire/splice.ts";
import { type Codes, isVendorsTool, type KeptIds, ownId } from "./own-ids.ts";

export const idsOfMessages: KeptIds = {
  request: vendorsIds,
  mayKeep(asked) {
    const { container = null, tools } = asked;
    return isFoundByMessage(asked) || container !== null || listOrEmpty(tools).some(isVendorsTool);
  },
  /** Two events of a stream have such ids. */
  answer(json, codes, asked) {
    const { type, message, delta } = json;
    const coded = (holder: JsonObject) => idsIn(holder, codes, isFoundByMessage(asked));
    if (type === "message_start" && isObject(message)) return { message: { ...message, ...coded(message) } };
    if (type !== "message_delta" || !isObject(delta)) return coded(json);
    return isObject(delta.container) ? { delta: { ...delta, ...coded({ container: delta.container }) } } : {};
  },
};

/** isFoundByMessage reports whether the vendor finds something by the id of the answer. */
function isFoundByMessage({ thread, diagnostics }: JsonObject): boolean {
  return (thread ?? diagnostics ?? null) !== null;
}

function vendorsIds(asked: JsonObject, codes: Codes): Changes {
  const { thread, diagnostics, container } = asked;
  const changes: Record<string, JsonValue> = {};
  // The id is checked whatever the type of the thread is: the vendor may add types that find a thread by an id.
  if (isObject(thread) && (continuesThread(asked) || (thread.previous_message_id ?? null) !== null)) {
    const previous_message_id = codes.take(thread.previous_message_id);
    if (previous_message_id === undefined) throw threadNotFound();
    changes.thread = { ...thread, previous_message_id };
  }
  if (isObject(diagnostics) && (diagnostics.previous_message_id ?? null) !== null) {
    // The prompt of nobody else is compared: as in the first turn there is none.
    changes.diagnostics = { ...diagnostics, previous_message_id: codes.take(diagnostics.previous_message_id) ?? null };
  }
  const own = (given: JsonValue | undefined) => ownId(given, codes, "container", "container");
  if (typeof container === "string") changes.container = own(container);
  if (isObject(container) && (container.id ?? null) !== null)
    changes.container = { ...container, id: own(container.id) };
  return changes;
}

/** idsIn returns the ids of a message, or of its end, with codes. */
function idsIn({ id, container }: JsonObject, codes: Codes, areOnMessages: boolean): Record<string, JsonValue> {
  const isKept = isObject(container) && typeof container.id === "string";
  return {
    ...(typeof id === "string" && areOnMessages ? { id: codes.add(id) } : {}),
    ...(isKept ? { container: { ...container, id: codes.add(container.id as string) } } : {}),
  };
}
