/**
 * Names and ids that both families take.
 *
 * A tool's name has up to 128 characters in the Messages API and 64 in chat, where OpenAI and others take letters, digits, `_` and `-` only.
 * A longer one is cut, one with other signs, as MCP servers have them, gets `_` for each, and both get a hash of the whole, so that a tool
 * has the same name in every request and no two tools share one. The answer has the caller's own name again.
 */
import { shortHash } from "../../runtime/ids.ts";
import { portableId, signedId } from "../call-signature.ts";
import type { Target } from "../translation.ts";

const longest = 64;
const kept = 55;

/** shortened returns a text of at most 64 characters: the text itself, or its beginning and a hash of the whole. */
export function shortened(text: string): string {
  if (text.length <= longest) return text;
  const characters = Array.from(text);
  if (characters.length <= longest) return text;
  const hash = shortHash(text);
  return `${characters.slice(0, kept).join("")}_${hash}`;
}

/**
 * refusedSigns are what no chat name has. Letters of all scripts stay: servers of open models take them, and they tell a model what a tool
 * does.
 */
const refusedSigns = /[^\p{L}\p{N}_-]/gu;

/** chatName returns the name of a tool in chat: the name itself, or one in its place. */
export function chatName(name: string): string {
  const plain = name.replaceAll(refusedSigns, "_");
  return plain === name ? shortened(name) : `${Array.from(plain).slice(0, kept).join("")}_${shortHash(name)}`;
}

/** isBeginning reports whether a text is none of the names, but the beginning of one. */
export function isBeginning(text: string, names: Pick<ReadonlyMap<string, unknown>, "has" | "keys">): boolean {
  return text !== "" && !names.has(text) && names.keys().some((name) => name.startsWith(text));
}

/** ToolNames maps the names of one call's tools in both directions. */
export class ToolNames {
  readonly #callers = new Map<string, string>();
  readonly #chatNames = new Set<string>();

  toChat(name: string): string {
    const short = chatName(name);
    this.#chatNames.add(short);
    if (short !== name) this.#callers.set(short, name);
    return short;
  }

  /** Returns the caller's name of a tool; an unknown name stays. */
  toCaller(name: string): string {
    return this.#callers.get(name) ?? name;
  }

  /** Reports whether a name in chat is no tool's, but the beginning of one's. */
  isPartial(name: string): boolean {
    return isBeginning(name, this.#chatNames);
  }
}

/**
 * ToolIds makes the ids of one answer's tool calls: the upstream's, encoded where they have other characters than
 * letters, digits, `_` and `-`. A call without an id, or with a duplicate one, gets a new id.
 */
export class ToolIds {
  readonly #answerId: string;
  readonly #target: Target | undefined;
  readonly #taken = new Set<string>();

  constructor(answerId: string, target: Target | undefined) {
    this.#answerId = answerId;
    this.#target = target;
  }

  /** Returns the next call's id. `upstreamId` and `signature` are empty where the upstream gave none. */
  next(upstreamId: string, signature: string): string {
    let id = portableId(upstreamId) || `toolu_${this.#answerId}`;
    while (id === `toolu_${this.#answerId}` || this.#taken.has(id)) id = `${id}_${this.#taken.size}`;
    this.#taken.add(id);
    return signedId(id, signature, this.#target);
  }
}
