/**
 * Tools of the Messages API that have a dated type and no schema, and that the caller runs: a shell, an editor, a memory.
 * A chat model, and a server of messages that does not know them, gets them as functions with the arguments that their callers expect.
 */
import type { JsonObject } from "../../wire/json.ts";
import { objectSchema } from "./object-schema.ts";

interface ClientTool {
  readonly description: string;
  readonly parameters: JsonObject;
}

interface Typed {
  readonly type?: string | undefined;
}

const text = { type: "string" };
const replacing = "The text that replaces `old_str`.";
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
  new_str: { type: "string", description: replacing },
  insert_line: lineNumber,
};
const insertText = { type: "string", description: "The text to insert." };

const commands = ["view", "create", "str_replace", "insert"];

/** editorOf returns an editor with these arguments. */
function editorOf(properties: JsonObject): ClientTool {
  const command = { type: "string", enum: commands };
  const parameters = objectSchema({ command, ...properties }, ["command", "path"]);
  return { description: "Shows, creates and edits files.", parameters };
}

const editor = editorOf({ ...editing, insert_text: insertText });

/** olderEditor is an editor of the types before `insertTextSince`, which insert what is in `new_str`. */
const olderEditor = editorOf({ ...editing, new_str: { ...text, description: `${replacing} Or the text to insert.` } });

/** insertTextSince is the date of the first type of an editor that has `insert_text`. */
const insertTextSince = "20250728";

/** tools are the tools by the beginning of their type, before its date. */
const tools: ReadonlyMap<string, ClientTool> = new Map([
  [
    "bash",
    {
      description: "Runs a command in a shell that stays open, and returns what it prints.",
      parameters: objectSchema(
        { command: text, restart: { type: "boolean", description: "Starts the shell anew instead." } },
        [],
      ),
    },
  ],
  ["text_editor", editor],
  [
    "memory",
    {
      description: "Keeps files below /memories, which are there in later conversations, too. Look there first.",
      parameters: objectSchema(
        {
          command: { type: "string", enum: [...commands, "delete", "rename"] },
          ...editing,
          insert_text: insertText,
          old_path: text,
          new_path: text,
        },
        ["command"],
      ),
    },
  ],
]);

/** clientToolOf returns the description and the arguments of a tool that the caller runs by its type; undefined for any other. */
export function clientToolOf({ type = "" }: Typed): ClientTool | undefined {
  const [, kind = "", date = ""] = /^(.+)_(\d{8})$/.exec(type) ?? [];
  const tool = tools.get(kind);
  return tool === editor && date < insertTextSince ? olderEditor : tool;
}

/** isVendorsSearch reports the vendor's own search for tools. */
export function isVendorsSearch({ type = "" }: Typed): boolean {
  return /^tool_search_tool_/.test(type);
}
