/**
 * Reads the chunks of OpenAI's dialect that differ from one read before in nothing but their text: most do. What stands
 * around the text is compared byte by byte, and nothing is parsed; what differs in anything else is left to a parser.
 */
import { isUtf8 } from "node:buffer";
import type { JsonObject } from "@bufbuild/protobuf";
import { type DeltaTemplate, findTemplate, type PlainText } from "../../wire/scan/delta-template.ts";
import { frameFromTemplate } from "../../wire/sse.ts";

/** What a chunk says that is like one learnt from. */
export interface TemplateChunk {
  readonly text: string;
  /** The same as it stands in what the caller sees. */
  readonly plainText: PlainText;
  /** The frame of what the caller sees of it; undefined where that is all of it. */
  readonly frame: Buffer | undefined;
}

export interface TemplateReader {
  /** Learns from a chunk, if all that it says is a text, and from what its caller sees of it. */
  learn(json: JsonObject, chunk: Buffer, seen: Buffer): void;
  /** Returns undefined for a chunk that is not like the one learnt from. */
  read(chunk: Buffer): TemplateChunk | undefined;
}

/** How often it learns without finding a chunk that is alike: some vendors put something new into each. */
const mostTries = 8;

export function createTemplateReader(): TemplateReader {
  let whole: DeltaTemplate | undefined;
  let told: DeltaTemplate | undefined;
  let tries = 0;
  return {
    learn(json, chunk, seen) {
      const member = tries < mostTries ? onlyText(json) : undefined;
      if (!member) return;
      tries++;
      // Data of several lines are no frame as we write it.
      const isOnOneLine = !chunk.includes("\n");
      whole = isOnOneLine ? aroundMember(member, chunk) : undefined;
      told = seen === chunk ? whole : whole && sharing(aroundMember(member, seen), whole);
    },
    read(chunk) {
      if (!whole || !told) return undefined;
      const from = whole.before.length;
      const to = chunk.length - whole.after.length;
      if (to < from || whole.before.compare(chunk, 0, from) !== 0 || whole.after.compare(chunk, to) !== 0)
        return undefined;
      const bytes = chunk.subarray(from, to);
      if (!isPlain(bytes)) return undefined;
      tries = 0;
      const frame = told === whole ? undefined : frameFromTemplate(told.before, bytes, told.after);
      return { text: bytes.toString(), plainText: { template: whole, bytes }, frame };
    },
  };
}

/** A member of an object whose value is a text. */
type Member = readonly [key: string, text: string];

const textKeys: ReadonlySet<string> = new Set(["content", "reasoning_content", "reasoning"]);

/** Returns where a chunk says its text, if that is all that it says. */
function onlyText({ choices, usage }: JsonObject): Member | undefined {
  if (usage || !Array.isArray(choices) || choices.length !== 1) return undefined;
  const [{ delta, finish_reason = null, logprobs = null }] = choices as [JsonObject];
  if (finish_reason !== null || logprobs !== null || typeof delta !== "object" || delta === null) return undefined;
  const said = Object.entries(delta).filter(([key, value]) => value !== null && value !== "" && key !== "role");
  const [[key, text] = ["", null]] = said;
  return said.length === 1 && textKeys.has(key) && typeof text === "string" ? [key, text] : undefined;
}

/** Returns what stands around the text, and around nothing that is only written like it: another text is tried in its place. */
function aroundMember([key, text]: Member, json: Buffer): DeltaTemplate | undefined {
  const found = findTemplate(key, text, json);
  if (!found) return undefined;
  const other = Buffer.from(text === "a" ? "b" : "a");
  try {
    const read = onlyText(JSON.parse(Buffer.concat([found.before, other, found.after]).toString()));
    return read?.[0] === key && read[1] === other.toString() ? found : undefined;
  } catch {
    return undefined; // What is no JSON here was read all the same: as by a byte order mark before it.
  }
}

/** What stands before a text is mostly told as it came: one copy does for both. */
function sharing(told: DeltaTemplate | undefined, whole: DeltaTemplate): DeltaTemplate | undefined {
  return told && whole.before.equals(told.before) ? { before: whole.before, after: told.after } : told;
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
