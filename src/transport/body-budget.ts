/**
 * How many bytes of requests' bodies are held at a time, in all and of one account. They are counted as they come, for a length
 * that is only announced takes no memory. Beyond the bound a body is refused and its client told to come again. A body that grows
 * once it is there, by what it refers to or was compressed from, is counted as what it becomes, and may become no larger than a
 * body may come.
 *
 * Small bodies go first: the last quarter of the room is theirs alone, so that a few large ones do not hold up everybody.
 */
import type { BodyRoom } from "../call.ts";
import { bodiesTooMany, expandedTooLarge } from "../errors.ts";

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

export function createBodyBudget({ maxBytes, maxBytesPerAccount, maxBytesEach }: BodyBounds): BodyBudget {
  const byAccount = new Map<string, number>();
  const common = maxBytes * commonShare;
  let total = 0;

  function change(accountId: string, bytes: number): void {
    total += bytes;
    const left = (byAccount.get(accountId) ?? 0) + bytes;
    if (left > 0) byAccount.set(accountId, left);
    else byAccount.delete(accountId);
  }

  return {
    open(accountId) {
      let held = 0;
      let isReleased = false;
      const add = (bytes: number) => {
        if (isReleased) return;
        const room = held + bytes <= longestSmall ? maxBytes : common;
        if (total + bytes > room) throw bodiesTooMany("the gateway");
        if ((byAccount.get(accountId) ?? 0) + bytes > maxBytesPerAccount) throw bodiesTooMany("the account");
        held += bytes;
        change(accountId, bytes);
      };
      const remove = (bytes: number) => {
        const removed = Math.min(bytes, held);
        held -= removed;
        if (removed > 0) change(accountId, -removed);
      };
      const grow = (bytes: number, param?: string) => {
        if (held + bytes > maxBytesEach) throw expandedTooLarge(maxBytesEach, param);
        add(bytes);
      };
      return {
        get bytes() {
          return held;
        },
        maxBytes: maxBytesEach,
        add,
        grow,
        growTo: (bytes, param) => grow(Math.max(0, bytes - held), param),
        remove,
        release() {
          remove(held);
          isReleased = true;
        },
      };
    },
    get bytes() {
      return total;
    },
  };
}
