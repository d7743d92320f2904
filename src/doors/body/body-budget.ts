/**
 * How many bytes of requests' bodies are held at a time, in all and of one account. They are counted as they come, for a length
 * that is only announced takes no memory. Beyond the bound a body is refused and its client told to come again. A body that grows
 * once it is there, by what it refers to or was compressed from, is counted as what it becomes, and may become no larger than a
 * body may come.
 *
 * Small bodies go first: the last quarter of the room is theirs alone, so that a few large ones do not hold up everybody.
 */
import type { BodyRoom } from "../../call/call.ts";
import { bodiesTooMany, expandedTooLarge } from "../../call/refusals.ts";

export interface BodyBounds {
  readonly maxBytes: number;
  readonly maxBytesPerAccount: number;
  /** Of one body. */
  readonly maxBytesEach: number;
}

export interface BodyBudget {
  /** Begins to count the body of a call. */
  open(accountId: string): BodyShare;
  /** How many bytes are held at this moment. */
  readonly bytes: number;
}

/** What one call holds. */
export interface BodyShare extends BodyRoom {
  /** Counts bytes that have come. Throws a Refusal where there is no room for them. */
  add(bytes: number): void;
  /** Gives some of it back: of what is there no more. */
  remove(bytes: number): void;
  /** Gives all of it back, and counts nothing from then on. */
  release(): void;
}

/** What is at most so long is small. In bytes. */
const longestSmall = 65_536;
/** The part of the room that is for all. */
const commonShare = 0.75;

export function createBodyBudget(bounds: BodyBounds): BodyBudget {
  const held = new HeldBodies(bounds);
  return {
    open: (accountId) => new Share(held, accountId),
    get bytes() {
      return held.total;
    },
  };
}

/** What is held at a time, in all and of each account. */
class HeldBodies {
  readonly bounds: BodyBounds;
  readonly #common: number;
  readonly #byAccount = new Map<string, number>();
  total = 0;

  constructor(bounds: BodyBounds) {
    this.bounds = bounds;
    this.#common = bounds.maxBytes * commonShare;
  }

  /** Throws a Refusal where there is no room for more of a body that has `held` bytes. */
  checkRoom(accountId: string, held: number, bytes: number): void {
    const { maxBytes, maxBytesPerAccount } = this.bounds;
    const room = held + bytes <= longestSmall ? maxBytes : this.#common;
    if (this.total + bytes > room) throw bodiesTooMany("the gateway");
    if ((this.#byAccount.get(accountId) ?? 0) + bytes > maxBytesPerAccount) throw bodiesTooMany("the account");
  }

  change(accountId: string, bytes: number): void {
    this.total += bytes;
    const left = (this.#byAccount.get(accountId) ?? 0) + bytes;
    if (left > 0) this.#byAccount.set(accountId, left);
    else this.#byAccount.delete(accountId);
  }
}

/** A class, for each call has one. */
class Share implements BodyShare {
  readonly #of: HeldBodies;
  readonly #accountId: string;
  #held = 0;
  #isReleased = false;

  constructor(of: HeldBodies, accountId: string) {
    this.#of = of;
    this.#accountId = accountId;
  }

  get bytes(): number {
    return this.#held;
  }

  get maxBytes(): number {
    return this.#of.bounds.maxBytesEach;
  }

  add(bytes: number): void {
    if (this.#isReleased) return;
    this.#of.checkRoom(this.#accountId, this.#held, bytes);
    this.#held += bytes;
    this.#of.change(this.#accountId, bytes);
  }

  remove(bytes: number): void {
    const removed = Math.min(bytes, this.#held);
    this.#held -= removed;
    if (removed > 0) this.#of.change(this.#accountId, -removed);
  }

  grow(bytes: number, param?: string): void {
    const { maxBytes } = this;
    if (this.#held + bytes > maxBytes) throw expandedTooLarge(maxBytes, param);
    this.add(bytes);
  }

  growTo(bytes: number, param?: string): void {
    this.grow(Math.max(0, bytes - this.#held), param);
  }

  release(): void {
    this.remove(this.#held);
    this.#isReleased = true;
  }
}
