/**
 * Assembles the calls of a chat answer from pieces that may interleave. A call is reported when all of its name is
 * known.
 */
import { CallList, type CallPiece } from "../../../call/tools/call-list.ts";
import { ToolInput } from "../../../call/tools/tool-input.ts";
import type { JsonObject } from "../../../wire/json.ts";
import { nameAfter } from "../../chat-output.ts";
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
  readonly #isPartial: (name: string) => boolean;
  readonly #calls = new CallList<Call>();

  /** `isPartial` reports whether a name is only the beginning of one. */
  constructor(begin: BeginCall, isPartial: (name: string) => boolean = () => false) {
    this.#begin = begin;
    this.#isPartial = isPartial;
  }

  take(piece: CallPiece): JsonObject[] {
    const call = this.#calls.find(piece) ?? this.#calls.add(piece, newCall());
    call.id ||= piece.id;
    call.name = nameAfter(call.name, piece.name, this.#isPartial);
    call.signature ||= piece.signature;
    call.unreported += call.input.add(piece.input);
    return call.name === "" || this.#isPartial(call.name) ? [] : this.#report(call);
  }

  /** Reports what was held of the calls whose name is known. */
  release(): JsonObject[] {
    return this.#calls.all.flatMap((call) => {
      if (call.item) call.unreported += call.input.rest();
      return call.item && call.unreported !== "" ? this.#report(call) : [];
    });
  }

  /** Reports what was held, and the calls whose name never came. */
  end(): JsonObject[] {
    const unnamed = this.#calls.all.filter(({ item }) => !item);
    return [
      ...unnamed.flatMap((call) => this.#report(Object.assign(call, { name: call.name || "unknown" }))),
      ...this.release(),
    ];
  }

  #report(call: Call): JsonObject[] {
    const piece = call.unreported;
    call.unreported = "";
    if (call.item) return call.item.say(piece);
    call.item = this.#begin(call.id, call.name, call.signature);
    return [...call.item.begin(), ...call.item.say(piece)];
  }
}

function newCall(): Call {
  return { id: "", name: "", signature: "", input: new ToolInput(), unreported: "", item: undefined };
}
