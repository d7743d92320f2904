/**
 * The vendor's own tools in a turn of the assistant's → calls and results, which is how a chat model knows tools at work.
 *
 * The vendor puts its calls and their results between texts of one turn. In chat each result follows the message of its
 * call, so the turn is cut behind its results. What only the vendor could read of a result is left out.
 */
import { type ContentBlock, ContentBlockType } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import { isObject, type JsonObject, type JsonValue, textOrEmpty } from "../../../wire/json.ts";
import { unsignedId } from "../../call-signature.ts";
import type { PlacedBlock } from "./content.ts";

/** TurnPart is a piece of a turn: what the model said and called, and the vendor's results for it. */
export interface TurnPart {
  readonly blocks: readonly PlacedBlock[];
  readonly results: readonly JsonObject[];
}

/** turnParts cuts a turn behind the vendor's results. */
export function turnParts(blocks: readonly PlacedBlock[]): readonly TurnPart[] {
  if (!blocks.some(({ block }) => isVendorResult(block))) return [{ blocks, results: [] }];
  const parts: { blocks: PlacedBlock[]; results: JsonObject[] }[] = [];
  for (const placed of blocks) {
    const last = parts.at(-1);
    const isResult = isVendorResult(placed.block);
    const part = last && (isResult || last.results.length === 0) ? last : { blocks: [], results: [] };
    if (part !== last) parts.push(part);
    if (isResult) part.results.push(resultOf(placed.block));
    else part.blocks.push(placed);
  }
  return parts;
}

/** vendorCall returns the name and the arguments of a call of the vendor's own tool; undefined for any other block. */
export function vendorCall({ type, id, name, input, extra }: ContentBlock) {
  if (!id || !name) return undefined;
  if (type === ContentBlockType.SERVER_TOOL_USE) return { id, name, input: input ?? {} };
  if (extra?.type !== "mcp_tool_use") return undefined;
  // The name of a server may have spaces and dots.
  const called = `mcp__${textOrEmpty(extra.server_name)}__${name}`.replaceAll(/[^A-Za-z0-9_-]/gu, "_");
  return { id, name: called, input: input ?? {} };
}

function isVendorResult({ type, toolUseId, extra }: ContentBlock): boolean {
  if (!toolUseId) return false;
  const word = extra?.type;
  return (
    type === ContentBlockType.WEB_SEARCH_TOOL_RESULT || (typeof word === "string" && word.endsWith("_tool_result"))
  );
}

function resultOf({ toolUseId = "", content, isError }: ContentBlock): JsonObject {
  const text = wordsIn(contentJson(content));
  return { role: "tool", tool_call_id: unsignedId(toolUseId), content: isError ? `Error: ${text}` : text };
}

function contentJson(content: ContentBlock["content"]): JsonValue {
  if (content.case !== "contentBlocks") return content.value ?? "";
  return content.value.blocks.map(({ title, text, source, content: inner, extra }): JsonObject => {
    return { title: title ?? "", text: text ?? "", source: sourceJson(source), content: contentJson(inner), ...extra };
  });
}

function sourceJson({ case: kind, value }: ContentBlock["source"]): JsonValue {
  if (kind !== "sourceData") return value ?? "";
  const { type = "", url = "", data = "", content } = value;
  return { type, url, data, content: contentJson(content) };
}

/** wordKeys are the members of a result that hold text for the model, in reading order. */
const wordKeys = [
  "title",
  "url",
  "text",
  "stdout",
  "stderr",
  "tool_name",
  "content",
  "lines",
  "source",
  "tool_references",
] as const;

function wordsIn(value: JsonValue | undefined): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) {
    const isText = value.length > 0 && value.every((line) => typeof line === "string");
    return isText ? value.join("\n") : value.map(wordsIn).filter(Boolean).join("\n\n");
  }
  if (!isObject(value)) return "";
  const { type, data, error_code: error, return_code: code } = value;
  const words = wordKeys.map((key) => wordsIn(value[key]));
  if (type === "text") words.push(textOrEmpty(data));
  if (type === "base64") words.push("(The file is not shown here.)");
  if (typeof error === "string") words.push(`Error: ${error}`);
  if (typeof code === "number" && code !== 0) words.push(`Exit code: ${code}`);
  return words.filter(Boolean).join("\n");
}
