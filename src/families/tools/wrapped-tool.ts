/**
 * A custom tool, whose input is free text, as a function of one string. The model is told the grammar of the text, and is not
 * held to it.
 */
import { isObject, type JsonObject, type JsonValue } from "../../wire/json.ts";

export interface WrappedTool {
  readonly description: string | undefined;
  readonly parameters: JsonObject;
}

/** wrappedTool reads a format as chat or responses write it. */
export function wrappedTool(description: string | undefined, format: JsonObject | undefined): WrappedTool {
  return {
    description: [description, grammarIn(format)].filter(Boolean).join("\n\n") || undefined,
    parameters: {
      type: "object",
      properties: { input: { type: "string", description: "The whole input of the tool, as plain text." } },
      required: ["input"],
      additionalProperties: false,
    },
  };
}

/** wrappedText returns the arguments that a call's free text becomes. */
export function wrappedText(input: string): string {
  return JSON.stringify({ input });
}

function grammarIn(format: JsonObject | undefined): string | undefined {
  const { syntax, definition }: Record<string, JsonValue | undefined> = isObject(format?.grammar)
    ? format.grammar
    : (format ?? {});
  if (typeof definition !== "string") return undefined;
  return `\`input\` follows this ${typeof syntax === "string" ? `${syntax} ` : ""}grammar:\n${definition}`;
}
