/**
 * The names of the tools of one call, here and in chat.
 *
 * A tool of a namespace has a name of its own only in there; chat has no namespaces, and names of 64 characters at most. So
 * both names stand in a table: `files` + `read` is `files__read`, and what would be too long, or another tool's name, ends in a
 * hash of both. The namespace `functions` is the one that models take for none.
 */
import { createHash } from "node:crypto";
import { shortened } from "../messages-to-chat/tool-names.ts";

/** What a call of a tool is to the caller. */
export interface CallerTool {
  readonly kind: "function" | "custom" | "tool_search";
  readonly name: string;
  readonly namespace: string | undefined;
  /** Whether its free text comes as the one argument of a function. */
  readonly isWrapped: boolean;
}

const longest = 64;
const noNamespace = "functions";

export class ToolNames {
  readonly #byChatName = new Map<string, CallerTool>();
  readonly #chatNames = new Map<string, string>();
  /** The tools of each bare name. */
  readonly #byName = new Map<string, CallerTool[]>();

  /** Returns the name of a tool in chat; undefined where the caller has named another so. */
  add(tool: CallerTool): string | undefined {
    const key = keyOf(tool.namespace, tool.name);
    if (this.#chatNames.has(key)) return undefined;
    const chatName = this.#free(tool.namespace, tool.name);
    this.#chatNames.set(key, chatName);
    this.#byChatName.set(chatName, tool);
    const others = this.#byName.get(tool.name);
    if (others) others.push(tool);
    else this.#byName.set(tool.name, [tool]);
    return chatName;
  }

  /** Returns the chat name of a tool that was called or is chosen, also of one that is not offered any more. */
  chatNameOf(namespace: string | undefined, name: string): string {
    const known = this.#chatNames.get(keyOf(namespace, name));
    if (known !== undefined) return known;
    const only = namespace === undefined ? this.#onlyOf(name) : undefined;
    if (only) return this.#chatNames.get(keyOf(only.namespace, only.name)) as string;
    const chatName = this.#free(namespace, name);
    this.#chatNames.set(keyOf(namespace, name), chatName);
    return chatName;
  }

  /** Returns whether a tool of this name is offered. */
  has(namespace: string | undefined, name: string): boolean {
    return this.#byChatName.has(this.#chatNames.get(keyOf(namespace, name)) ?? "");
  }

  /** Returns what a call is to the caller. Models may leave a namespace out; a name that nobody offered stays. */
  callerTool(chatName: string): CallerTool {
    const known = this.#byChatName.get(chatName) ?? this.#onlyOf(chatName);
    return known ?? { kind: "function", name: chatName, namespace: undefined, isWrapped: false };
  }

  /** Returns the tool of this bare name, where there is one. */
  #onlyOf(name: string): CallerTool | undefined {
    const tools = this.#byName.get(name) ?? [];
    return tools.length === 1 ? tools[0] : undefined;
  }

  #free(namespace: string | undefined, name: string): string {
    const isBare = namespace === undefined || namespace === noNamespace;
    const wished = shortened(isBare ? name : `${namespace}__${name}`.replaceAll(/[^A-Za-z0-9_-]/gu, "_"));
    const isTaken = (chatName: string) => this.#byChatName.has(chatName);
    if (!isTaken(wished)) return wished;
    const mark = createHash("sha256").update(keyOf(namespace, name)).digest("hex").slice(0, 8);
    return `${wished.slice(0, longest - mark.length - 1)}_${mark}`;
  }
}

function keyOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ""}\n${name}`;
}
