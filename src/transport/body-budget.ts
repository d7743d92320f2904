/**
 * How many bytes of requests' bodies are held at a time, in all and of one account. They are counted as they come, for a length
 * that is only announced takes no memory. Beyond the bound a body is refused and its client told to come again.
 *
 * Small bodies go first: the last quarter of the room is theirs alone, so that a few large ones do not hold up everybody.
 */
import { bodiesTooMany } from "../errors.ts";

export interface BodyBounds {
  readonly maxBytes: number;
  readonly maxBytesPerAccount: number;
}

export interface BodyBudget {
  /** Begins to count the body of a call. */
  open(accountId: string): BodyShare;
  /** How many bytes are held at this moment. */
  readonly bytes: number;
}

/** What one call holds. */
export interface BodyShare {
  /** Counts bytes that have come. Throws a Refusal where there is no room for them. */
  add(bytes: number): void;
  /** Gives all of it back, once. */
  release(): void;
}

/** What is at most so long is small. In bytes. */
const longestSmall = 65_536;
/** The part of the room that is for all. */
const commonShare = 0.75;

export function createBodyBudget({ maxBytes, maxBytesPerAccount }: BodyBounds): BodyBudget {
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
      return {
        add(bytes) {
          const room = held + bytes <= longestSmall ? maxBytes : common;
          if (total + bytes > room) throw bodiesTooMany("the gateway");
          if ((byAccount.get(accountId) ?? 0) + bytes > maxBytesPerAccount) throw bodiesTooMany("the account");
          held += bytes;
          change(accountId, bytes);
        },
        release() {
          if (held > 0) change(accountId, -held);
          held = 0;
        },
      };
    },
    get bytes() {
      return total;
    },
  };
}
