/** Reads a conversation: the last text, the instructions, the last tool results. Missing members read as empty. */
import { type ChatMessage, Role } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { textOf } from "../../tokens/content.ts";

export interface ToolResult {
  readonly name: string;
  readonly text: string;
}

export function lastUserText(messages: readonly ChatMessage[]): string {
  return textOf(messages.findLast((message) => message.role === Role.USER));
}

/** instructionsOf returns the text of the instructions. */
export function instructionsOf(messages: readonly ChatMessage[]): string {
  return messages
    .filter((message) => message.role === Role.SYSTEM || message.role === Role.DEVELOPER)
    .map(textOf)
    .join("\n");
}

/** lastToolResults returns the tool results at the end, oldest first. */
export function lastToolResults(messages: readonly ChatMessage[]): ToolResult[] {
  const start = messages.findLastIndex((message) => !isToolResult(message)) + 1;
  return messages.slice(start).map((message) => ({ name: toolNameOf(message, messages), text: textOf(message) }));
}

function isToolResult(message: ChatMessage): boolean {
  return message.role === Role.TOOL || message.role === Role.FUNCTION;
}

function toolNameOf(result: ChatMessage, messages: readonly ChatMessage[]): string {
  if (result.name) return result.name;
  const calls = messages.flatMap((message) => message.toolCalls);
  const call = calls.findLast((call) => call.id !== undefined && call.id === result.toolCallId);
  return call?.function?.name ?? call?.custom?.name ?? "unknown";
}

/** clip returns the first characters of a text, with an ellipsis where it was longer. */
export function clip(text: string, length: number): string {
  // Twice as many UTF-16 units contain enough characters, so a long text is not scanned.
  const signs = Array.from(text.slice(0, 2 * length + 2));
  return signs.length > length ? `${signs.slice(0, length).join("")}…` : text;
}
