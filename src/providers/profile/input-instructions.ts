/**
 * Instructions among the items of a request for a response. Servers that do not know `developer` get `system`.
 * Servers that take instructions only first get all of them, in order, as `instructions`.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isInstruction } from "../../call/request/content-parts.ts";
import { isFilledText, isObject } from "../../wire/json.ts";
import type { Capabilities } from "./profile.ts";

/** placeInputInstructions returns the changes to the request: none where the server takes it as it is, or what it takes is not stated. */
export function placeInputInstructions(
  json: JsonObject,
  { developer, system }: Capabilities,
): Readonly<Record<string, JsonValue>> {
  const { input: items, instructions = null } = json;
  if (!Array.isArray(items) || (developer !== "system" && system !== "first")) return {};
  if (!items.some(isInstruction)) return {};
  if (system === "first") return joined(items, instructions);
  if (!items.some((item) => isObject(item) && item.role === "developer")) return {};
  return { input: items.map((item) => (isInstruction(item) ? { ...item, role: "system" } : item)) };
}

/** instructionsIn returns the items with null in the place of all that are no instructions. */
export function instructionsIn(items: JsonValue | undefined): JsonValue | undefined {
  return Array.isArray(items) ? items.map((item) => (isInstruction(item) ? item : null)) : undefined;
}

function joined(items: readonly JsonValue[], instructions: JsonValue): Readonly<Record<string, JsonValue>> {
  const existing = isFilledText(instructions) ? [instructions] : [];
  const texts = [...existing, ...items.filter(isInstruction).map(textOf)];
  return {
    instructions: texts.filter((text) => text !== "").join("\n\n"),
    input: items.filter((item) => !isInstruction(item)),
  };
}

/** Instructions are text. */
function textOf({ content }: JsonObject): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (isObject(part) && typeof part.text === "string" ? part.text : "")).join("\n\n");
}
