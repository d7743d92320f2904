/**
 * The id of an item as its upstream has it ↔ as its caller has it: with what finds it again among the gateway's kept responses, and
 * with whose it is.
 *
 * `rs_68a…` of the first item is `rs_68a…_5e884898_01k…_0`: the upstream by a hash, the response, the place. The upstream gets its
 * own id back, for some vendors hold an item's encrypted content to it.
 */

export interface RelayedId {
  readonly own: string;
  /** Whose it is (`providers/profile/reasoning-seal.ts`). */
  readonly maker: string;
}

const pattern = /^(.+)_([0-9a-f]{8})_([0-9a-z]+)_\d+$/;
/** Of an item that a translation has made: `msg_<response>_<place>`; of one of its input: `msg_<response>_in<place>`. */
const madeHere = /^[a-z]+_([0-9a-z]+)_(?:in)?\d+$/;

export function relayedId(own: string, maker: string, answerId: string, index: number): string {
  return `${own}_${maker}_${answerId}_${index}`;
}

/** Returns undefined for an id that was not relayed. */
export function relayedFrom(id: string): RelayedId | undefined {
  const [, own, maker] = pattern.exec(id) ?? [];
  return own === undefined || maker === undefined ? undefined : { own, maker };
}

/** Whether a translation has made the item of this id: no upstream knows it. */
export function isMadeId(id: string): boolean {
  return madeHere.test(id);
}

/** Returns what the id of its response ends with; empty where it is no item of the gateway's. */
export function answerIdOf(itemId: string): string {
  return pattern.exec(itemId)?.[3] ?? madeHere.exec(itemId)?.[1] ?? "";
}
