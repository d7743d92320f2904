/**
 * Reads tokens of cl100k_base, which clients of OpenAI's models of vectors write in place of texts. The library's own decoder copies what
 * it has for each token that is no whole character, and begins a text with the unfinished character that the last one ended with.
 */
import type { CooperativeTask } from "../runtime/cooperative.ts";
import type { JsonValue } from "../wire/json.ts";

/** Room is how many bytes of text may still come. What is decoded is taken from it. */
export interface Room {
  bytes: number;
}

/** Decode returns the text of tokens; undefined where one of them is none, or the text has no room. */
export type Decode = (tokens: readonly JsonValue[], room: Room) => CooperativeTask<string | undefined>;

let loaded: Promise<Decode> | undefined;

/** loadDecoder loads the vocabulary at the first call: it is a megabyte that few gateways need. */
export function loadDecoder(): Promise<Decode> {
  loaded ??= load();
  return loaded;
}

/** Tokens between two yields: some tenths of a millisecond. */
const tokensPerSlice = 1024;
/** The bytes of the longest token. */
const longestToken = 128;

async function load(): Promise<Decode> {
  const { default: vocabulary } = await import("gpt-tokenizer/bpeRanks/cl100k_base");
  return function* decode(tokens, room) {
    const characters = new TextDecoder("utf-8", { ignoreBOM: true });
    const slice = Buffer.allocUnsafe(Math.min(tokens.length, tokensPerSlice) * longestToken);
    let text = "";
    for (let from = 0; from < tokens.length; from += tokensPerSlice) {
      if (from > 0) yield;
      let length = 0;
      for (const token of tokens.slice(from, from + tokensPerSlice)) {
        const piece = typeof token === "number" ? vocabulary[token] : undefined;
        if (piece === undefined) return undefined;
        if (typeof piece === "string") length += slice.write(piece, length);
        else for (const byte of piece) slice[length++] = byte;
      }
      room.bytes -= length;
      if (room.bytes < 0) return undefined;
      text += characters.decode(slice.subarray(0, length), { stream: true });
    }
    // A character that is unfinished where a text ends stays so.
    return text + characters.decode();
  };
}
