/**
 * The ids of containers in which OpenAI runs code: its interpreter's and its shell's. A tool names one to go on in it, and a call in the
 * conversation names the one that it ran in, which the vendor goes on in unasked while it is there.
 */
import { type CooperativeTask, endsSlice, runCooperatively, runNow } from "../../runtime/cooperative.ts";
import { isObject, type JsonObject, type JsonValue, listOrEmpty, objectsIn } from "../../wire/json.ts";
import type { Changes } from "../../wire/splice.ts";
import { isVendorsTool, type KeptIds, ownId } from "./own-ids.ts";

export const idsOfResponses: KeptIds = {
  request(asked, codes, isLong) {
    const vendors: Rename = (id, isOfTool) =>
      isOfTool ? ownId(id, codes, "container", "tools") : (codes.take(id) ?? nobodysContainer);
    return runCooperatively(changesIn(asked, ["input", "tools"], vendors), isLong);
  },
  // Items of the input may bring tools, too.
  mayKeep: ({ tools, input }) =>
    [{ tools }, ...objectsIn(input)].some((holder) => listOrEmpty(holder.tools).some(isVendorsTool)),
  answer(json, codes) {
    const { response } = json;
    const changes = runNow(changesIn(json, ["item", "part", "annotation", "output", "tools"], codes.add));
    if (!isObject(response)) return changes;
    const within: Changes = runNow(changesIn(response, ["output", "tools"], codes.add));
    return { ...changes, response: { ...response, ...within } as JsonObject };
  },
};

/**
 * nobodysContainer has the form of OpenAI's ids. It stands for another account's in the conversation, and for one at another upstream: they
 * are as lost as one that has expired, and no call fails by that.
 */
const nobodysContainer = `cntr_${"0".repeat(48)}`;

/** Rename returns another id. `isOfTool` is whether a tool has it, which asks for the container. */
type Rename = (id: string, isOfTool: boolean) => string;

/** The members of items and tools that may have such ids within. */
const holders = ["tools", "content", "annotations", "environment"] as const;

function* changesIn(
  json: JsonObject,
  keys: readonly string[],
  rename: Rename,
  isOfTool = false,
): CooperativeTask<Record<string, JsonValue>> {
  const changes: Record<string, JsonValue> = {};
  for (const key of keys) {
    const value = json[key];
    if (typeof value !== "object" || value === null) continue;
    const renamed = yield* renamedIn(value, rename, isOfTool || key === "tools");
    if (renamed !== value) changes[key] = renamed;
  }
  return changes;
}

function* renamedIn(value: JsonValue, rename: Rename, isOfTool: boolean): CooperativeTask<JsonValue> {
  if (Array.isArray(value)) {
    const renamed: JsonValue[] = [];
    for (const [i, one] of value.entries()) {
      if (endsSlice(i)) yield;
      renamed.push(yield* renamedIn(one, rename, isOfTool));
    }
    return renamed.some((one, i) => one !== value[i]) ? renamed : value;
  }
  if (!isObject(value)) return value;
  const changes = yield* changesIn(value, holders, rename, isOfTool);
  for (const key of isOfTool ? ["container", "container_id"] : ["container_id"]) {
    const id = value[key];
    if (typeof id === "string") changes[key] = rename(id, isOfTool);
  }
  return Object.keys(changes).length === 0 ? value : { ...value, ...changes };
}
