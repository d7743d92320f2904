/** Parses tools as people write them: the JSON list of OpenAI's API, or bare functions. */
import { ToolType } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { isObject, type JsonObject, type JsonValue } from "../../configuration/document.ts";

export interface FunctionTool {
  readonly type: typeof ToolType.FUNCTION;
  readonly function: { readonly name: string; readonly description?: string; readonly parameters?: JsonObject };
}

export const exampleTools = JSON.stringify(
  [
    {
      type: "function",
      function: {
        name: "get_weather",
        description: "Tells the weather in a city.",
        parameters: {
          type: "object",
          properties: { city: { type: "string" }, unit: { type: "string", enum: ["celsius", "fahrenheit"] } },
          required: ["city"],
        },
      },
    },
  ],
  null,
  2,
);

/** readTools returns undefined for a text that is not such a list. */
export function readTools(text: string): readonly FunctionTool[] | undefined {
  const list = parsed(text);
  const tools = (Array.isArray(list) ? list : [list]).map(toolOf);
  return tools.every((tool) => tool !== undefined) ? tools : undefined;
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

function toolOf(given: JsonValue | undefined): FunctionTool | undefined {
  if (!isObject(given)) return undefined;
  const { name, description, parameters } = isObject(given.function) ? given.function : given;
  if (typeof name !== "string" || name === "") return undefined;
  if (parameters !== undefined && !isObject(parameters)) return undefined;
  return {
    type: ToolType.FUNCTION,
    function: {
      name,
      ...(typeof description === "string" ? { description } : {}),
      ...(parameters ? { parameters } : {}),
    },
  };
}
