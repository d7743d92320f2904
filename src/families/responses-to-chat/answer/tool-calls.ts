/**
 * Assembles the calls of a chat answer from pieces that may interleave.
 *
 * A piece belongs to the call with its index, else with its id, else to the last one. A call is reported when its
 * name is known.
 */
import type { JsonObject } from "../../../wire/json.ts";
import { beginsAnotherCall, type CallPiece } from "../../chat-output.ts";
import { ToolInput } from "../../tool-input.ts";
import type { CallItem } from "./call-item.ts";

interface Call {
  id: string;
  name: string;
  signature: string;
  /** All input so far. */
  readonly input: ToolInput;
  /** Input that was not reported yet. */
  unreported: string;
  item: CallItem | undefined;
}

/** BeginCall begins the item of a call. The id and the signature may be empty. */
export type BeginCall = (id: string, name: string, signature: string) => CallItem;

export class Calls {
  readonly #begin: BeginCall;
  readonly #all: Call[] = [];
  readonly #byKey = new Map<number | string, Call>();

  constructor(begin: BeginCall) {
    this.#begin = begin;
  }

  take(piece: CallPiece): JsonObject[] {
    const call = this.#callOf(piece);
    call.id ||= piece.id;
    call.name ||= piece.name;
    call.signature ||= piece.signature;
    call.input.add(piece.input);
    call.unreported += piece.input;
    return call.name === "" ? [] : this.#report(call);
  }

  /** Reports the calls whose name never came. */
  end(): JsonObject[] {
    return this.#all.filter(({ item }) => !item).flatMap((call) => this.#report({ ...call, name: "unknown" }));
  }

  #report(call: Call): JsonObject[] {
    const piece = call.unreported;
    call.unreported = "";
    if (call.item) return call.item.say(piece);
    call.item = this.#begin(call.id, call.name, call.signature);
    return [...call.item.begin(), ...call.item.say(piece)];
  }

  #callOf(piece: CallPiece): Call {
    const key = piece.index ?? (piece.id || undefined);
    const known = key === undefined ? this.#all.at(-1) : this.#byKey.get(key);
    if (known && !beginsAnotherCall(known, piece)) return known;
    const call: Call = { id: "", name: "", signature: "", input: new ToolInput(), unreported: "", item: undefined };
    if (key !== undefined) this.#byKey.set(key, call);
    this.#all.push(call);
    return call;
  }
}
