/**
 * Completes a block of a message, or the beginning of one, with the members that clients require of its type: SDKs refuse a text without
 * text and thinking without a signature, and agents cannot answer a call without an id. Citations are a list where they are null: Anthropic's
 * SDK for Java cannot add those of deltas to null, and the AI SDK refuses it.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { newId } from "../../runtime/ids.ts";
import { isFilledText, scalarText } from "../../wire/json.ts";

/** completeBlock returns the same block where nothing lacks. */
export function completeBlock(sent: JsonObject): JsonObject {
  const block = withType(sent);
  const lacking = lackingIn(block);
  return Object.keys(lacking).length === 0 ? block : { ...block, ...lacking };
}

/** withType returns a block with its type, which a member tells where its server leaves it out. */
function withType(block: JsonObject): JsonObject {
  if (typeof block.type === "string") return block;
  const [type] = tellingMembers.find(([, member]) => (block[member] ?? null) !== null) ?? [];
  return type === undefined ? block : { ...block, type };
}

/** tellingMembers are the types of blocks, each with the member that tells it. */
const tellingMembers = [
  ["text", "text"],
  ["thinking", "thinking"],
  ["tool_use", "input"],
] as const;

function lackingIn({ type, text, citations, thinking, signature, id, name, input }: JsonObject): JsonObject {
  switch (type) {
    case "text":
      return {
        ...(typeof text === "string" ? {} : { text: scalarText(text) }),
        ...(citations === null ? { citations: [] } : {}),
      };
    case "thinking":
      return {
        ...(typeof thinking === "string" ? {} : { thinking: "" }),
        ...(typeof signature === "string" ? {} : { signature: "" }),
      };
    case "tool_use":
      return {
        ...(isFilledText(id) ? {} : { id: newId("toolu") }),
        ...(isFilledText(name) ? {} : { name: namelessTool }),
        ...((input ?? null) === null ? { input: {} } : {}),
      };
  }
  return {};
}

/** namelessTool is what a call without a name calls. No tool has the name, so the caller reports the call to the model. */
const namelessTool = "unknown";
