/**
 * The calls of a chat answer, which comes in pieces that may interleave. A piece belongs to the call with its index, else with its id,
 * else to the last one.
 */
import type { ToolInput } from "./tool-input.ts";

export interface CallPiece {
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
  /** JSON text, or the next piece of it. */
  readonly input: string;
  /** The vendor's signature of the call; empty without one. */
  readonly signature: string;
}

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

/**
 * beginsAnotherCall reports whether a piece begins another call than the one it seems to belong to. Some vendors give every call index 0:
 * there another id begins another call, except where every piece has an id of its own. Some give calls neither index nor id, or all the same
 * id or index: there a name after a complete input does. With the same index, it is another name, or one with an input of its own. A call
 * without a name gets the next one: some send it behind the input.
 */
function beginsAnotherCall(
  call: { readonly id: string; readonly name: string; readonly input: ToolInput },
  { index, id, name, input }: CallPiece,
): boolean {
  if (name === "") return false;
  if (id !== "" && id !== call.id) return call.id !== "" && !(call.name === name && call.input.isUnderWay);
  if (call.name === "" || !call.input.mayBeComplete) return false;
  if (index === undefined) return !(id !== "" && call.input.repeats(input));
  return !call.input.repeats(input) && (name !== call.name || (input.trim() !== "" && !call.input.repeats("{}")));
}

/**
 * goesOn reports whether a piece with an index that no call has belongs to the last call. Some servers give the beginning of a call another
 * index than its input.
 */
function goesOn(last: { readonly input: ToolInput } | undefined, { id, name }: CallPiece): boolean {
  return last !== undefined && id === "" && name === "" && !last.input.isComplete;
}
