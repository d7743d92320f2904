/**
 * SlotSet is a set for short-lived objects. Each member stores its own index, so that add and delete allocate nothing; a `Set`
 * would keep dead members reachable until the next full collection (docs/speed.md).
 */

export interface Slotted {
  /** The member's index in its set. Only SlotSet writes it. */
  slot?: number;
}

export class SlotSet<T extends Slotted> {
  readonly #slots: (T | undefined)[] = [];
  readonly #free: number[] = [];

  /** `member` must not be in this set, nor in another. */
  add(member: T): void {
    const slot = this.#free.pop() ?? this.#slots.length;
    member.slot = slot;
    this.#slots[slot] = member;
  }

  has(member: T): boolean {
    return member.slot !== undefined && this.#slots[member.slot] === member;
  }

  /** Reports whether it was a member. */
  delete(member: T): boolean {
    const { slot } = member;
    if (slot === undefined || this.#slots[slot] !== member) return false;
    this.#slots[slot] = undefined;
    this.#free.push(slot);
    return true;
  }

  /** Returns the members, in no order. */
  all(): T[] {
    return this.#slots.filter((member) => member !== undefined);
  }
}
