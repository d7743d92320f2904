/**
 * Sounds and videos, in the words of other APIs. Claude neither hears nor watches them, and its own refusal names nothing that could be sent
 * instead. What other servers of the Messages API take is theirs to say.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { invalidValue } from "../../../call/refusals.ts";
import { isObject } from "../../../wire/json.ts";
import { isClaude } from "../generation.ts";

const unheard: ReadonlySet<JsonValue | undefined> = new Set(["input_audio", "audio_url", "video_url"]);

/** refuseUnheard throws a Refusal where a request has such a part and goes to Claude. It may be an outline. */
export function refuseUnheard({ messages }: JsonObject, model: string): void {
  if (!Array.isArray(messages) || !isClaude(model)) return;
  for (const [i, message] of messages.entries())
    if (isObject(message)) refuseIn(message.content, `messages[${i}].content`);
}

function refuseIn(content: JsonValue | undefined, path: string): void {
  if (!Array.isArray(content)) return;
  for (const [i, block] of content.entries()) {
    if (!isObject(block)) continue;
    if (unheard.has(block.type))
      throw invalidValue(
        `${path}[${i}].type`,
        "this model cannot be given this kind of content; send text, images or files",
      );
    if (block.type === "tool_result") refuseIn(block.content, `${path}[${i}].content`);
  }
}
