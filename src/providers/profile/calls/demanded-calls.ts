/**
 * Fits a demand for a call of a tool to servers that do not take every one: some take none that names a tool, some none at all. The tools are
 * narrowed to the one that was named, so that the model can call no other. A server that passes over every choice gets no tools where none
 * may be called.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { demandsCall } from "../../../call/request/demanded-call.ts";
import { toolName } from "../../../call/tools/tool-name.ts";
import { hasTools } from "../../../call/tools/tools-anywhere.ts";
import { isObject } from "../../../wire/json.ts";
import type { FittedJson } from "../fit-json.ts";
import type { Capabilities } from "../profile.ts";

/** mustNotReason reports whether a server takes the tools of a request, or its demand for a call, only while the model does not reason. */
export function mustNotReason(
  json: JsonObject,
  { demanded_calls: taken, efforts: words, reasoned_tools: areTaken }: Capabilities,
): boolean {
  if (areTaken === false && hasTools(json)) return true;
  return taken === "unreasoned" && (words?.includes("none") ?? false) && demandsCall(json);
}

/** fitDemand returns the changes to the tools of a request and to the choice among them. A demand that becomes none is named. */
export function fitDemand(json: JsonObject, { demanded_calls: taken }: Capabilities): FittedJson {
  const takesNone = taken === "none" || taken === "ignored";
  if (taken === "ignored" && (json.tool_choice === "none" || json.function_call === "none"))
    return { changes: { tools: undefined, functions: undefined, ...unchosen }, dropped: [] };
  if ((taken !== "unnamed" && !takesNone) || !demandsCall(json)) return { changes: {}, dropped: [] };
  // Functions of the older form have no word for a demand without a name.
  const isLegacy = isObject(json.function_call) && !isObject(json.tool_choice);
  const [list, choice] = isLegacy ? (["functions", "function_call"] as const) : (["tools", "tool_choice"] as const);
  const { [list]: offered, [choice]: demand } = json;
  const undemanded = takesNone ? withoutDemand(demand) : undefined;
  if (undemanded) return { changes: { [choice]: undemanded }, dropped: [choice] };
  // The demanded tool is written as a tool is; a mere word, and a list of tools, name none.
  const name = toolName(demand);
  if (name === undefined && taken === "unnamed") return { changes: {}, dropped: [] };
  const narrowed =
    Array.isArray(offered) && name !== undefined ? offered.filter((tool) => toolName(tool) === name) : [];
  const isKept = taken === "unnamed" && !isLegacy;
  return {
    changes: {
      ...(narrowed.length > 0 ? { [list]: narrowed } : {}),
      [choice]: isKept ? "required" : undefined,
    },
    dropped: isKept ? [] : [choice],
  };
}

/** unchosen are the changes that leave out a choice in either form. */
const unchosen = { tool_choice: undefined, function_call: undefined };

/** withoutDemand returns a choice among some of the tools that leaves the model free to call none; undefined for another choice. */
function withoutDemand(choice: JsonValue | undefined): JsonObject | undefined {
  if (!isObject(choice) || choice.type !== "allowed_tools") return undefined;
  const { allowed_tools: allowed } = choice;
  const mode = "auto";
  return isObject(allowed) ? { ...choice, allowed_tools: { ...allowed, mode } } : { ...choice, mode };
}
