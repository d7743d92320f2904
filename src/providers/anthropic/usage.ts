/**
 * What an answer of Anthropic's Messages API tells a meter: its usage, in parts that do not overlap, what the model
 * wrote, and whether it gave up.
 *
 * What cannot be understood is passed over: it is never the answer's fault.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";
import type { Meter } from "../contract.ts";
import { MessageUsageReader } from "../usage/message-counts.ts";

/** Tells of a whole answer. What was written counts only where the output is not told. */
export function meterMessage({ content, stop_reason, usage }: JsonObject, meter: Meter): void {
  const counts = new MessageUsageReader();
  if (counts.take(usage)) meter.reportUsage(counts.reported);
  if (stop_reason === "refusal") meter.reportGivenUp();
  if (counts.reported.output !== undefined || !Array.isArray(content)) return;
  for (const block of content as (JsonObject | null)[]) {
    writeBlock(block, meter);
    const input = block?.input;
    if (input !== null && typeof input === "object") meter.countText(JSON.stringify(input));
  }
}

/** Returns what tells of each event of a stream. */
export function meterEvents(meter: Meter): (event: JsonObject) => void {
  const counts = new MessageUsageReader();
  const tell = (usage: JsonValue | undefined) => {
    if (counts.take(usage)) meter.reportUsage(counts.reported);
  };
  let searches = 0;
  return (event) => {
    switch (event.type) {
      case "content_block_delta":
        writeDelta(event.delta as JsonObject | null | undefined, meter);
        return;
      case "content_block_start":
        writeBlock(event.content_block as JsonObject | null | undefined, meter);
        // It has been made, also where the answer breaks off before its usage.
        if (isSearchMade(event.content_block)) meter.reportUsage({ searches: ++searches });
        return;
      case "message_start":
        tell((event.message as JsonObject | null | undefined)?.usage);
        return;
      case "message_delta":
        tell(event.usage);
        if ((event.delta as JsonObject | null | undefined)?.stop_reason === "refusal") meter.reportGivenUp();
    }
  };
}

/** A search that failed is told by an object, and is not paid. */
function isSearchMade(block: JsonValue | undefined): boolean {
  return isObject(block) && block.type === "web_search_tool_result" && Array.isArray(block.content);
}

/** A block as it begins, or whole but for its input. */
function writeBlock(block: JsonObject | null | undefined, meter: Meter): void {
  switch (block?.type) {
    case "text":
      writeText(block.text, meter);
      return;
    case "thinking":
      writeText(block.thinking, meter);
      return;
    case "tool_use":
    case "server_tool_use":
    case "mcp_tool_use":
      writeText(block.name, meter);
      return;
    default:
      // What tools of the vendor found, thoughts that are encrypted, and what is still to be invented.
      if (typeof block?.type === "string") meter.countText("");
  }
}

function writeDelta(delta: JsonObject | null | undefined, meter: Meter): void {
  switch (delta?.type) {
    case "text_delta":
      writeText(delta.text, meter);
      return;
    case "thinking_delta":
      writeText(delta.thinking, meter);
      return;
    case "input_json_delta":
      writeText(delta.partial_json, meter);
  }
}

function writeText(text: JsonValue | undefined, meter: Meter): void {
  if (typeof text === "string" && text !== "") meter.countText(text);
}
