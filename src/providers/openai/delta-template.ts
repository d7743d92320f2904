/**
 * Recognises chunks of OpenAI's dialect that differ from an earlier one in their text alone, as most do. The bytes
 * around the text are compared, and nothing is parsed; any other chunk is left to the parser.
 */
import { isUtf8 } from "node:buffer";
import type { JsonObject } from "@bufbuild/protobuf";
import { type DeltaTemplate, findTemplate, type PlainText } from "../../wire/scan/delta-template.ts";
import { frameFromTemplate } from "../../wire/sse.ts";

/** TemplateChunk is a chunk that matches the template. */
export interface TemplateChunk {
  readonly text: string;
  /** Whether it is the content's, and not the reasoning's. */
  readonly isContent: boolean;
  /** The text as it stands in the frame for the caller. */
  readonly plainText: PlainText;
  /** The frame for the caller; undefined where it equals the chunk. */
  readonly frame: Buffer | undefined;
}

export interface TemplateReader {
  /** Learns a template from a chunk that says nothing but a text, and from what its caller sees. */
  learn(json: JsonObject, chunk: Buffer, seen: Buffer): void;
  /** Returns undefined for a chunk that does not match the template. */
  read(chunk: Buffer): TemplateChunk | undefined;
}

/** mostTries is how many templates are tried without a match: some vendors put something new into each chunk. */
const mostTries = 8;

export function createTemplateReader(): TemplateReader {
  let input: DeltaTemplate | undefined;
  let output: DeltaTemplate | undefined;
  let isContent = false;
  let tries = 0;
  return {
    learn(json, chunk, seen) {
      const member = tries < mostTries ? onlyText(json) : undefined;
      if (!member) return;
      tries++;
      isContent = member[0] === "content";
      // A frame of several data lines is not one as we write it.
      const isOnOneLine = !chunk.includes("\n");
      input = isOnOneLine ? aroundMember(member, chunk) : undefined;
      output = seen === chunk ? input : input && sharing(aroundMember(member, seen), input);
    },
    read(chunk) {
      if (!input || !output) return undefined;
      const from = input.before.length;
      const to = chunk.length - input.after.length;
      if (to < from || input.before.compare(chunk, 0, from) !== 0 || input.after.compare(chunk, to) !== 0)
        return undefined;
      const bytes = chunk.subarray(from, to);
      if (!isPlain(bytes)) return undefined;
      tries = 0;
      const frame = output === input ? undefined : frameFromTemplate(output.before, bytes, output.after);
      return { text: bytes.toString(), isContent, plainText: { template: input, bytes }, frame };
    },
  };
}

/** Member is a key with a text for its value. */
type Member = readonly [key: string, text: string];

const textKeys: ReadonlySet<string> = new Set(["content", "reasoning_content", "reasoning"]);

/** onlyText returns the member of a chunk that says nothing but a text. */
function onlyText({ choices, usage }: JsonObject): Member | undefined {
  if (usage || !Array.isArray(choices) || choices.length !== 1) return undefined;
  const [{ delta, finish_reason = null, logprobs = null }] = choices as [JsonObject];
  if (finish_reason !== null || logprobs !== null || typeof delta !== "object" || delta === null) return undefined;
  const said = Object.entries(delta).filter(([key, value]) => value !== null && value !== "" && key !== "role");
  const [[key, text] = ["", null]] = said;
  return said.length === 1 && textKeys.has(key) && typeof text === "string" ? [key, text] : undefined;
}

/** aroundMember returns the template around the text. Another text is put in its place to prove that it is the right one. */
function aroundMember([key, text]: Member, json: Buffer): DeltaTemplate | undefined {
  const found = findTemplate(key, text, json);
  if (!found) return undefined;
  const other = Buffer.from(text === "a" ? "b" : "a");
  try {
    const read = onlyText(JSON.parse(Buffer.concat([found.before, other, found.after]).toString()));
    return read?.[0] === key && read[1] === other.toString() ? found : undefined;
  } catch {
    return undefined; // The chunk was read although it is not JSON, as after a byte order mark.
  }
}

/** The parts before the text are mostly equal: one copy serves both. */
function sharing(output: DeltaTemplate | undefined, input: DeltaTemplate): DeltaTemplate | undefined {
  return output && input.before.equals(output.before) ? { before: input.before, after: output.after } : output;
}

/** isPlain reports whether bytes may stand in a JSON string without escapes. */
function isPlain(bytes: Buffer): boolean {
  let isAscii = true;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte < 0x20 || byte === 0x22 || byte === 0x5c) return false;
    if (byte >= 0x80) isAscii = false;
  }
  return isAscii || isUtf8(bytes);
}
