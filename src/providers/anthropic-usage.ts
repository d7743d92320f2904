/**
 * What an answer of Anthropic's Messages API tells a meter: its usage, in parts that do not overlap, what the model
 * wrote, and whether it gave up.
 *
 * What cannot be understood is passed over: it is never the answer's fault.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { countOf } from "./count.ts";
import type { Meter, Usage } from "./provider.ts";

/** Tells of a whole answer. What was written counts only where the output is not told. */
export function meterMessage({ content, stop_reason, usage }: JsonObject, meter: Meter): void {
  const told = tellUsageTo(meter)(usage);
  if (stop_reason === "refusal") meter.gaveUp();
  if (told.output !== undefined || !Array.isArray(content)) return;
  for (const block of content as (JsonObject | null)[]) {
    writeBlock(block, meter);
    const input = block?.input;
    if (input !== null && typeof input === "object") meter.wrote(JSON.stringify(input));
  }
}

/** Returns what tells of each event of a stream. */
export function meterEvents(meter: Meter): (event: JsonObject) => void {
  const tell = tellUsageTo(meter);
  return (event) => {
    switch (event.type) {
      case "content_block_delta":
        writeDelta(event.delta as JsonObject | null | undefined, meter);
        return;
      case "content_block_start":
        writeBlock(event.content_block as JsonObject | null | undefined, meter);
        return;
      case "message_start":
        tell((event.message as JsonObject | null | undefined)?.usage);
        return;
      case "message_delta":
        tell(event.usage);
        if ((event.delta as JsonObject | null | undefined)?.stop_reason === "refusal") meter.gaveUp();
    }
  };
}

/** Returns what tells usage on, as often as it is told, and returns what of it was told. */
function tellUsageTo(meter: Meter): (usage: JsonValue | undefined) => Partial<Usage> {
  let long = 0;
  return (usage) => {
    if (typeof usage !== "object" || usage === null || Array.isArray(usage)) return {};
    const details = usage.output_tokens_details as JsonObject | null | undefined;
    const output = countOf(usage.output_tokens);
    const written = writtenParts(usage, long);
    long = written.cacheWriteHour ?? long;
    const told: Partial<Usage> = {
      ...only("input", countOf(usage.input_tokens)),
      ...only("cacheRead", countOf(usage.cache_read_input_tokens)),
      ...written,
      ...only("output", output),
      ...only("reasoning", output && Math.min(output, countOf(details?.thinking_tokens) ?? 0)),
    };
    meter.told(told);
    return told;
  };
}

/** What was told before of a part is told again by leaving the part out. */
function only(part: keyof Usage, count: number | undefined): Partial<Usage> {
  return count === undefined ? {} : { [part]: count };
}

/** The sum alone may be told again at the end: then as much of it is long as was before. */
function writtenParts(usage: JsonObject, longBefore: number): Partial<Usage> {
  const split = usage.cache_creation as JsonObject | null | undefined;
  const short = countOf(split?.ephemeral_5m_input_tokens);
  const long = countOf(split?.ephemeral_1h_input_tokens);
  const sum = countOf(usage.cache_creation_input_tokens);
  if (short !== undefined || long !== undefined) {
    const cacheWriteHour = long ?? 0;
    return { cacheWrite: Math.max(short ?? 0, (sum ?? 0) - cacheWriteHour), cacheWriteHour };
  }
  if (sum === undefined) return {};
  const cacheWriteHour = Math.min(sum, longBefore);
  return { cacheWrite: sum - cacheWriteHour, cacheWriteHour };
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
      if (typeof block?.type === "string") meter.wrote("");
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
  if (typeof text === "string" && text !== "") meter.wrote(text);
}
