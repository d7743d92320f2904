/**
 * Tools of the Messages API that have a dated type and no schema, and that the caller runs: a shell, an editor, a memory.
 * A chat model gets them as functions with the arguments that their callers expect.
 */
import type { MessageTool } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import type { JsonObject } from "../../../wire/json.ts";

interface ClientTool {
  readonly description: string;
  readonly parameters: JsonObject;
}

const text = { type: "string" };
const lineNumber = { type: "integer", description: "The text is inserted behind this line; 0 is the beginning." };
const lines = {
  type: "array",
  items: { type: "integer" },
  description: "The first and the last line to show, counted from 1; -1 is the end.",
};
const editing = {
  path: { type: "string", description: "The absolute path of a file or a folder." },
  view_range: lines,
  file_text: { type: "string", description: "The whole text of a file to create." },
  old_str: { type: "string", description: "The text to replace, which must occur once." },
  new_str: text,
  insert_line: lineNumber,
};

function objectOf(properties: JsonObject, required: string[]): JsonObject {
  return { type: "object", properties, required };
}

/** By the type's beginning, before its date. */
const tools: ReadonlyMap<string, ClientTool> = new Map([
  [
    "bash",
    {
      description: "Runs a command in a shell that stays open, and returns what it prints.",
      parameters: objectOf(
        { command: text, restart: { type: "boolean", description: "Starts the shell anew instead." } },
        [],
      ),
    },
  ],
  [
    "text_editor",
    {
      description: "Shows, creates and edits files.",
      parameters: objectOf(
        {
          command: { type: "string", enum: ["view", "create", "str_replace", "insert"] },
          ...editing,
          insert_text: text,
        },
        ["command", "path"],
      ),
    },
  ],
  [
    "memory",
    {
      description: "Keeps files below /memories, which are there in later conversations, too. Look there first.",
      parameters: objectOf(
        {
          command: { type: "string", enum: ["view", "create", "str_replace", "insert", "delete", "rename"] },
          ...editing,
          insert_text: text,
          old_path: text,
          new_path: text,
        },
        ["command"],
      ),
    },
  ],
]);

/** clientToolOf returns undefined for a tool with a schema of its own, and for one that the vendor runs. */
export function clientToolOf({ type = "" }: MessageTool): ClientTool | undefined {
  const [, kind] = /^(.+)_\d{8}$/.exec(type) ?? [];
  return kind === undefined ? undefined : tools.get(kind);
}

/** isVendorsSearch reports the vendor's own search for tools. */
export function isVendorsSearch({ type = "" }: MessageTool): boolean {
  return /^tool_search_tool_/.test(type);
}
