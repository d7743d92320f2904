/**
 * A tool call's arguments as a model writes them → the input for a Messages client.
 *
 * Models sometimes write invalid JSON. That must not cost the caller the answer: anything but a JSON object that the
 * gateway can write again goes into `_raw` as text.
 */
import { checkRaw, type JsonObject, type JsonValue, jsonType } from "../wire/json.ts";

/** The depth of an input in an answer. */
const depth = 4;

export function readToolInput(written: string): JsonObject {
  if (written.trim() === "") return {};
  return objectIn(written) ?? { _raw: written };
}

/**
 * ToolInput tracks an input that comes in pieces, and reports when it is a complete JSON object. Each character is
 * read once, and the text is parsed once.
 */
export class ToolInput {
  #text = "";
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** Undefined until the outermost bracket has closed. */
  #isWhole: boolean | undefined;

  get isComplete(): boolean {
    return this.#isWhole ?? false;
  }

  add(piece: string): void {
    if (this.#isWhole === undefined) this.#text += piece;
    for (let i = 0; i < piece.length; i++) this.#next(piece.charAt(i), piece, i);
  }

  #next(character: string, piece: string, i: number): void {
    if (this.#isWhole !== undefined) {
      // Only white space may follow.
      if (character.trim() !== "") this.#isWhole = false;
    } else if (this.#escaped) this.#escaped = false;
    else if (this.#inString && character === "\\") this.#escaped = true;
    else if (character === '"') this.#inString = !this.#inString;
    else if (this.#inString) return;
    else if (character === "{" || character === "[") this.#depth++;
    else if ((character === "}" || character === "]") && --this.#depth === 0) this.#close(piece.length - i - 1);
  }

  /** Closes the text, which has this many characters too many. */
  #close(beyond: number): void {
    const text = this.#text.slice(0, this.#text.length - beyond);
    this.#isWhole = text.endsWith("}") && parsed(text) !== undefined;
    this.#text = "";
  }
}

function objectIn(written: string): JsonObject | undefined {
  const value = parsed(written);
  if (value === null) return {};
  if (value === undefined || jsonType(value) !== "object") return undefined;
  try {
    checkRaw(value, depth);
    return value as JsonObject;
  } catch {
    return undefined;
  }
}

function parsed(written: string): JsonValue | undefined {
  try {
    return JSON.parse(written) as JsonValue;
  } catch {
    return undefined;
  }
}
