/**
 * Names and ids that both families take.
 *
 * A tool's name may have 128 characters in the Messages API and 64 in chat: a longer one is cut and gets a hash of
 * the whole, so that the same tool has the same name in every request and no two tools share one. The answer has the
 * caller's own name again.
 */
import { createHash } from "node:crypto";
import { signedId } from "../call-signature.ts";

const longest = 64;
const kept = 55;

/** Returns a text of at most 64 characters: the text itself, or its beginning and a hash of the whole. */
export function shortened(text: string): string {
  if (text.length <= longest) return text;
  const characters = Array.from(text);
  if (characters.length <= longest) return text;
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 8);
  return `${characters.slice(0, kept).join("")}_${hash}`;
}

/** The names of one call's tools, in both directions. */
export class ToolNames {
  readonly #callers = new Map<string, string>();

  toChat(name: string): string {
    const short = shortened(name);
    if (short !== name) this.#callers.set(short, name);
    return short;
  }

  /** Returns the caller's name of a tool; the name itself where it was never cut. */
  toCaller(name: string): string {
    return this.#callers.get(name) ?? name;
  }
}

/**
 * The ids of one answer's tool calls: the upstream's, with what is no letter, digit, `_` or `-` replaced. A call
 * without an id, or with one that another call has, gets its own.
 */
export class ToolIds {
  readonly #answerId: string;
  readonly #target: string | undefined;
  readonly #taken = new Set<string>();

  /** `target` is the model's name at its upstream. */
  constructor(answerId: string, target: string | undefined) {
    this.#answerId = answerId;
    this.#target = target;
  }

  /** Takes the upstream's id of the next call, empty where it has none, and its signature of it. */
  next(upstreamId: string, signature: string): string {
    let id = upstreamId.replaceAll(/[^A-Za-z0-9_-]/g, "_") || `toolu_${this.#answerId}`;
    while (id === `toolu_${this.#answerId}` || this.#taken.has(id)) id = `${id}_${this.#taken.size}`;
    this.#taken.add(id);
    return signedId(id, signature, this.#target);
  }
}
