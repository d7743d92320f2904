/**
 * Tools that the responses API describes by their kind alone and the caller runs: shells, patches, its own tool
 * search. A chat model gets each as a function, and its call becomes the item that the caller knows.
 *
 * Arguments that the model left out, or wrote in another type, are empty in the item: nothing is run by guessing.
 */

import { objectSchema } from "../../call/tools/object-schema.ts";
import { isObject, type JsonObject, type JsonValue, textOrEmpty } from "../../wire/json.ts";

/** CalledTool is a tool as a history knows it. */
interface CalledTool {
  /** The type of the item of a call. */
  readonly itemType: string;
  /** Returns the arguments of the call that an item holds. */
  inputOf(item: JsonObject): JsonValue;
}

export interface ClientTool extends CalledTool {
  /** The beginning of the item's id. */
  readonly prefix: string;
  /** The function for the model; undefined where the request describes the tool. */
  readonly function?: { readonly description: string; readonly parameters: JsonObject } | undefined;
  /** Returns the members of an item that hold the arguments of a call. */
  membersOf(input: JsonObject): JsonObject;
}

const shell: ClientTool = {
  itemType: "shell_call",
  prefix: "sh",
  function: {
    description: "Runs shell commands, one after another, and returns what each of them prints.",
    parameters: closedSchema(
      {
        commands: { type: "array", items: { type: "string" }, description: "The command lines." },
        timeout_ms: { type: "integer", description: "The time after which a command is stopped, in milliseconds." },
        max_output_length: { type: "integer", description: "The most characters of output to return of a command." },
      },
      ["commands"],
    ),
  },
  membersOf: ({ commands, timeout_ms, max_output_length }) => ({
    action: {
      commands: textsIn(commands),
      timeout_ms: numberOrNull(timeout_ms),
      max_output_length: numberOrNull(max_output_length),
    },
    environment: { type: "local" },
  }),
  inputOf: ({ action }) => withoutNulls(action),
};

/** localShell is for one model of its vendor's: it is never offered, and only known in a history. */
const localShell: CalledTool = {
  itemType: "local_shell_call",
  inputOf({ action }) {
    const { type: _, env, ...rest } = withoutNulls(action);
    return isObject(env) && Object.keys(env).length > 0 ? { ...rest, env } : rest;
  },
};

const applyPatch: ClientTool = {
  itemType: "apply_patch_call",
  prefix: "apc",
  function: {
    description:
      "Creates, changes or deletes one file. In `diff` each line of a new file begins with `+`. To change a file, each \
hunk begins with a line `@@`, optionally followed by the line of code that it is below; lines that stay begin with a \
space, removed ones with `-`, added ones with `+`. To delete a file no `diff` is needed.",
    parameters: closedSchema(
      {
        type: { type: "string", enum: ["create_file", "update_file", "delete_file"] },
        path: { type: "string" },
        diff: { type: "string" },
      },
      ["type", "path"],
    ),
  },
  membersOf({ type, path, diff }) {
    const operation = { type: textOrEmpty(type), path: textOrEmpty(path) };
    return { operation: type === "delete_file" ? operation : { ...operation, diff: textOrEmpty(diff) } };
  },
  inputOf: ({ operation }) => withoutNulls(operation),
};

const toolSearch: ClientTool = {
  itemType: "tool_search_call",
  prefix: "tsc",
  membersOf: (input) => ({ execution: "client", arguments: input }),
  inputOf: ({ arguments: input }) => input ?? {},
};

/** clientTools are the tools by their kind, which is also their name. */
export const clientTools = {
  shell,
  apply_patch: applyPatch,
  tool_search: toolSearch,
} as const;

export type ClientToolKind = keyof typeof clientTools;

/** clientToolKind returns the kind of a tool that its caller runs; undefined for any other. */
export function clientToolKind({ type, execution, environment }: JsonObject): ClientToolKind | undefined {
  if (type === "tool_search") return execution === "client" ? type : undefined;
  if (type === "shell") return !isObject(environment) || environment.type === "local" ? type : undefined;
  return type === "apply_patch" ? type : undefined;
}

const calledTools: ReadonlyMap<JsonValue, { readonly name: string; readonly tool: CalledTool }> = new Map(
  Object.entries<CalledTool>({ ...clientTools, local_shell: localShell }).map(([name, tool]) => [
    tool.itemType,
    { name, tool },
  ]),
);

/** calledClientTool returns the tool whose call an item is, and its name; undefined for any other item. */
export function calledClientTool(itemType: string) {
  return calledTools.get(itemType);
}

function closedSchema(properties: JsonObject, required: string[]): JsonObject {
  return { ...objectSchema(properties, required), additionalProperties: false };
}

/** textsIn returns a list of texts. A model may write a single one bare. */
function textsIn(value: JsonValue | undefined): string[] {
  if (typeof value === "string") return [value];
  return Array.isArray(value) ? value.filter((text) => typeof text === "string") : [];
}

function numberOrNull(value: JsonValue | undefined): number | null {
  return typeof value === "number" ? value : null;
}

function withoutNulls(value: JsonValue | undefined): JsonObject {
  const entries = Object.entries(isObject(value) ? value : {});
  return Object.fromEntries(entries.filter(([, member]) => member !== null));
}
