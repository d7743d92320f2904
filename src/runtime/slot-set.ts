/**
 * Those that are there at the moment, where they come and go with every call: each keeps its place itself.
 *
 * A Set would do but for the collector. It leaves tables behind as its members change, each of which knows the next: one that
 * has grown old, and is not collected yet, keeps all that come after it, and what was in them, until the whole heap is
 * looked through. So calls that were over were copied twice, and the heap looked through every few seconds.
 */

export interface Slotted {
  /** Where it stands among those that are there; left to them. */
  slot?: number;
}

export class SlotSet<T extends Slotted> {
  readonly #places: (T | undefined)[] = [];
  readonly #free: number[] = [];

  /** Whoever is added is not there yet, nor among others. */
  add(one: T): void {
    const place = this.#free.pop() ?? this.#places.length;
    one.slot = place;
    this.#places[place] = one;
  }

  has(one: T): boolean {
    return one.slot !== undefined && this.#places[one.slot] === one;
  }

  /** Returns whether it was there. */
  delete(one: T): boolean {
    const { slot } = one;
    if (slot === undefined || this.#places[slot] !== one) return false;
    this.#places[slot] = undefined;
    this.#free.push(slot);
    return true;
  }

  /** Those that are there, in no order. */
  all(): T[] {
    return this.#places.filter((one) => one !== undefined);
  }
}
