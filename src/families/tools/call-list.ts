/**
 * The calls of a chat answer, which comes in pieces that may interleave. A piece belongs to the call with its index, else with its id,
 * else to the last one.
 */
import { beginsAnotherCall, type CallPiece, goesOn } from "../chat-output.ts";
import type { ToolInput } from "../tool-input.ts";

/** BegunCall is what is known of a call so far. */
interface BegunCall {
  readonly id: string;
  readonly name: string;
  readonly input: ToolInput;
}

/** CallList has the calls in the order in which they began. */
export class CallList<C extends BegunCall> {
  readonly all: C[] = [];
  readonly #byKey = new Map<number | string, C>();

  /** Returns the call that a piece belongs to; undefined where it begins another. */
  find(piece: CallPiece): C | undefined {
    const key = keyOf(piece);
    const last = this.all.at(-1);
    const call = key === undefined ? last : (this.#byKey.get(key) ?? (goesOn(last, piece) ? last : undefined));
    if (!call || beginsAnotherCall(call, piece)) return undefined;
    if (key !== undefined) this.#byKey.set(key, call);
    return call;
  }

  /** Adds the call that a piece begins. */
  add(piece: CallPiece, call: C): C {
    const key = keyOf(piece);
    if (key !== undefined) this.#byKey.set(key, call);
    this.all.push(call);
    return call;
  }
}

function keyOf({ index, id }: CallPiece): number | string | undefined {
  return index ?? (id || undefined);
}
