/** Reads whether a request demands a call of a tool, in whichever form: fitting it to a server, and reading its refusal, go by the same. */
import { isObject, type JsonObject } from "../../wire/json.ts";

/** demandsCall reports whether a chat or a response demands a call: of any tool, of one, or of one in a list. */
export function demandsCall({ tool_choice: choice, function_call: legacy }: JsonObject): boolean {
  if (!isObject(choice)) return choice === "required" || isObject(legacy);
  const { allowed_tools: allowed, mode } = choice;
  return choice.type !== "allowed_tools" || (isObject(allowed) ? allowed.mode : mode) === "required";
}
