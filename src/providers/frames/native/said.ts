/** Said is what readers of other APIs' streams return, and StreamedCalls are the calls of tools that come in pieces there. */
import { isFilledText, isObject, type JsonObject, type JsonValue, textOrEmpty } from "../../../wire/json.ts";

/** Said is what an event says of an answer. An event that says nothing of it is empty. */
export interface Said {
  readonly id?: JsonValue | undefined;
  readonly model?: JsonValue | undefined;
  /** delta is the next part of the message. */
  readonly delta?: JsonObject | undefined;
  readonly end?: JsonValue | undefined;
  readonly usage?: JsonValue | undefined;
  /** error is why the answer was broken off. */
  readonly error?: JsonValue | undefined;
  /** isLast is whether nothing follows. */
  readonly isLast?: boolean;
}

/** ReadEvent returns undefined for what is no event of its API. */
export type ReadEvent = (event: JsonObject) => Said | undefined;

/** headIn returns the id and the model that an object names. */
export function headIn(told: JsonValue | undefined): Said {
  return isObject(told) ? { id: told.id, model: told.model } : {};
}

interface StreamedCall {
  readonly index: number;
  /** given is the input that came with the beginning. Pieces replace it. */
  readonly given: JsonValue | undefined;
  hasInput: boolean;
}

/** StreamedCalls numbers the calls of one stream, whose events name them by a key of their own. */
export class StreamedCalls {
  readonly #calls = new Map<JsonValue, StreamedCall>();

  get size(): number {
    return this.#calls.size;
  }

  has(key: JsonValue): boolean {
    return this.#calls.has(key);
  }

  begin(key: JsonValue, id: JsonValue | undefined, name: JsonValue = "", given?: JsonValue): JsonObject {
    const index = this.#calls.size;
    this.#calls.set(key, { index, given, hasInput: false });
    const named = textOrEmpty(id) === "" ? {} : { id: textOrEmpty(id) };
    return { tool_calls: [{ index, ...named, type: "function", function: { name, arguments: "" } }] };
  }

  /** add returns the next piece of a call's input. */
  add(key: JsonValue, piece: JsonValue | undefined): JsonObject | undefined {
    const call = this.#calls.get(key);
    if (!call || !isFilledText(piece)) return undefined;
    call.hasInput = true;
    return { tool_calls: [{ index: call.index, function: { arguments: piece } }] };
  }

  /** end returns the whole input of a call of which no piece came. */
  end(key: JsonValue, whole?: JsonValue): JsonObject | undefined {
    const call = this.#calls.get(key);
    if (!call || call.hasInput) return undefined;
    return this.add(key, writtenInput(textOrEmpty(whole) === "" ? call.given : whole));
  }
}

/** writtenInput returns the input of a call as text. */
export function writtenInput(input: JsonValue = {}): string {
  return typeof input === "string" ? input : JSON.stringify(input ?? {});
}
