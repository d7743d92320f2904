/**
 * Reports an answer of Anthropic's Messages API to a meter: its usage, the model's output, and whether the model gave
 * up.
 *
 * Values that cannot be read are ignored: they are never the answer's fault.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";
import type { Meter } from "../contract.ts";
import { countTextOf } from "../usage/count-text.ts";
import { MessageUsageReader } from "../usage/message-counts.ts";

/** meterMessage reports a unary answer. */
export function meterMessage({ content, stop_reason, usage }: JsonObject, meter: Meter): void {
  const counts = new MessageUsageReader();
  if (counts.take(usage)) meter.reportUsage(counts.reported);
  if (stop_reason === "refusal") meter.reportGivenUp();
  if (!Array.isArray(content)) return;
  for (const block of content as (JsonObject | null)[]) {
    writeBlock(block, meter);
    const input = block?.input;
    if (input !== null && typeof input === "object") meter.countText(JSON.stringify(input));
  }
}

/** meterEvents returns a function that reports each event of a stream. */
export function meterEvents(meter: Meter): (event: JsonObject) => void {
  const counts = new MessageUsageReader();
  const tell = (isTaken: boolean) => {
    if (isTaken) meter.reportUsage(counts.reported);
  };
  let searches = 0;
  return (event) => {
    switch (event.type) {
      case "content_block_delta":
        writeDelta(event.delta as JsonObject | null | undefined, meter);
        return;
      case "content_block_start":
        writeBlock(event.content_block as JsonObject | null | undefined, meter);
        // The search was made, even if the answer breaks off before its usage.
        if (isSearchMade(event.content_block)) meter.reportUsage({ searches: ++searches });
        return;
      case "message_start":
        tell(counts.takeBeginning((event.message as JsonObject | null | undefined)?.usage));
        return;
      case "message_stop":
        tell(counts.take(event.usage));
        return;
      case "message_delta":
        tell(counts.take(event.usage));
        if ((event.delta as JsonObject | null | undefined)?.stop_reason === "refusal") meter.reportGivenUp();
    }
  };
}

/** A failed search has an object for its content, and is free. */
function isSearchMade(block: JsonValue | undefined): boolean {
  return isObject(block) && block.type === "web_search_tool_result" && Array.isArray(block.content);
}

/** writeBlock counts a block as it begins, or a complete one without its input. */
function writeBlock(block: JsonObject | null | undefined, meter: Meter): void {
  switch (block?.type) {
    case "text":
      countTextOf(block.text, meter);
      return;
    case "thinking":
      countTextOf(block.thinking, meter);
      return;
    case "tool_use":
    case "server_tool_use":
    case "mcp_tool_use":
      countTextOf(block.name, meter);
      return;
    default:
      // Results of the vendor's tools, encrypted thinking, and unknown types.
      if (typeof block?.type === "string") meter.countText("");
  }
}

function writeDelta(delta: JsonObject | null | undefined, meter: Meter): void {
  switch (delta?.type) {
    case "text_delta":
      countTextOf(delta.text, meter);
      return;
    case "thinking_delta":
      countTextOf(delta.thinking, meter);
      return;
    case "input_json_delta":
      countTextOf(delta.partial_json, meter);
  }
}
