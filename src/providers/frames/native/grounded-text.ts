/**
 * The text of a Gemini answer, and `groundingMetadata`, the web pages that it rests on → annotations of a chat message. In a stream each piece
 * names the pages so far again, and places in the text so far: the annotations are those of the last one, told at the end, and each once.
 */
import { type JsonObject, type JsonValue, listOrEmpty } from "../../../wire/json.ts";
import { membersOf } from "../../usage/count.ts";
import { cited } from "./native-sources.ts";

/** GroundedText is what has come of one choice. */
export class GroundedText {
  readonly #offsets = new ByteOffsets();
  /** The bytes of text before each part of the first piece, in which places are counted: the next pieces go on with the last part. */
  #parts: number[] = [];
  #metadata: JsonValue | undefined;
  readonly #told = new Set<string>();

  /** add takes the texts of a piece's parts, and what the piece names. A part that is no text has an empty one. */
  add(texts: readonly string[], metadata: JsonValue | undefined): void {
    const parts = texts.map((text) => this.#offsets.add(text));
    if (this.#parts.length === 0) this.#parts = parts;
    this.#metadata = metadata ?? this.#metadata;
  }

  /** annotations returns those that have not been told. A page without a place is one of the whole text. */
  annotations(): JsonObject[] {
    const { groundingChunks: chunks, groundingSupports: supports } = membersOf(this.#metadata);
    this.#metadata = undefined;
    const pages = listOrEmpty(chunks).map((chunk) => membersOf(membersOf(chunk).web));
    const placed = listOrEmpty(supports).flatMap((support) => {
      const { segment, groundingChunkIndices: named } = membersOf(support);
      const place = this.#placeOf(membersOf(segment));
      return listOrEmpty(named).flatMap((i) => cited(pages[Number(i)], place));
    });
    const all = placed.length > 0 ? placed : pages.flatMap((page) => cited(page, [0, this.#offsets.length]));
    return all.filter((annotation) => {
      const key = JSON.stringify(annotation);
      return !this.#told.has(key) && this.#told.add(key);
    });
  }

  /** #placeOf returns the place of a segment, which is told in bytes of a part. One that is not in the text is not known. */
  #placeOf({ partIndex: part, startIndex: start = 0, endIndex: end = 0 }: JsonObject): readonly [number, number] {
    const before = this.#parts[Number(part ?? 0)] ?? 0;
    const from = this.#offsets.at(before, start);
    const to = this.#offsets.at(before, end);
    return from === undefined || to === undefined || from > to ? [0, 0] : [from, to];
  }
}

/** ByteOffsets finds places of a text in UTF-16 by those in UTF-8. It keeps only where characters are that are no ASCII. */
class ByteOffsets {
  #bytes = 0;
  #length = 0;
  /** The ends of characters that are no ASCII, in bytes, and in UTF-16. */
  readonly #ends: { readonly byte: number; readonly unit: number }[] = [];

  /** The length of the text in UTF-16. */
  get length(): number {
    return this.#length;
  }

  /** add takes the next piece of the text, and returns the bytes before it. */
  add(text: string): number {
    const before = this.#bytes;
    for (const character of text) {
      this.#bytes += Buffer.byteLength(character);
      this.#length += character.length;
      if (character > "\u007f") this.#ends.push({ byte: this.#bytes, unit: this.#length });
    }
    return before;
  }

  /** at returns the place that is so many bytes behind others; undefined where the text has none. */
  at(before: number, offset: JsonValue): number | undefined {
    if (typeof offset !== "number" || !Number.isInteger(offset) || offset < 0) return undefined;
    const byte = before + offset;
    if (byte > this.#bytes) return undefined;
    let [low, high] = [0, this.#ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#ends[middle]?.byte ?? 0) <= byte) low = middle + 1;
      else high = middle;
    }
    const end = this.#ends[low - 1];
    return end ? end.unit + byte - end.byte : byte;
  }
}
