/**
 * Settings that say nothing and that Claude refuses: a choice among no tools, of which a thread may have some from before and a conversation
 * may add some, and stop texts of nothing but blanks, which chat has. A choice that demands a call stays, for the server to refuse.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { continuesThread } from "../../call/request/stored-thread.ts";
import { toolsAnywhere } from "../../call/tools/tools-anywhere.ts";
import { isObject } from "../../wire/json.ts";
import type { Changes } from "../../wire/splice.ts";
import { isClaude } from "./generation.ts";

/** withoutIdleSettings returns the changes to a request, and the paths of stop texts that are left out. */
export function withoutIdleSettings(json: JsonObject, model: string) {
  const { tool_choice: choice, stop_sequences: stops } = json;
  const changes: Record<string, JsonValue | undefined> = {};
  const dropped: string[] = [];
  const isOptional = isObject(choice) && (choice.type === "auto" || choice.type === "none");
  if (isOptional && !continuesThread(json) && toolsAnywhere(json).length === 0) changes.tool_choice = undefined;
  if (Array.isArray(stops) && isClaude(model) && stops.some(isBlank)) {
    for (const [i, stop] of stops.entries()) if (isBlank(stop) && stop !== "") dropped.push(`stop_sequences[${i}]`);
    const kept = stops.filter((stop) => !isBlank(stop));
    changes.stop_sequences = kept.length > 0 ? kept : undefined;
  }
  return { changes: changes as Changes, dropped };
}

function isBlank(stop: JsonValue): boolean {
  return typeof stop === "string" && stop.trim() === "";
}
