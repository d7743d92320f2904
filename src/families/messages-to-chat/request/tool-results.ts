/**
 * A tool_result block → a tool message, and what a tool message cannot hold. Where chat is translated further, it holds images and files, too.
 *
 * Chat has no flag for a failed tool: the text begins with `Error: `.
 */
import { missingField } from "../../../call/refusals.ts";
import type { JsonObject } from "../../../wire/json.ts";
import { unsignedId } from "../../call-signature.ts";
import { failedResult } from "../../tools/paired-results.ts";
import { isText, type PlacedBlock, partsOf, placed, textPart } from "./content.ts";

export interface ToolResult {
  readonly message: JsonObject;
  /** Images and files for the user's next message, after a line that names their call. */
  readonly attached: readonly JsonObject[];
}

/** toolResultOf returns a result as chat has it. `holdsParts` says that the chat is translated further, by what reads parts of results. */
export function toolResultOf(result: PlacedBlock, holdsParts: boolean): ToolResult {
  const { block, path } = result;
  if (!block.toolUseId) throw missingField(`${path}.tool_use_id`);
  const toolUseId = unsignedId(block.toolUseId);
  const parts = partsOfResult(result);
  const text = parts
    .filter(isText)
    .map((part) => part.text as string)
    .join("\n");
  const others = parts.filter((part) => !isText(part));
  if (holdsParts && others.length > 0) {
    const content = block.isError ? [textPart("Error:"), ...parts] : parts;
    return { message: { role: "tool", tool_call_id: toolUseId, content }, attached: [] };
  }
  return {
    message: { role: "tool", tool_call_id: toolUseId, content: block.isError ? failedResult(text) : text },
    attached: others.length === 0 ? [] : [textPart(`Attached to the result of ${toolUseId}:`), ...others],
  };
}

function partsOfResult({ block: { content }, path, ...placing }: PlacedBlock): JsonObject[] {
  switch (content.case) {
    case "contentText":
      return [textPart(content.value)];
    case "contentBlocks":
      return placed(content.value.blocks, `${path}.content`, placing).flatMap(partsOf);
    case "contentObject":
      return [textPart(JSON.stringify(content.value))];
  }
  return [];
}
