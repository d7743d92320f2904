/**
 * Reads the chunks of OpenAI's dialect that differ from one read before in nothing but their text: most do. What stands
 * around the text is compared byte by byte, and nothing is parsed; what differs in anything else is left to a parser.
 */
import { isUtf8 } from "node:buffer";
import type { JsonObject } from "@bufbuild/protobuf";
import { framed } from "../wire/sse.ts";

export interface Alike {
  /** Learns from a chunk, if all that it says is a text, and from what its caller sees of it. */
  learn(json: JsonObject, chunk: Buffer, seen: Buffer): void;
  /** Returns what a chunk says that is like the one learnt from, and what its caller sees of it: the chunk, or what stands in a frame. */
  read(chunk: Buffer): { readonly text: string; readonly seen: Buffer } | undefined;
}

/** How often it learns without finding a chunk that is alike: some vendors put something new into each. */
const mostTries = 8;

export function createAlike(): Alike {
  let whole: Around | undefined;
  let told: Around | undefined;
  let tries = 0;
  return {
    learn(json, chunk, seen) {
      const member = tries < mostTries ? onlyText(json) : undefined;
      if (!member) return;
      tries++;
      whole = around(member, chunk);
      told = seen === chunk ? whole : sharing(around(member, seen), whole);
    },
    read(chunk) {
      if (!whole || !told) return undefined;
      const from = whole.before.length;
      const to = chunk.length - whole.after.length;
      if (to < from || whole.before.compare(chunk, 0, from) !== 0 || whole.after.compare(chunk, to) !== 0)
        return undefined;
      const piece = chunk.subarray(from, to);
      if (!isPlain(piece)) return undefined;
      tries = 0;
      return { text: piece.toString(), seen: told === whole ? chunk : framed(told.before, piece, told.after) };
    },
  };
}

/** A member of an object whose value is a text. */
type Member = readonly [key: string, text: string];

const textKeys: ReadonlySet<string> = new Set(["content", "reasoning_content", "reasoning"]);

/** Returns where a chunk says its text, if that is all that it says. */
function onlyText({ choices, usage }: JsonObject): Member | undefined {
  if (usage || !Array.isArray(choices) || choices.length !== 1) return undefined;
  const [{ delta, finish_reason = null }] = choices as [JsonObject];
  if (finish_reason !== null || typeof delta !== "object" || delta === null) return undefined;
  const said = Object.entries(delta).filter(([key, value]) => value !== null && value !== "" && key !== "role");
  const [[key, text] = ["", null]] = said;
  return said.length === 1 && textKeys.has(key) && typeof text === "string" ? [key, text] : undefined;
}

/** What stands around a text, its quotes included. */
interface Around {
  readonly before: Buffer;
  readonly after: Buffer;
}

/** Returns undefined where the member is not found as it is mostly written, or is found at several places, or on several lines. */
function around([key, text]: Member, chunk: Buffer): Around | undefined {
  if (chunk.includes("\n")) return undefined;
  const name = chunk.includes(`"${key}": `) ? `"${key}": ` : `"${key}":`;
  const member = Buffer.from(name + JSON.stringify(text));
  const at = chunk.indexOf(member);
  if (at === -1 || chunk.includes(member, at + 1)) return undefined;
  // Copies, for a piece of what was read would keep all of it.
  const before = Buffer.from(chunk.subarray(0, at + name.length + 1));
  return { before, after: Buffer.from(chunk.subarray(at + member.length - 1)) };
}

/** What stands before a text is mostly told as it came: one copy does for both. */
function sharing(told: Around | undefined, whole: Around | undefined): Around | undefined {
  return told && whole?.before.equals(told.before) ? { before: whole.before, after: told.after } : told;
}

/** Whether bytes may stand in a string of JSON, and stand for themselves there. */
function isPlain(bytes: Buffer): boolean {
  let isAscii = true;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte < 0x20 || byte === 0x22 || byte === 0x5c) return false;
    if (byte >= 0x80) isAscii = false;
  }
  return isAscii || isUtf8(bytes);
}
