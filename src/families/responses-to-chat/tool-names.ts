/**
 * The names of one call's tools, for the caller and in chat.
 *
 * Chat has no namespaces, and names of 64 characters at most. So `files` + `read` becomes `files__read`; a name that
 * would be too long, or another tool's, ends in a hash of both, and so does one with signs that OpenAI refuses. Models take the namespace
 * `functions` for none.
 */
import { shortHash } from "../../runtime/ids.ts";
import { isBeginning, chatName as plainName, shortened } from "../messages-to-chat/tool-names.ts";
import type { ClientToolKind } from "./client-tools.ts";

/** CallerTool is what a call of a tool is to the caller. */
export interface CallerTool {
  readonly kind: "function" | "custom" | ClientToolKind;
  readonly name: string;
  readonly namespace: string | undefined;
  /** isWrapped is whether its free text comes as the only argument of a function. */
  readonly isWrapped: boolean;
}

const longest = 64;
const noNamespace = "functions";

export class ToolNames {
  readonly #byChatName = new Map<string, CallerTool>();
  readonly #chatNames = new Map<string, string>();
  /** The tools of each bare name. */
  readonly #byName = new Map<string, CallerTool[]>();

  /** Returns the chat name of a tool; undefined where the caller has another tool of this name. */
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

  /** Returns the chat name of a tool that was called or is chosen, offered or not. */
  chatNameOf(namespace: string | undefined, name: string): string {
    const known = this.#chatNames.get(keyOf(namespace, name));
    if (known !== undefined) return known;
    const only = namespace === undefined ? this.#onlyOf(name) : undefined;
    if (only) return this.#chatNames.get(keyOf(only.namespace, only.name)) as string;
    const chatName = this.#free(namespace, name);
    this.#chatNames.set(keyOf(namespace, name), chatName);
    return chatName;
  }

  /** Reports whether a tool of this name is offered. */
  has(namespace: string | undefined, name: string): boolean {
    return this.#byChatName.has(this.#chatNames.get(keyOf(namespace, name)) ?? "");
  }

  /** Returns what a call is to the caller. Models may omit a namespace; an unknown name stays. */
  callerTool(chatName: string): CallerTool {
    const known = this.#byChatName.get(chatName) ?? this.#onlyOf(chatName);
    return known ?? { kind: "function", name: chatName, namespace: undefined, isWrapped: false };
  }

  /** Reports whether a name in chat is no tool's, but the beginning of one's. */
  isPartial(chatName: string): boolean {
    if (this.#byName.has(chatName) || this.#byChatName.has(chatName)) return false;
    return isBeginning(chatName, this.#byChatName) || isBeginning(chatName, this.#byName);
  }

  /** Returns the only tool of this bare name, if there is one. */
  #onlyOf(name: string): CallerTool | undefined {
    const tools = this.#byName.get(name) ?? [];
    return tools.length === 1 ? tools[0] : undefined;
  }

  #free(namespace: string | undefined, name: string): string {
    const isBare = namespace === undefined || namespace === noNamespace;
    const joined = `${namespace}__${name}`.replaceAll(/[^A-Za-z0-9_-]/gu, "_");
    const preferred = isBare ? plainName(name) : shortened(joined);
    const isTaken = (chatName: string) => this.#byChatName.has(chatName);
    if (!isTaken(preferred)) return preferred;
    const mark = shortHash(keyOf(namespace, name));
    return `${preferred.slice(0, longest - mark.length - 1)}_${mark}`;
  }
}

function keyOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ""}\n${name}`;
}
