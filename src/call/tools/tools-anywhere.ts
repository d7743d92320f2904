/**
 * The tools of a request, wherever it has them, in any family: in its list, in items of its input, and in its conversation, which may add tools as
 * it goes on: in a message (Kimi's), in a block that adds a tool with all that defines it, or in a compaction that tells of such blocks
 * (Anthropic's). Whatever asks what a call may cost, or may do, must ask it of all of them.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/is-object.ts";

/** toolsAnywhere returns the tools of a request, those in namespaces behind their namespace. The request may be an outline. */
export function toolsAnywhere({ tools, input, messages }: JsonObject): readonly JsonObject[] {
  const found: JsonObject[] = [];
  addAll(tools, found);
  for (const list of [input, messages]) {
    if (!Array.isArray(list)) continue;
    // It may be a list of a million numbers.
    for (const one of list) {
      if (typeof one !== "object" || !isObject(one)) continue;
      addAll(one.tools, found);
      addDefined(one.content, found);
    }
  }
  return found;
}

/** hasTools reports whether a request offers tools, wherever it has them, or functions as chat once had them. */
export function hasTools(request: JsonObject): boolean {
  const { functions } = request;
  return (Array.isArray(functions) && functions.length > 0) || toolsAnywhere(request).length > 0;
}

function addAll(tools: JsonValue | undefined, found: JsonObject[]): void {
  if (!Array.isArray(tools)) return;
  for (const tool of tools) {
    if (!isObject(tool)) continue;
    found.push(tool);
    addAll(tool.tools, found);
  }
}

/** addDefined adds the tools that blocks define. */
function addDefined(blocks: JsonValue | undefined, found: JsonObject[]): void {
  if (!Array.isArray(blocks)) return;
  for (const block of blocks) {
    if (!isObject(block)) continue;
    const { type, tool, tool_changes: changes } = block;
    if (type === "tool_addition" && isObject(tool) && isObject(tool.definition)) addAll([tool.definition], found);
    else if (type === "compaction") addDefined(changes, found);
  }
}
