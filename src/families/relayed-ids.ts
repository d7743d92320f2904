/**
 * An item's id at its upstream ↔ the id for its caller, which also names the upstream and the stored response.
 *
 * `rs_68a…` of the first item becomes `rs_68a…_5e884898_01k…_0`: the upstream's hash, the response, the index. The
 * upstream gets its own id back, because some vendors tie an item's encrypted content to it.
 */

export interface RelayedId {
  readonly own: string;
  /** The upstream's hash (`providers/profile/reasoning-seal.ts`). */
  readonly maker: string;
}

const pattern = /^(.+)_([0-9a-f]{8})_([0-9a-z]+)_\d+$/;
/** Ids that translations make: `msg_<response>_<index>`, and `msg_<response>_in<index>` for items of the input. */
const madeHere = /^[a-z]+_([0-9a-z]+)_(?:in)?\d+$/;

export function relayedId(own: string, maker: string, answerId: string, index: number): string {
  return `${own}_${maker}_${answerId}_${index}`;
}

/** relayedFrom returns undefined for an id that was not relayed. */
export function relayedFrom(id: string): RelayedId | undefined {
  const [, own, maker] = pattern.exec(id) ?? [];
  return own === undefined || maker === undefined ? undefined : { own, maker };
}

/** isMadeId reports whether a translation made this id, so that no upstream knows it. */
export function isMadeId(id: string): boolean {
  return madeHere.test(id);
}

/** answerIdOf returns the response part of an item's id; empty for a foreign id. */
export function answerIdOf(itemId: string): string {
  return pattern.exec(itemId)?.[3] ?? madeHere.exec(itemId)?.[1] ?? "";
}
